"""Real processes of the training command, killed without warning: nothing broken, no epoch lost, no bit changed."""

import multiprocessing
import os
import random
import re
import signal
import sys
import time

import pytest
import torch

from going_modular.going_modular import checkpoints, train, utils

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
KILLS, IN_SAVES = 20, 8
DEADLINE = 60  # seconds for one process to get where it is killed


def command(arguments: list[str], log: str) -> None:
    """The training command in a process of its own; what it prints goes to the file `log`."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    torch.set_num_threads(1)
    train.main(arguments)


@pytest.fixture(scope="module")
def start():
    """start(arguments, log) -> the running process, forked from one that has PyTorch loaded already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["going_modular.going_modular.train"])

    def begin(arguments, log):
        process = context.Process(target=command, args=([str(argument) for argument in arguments], str(log)))
        process.start()
        return process

    return begin


def wait_for(condition, process) -> bool:
    """Wait, looking as often as can be, until the condition holds; False where the process ends before."""
    end = time.monotonic() + DEADLINE
    while process.is_alive():
        if condition():
            return True
        assert time.monotonic() < end, "it never came to the place where it was to be killed"
        time.sleep(0.0005)
    return False


def test_killed_twenty_times_it_loses_nothing_and_ends_with_the_same_weights(start, tiny_food, tmp_path):
    folder, chance = tmp_path / "checkpoint", random.Random(0)
    settings = ["--data", tiny_food, "--image-size", 32, "--batch-size", 4, "--device", "cpu", "--seed", 3]
    kept = ["--checkpoint", folder, "--resume", "--output", tmp_path / "out"]
    done = killed = in_saves = 0
    while killed < KILLS or in_saves < IN_SAVES:
        assert killed < 3 * KILLS, f"only {in_saves} of {killed} kills hit a save"
        log = tmp_path / f"{killed}.log"
        process = start([*settings, *kept, "--epochs", 1000], log)
        half = folder / f".{checkpoints.NAME}.{process.pid}"
        if killed % 2 == 0 and in_saves < IN_SAVES:
            reached = wait_for(half.exists, process)
        else:
            reached = wait_for(lambda log=log: log.is_file() and "Epoch: " in log.read_text(encoding="utf-8"), process)
            time.sleep(chance.uniform(0, 0.4))
        text = log.read_text(encoding="utf-8")
        assert reached, text
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL, log.read_text(encoding="utf-8")
        killed += 1
        in_saves += half.exists()
        printed = max([int(epoch) for epoch in re.findall(r"Epoch: (\d+) ", log.read_text(encoding="utf-8"))] + [done])
        path = folder / checkpoints.NAME
        if path.is_file() or printed:
            training = utils.read_weights(path)["training"]
            assert printed <= training["epochs"] <= printed + 1, "an epoch is lost, or one came out of nothing"
            assert {len(values) for values in training["results"].values()} == {training["epochs"]}
            done = training["epochs"]

    def finish(name, extra):
        process = start(
            [*settings, *extra, "--output", tmp_path / name, "--epochs", done + 1], tmp_path / f"{name}.log"
        )
        process.join(10 * DEADLINE)
        assert process.exitcode == 0, (tmp_path / f"{name}.log").read_text(encoding="utf-8")
        return (tmp_path / name / "model.pth").read_bytes()

    assert finish("resumed", ["--checkpoint", folder, "--resume"]) == finish("whole", [])
    assert {path.name for path in folder.iterdir()} == {checkpoints.NAME, checkpoints.LOCK, "settings.json"}
    print(f"{killed} kills, {in_saves} of them inside a save, {done + 1} epochs")
