"""Distinct hits, each kept once, and whether each survived noise draws that no search has seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from trex.inference.types import Target
from trex.runs.record import BANK, CALIBRATION, FRESH, Record
from trex.worlds.latents import Latent, identity

Distinct = Callable[[Latent, Latent], bool]
TRIES = 3  # fresh checks of one distinct scene: of its first hit, and of more confident ones like it


class Hits:
    """Distinct hits in order of arrival, including proposals that the chain rejected.

    A hit that resembles exactly one kept hit, and has more confidence, replaces it unless that one has survived.
    `fresh` is whether hits have to survive fresh noise draws; without it, all do. Records must come in the order of
    the run's log, in which the fresh draws of a hit stand behind it.
    """

    def __init__(self, target: Target, are_distinct: Distinct, fresh: bool) -> None:
        self._target, self._are_distinct, self._fresh = target, are_distinct, fresh
        self._kept: list[Record] = []
        self._tries: list[int] = []  # for each kept hit, the fresh checks of hits that resemble it
        self._survives: dict[Hashable, bool] = {}
        self.hits = 0
        self.best = 0.0  # highest confidence of any draw rendered at the deciding look

    @property
    def found(self) -> list[Record]:
        """The distinct hits that survived."""
        return [record for record in self._kept if self._verdict(record)]

    @property
    def fragile(self) -> list[Record]:
        """The distinct hits that left the level set under fresh noise draws."""
        return [record for record in self._kept if self._verdict(record) is False]

    @property
    def lost(self) -> frozenset[Hashable]:
        """The identities of all hits that left the level set under fresh noise draws, replaced ones included."""
        return frozenset(z for z, survives in self._survives.items() if not survives)

    @property
    def checked(self) -> int:
        """How many hits have been rendered under fresh noise draws."""
        return len(self._survives)

    @property
    def pending(self) -> list[Record]:
        """The distinct hits whose fresh draws have not been made."""
        return [record for record in self._kept if self._verdict(record) is None]

    def add(self, records: Iterable[Record]) -> None:
        """Add the records that hit, and the fresh draws of earlier ones."""
        for record in records:
            if record.phase in (BANK, CALIBRATION) or not record.is_rendered:
                continue
            log_probs = np.array(record.log_probs)
            if record.phase == FRESH:
                self._survives[identity(record.z)] = self._target.is_hit(log_probs)
                continue
            self.best = max(self.best, self._target.confidence(log_probs))
            if self._target.is_hit(log_probs):
                self.hits += 1
                self._keep(record)

    def _verdict(self, kept: Record) -> bool | None:
        return self._survives.get(identity(kept.z)) if self._fresh else True

    def _keep(self, record: Record) -> None:
        alike = [place for place, kept in enumerate(self._kept) if not self._are_distinct(record.z, kept.z)]
        if not alike:
            self._kept.append(record)
            self._tries.append(0)
        elif len(alike) == 1 and self._confidence(record) > self._confidence(self._kept[alike[0]]):
            self._replace(alike[0], record)

    def _replace(self, place: int, record: Record) -> None:
        verdict = self._verdict(self._kept[place])
        if self._fresh and verdict is not None:
            if verdict or self._tries[place] + 1 >= TRIES:
                return
            self._tries[place] += 1
        self._kept[place] = record

    def _confidence(self, record: Record) -> float:
        return self._target.confidence(np.array(record.log_probs))
