"""Freed memory is kept, or left to glibc where it can't be or where the user has chosen."""

import ctypes
import os
import subprocess
import sys

import pytest
from conftest import ROOT

from going_modular.going_modular import allocator

SETTINGS = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
COUNT = """
import resource, torch
import going_modular.going_modular
for round in range(30):
    if round == 20:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(16 * 2**20)  # 64 MB
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def has_glibc():
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "gnu_get_libc_version")


def page_faults(**settings):
    """How often the system had to hand out a page while ten tensors of 64 MB came and went."""
    environment = {key: value for key, value in os.environ.items() if key not in SETTINGS} | settings
    command = [sys.executable, "-c", COUNT]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(not has_glibc(), reason="glibc alone can be asked to keep freed memory")
def test_importing_the_scripts_keeps_freed_memory_unless_the_environment_says_otherwise():
    kept, given_back = page_faults(), page_faults(MALLOC_TRIM_THRESHOLD_="131072")
    assert given_back > 100 and kept < given_back / 10


@pytest.mark.parametrize("name", SETTINGS)
def test_a_users_own_setting_stays(monkeypatch, name):
    monkeypatch.setenv(name, "131072")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda _name: pytest.fail("the C library was asked"))
    assert not allocator.keep_freed_memory()


@pytest.mark.parametrize("library", [OSError("libc.so.6: no such file"), object()])
def test_without_glibc_nothing_happens(monkeypatch, library):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)

    def load(_name):
        if isinstance(library, Exception):
            raise library
        return library

    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.ctypes, "CDLL", load)
    assert not allocator.keep_freed_memory()


def test_an_older_glibc_is_asked_for_less(monkeypatch):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    asked = []

    class Older:
        @staticmethod
        def mallopt(parameter, value):
            asked.append((parameter, value))
            return int(parameter != allocator.M_MMAP_THRESHOLD or value <= allocator.KEPT_BY_OLDER_GLIBC)

    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda _name: Older)
    assert allocator.keep_freed_memory()
    assert asked == [
        (allocator.M_MMAP_THRESHOLD, allocator.KEPT),
        (allocator.M_MMAP_THRESHOLD, allocator.KEPT_BY_OLDER_GLIBC),
        (allocator.M_TRIM_THRESHOLD, allocator.KEPT),
    ]
