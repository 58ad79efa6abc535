"""Several real processes under torchrun, over gloo: what one process learns, they learn together."""

import json
import os
import re
import signal
import subprocess
import sys

import distributed_worker as worker
import pytest
import torch
from conftest import ROOT, files_below

from going_modular.going_modular import checkpoints, distributed, train, utils

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torchrun's store is not built for Windows everywhere")
LOOPBACK = {"linux": "lo", "darwin": "lo0"}.get(sys.platform, "")
DEADLINE = 600  # seconds for one run on a busy machine
MODULE = ("-m", "going_modular.going_modular.train")


def torchrun(*command, processes: int = 2) -> list[str]:
    own = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    return [*own, *map(str, command)]


def environment() -> dict[str, str]:
    """Processes that find each other on this machine alone, on one thread each."""
    return {**os.environ, "GLOO_SOCKET_IFNAME": LOOPBACK, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}


def python(*command) -> subprocess.CompletedProcess:
    return subprocess.run(
        list(map(str, command)),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=DEADLINE,
    )


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """{number of processes: what they found}, and what two of them printed."""
    folder = tmp_path_factory.mktemp("several")
    done = python(*torchrun(ROOT / "tests" / "distributed_worker.py", folder))
    assert done.returncode == 0, done.stdout + done.stderr
    worker.main(folder)
    return {number: torch.load(folder / f"{number}.pth") for number in (1, 2)}, done.stdout


@pytest.mark.parametrize("name", worker.CASES)
def test_two_processes_learn_what_one_does(ended, name):
    one, two = (ended[0][number][name] for number in (1, 2))
    assert one["updates"] == two["updates"] == 8
    for key, values in one["results"].items():
        assert two["results"][key] == pytest.approx(values, abs=1e-6 if "acc" in key else 1e-5), key
    assert (one["logits"] - two["logits"]).abs().max() <= 1e-4
    assert one["logits"].std() > 0.01
    if name.startswith("SGD"):
        start = worker.vit().state_dict()
        for key, weight in one["weights"].items():
            assert (weight - two["weights"][key]).abs().max() <= 1e-5, key
        assert max((weight - start[key]).abs().max() for key, weight in one["weights"].items()) > 0.01


def test_no_test_image_is_counted_twice(ended):
    """75 images in batches of 32, 32 and 11: padding the last to 12 would make 76 of them."""
    for name in worker.CASES:
        one, two = (ended[0][number][name]["results"] for number in (1, 2))
        assert two["test_acc"] == pytest.approx(one["test_acc"], abs=1e-6)
        assert two["test_loss"] == pytest.approx(one["test_loss"], abs=1e-6)
        assert all((75 * accuracy) == pytest.approx(round(75 * accuracy), abs=1e-4) for accuracy in two["test_acc"])


def test_rank_0_alone_prints(ended):
    _, printed = ended
    lines = printed.splitlines()
    assert "printed by 0 of 2" in lines and "printed by 1 of 2" not in lines
    assert sum(line.startswith("Epoch: ") for line in lines) == 2 * len(worker.CASES)


def test_each_process_drops_other_numbers(ended):
    both, _ = ended[0][2]["masks"]
    assert set(both.flatten().tolist()) == {0.0, 1.0, 2.0}, "one mask for two processes would give 0 and 2 alone"


# The command


def settings(tiny_food, folder, name, epochs) -> list:
    """10 of 12 images, then 2, an update; dropout 0, so that the number of processes changes rounding alone."""
    flags = [
        "--data",
        tiny_food,
        "--image-size",
        32,
        "--batch-size",
        10,
        "--dropout",
        0,
        "--device",
        "cpu",
        "--seed",
        3,
    ]
    return [*flags, "--micro-batch", 3, "--epochs", epochs, "--output", folder / name]


def test_one_process_goes_on_where_two_stopped(tiny_food, tmp_path, capsys):
    kept = ["--checkpoint", tmp_path / "kept"]
    done = python(*torchrun(*MODULE, *settings(tiny_food, tmp_path, "two", 2), *kept))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("Epoch: ") for line in lines) == 2 and "float32, 2 processes" in lines[1]
    assert sum(line.startswith("Accuracy on the 6 test images") for line in lines) == 1
    assert files_below(tmp_path / "two").keys() == {"model.pth", "metrics.json", "loss_curves.png"}
    train.main([*map(str, settings(tiny_food, tmp_path, "on", 4)), *map(str, kept), "--resume"])
    assert "2 epochs were done before; now 2 more." in capsys.readouterr().out
    train.main([*map(str, settings(tiny_food, tmp_path, "whole", 4))])
    found = {name: json.loads((tmp_path / name / "metrics.json").read_text("utf-8")) for name in ("two", "on", "whole")}
    assert [found[name]["processes"] for name in found] == [2, 1, 1]
    for key, values in found["whole"]["results"].items():
        assert found["on"]["results"][key] == pytest.approx(values, abs=1e-4)
        assert found["on"]["results"][key][:2] == found["two"]["results"][key]
    assert len(set(found["whole"]["results"]["train_loss"])) == 4
    on, whole = (utils.load_model(tmp_path / name / "model.pth")[0].state_dict() for name in ("on", "whole"))
    assert all((on[key] - whole[key]).abs().max() < 2e-3 for key in on), "within AdamW's steps on rounding"


def children(pid: int) -> dict[int, int]:
    """{rank: process id} of what torchrun has started."""
    found = {}
    for task in os.scandir(f"/proc/{pid}/task"):
        with open(f"{task.path}/children", encoding="utf-8") as file:
            for child in file.read().split():
                with open(f"/proc/{child}/environ", "rb") as variables:
                    ranks = [part for part in variables.read().split(b"\0") if part.startswith(b"RANK=")]
                found.update({int(rank[5:]): int(child) for rank in ranks})
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the processes are found in /proc")
def test_a_killed_process_ends_the_run_with_its_rank(tiny_food, tmp_path):
    command = torchrun(*MODULE, *settings(tiny_food, tmp_path, "out", 100_000), "--checkpoint", tmp_path / "kept")
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    ) as running:
        lines = []
        while not any(line.startswith("Epoch: 2 ") for line in lines):
            lines.append(running.stdout.readline())
            assert lines[-1], "".join(lines)
        killed = children(running.pid)[1]
        os.kill(killed, signal.SIGKILL)
        rest, _ = running.communicate(timeout=DEADLINE)  # gloo itself would wait for half an hour
    assert running.returncode != 0
    cause = rest[rest.index("Root Cause") :]
    assert re.search(rf"rank\s*: 1 .*\n\s*exitcode\s*: -9 \(pid: {killed}\)", cause), rest
    assert not (tmp_path / "out").exists()
    done = utils.read_weights(tmp_path / "kept" / checkpoints.NAME)["training"]["epochs"]
    assert done >= 2, "the last checkpoint stays"


# Without torchrun


def test_one_process_is_number_0_of_1():
    model = worker.vit()
    assert (distributed.rank(), distributed.world_size(), distributed.is_main()) == (0, 1, True)
    assert distributed.wrap(model, "cpu") is model
    assert distributed.from_main("x") == "x" and distributed.add_up(torch.tensor(2)) == [torch.tensor(2)]
    state = torch.get_rng_state()
    distributed.own_randomness(1, 2)
    distributed.wait()
    assert torch.equal(state, torch.get_rng_state())
    assert not distributed.is_lost_neighbour(RuntimeError("[gloo] Connection closed by peer"))


@pytest.mark.parametrize("text", ["[gloo/transport/tcp/pair.cc:534] Connection closed by peer", "NCCL error"])
def test_a_process_whose_neighbour_is_gone_says_so_and_lets_it_be_the_first(monkeypatch, capsys, text):
    slept = []
    monkeypatch.setattr(distributed, "world_size", lambda: 2)
    monkeypatch.setattr(distributed.time, "sleep", slept.append)

    def lost(options):
        raise RuntimeError(text)

    monkeypatch.setattr(train, "run", lost)
    with pytest.raises(SystemExit) as stopped:
        train.main(["--device", "cpu"])
    assert stopped.value.code == 1 and slept == [distributed.LAST_WORD]
    assert "Process 0 of 2: another process of this training has ended" in capsys.readouterr().err


def test_more_processes_than_a_batch_has_images_are_refused(monkeypatch, tiny_food):
    monkeypatch.setattr(distributed, "world_size", lambda: 3)
    monkeypatch.setattr(distributed, "wait", lambda: None)
    monkeypatch.setattr(distributed, "from_main", lambda value: value)
    monkeypatch.setattr(distributed, "wrap", lambda model, device: model)
    with pytest.raises(SystemExit, match="3 processes can't share a --batch-size of 2"):
        train.main(["--data", str(tiny_food), "--image-size", "32", "--batch-size", "2", "--device", "cpu"])
