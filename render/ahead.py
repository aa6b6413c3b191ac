"""Other processes draw scenes while this one renders others: python -m trex.render.ahead, for `drawn_ahead` alone.

A scene of ten objects takes 0.4 s to draw, so that one process draws 10 to 17 scenes of 3 to 10 objects a second,
whatever cores render them.
"""

from __future__ import annotations

import json
import os
import pickle
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, suppress

from trex.foundation.files import Closing
from trex.render.blender.program import Program
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict

LEAST = 32  # scenes that are worth the start of other processes
PATIENCE_S = 60.0  # for a process to draw a scene; then it is given up
NICE = 5  # rendering comes first: it needs the first scenes, these draw all


def drawn_ahead(draw: Callable[[int], Scene], indices: Sequence[int], processes: int) -> Generator[Scene]:
    """Yield the scenes of these indices, in this order, each drawn by one of so many processes, or by this one.

    A process stops where its pipe is full, after some fifty scenes, until they are taken. What one that has ended or
    hangs had to draw, this one draws.

    Parameters
    ----------
    draw
        A function of the index alone, which must be picklable.
    indices
        The wanted scenes; a few are drawn by this process.
    processes
        Each draws every so many-th.

    Example
    -------
    >>> from trex.render.ahead import drawn_ahead
    >>> from trex.scenes.scene import Scene
    >>> len(list(drawn_ahead(lambda index: Scene(()), range(3), processes=2)))
    3
    """
    with ExitStack() as stack:
        n = processes if len(indices) >= LEAST else 0
        drawers = [stack.enter_context(Drawer(draw, indices[k::n])) for k in range(n)]
        for place, index in enumerate(indices):
            scene = drawers[place % n].next() if drawers else None
            yield draw(index) if scene is None else scene


class Drawer(Closing):
    """A process that draws scenes, in order."""

    def __init__(self, draw: Callable[[int], Scene], indices: Sequence[int]) -> None:
        """Start it; without one, or if it ends, `next` is None."""
        self.process: subprocess.Popen[bytes] | None = None
        self._read = b""
        program, data = Program(sys.executable, ""), pickle.dumps((draw, indices))
        with suppress(OSError):
            self.process = subprocess.Popen(
                program.command(__name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=program.environment(),
            )
            assert self.process.stdin is not None
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def next(self) -> Scene | None:
        """The next scene; None if there is no process any more, or none in `PATIENCE_S`."""
        while b"\n" not in self._read:
            if self.process is None or self.process.stdout is None:
                return None
            ready = select.poll()
            ready.register(self.process.stdout, select.POLLIN)
            data = os.read(self.process.stdout.fileno(), 1 << 16) if ready.poll(PATIENCE_S * 1000) else b""
            self._read += data
            if not data:
                self.close()
        line, _, self._read = self._read.partition(b"\n")
        return scene_from_dict(json.loads(line))

    def close(self) -> None:
        """End it."""
        if self.process is None:
            return
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self.process.wait()
        self.process, self._read = None, b""


def main() -> None:
    """Draw what standard input names; end with the process that has started this one."""
    draw, indices = pickle.load(sys.stdin.buffer)  # from that process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(NICE)
    for index in indices:
        print(json.dumps(scene_to_dict(draw(index)), separators=(",", ":")), flush=True)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
