"""What this machine has, and whether it is enough for the notebooks: versions, device, memory, disk, cores.

It reads and reports; it installs nothing and changes nothing. Works on Linux, macOS and Windows.
"""

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from going_modular.going_modular import ROOT
from going_modular.going_modular.vit import ViT

REQUIREMENTS = ROOT / "requirements.txt"
PYTHON = "3.10"  # the oldest that the scripts are written for
PACKAGES = ("torch", "torchvision")
GB = 10**9  # as disks are sold
PICTURES = 40_000_000  # bytes: the photos beside their zip, and the drawings
SAVED_MODELS = 3  # files of one model: the notebooks' own two, and one more while a file is being replaced
MEMINFO, CONTAINER_LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
FLOAT = 4  # bytes of a parameter in float32


@dataclass(frozen=True)
class Machine:
    """What check_machine found.

    Attributes:
        system: the operating system and the processor's kind.
        versions: {"python" or a package: its version, or None where it is not installed}.
        stale: packages whose installed version is not the one that this Python process has loaded.
        device: "cuda", "mps" or "cpu": where the notebooks will compute.
        device_name: the accelerator's name, or "" for the CPU.
        device_memory: bytes of the accelerator's own memory, None where it has none or doesn't tell.
        memory: bytes of main memory, None where the system doesn't tell.
        free_disk: bytes free where the project lies.
        cores: processor cores that this process may use.
    """

    system: str
    versions: dict[str, str | None]
    stale: tuple[str, ...]
    device: str
    device_name: str
    device_memory: int | None
    memory: int | None
    free_disk: int
    cores: int

    @property
    def variant(self) -> str:
        """The model that the training cells take on this device."""
        return "ViT-Ti/16" if self.device == "cpu" else "ViT-B/16"


def check_machine(device: str, folder: Path = ROOT) -> Machine:
    """Look at this machine. device is utils.get_device()'s answer; free disk is that of the disk `folder` is on."""
    name, device_memory = describe_device(device)
    installed = {package: installed_version(package) for package in PACKAGES}
    loaded = {package: getattr(sys.modules.get(package), "__version__", None) for package in PACKAGES}
    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        versions={"python": platform.python_version(), **installed},
        stale=tuple(name for name in PACKAGES if None not in (loaded[name], installed[name]) and differ(name, loaded)),
        device=device,
        device_name=name,
        device_memory=device_memory,
        memory=main_memory(),
        free_disk=shutil.disk_usage(folder).free,
        cores=usable_cores(),
    )


def needed_versions(requirements: Path = REQUIREMENTS) -> dict[str, str]:
    """The lower bounds for Python and PACKAGES, the latter read from requirements.txt.

    Raises ValueError where the file has no line such as torch>=2.4 for one of them.
    """
    bounds = dict(re.findall(r"^([\w-]+)>=([\d.]+)", requirements.read_text(encoding="utf-8"), re.MULTILINE))
    for package in PACKAGES:
        if package not in bounds:
            raise ValueError(f"{requirements.name} names no lower bound for {package}: a line {package}>=... is needed")
    return {"python": PYTHON, **{package: bounds[package] for package in PACKAGES}}


def needed_disk(variant: str) -> int:
    """Bytes that the notebooks write: pictures, torchvision's pretrained ViT-B/16, and saved models of `variant`."""
    return PICTURES + model_size("ViT-B/16") + SAVED_MODELS * model_size(variant)


def find_problems(machine: Machine) -> list[str]:
    """What keeps the notebooks from running here, a sentence each, with what to do about it."""
    problems = []
    for name, needed in needed_versions().items():
        version = machine.versions[name]
        how = "install a newer Python" if name == "python" else f'python -m pip install --upgrade "{name}>={needed}"'
        if version is None:
            problems.append(f"{name} is not installed: {how}")
        elif version_numbers(version) < version_numbers(needed):
            problems.append(f"{name} {version} is too old, {needed} or newer is needed: {how}")
    for name in machine.stale:
        problems.append(f"{name} was upgraded while this notebook had the old one loaded: restart the kernel (runtime)")
    needed = needed_disk(machine.variant)
    if machine.free_disk < needed:
        free = machine.free_disk
        problems.append(f"too little disk: {gigabytes(needed)} needed, {gigabytes(free)} free: make room first")
    return problems


def verdict(machine: Machine) -> str:
    """One sentence where all is well, and in Colab how to get a GPU; else the problems, a line each."""
    problems = find_problems(machine)
    if problems:
        return "\n".join(["Not ready yet:", *(f"- {problem}" for problem in problems)])
    place = "the CPU" if machine.device == "cpu" else machine.device_name or machine.device
    return f"You can run everything: training takes {machine.variant} on {place}.{gpu_reminder(machine.device)}"


def gpu_reminder(device: str) -> str:
    """How to get a GPU in Colab, on a line of its own, where this is Colab and there is none; else ""."""
    if device != "cpu" or "google.colab" not in sys.modules:
        return ""
    return "\nFor a GPU: Runtime > Change runtime type > T4 GPU > Save, then Runtime > Run all."


def format_machine(machine: Machine) -> str:
    """What was found, and what is needed where something is, as a table of text."""
    needed = needed_versions()
    rows = [("", "here", "needed")]
    rows += [
        (name, version or "not installed", f"{needed[name]} or newer") for name, version in machine.versions.items()
    ]
    device = machine.device
    if machine.device_name:
        device += f", {machine.device_name}"
    if machine.device_memory is not None:
        device += f", {gigabytes(machine.device_memory)}"
    memory = "unknown" if machine.memory is None else gigabytes(machine.memory)
    rows += [
        ("system", machine.system, "Linux, macOS or Windows"),
        ("device", device, "any"),
        ("memory", memory, ""),
        ("free disk", gigabytes(machine.free_disk), gigabytes(needed_disk(machine.variant))),
        ("cores", str(machine.cores), ""),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


# Looking


def in_one_line() -> str:
    """Processor, cores, threads, system and versions: what stands beside numbers that were measured here."""
    cpuinfo, name = Path("/proc/cpuinfo"), platform.processor() or platform.machine()
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        names = [line.split(":")[1] for line in lines if line.startswith("model name")]
        name = " ".join(names[0].split()) if names else name
    threads = torch.get_num_threads()
    versions = ", ".join(f"{package} {installed_version(package)}" for package in PACKAGES)
    python = platform.python_version()
    return f"{name}, {usable_cores()} cores, {threads} threads, {platform.system()}; Python {python}, {versions}"


def describe_device(device: str) -> tuple[str, int | None]:
    """An accelerator's name and the bytes of its own memory; ("", None) for the CPU."""
    if device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        return properties.name, properties.total_memory
    if device == "mps":
        return "the GPU of this Mac", None  # it shares the main memory
    return "", None


def installed_version(package: str) -> str | None:
    """The version that is installed, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def differ(package: str, loaded: dict[str, str | None]) -> bool:
    """Whether the loaded version has other numbers than the installed one; what follows a "+" may differ."""
    return version_numbers(loaded[package]) != version_numbers(installed_version(package))


def main_memory() -> int | None:
    """Bytes of main memory, or None where the system doesn't tell (Windows has no sysconf)."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def free_memory() -> int:
    """Bytes of main memory that this process may still take.

    Linux tells, and so does the container that it may run in. Elsewhere half of all memory counts as free, and 2 GB
    where not even that is known.
    """
    if not MEMINFO.is_file():
        return (main_memory() or 4 * GB) // 2
    lines = MEMINFO.read_text(encoding="utf-8").splitlines()
    free = next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), 2 * GB)
    limit = CONTAINER_LIMIT.read_text(encoding="utf-8").strip() if CONTAINER_LIMIT.is_file() else "max"
    return min(free, int(limit)) if limit.isdigit() else free


def usable_cores() -> int:
    """The cores that this process may use; all of them where the system doesn't tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def model_size(variant: str) -> int:
    """Bytes of a saved model of this variant, with the 1,000 classes of ImageNet: the most it has here."""
    with torch.device("meta"):
        vit = ViT.from_variant(variant)
    return FLOAT * sum(parameter.numel() for parameter in vit.parameters())


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with: "2.10.0a1+cu130" gives (2, 10, 0)."""
    numbers = []
    for part in version.split("."):
        match = re.match(r"\d+", part)
        if match is None:
            break
        numbers.append(int(match.group()))
        if match.group() != part:
            break
    return tuple(numbers)


def gigabytes(count: int) -> str:
    """Bytes as a text: 1,416,000,000 gives "1.4 GB"."""
    return f"{count / GB:.1f} GB"
