"""Drawn scenes in a file of checked lines: a crowded scene takes longer to draw than to render cheaply."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

from trex.foundation.errors import InputError
from trex.foundation.files import Closing, is_missing, open_inside, open_regular
from trex.foundation.parse import parse_json
from trex.inference.rng import BANK_STREAM
from trex.inference.statistics.importance import prior_draw
from trex.render.ahead import drawers, drawn_ahead
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict

APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT


def member(prior: ScenePrior, seed: int, i: int) -> Scene:
    """Member i of the bank of this prior and seed."""
    return prior_draw(seed, i, prior, BANK_STREAM)[0]


class DrawnScenes(Closing):
    """Scenes by index: those in the file, ROOT/FOLDER/NAME, are read from it, others are drawn and appended to it.

    `draw` must be a function of the index alone. Several programs may append at once. A line that is damaged or cut
    short is drawn again. Below ROOT, which people may share, no link is followed.
    """

    def __init__(self, path: Path, draw: Callable[[int], Scene]) -> None:
        """Read the file; InputError if it is there and cannot be read."""
        self.path, self._draw = path, draw
        self._root = path.parent.parent
        self._kept: dict[int, bytes] = {}
        self._read_to = 0  # bytes of the file that were read
        self._begin = b"\n"  # ends a line that a kill has cut short
        self._ahead: Generator[tuple[int, Scene]] | None = None
        self._awaited = set[int]()  # what it has yet to yield
        self._early: dict[int, Scene] = {}  # what it has yielded before it was asked for
        self._read_on()

    def missing(self, indices: Iterable[int]) -> list[int]:
        """Those of these scenes that are not drawn yet."""
        wanted = list(indices)
        if any(index not in self._kept for index in wanted):
            self._read_on()
        return [index for index in wanted if index not in self._kept]

    def draw_ahead(self, indices: Iterable[int], prior: ScenePrior, processes: int) -> None:
        """Have so many processes draw those scenes of a prior that are missing, if that takes long; see `drawers`."""
        self.close()
        missing = self.missing(indices)
        if n := drawers(prior, len(missing), processes):
            self._ahead, self._awaited = drawn_ahead(self._draw, missing, n), set(missing)

    def close(self) -> None:
        """End the processes that draw ahead."""
        if self._ahead is not None:
            self._ahead.close()
            self._ahead, self._awaited = None, set()

    def scenes(self, indices: Iterable[int], keep: bool = True) -> Iterator[Scene]:
        """Yield the scenes of these indices, in this order; OSError if a new one cannot be written.

        Unless `keep`, new ones are not written.
        """
        for index in indices:
            if keep and index not in self._kept:
                self._read_on()
            text = self._kept.get(index)
            if text is not None:
                yield self._parsed(index, text)
            else:
                yield self._new(index) if keep else self._drawn(index)

    def _read_on(self) -> None:
        """Read the whole lines that this or another program has appended."""
        try:
            with open_regular(self.path, inside=self._root) as file:
                file.seek(self._read_to)
                data = file.read()
        except InputError as error:
            if is_missing(error):
                return
            raise InputError(f"{error}; delete it, and its scenes are drawn again") from error
        end = data.rfind(b"\n") + 1
        self._read_to += end
        self._kept.update(_sound(data[:end].split(b"\n")))

    def _parsed(self, index: int, text: bytes) -> Scene:
        return scene_from_dict(parse_json(text, f"scene {index} of {self.path}"))

    def _drawn(self, wanted: int) -> Scene:
        while self._ahead is not None and wanted in self._awaited:
            found = next(self._ahead, None)
            if found is None:  # it has ended with an error before
                self.close()
            else:
                self._awaited.remove(found[0])
                self._early[found[0]] = found[1]
        early = self._early.pop(wanted, None)
        return self._draw(wanted) if early is None else early

    def _new(self, index: int) -> Scene:
        scene = self._drawn(index)
        text = json.dumps(scene_to_dict(scene), separators=(",", ":")).encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        log = open_inside(self._root, [self.path.parent.name, self.path.name], APPEND)
        try:  # one append, so that parallel programs do not cut each other's lines
            os.write(log, b"%s%d %s %s\n" % (self._begin, index, _check(index, text), text))
        finally:
            os.close(log)
        self._begin = b""
        self._kept[index] = text
        return scene


def _check(index: int, text: bytes) -> bytes:
    return hashlib.sha256(b"%d %s" % (index, text)).hexdigest()[:16].encode()


def _sound(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The indices and the JSON of the lines that are not damaged."""
    for line in lines:
        index, _, data = line.partition(b" ")
        check, _, text = data.partition(b" ")
        if index.isdigit() and len(index) < 12 and check == _check(int(index), text):
            yield int(index), text
