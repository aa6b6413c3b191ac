"""Examines the machine: Python, system libraries, cores, memory, the home folder, the cache's disk; then the packages.

Those are torch with its device, and the optional ones of each extra.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from trex.artifacts.cache import cache_root
from trex.doctor.finding import Finding, State
from trex.doctor.preflight import problems
from trex.foundation.home import CACHE, can_hold_files, is_replaced, user_folder
from trex.render.blender.blender_renderer import usable_cores

LEAST_MEMORY_GB = 2.0  # one render process (.4 GB) and torch with a model
LEAST_DISK_GB = 2.0
DISTRIBUTION = "bayes-trex"
WITHOUT_PACKAGES = ("dev", "docs", "worlds")  # for those who work on trex itself; weights (`examine.py`)
BLENDER = "bpy"  # which has a finding of its own, and which digits do without


def machine_findings() -> list[Finding]:
    """Python, cores and memory, the home folder, and the disk of the cache."""
    return [_python(), _cores(), _memory(), _home(), _cache()]


def _python() -> Finding:
    version, faults = platform.python_version(), problems(sys.version_info[:2])
    if faults:
        return Finding("Python", State.FAULT, version, "; ".join(faults))
    return Finding("Python", State.OK, f"{version} on {platform.system()} {platform.machine()}")


def _cores() -> Finding:
    cores = usable_cores()
    limited = " (TREX_CORES)" if os.environ.get("TREX_CORES", "").isdigit() else ""
    return Finding("cores", State.OK, f"{cores}{limited}")


def _memory() -> Finding:
    free = _available_bytes()
    if free is None:
        return Finding("memory", State.ABSENT, "this system does not say how much is free")
    text = f"{free / 1e9:.1f} GB free"
    if free < LEAST_MEMORY_GB * 1e9:
        return Finding(
            "memory", State.FAULT, text, f"close programs: a search needs about {LEAST_MEMORY_GB:g} GB"
        )
    return Finding("memory", State.OK, text)


def _available_bytes() -> int | None:
    """Memory that can be taken without swapping (Linux, proc_meminfo(5)); None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = next((line.split() for line in lines if line.startswith("MemAvailable:")), None)
    return int(found[1]) * 1024 if found else None


def _home() -> Finding:
    """Without a writable home folder everything works, but what is kept there may be lost."""
    folder = user_folder(CACHE)
    if is_replaced():
        return Finding(
            "home",
            State.ABSENT,
            f"not writable: {folder} is used instead, which may be deleted when the machine restarts",
            "set HOME, or XDG_CACHE_HOME and XDG_STATE_HOME, to a writable folder to keep caches and records",
        )
    return Finding("home", State.OK, f"caches are in {folder}")


def _cache() -> Finding:
    """The cache's folder, or the nearest one above that exists, must be writable and have room."""
    root = cache_root()
    # Unlike Path.exists, it says False of what lies below a folder that may not be entered.
    place = next(path for path in (root, *root.absolute().parents) if os.path.exists(path))
    named = f"{root}{'' if place == root else ' (not made yet)'}"
    if not can_hold_files(root):
        return Finding(
            "cache", State.FAULT, f"{named}: {place} is not writable", "set TREX_CACHE to another folder"
        )
    free = shutil.disk_usage(place).free
    text = f"{named}: {free / 1e9:.0f} GB of disk free"
    if free < LEAST_DISK_GB * 1e9:
        return Finding(
            "cache", State.FAULT, text, "free some disk, run `trex cache prune`, or set TREX_CACHE"
        )
    return Finding("cache", State.OK, text)


def package_findings() -> list[Finding]:
    return [_torch(), *_extras()]


def _torch() -> Finding:
    try:
        import torch
    except (ImportError, OSError) as error:
        return Finding(
            "torch", State.FAULT, f"cannot be imported: {error}", "install it again (docs/start/install.md)"
        )
    where = "on the CPU"
    if torch.cuda.is_available():
        where = f"on CUDA: {torch.cuda.get_device_name(0)}"
    elif torch.version.cuda:
        where = f"on the CPU; it is built for CUDA {torch.version.cuda}, but finds no such device"
    return Finding("torch", State.OK, f"{torch.__version__}, {where}")


def _extras() -> list[Finding]:
    try:
        own = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        remedy = "run make, or pip install -e . in the checkout"
        return [Finding("packages", State.FAULT, f"{DISTRIBUTION} is not installed as a package", remedy)]
    wanted = [Requirement(line) for line in own.requires or []]
    named = sorted(set(own.metadata.get_all("Provides-Extra") or []) - set(WITHOUT_PACKAGES))
    base = _missing(
        [requirement for requirement in wanted if _holds(requirement, "") and requirement.name != BLENDER]
    )
    found = [Finding("packages", State.OK, "all that every command needs")]
    if base:
        found = [
            Finding(
                "packages",
                State.FAULT,
                f"missing: {', '.join(base)}",
                "install trex again (docs/start/install.md)",
            )
        ]
    return found + [
        _extra(
            name,
            [
                requirement
                for requirement in wanted
                if _holds(requirement, name) and not _holds(requirement, "")
            ],
        )
        for name in named
    ]


def _extra(name: str, wanted: list[Requirement]) -> Finding:
    missing = _missing(wanted)
    if missing:
        text = f"missing: {', '.join(missing)}"
        return Finding(f"extra {name}", State.ABSENT, text, f"pip install '{DISTRIBUTION}[{name}]'")
    return Finding(f"extra {name}", State.OK, ", ".join(sorted(requirement.name for requirement in wanted)))


def _holds(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _missing(wanted: list[Requirement]) -> list[str]:
    """Requirements that no installed distribution satisfies, with the version that is there."""
    found = []
    for requirement in wanted:
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            found.append(requirement.name)
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            found.append(f"{requirement.name} {version} (needs {requirement.specifier})")
    return found
