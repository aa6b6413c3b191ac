"""The hits of a run whose pictures are stored and, for a run without hits, pictures of the draws nearest to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.foundation.fields import Hash
from trex.foundation.words import quoted
from trex.inference.types import Floats
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, check_scenes
from trex.runs.open_world import open_world
from trex.runs.pictures import store_picture
from trex.runs.record import Key
from trex.search.hit import Hit
from trex.search.results import read_results

MISSES = "misses.json"
SAME = 1e-6  # allowed difference of a probability between two batches


def stored_hits(folder: RunFolder, purpose: str, top: int | None = None) -> tuple[Hit, ...]:
    """The hits whose pictures are stored, most confident first, at most `top`.

    RunError if the run's world has no objects, or if it has no such hit; `purpose` ("to explain") is why they are read.
    """
    check_scenes(folder)
    results = read_results(folder.manifest, run_draws(folder))
    found = tuple(hit for hit in results.found if hit.record.picture)[:top]
    if not found:
        raise no_hit(folder, purpose)
    return found


def no_hit(folder: RunFolder, purpose: str) -> RunError:
    """The error of a run without a hit `purpose` ("to explain"): how to find one."""
    how = "start a longer search in another folder (trex find QUERY --set search.steps=N --out FOLDER)"
    if not folder.is_finished:
        how = f"search longer (trex resume {quoted(folder.path)})"
    return RunError(f"{folder.path} has no hit {purpose}; {how} or search for something else")


@dataclass(frozen=True)
class KeptMiss:
    """The step that a picture belongs to."""

    phase: str
    chain: int
    index: int
    picture: Hash


@dataclass(frozen=True)
class Misses:
    pictures: tuple[KeptMiss, ...]
    format: Literal[1] = 1


CODEC = Codec(Misses)


def keep_misses(folder: RunFolder, nearest: Sequence[Hit]) -> None:
    """Render the nearest misses of a run again and store their pictures; RunError if its world cannot be opened.

    Stores a picture only if the model's answers to it equal the recorded ones.
    """
    with open_world(folder) as world:
        scored = world.scorer.score([miss.record.z for miss in nearest])
    kept = [
        KeptMiss(*miss.record.key, store_picture(folder, again.picture))
        for miss, again in zip(nearest, scored, strict=True)
        if again.picture is not None and largest_change(miss.record.log_probs, again.log_probs) <= SAME
    ]
    folder.write(MISSES, CODEC.text(Misses(tuple(kept))))


def largest_change(before: Sequence[float] | Floats, after: Floats) -> float:
    """The largest difference of a probability between two rows of log probabilities (K,)."""
    return float(np.abs(np.exp(after) - np.exp(np.array(before))).max())


def has_misses(folder: RunFolder, nearest: Sequence[Hit]) -> bool:
    """Whether the pictures of all these misses are stored."""
    known = read_misses(folder)
    return all(miss.record.picture or miss.record.key in known for miss in nearest)


def read_misses(folder: RunFolder) -> Mapping[Key, str]:
    """The stored pictures of misses by step, empty if there are none; RunError if the file is damaged."""
    found = CODEC.read(
        folder.path / MISSES, f"delete it, then: trex resume {quoted(folder.path)}", inside=folder.path
    )
    return {(miss.phase, miss.chain, miss.index): miss.picture for miss in found.pictures} if found else {}
