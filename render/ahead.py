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
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict

CROWDED = 8  # objects; a scene of 10 takes 0.4 s to draw, one of 8 some 8 ms, one of 5 some 2
LEAST, LEAST_CROWDED = 5_000, 32  # scenes that are worth the start of other processes
PATIENCE_S = 60.0  # for a process to draw a scene; then it is given up


def drawers(prior: ScenePrior, n: int, processes: int) -> int:
    """How many of so many processes draw n scenes of a prior: none where that takes this one a few seconds.

    None where it has a condition either, a predicate that need not exist in other processes.

    Parameters
    ----------
    prior
        What the scenes are drawn from.
    n
        How many scenes.
    processes
        How many may be started; one is none beside this one.

    Example
    -------
    >>> from trex.render.ahead import drawers
    >>> from trex.scenes.prior import ScenePrior
    >>> [drawers(ScenePrior(n_objects=(3, most)), 100, processes=2) for most in (8, 10)]
    [0, 2]
    """
    least = LEAST_CROWDED if prior.n_objects[1] > CROWDED else LEAST
    return processes if processes > 1 and n >= least and not prior.conditions else 0


def drawn_ahead(
    draw: Callable[[int], Scene], indices: Sequence[int], processes: int
) -> Generator[tuple[int, Scene]]:
    """Yield these indices in this order, each with its scene, drawn by one of so many processes, or by this one.

    A process stops where its pipe is full, after some fifty scenes, until they are taken. What one that has ended or
    hangs had to draw, this one draws.

    Parameters
    ----------
    draw
        A function of the index alone, which must be picklable.
    indices
        The wanted scenes.
    processes
        Each draws every so many-th; 0 for this one alone.

    Example
    -------
    >>> from trex.render.ahead import drawn_ahead
    >>> from trex.scenes.prior import ScenePrior
    >>> import numpy as np
    >>> prior = ScenePrior(n_objects=(2, 2))
    >>> drawn = drawn_ahead(lambda index: prior.sample(np.random.default_rng(index)), [7, 9], processes=0)
    >>> [(index, len(scene.objects)) for index, scene in drawn]
    [(7, 2), (9, 2)]
    """
    with ExitStack() as stack:
        others = [stack.enter_context(Drawer(draw, indices[k::processes])) for k in range(processes)]
        for place, index in enumerate(indices):
            scene = others[place % processes].next() if others else None
            yield index, draw(index) if scene is None else scene


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
    for index in indices:
        print(json.dumps(scene_to_dict(draw(index)), separators=(",", ":")), flush=True)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
