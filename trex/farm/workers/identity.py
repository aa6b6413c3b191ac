"""What must be equal on all machines of a farm: versions, assets, and trex's own code, by the hash of its sources."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from trex.blender_assets.load import MANIFEST, sha256
from trex.runs.manifest import versions

PACKAGE = Path(__file__).parents[2]
APART = ("queries", "__pycache__")  # a query's text is compared by its run


@cache
def sources_hash(package: Path = PACKAGE) -> str:
    """16 hexadecimal digits of the names and contents of all Python files of the package, wherever it is installed.

    Line ends do not count: a checkout on another system may have others.
    """
    found = hashlib.sha256()
    for path in sorted(_files(package), key=lambda path: path.relative_to(package).as_posix()):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        found.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]


def _files(package: Path) -> list[Path]:
    """The Python files below a package; a checkout links to some of its subpackages."""
    found = []
    for folder, folders, names in os.walk(package, followlinks=True):
        folders[:] = [name for name in folders if name not in APART]
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    return found


Identity = dict[str, str]  # what must be equal on all machines, by name


def identity() -> Identity:
    """Versions of everything that decides pixels and scores, and hashes of the assets' manifest and of trex's code."""
    assets = sha256(MANIFEST)[:16] if MANIFEST.is_file() else "missing"
    return {**versions(), "assets": assets, "code of trex": sources_hash()}


def differences(here: Identity, there: Identity) -> str:
    """The differences between a worker and this process as text; "" if there are none."""
    names = sorted(here.keys() | there.keys())
    differ = [name for name in names if here.get(name) != there.get(name)]
    return ", ".join(f"{name} is {there.get(name)}, here it is {here.get(name)}" for name in differ)
