"""How a download tells where it stands: a line on standard error for each twentieth of the file."""

from __future__ import annotations

import sys

MIB = 2**20
STEPS = 20
STEP_UNKNOWN = 64 * MIB  # between two lines where the server does not tell the size


class DownloadProgress:
    """Called with the bytes so far and the bytes in all."""

    def __init__(self) -> None:
        self._said = -1

    def __call__(self, done: int, total: int | None) -> None:
        """Says a line where another step is reached."""
        step = done * STEPS // total if total else done // STEP_UNKNOWN
        if step == self._said:
            return
        self._said = step
        sys.stderr.write(f"{done // MIB} MiB" + (f" of {total // MIB} MiB\n" if total else "\n"))
