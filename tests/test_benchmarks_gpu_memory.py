"""benchmarks/gpu.py and memory.py at toy size: what they measure, and what they say where they can't."""

import json
import sys

import pytest
import torch
from torch import nn

from benchmarks import gpu, memory, report
from going_modular.going_modular.experiments import Pictures


@pytest.fixture
def kept(monkeypatch):
    """What a benchmark hands over to be kept."""
    found = {}
    monkeypatch.setattr(report, "store", lambda part, result, *_: found.update({part: json.loads(json.dumps(result))}))
    return found


def pictures(count: int) -> Pictures:
    generator = torch.Generator().manual_seed(0)
    return Pictures(
        torch.randint(0, 256, (count, 3, 32, 32), generator=generator, dtype=torch.uint8), torch.arange(count) % 3
    )


# On a GPU


def test_without_a_gpu_it_says_so_and_measures_nothing(monkeypatch, kept):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="needs a CUDA GPU.*nothing was measured"):
        gpu.main([])
    assert kept == {}


@pytest.fixture
def measured(monkeypatch):
    def run(minutes=8.0, compiling=nn.Sequential):
        monkeypatch.setattr(torch, "compile", compiling)
        data = {"train": pictures(9), "test": pictures(6)}
        return gpu.measure("ViT-Ti/16", 32, data, epochs=2, batch=4, minutes=minutes, device="cpu")

    return run


def test_every_case_is_a_row_from_the_same_start(measured):
    rows = measured()["rows"]
    assert [row["precision"] for row in rows] == [case.name for case in gpu.CASES]
    assert all(row["images a second"] > 0 and row["share of matmul peak"].endswith("%") for row in rows)
    losses = [row["training loss"] for row in rows]
    assert losses == pytest.approx([losses[0]] * 4, abs=0.05), "another precision is no other training"
    assert torch.get_float32_matmul_precision() == "highest"


def test_where_compiling_fails_the_row_says_so(measured):
    def failing(model):
        raise RuntimeError("no Triton")

    assert measured(compiling=failing)["rows"][-1]["precision"] == "bfloat16, compiled: not possible here"


def test_what_does_not_fit_into_the_time_is_left_out_with_a_word(measured, capsys):
    result = measured(minutes=1e-9)
    assert result["rows"] == [] and "float32 was left out" in capsys.readouterr().out
    assert sum("was left out" in note for note in result["notes"]) == len(gpu.CASES)


# Memory


def test_checkpointing_is_measured_beside_the_plain_step(monkeypatch, kept, capsys):
    sizes = {("float32", False): 900, ("float32", True): 600, ("bfloat16", False): 700, ("bfloat16", True): 500}
    cases = []

    def in_a_process(*case):
        cases.append(case)
        return {"before": 300 * memory.MEGABYTE, "peak": sizes[case[-2:]] * memory.MEGABYTE}

    monkeypatch.setattr(memory, "in_a_process", in_a_process)
    memory.main([])
    assert [case[:3] for case in cases] == [("ViT-B/16", 224, 4)] * 4
    assert [row["MB at the peak"] for row in kept["memory"]["rows"]] == list(sizes.values())
    text = capsys.readouterr().out
    assert "In float32, activation checkpointing saves 300 MB of the 600 MB" in text
    assert "In bfloat16, activation checkpointing saves 200 MB of the 400 MB" in text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows doesn't tell a process's peak memory")
def test_real_steps_take_memory():
    found = memory.two_steps("ViT-Ti/16", 32, 2, "float32", True)
    assert 0 < found["before"] <= found["peak"] and json.loads(json.dumps(found)) == found
