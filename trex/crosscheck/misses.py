"""`misses.json`: pictures of the draws nearest to the level set, for a run without hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trex.foundation.codec import Codec
from trex.foundation.fields import Hash
from trex.runs.folder import RunFolder
from trex.runs.open_world import open_world
from trex.runs.pictures import store_picture
from trex.runs.record import Key
from trex.search.hit import Hit
from trex.worlds.latents import from_stored

FILE = "misses.json"
SAME = 1e-6  # allowed difference of a probability between two batches


@dataclass(frozen=True)
class KeptMiss:
    """The step that a picture belongs to."""

    phase: str
    chain: int
    index: int
    picture: Hash


@dataclass(frozen=True)
class Misses:
    """The pictures of all stored misses."""

    pictures: tuple[KeptMiss, ...]
    format: Literal[1] = 1


CODEC = Codec(Misses)


def keep_misses(folder: RunFolder, nearest: Sequence[Hit]) -> None:
    """Render the nearest misses of a run again and store their pictures; RunError if its world cannot be opened.

    Stores a picture only if the model's answers to it equal the recorded ones.
    """
    with open_world(folder) as world:
        scored = world.scorer.score([from_stored(one.record.z) for one in nearest])
    kept = []
    for one, again in zip(nearest, scored, strict=True):
        off = float(np.abs(np.exp(again.log_probs) - np.exp(np.array(one.record.log_probs))).max())
        if off <= SAME and again.picture is not None:
            kept.append(KeptMiss(*one.record.key, store_picture(folder, again.picture)))
    folder.write(FILE, CODEC.text(Misses(tuple(kept))))


def has_misses(folder: RunFolder, nearest: Sequence[Hit]) -> bool:
    """Whether the pictures of all these misses are stored."""
    known = read_misses(folder)
    return all(one.record.picture or one.record.key in known for one in nearest)


def read_misses(folder: RunFolder) -> Mapping[Key, str]:
    """The stored pictures of misses by step, empty if there are none; RunError if the file is damaged."""
    found = CODEC.read(folder.path / FILE, f"delete it, then: trex resume {folder.path}", inside=folder.path)
    return {(one.phase, one.chain, one.index): one.picture for one in found.pictures} if found else {}
