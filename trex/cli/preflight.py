"""Checks the machine before the installation: Python 3.11 with venv, and the libraries that bpy links.

Runs on the system's own Python, so it imports only the standard library.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import sys

# Shared libraries that bpy 4.5 loads, and the Debian or Ubuntu packages that contain them.
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


def missing_packages() -> list[str]:
    """The Debian packages that have to be installed first."""
    packages = [package for library, package in LIBRARIES.items() if not _loads(library)]
    if importlib.util.find_spec("ensurepip") is None:
        packages.append("python3.11-venv")
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


def problems() -> list[str]:
    """What is missing, each with a remedy."""
    found = []
    if sys.version_info[:2] != (3, 11):
        found.append(
            f"Python {platform.python_version()} is not supported: bpy 4.5 needs Python 3.11; "
            "run make PYTHON=/path/to/python3.11"
        )
    if platform.system() == "Linux":
        if platform.machine() not in ("x86_64", "AMD64"):
            found.append(f"bpy 4.5 has no Linux build for {platform.machine()}; use an x86-64 machine")
        packages = missing_packages()
        if packages:
            found.append(
                "system libraries of Blender's Python module are missing; install them with\n"
                f"    {become_root()}apt-get install -y {' '.join(packages)}"
            )
    return found


if __name__ == "__main__":
    trouble = problems()
    for line in trouble:
        print(line, file=sys.stderr)
    sys.exit(2 if trouble else 0)
