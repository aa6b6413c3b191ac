"""What trex's own code is: a hash of the sources that run here, which a version number does not tell apart."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
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
    """The Python files below a package; a checkout links to some of its rooms."""
    found = []
    for folder, folders, names in os.walk(package, followlinks=True):
        folders[:] = [name for name in folders if name not in APART]
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    return found
