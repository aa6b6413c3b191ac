"""Checks the machine before the installation: the version of Python, venv, and the libraries that bpy links.

Runs on the system's own Python, so it imports only the standard library.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import sys
from pathlib import Path

OLDEST, NEWEST = (3, 11), (3, 14)
OF_BPY = {(3, 13): "5.2", (3, 11): "4.5"}  # the Pythons for which a bpy is a dependency, the default first
# Shared libraries that bpy loads, and the Debian or Ubuntu packages that contain them.
LIBRARIES = {
    "libXrender.so.1": "libxrender1",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libSM.so.6": "libsm6",
    "libICE.so.6": "libice6",
    "libGL.so.1": "libgl1",
    "libXt.so.6": "libxt6",
    "libEGL.so.1": "libegl1",
}


def missing_packages(version: tuple[int, int]) -> list[str]:
    """The Debian packages that have to be installed before this version of Python can have trex."""
    packages = [package for library, package in LIBRARIES.items() if not _loads(library)]
    if version not in OF_BPY:  # Blender is another program there and brings what it needs
        packages = []
    if importlib.util.find_spec("ensurepip") is None:
        packages.append(f"python{dotted(version)}-venv")
    return packages


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def become_root() -> str:
    """The prefix of an administrator's command, empty in a root shell."""
    return "" if os.geteuid() == 0 else "sudo "


def problems(version: tuple[int, int]) -> list[str]:
    """What prevents an installation with this version of Python, each with a remedy."""
    found = []
    if not OLDEST <= version <= NEWEST:
        found.append(
            f"Python {dotted(version)} is not supported; {dotted(OLDEST)} to {dotted(NEWEST)} are, and with "
            f"{_pythons()} Blender comes along: run make PYTHON=/path/to/python{dotted(next(iter(OF_BPY)))}"
        )
    if platform.system() == "Linux":
        if version in OF_BPY and platform.machine() not in ("x86_64", "AMD64"):
            found.append(
                f"bpy {OF_BPY[version]} has no Linux build for {platform.machine()}; use an x86-64 machine, or another "
                "Python with TREX_BLENDER (docs/start/install.md)"
            )
        packages = missing_packages(version)
        if packages:
            found.append(
                "system libraries are missing; install them with\n"
                f"    {become_root()}apt-get install -y {' '.join(packages)}"
            )
    return found


def advice(version: tuple[int, int]) -> list[str]:
    """What to know about an installation with this version of Python."""
    if version in OF_BPY or os.environ.get("TREX_BLENDER"):
        return []
    return [
        f"Blender comes along with Python {_pythons()}, not with {dotted(version)}: to render scenes, set TREX_BLENDER "
        "to a Blender executable, or to a Python that has bpy (docs/start/install.md)"
    ]


def dotted(version: tuple[int, int]) -> str:
    """(3, 11) as "3.11"."""
    return f"{version[0]}.{version[1]}"


def _pythons() -> str:
    return " or ".join(map(dotted, OF_BPY))


def digits() -> list[str]:
    """The requirements of searches that render nothing with Blender: pyproject.toml's dependencies without bpy."""
    import tomllib

    with (Path(__file__).resolve().parents[2] / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    return [line for line in wanted if not line.startswith("bpy")]


if __name__ == "__main__":
    if sys.argv[1:] == ["--digits"]:
        print("\n".join(digits()))
        sys.exit()
    trouble = problems(sys.version_info[:2])
    for line in trouble or advice(sys.version_info[:2]):
        print(line, file=sys.stderr)
    sys.exit(2 if trouble else 0)
