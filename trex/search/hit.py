"""Hits and near misses as a report shows them: with the model's answers and the true one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trex.runs.manifest import Manifest
from trex.runs.record import CHAIN, CONTROLS, PRIOR, Record

MAX_MISSES = 6
MISSES_LOOKED_AT = 1000  # most confident first; a chain may stay at one scene for long


@dataclass(frozen=True)
class Hit:
    """One hit: its true answer, and the model's answers, most probable first.

    `truth` is None if it is unknown, `is_wrong` None if it is unknown whether the model's answer is wrong.
    """

    record: Record
    truth: str | None
    answers: tuple[tuple[str, float], ...]
    confidence: float
    is_wrong: bool | None

    @property
    def answer(self) -> str:
        """The model's most probable answer."""
        return self.answers[0][0]

    @property
    def known_truth(self) -> str:
        """The true answer, in a world that always has one."""
        assert self.truth is not None, "this world knows no true answers"
        return self.truth


def count_known(flags: Iterable[bool | None]) -> int | None:
    """How many are True; None if all are None, that is unknown, and there are some."""
    rows = list(flags)
    return None if rows and all(row is None for row in rows) else sum(row is True for row in rows)


def sorted_hits(manifest: Manifest, records: Sequence[Record]) -> tuple[Hit, ...]:
    """These records as hits, most confident first."""
    scenes = [hit_of(manifest, record) for record in records]
    return tuple(sorted(scenes, key=lambda scene: -scene.confidence))


def nearest_misses(manifest: Manifest, records: Sequence[Record]) -> tuple[Hit, ...]:
    """The distinct rendered latents closest to the level set."""
    target = manifest.target
    there = [one for one in records if one.is_rendered and one.phase in (PRIOR, CHAIN, *CONTROLS)]
    scored = [(target.confidence(np.array(one.log_probs)), one) for one in there]
    kept: list[Hit] = []
    for _, record in sorted(scored, key=lambda pair: -pair[0])[:MISSES_LOOKED_AT]:
        if all(manifest.world.are_distinct(record.z, other.record.z) for other in kept):
            kept.append(hit_of(manifest, record))
        if len(kept) == MAX_MISSES:
            break
    return tuple(kept)


def hit_of(manifest: Manifest, record: Record) -> Hit:
    """A rendered record as a hit."""
    labels, probs = manifest.facts.labels, record.probs
    order = sorted(range(len(labels)), key=lambda k: -probs[k])
    judged = manifest.world.judge(manifest.resolved, record.z, labels[order[0]])
    return Hit(
        record=record,
        truth=judged.truth,
        answers=tuple((labels[k], probs[k]) for k in order),
        confidence=manifest.target.confidence(np.array(record.log_probs)),
        is_wrong=judged.is_wrong,
    )
