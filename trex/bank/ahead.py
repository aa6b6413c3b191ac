"""Other processes draw crowded scenes while this one renders others: python -m trex.bank.ahead, for a bank alone.

They append to the bank's file of drawn scenes, as any program may. A scene of ten objects takes 0.4 s to draw, so that
one process draws 10 to 17 scenes of 3 to 10 objects a second, whatever cores render them.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from trex.bank.drawn import DrawnScenes, member
from trex.render.blender.program import Program
from trex.scenes.prior import ScenePrior

PATIENCE_S = 60.0  # for a process to draw any scene; then it is given up
POLL_S = 0.01
NICE = 5  # rendering comes first: it needs the first scenes, these draw all


class Ahead:
    """Processes that draw these members of a prior's bank into a file, each every so many-th, in order."""

    def __init__(
        self, path: Path, prior: ScenePrior, seed: int, indices: Sequence[int], processes: int
    ) -> None:
        self._drawers: list[subprocess.Popen[bytes]] = []
        self._by: dict[int, subprocess.Popen[bytes]] = {}
        self._end = weakref.finalize(self, _stop, self._drawers)
        program = Program(sys.executable, "")
        for mine in (list(indices[k::processes]) for k in range(processes)):
            data = pickle.dumps((path, prior, seed, mine))
            with suppress(OSError):  # no process, or it has ended: the bank draws these scenes itself
                drawer = subprocess.Popen(
                    program.command(__name__),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=program.environment(),
                )
                self._drawers.append(drawer)
                assert drawer.stdin is not None
                drawer.stdin.write(data)
                drawer.stdin.flush()
                self._by |= dict.fromkeys(mine, drawer)

    def wait(self, drawn: DrawnScenes, index: int) -> None:
        """Return once a member is drawn, or no process is about to draw it."""
        since = time.monotonic()
        while index in self._by and drawn.missing([index]):
            if self._by[index].poll() is not None or time.monotonic() - since > PATIENCE_S:
                if drawn.missing([index]):
                    self.close()
                return
            time.sleep(POLL_S)

    def close(self) -> None:
        """End the processes; what they have drawn is kept."""
        self._by.clear()
        self._end()


def _stop(drawers: list[subprocess.Popen[bytes]]) -> None:
    for drawer in drawers:
        drawer.kill()
    for drawer in drawers:
        with suppress(OSError):
            if drawer.stdin is not None:
                drawer.stdin.close()
        drawer.wait()
    drawers.clear()


def main() -> None:
    """Draw what standard input names; end with the process that has started this one."""
    path, prior, seed, mine = pickle.load(sys.stdin.buffer)  # from that process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(NICE)
    for _ in DrawnScenes(path, partial(member, prior, seed)).scenes(mine):
        pass


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
