"""What must be on the machine before anything is installed: Python 3.11 with venv, and the libraries that bpy links.

Runs on the system's own Python, so it imports the standard library alone.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import sys

# Shared library that bpy 4.5 loads, and the Debian or Ubuntu package that has it.
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
    """What an administrator's command begins with: nothing in a root shell."""
    return "" if os.geteuid() == 0 else "sudo "


def problems() -> list[str]:
    """What stands in the way, each with what to do."""
    found = []
    if sys.version_info[:2] != (3, 11):
        found.append(
            f"Python {platform.python_version()} cannot be used: bpy 4.5 exists for Python 3.11 alone; "
            "run make PYTHON=/path/to/python3.11"
        )
    if platform.system() == "Linux":
        if platform.machine() not in ("x86_64", "AMD64"):
            found.append(f"bpy 4.5 has no Linux build for {platform.machine()}; use an x86-64 machine")
        packages = missing_packages()
        if packages:
            found.append(
                "Blender's Python module needs system libraries that are missing; install them with\n"
                f"    {become_root()}apt-get install -y {' '.join(packages)}"
            )
    return found


if __name__ == "__main__":
    trouble = problems()
    for line in trouble:
        print(line, file=sys.stderr)
    sys.exit(2 if trouble else 0)
