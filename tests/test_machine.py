"""machine: what it finds here, what it makes of other machines, and that it asks nothing a system may not have."""

import os
import shutil
import sys
import types

import pytest
import torch

from going_modular.going_modular import machine

GB = 10**9


def make_machine(**changes) -> machine.Machine:
    """A machine on which all is well, but for the changes."""
    found = {
        "system": "Linux x86_64",
        "versions": {"python": "3.12.1", "torch": "2.14.1+cu130", "torchvision": "0.29.1"},
        "stale": (),
        "device": "cpu",
        "device_name": "",
        "device_memory": None,
        "memory": 8 * GB,
        "free_disk": 100 * GB,
        "cores": 2,
    }
    return machine.Machine(**{**found, **changes})


def with_version(name: str, version: str | None) -> machine.Machine:
    return make_machine(versions={**make_machine().versions, name: version})


# This machine


def test_this_machine_runs_the_tests_and_so_can_run_the_notebooks():
    found = machine.check_machine("cpu")
    assert found.versions["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert machine.version_numbers(found.versions["torch"]) == machine.version_numbers(torch.__version__)
    assert found.variant == "ViT-Ti/16" and found.device_name == "" and found.device_memory is None
    assert 1 <= found.cores <= os.cpu_count()
    assert found.memory is None or 100_000_000 < found.memory < 10**15
    assert not [problem for problem in machine.find_problems(found) if "disk" not in problem]


def test_free_disk_is_that_of_the_folder(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or types.SimpleNamespace(free=7))
    assert machine.check_machine("cpu", tmp_path).free_disk == 7
    assert asked == [tmp_path]


def test_free_memory_is_what_linux_and_the_container_leave(tmp_path, monkeypatch):
    for name in ("MEMINFO", "CONTAINER_LIMIT"):
        monkeypatch.setattr(machine, name, tmp_path / name)
    monkeypatch.setattr(machine, "main_memory", lambda: 8 * GB)
    assert machine.free_memory() == 4 * GB, "a system that tells all memory, and not what is free"
    monkeypatch.setattr(machine, "main_memory", lambda: None)
    assert machine.free_memory() == 2 * GB
    (tmp_path / "MEMINFO").write_text("MemTotal: 9000 kB\nMemAvailable:    3000 kB\n", encoding="utf-8")
    assert machine.free_memory() == 3_072_000
    (tmp_path / "CONTAINER_LIMIT").write_text("max\n", encoding="utf-8")
    assert machine.free_memory() == 3_072_000
    (tmp_path / "CONTAINER_LIMIT").write_text("1000000\n", encoding="utf-8")
    assert machine.free_memory() == 1_000_000


def test_a_system_without_sysconf_has_unknown_memory(monkeypatch):
    monkeypatch.delattr(os, "sysconf", raising=False)  # Windows
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # Windows, macOS
    found = machine.check_machine("cpu")
    assert found.memory is None and found.cores == os.cpu_count()
    assert "memory       unknown" in machine.format_machine(found)


@pytest.mark.parametrize("error", [ValueError("unrecognized configuration name"), OSError("not now")])
def test_a_sysconf_that_does_not_know_leaves_memory_unknown(monkeypatch, error):
    def refuse(name):
        raise error

    monkeypatch.setattr(os, "sysconf", refuse, raising=False)
    assert machine.main_memory() is None


def test_a_gpu_is_named_with_its_memory(monkeypatch):
    properties = types.SimpleNamespace(name="Tesla T4", total_memory=16 * GB)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: properties)
    found = machine.check_machine("cuda")
    assert found.variant == "ViT-B/16"
    assert "cuda, Tesla T4, 16.0 GB" in machine.format_machine(found)
    assert machine.check_machine("mps").variant == "ViT-B/16"


def test_a_package_upgraded_under_a_running_kernel_is_noticed(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "1.13.1")
    found = machine.check_machine("cpu")
    assert found.stale == ("torch",)
    assert "torch was upgraded" in machine.verdict(found) and "restart" in machine.verdict(found)


def test_a_package_that_is_not_there(monkeypatch):
    monkeypatch.setattr(machine, "PACKAGES", ("torch", "no-such-package"))
    assert machine.check_machine("cpu").versions["no-such-package"] is None


# What is needed


def test_lower_bounds_come_from_the_requirements(tmp_path):
    bounds = machine.needed_versions()
    assert set(bounds) == {"python", "torch", "torchvision"}
    lines = machine.REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    assert f"torch>={bounds['torch']}" in lines and f"torchvision>={bounds['torchvision']}" in lines
    other = tmp_path / "requirements.txt"
    other.write_text("# torch>=1.0 once\ntorchvision>=0.5\ntorch>=9.9\n", encoding="utf-8")
    assert machine.needed_versions(other) == {"python": machine.PYTHON, "torch": "9.9", "torchvision": "0.5"}
    other.write_text("torchvision>=0.5\n", encoding="utf-8")
    with pytest.raises(ValueError, match="requirements.txt names no lower bound for torch: .*torch>="):
        machine.needed_versions(other)


def test_a_larger_model_needs_more_disk():
    assert machine.model_size("ViT-B/16") == 4 * 86_567_656
    small, large = machine.needed_disk("ViT-Ti/16"), machine.needed_disk("ViT-B/16")
    assert machine.model_size("ViT-B/16") < small < large < 2 * GB


@pytest.mark.parametrize(
    "version, numbers",
    [
        ("2.10.0a1+cu130", (2, 10, 0)),
        ("2.4", (2, 4)),
        ("3.14.0rc1", (3, 14, 0)),
        ("0.19.1.dev3", (0, 19, 1)),
        ("x", ()),
    ],
)
def test_version_numbers(version, numbers):
    assert machine.version_numbers(version) == numbers


# The verdict


@pytest.mark.parametrize(
    "changes, words",
    [
        ({}, "You can run everything: training takes ViT-Ti/16 on the CPU."),
        ({"device": "cuda", "device_name": "Tesla T4"}, "You can run everything: training takes ViT-B/16 on Tesla T4."),
        ({"device": "mps"}, "You can run everything: training takes ViT-B/16 on mps."),
    ],
)
def test_verdict_where_all_is_well(changes, words):
    assert machine.verdict(make_machine(**changes)) == words


@pytest.mark.parametrize(
    "found, words",
    [
        (with_version("python", "3.9.18"), ["python 3.9.18 is too old, 3.10 or newer", "install a newer Python"]),
        (with_version("torch", "2.3.1"), ["torch 2.3.1 is too old", 'pip install --upgrade "torch>=']),
        (with_version("torchvision", None), ["torchvision is not installed", 'pip install --upgrade "torchvision>=']),
        (make_machine(stale=("torch",)), ["torch was upgraded", "restart the kernel"]),
        (make_machine(free_disk=200_000_000), ["too little disk: 0.5 GB needed, 0.2 GB free"]),
        (make_machine(free_disk=GB, device="cuda"), ["too little disk: 1.4 GB needed, 1.0 GB free"]),
    ],
)
def test_verdict_names_each_problem_and_what_to_do(found, words):
    answer = machine.verdict(found)
    assert answer.startswith("Not ready yet:") and "everything" not in answer
    assert len(machine.find_problems(found)) == 1
    for expected in words:
        assert expected in answer


def test_verdict_in_colab_says_where_a_gpu_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", object())
    on_cpu = machine.verdict(make_machine(device="cpu", device_name=""))
    assert on_cpu.count("\n") == 1 and "Runtime > Change runtime type > T4 GPU > Save" in on_cpu
    assert "Runtime" not in machine.verdict(make_machine(device="cuda", device_name="Tesla T4"))


def test_verdict_names_all_problems_at_once():
    versions = {"python": "3.8.0", "torch": None, "torchvision": "0.1"}
    assert machine.verdict(make_machine(versions=versions, free_disk=0)).count("\n- ") == 4


def test_two_digits_are_more_than_one():
    assert machine.find_problems(with_version("torch", "2.10.0")) == []


def test_the_table_shows_no_path():
    table = machine.format_machine(machine.check_machine("cpu"))
    assert str(machine.ROOT) not in table
    assert [line.split()[0] for line in table.splitlines()[1:4]] == ["python", "torch", "torchvision"]
