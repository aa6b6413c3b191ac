"""Distinct hits, each kept once, and whether each stays under noise draws that no search has seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from trex.inference.scoring import log_mean
from trex.inference.statistics.staying import stays
from trex.inference.targets import GaussianTarget
from trex.inference.types import Floats
from trex.runs.record import BANK, CALIBRATION, FRESH, NOISE, Record
from trex.scenes.noise import fresh_draws
from trex.worlds.latents import Latent, identity

Distinct = Callable[[Latent, Latent], bool]
TRIES = 3  # hits of one distinct scene that are checked: its first one, and more confident ones like it
BATCH = 2  # noise draws of a hit between two decisions


@dataclass(frozen=True)
class NoiseDraws:
    """The fresh noise draws of a hit: how many, how many of them are hits, and the confidence of their mean.

    `stay` is None in runs of earlier versions, which recorded the mean alone.
    """

    n: int
    stay: int | None
    confidence: float


class Hits:
    """Distinct hits in order of arrival, including proposals that the chain rejected.

    A hit that resembles exactly one kept hit, and has more confidence, replaces it unless that one has survived.
    `fresh` is the most noise draws that decide whether a hit stays; with 0, all do. `presumed` is the standard
    deviation of their margins that is presumed beforehand. Records must come in the order of the run's log, in which
    the noise draws of a hit stand behind it.
    """

    def __init__(self, target: GaussianTarget, are_distinct: Distinct, fresh: int, presumed: float) -> None:
        self._target, self._are_distinct, self._fresh = target, are_distinct, fresh
        self._presumed = presumed
        self._kept: list[Record] = []
        self._tries: list[int] = []  # for each kept hit, the checks of hits that resemble it
        self._draws: dict[
            Hashable, Floats
        ] = {}  # the log probabilities of noise draws, whichever hit they are of
        self._means: dict[Hashable, Floats] = {}  # of hits: those of the mean, in runs of earlier versions
        self._verdicts: dict[Hashable, bool] = {}
        self.hits = 0
        self.best = 0.0  # highest confidence of any draw rendered at the deciding look

    @property
    def found(self) -> list[Record]:
        """The distinct hits that stay."""
        return [record for record in self._kept if self._verdict(record)]

    @property
    def fragile(self) -> list[Record]:
        """The distinct hits that do not stay under fresh noise draws."""
        return [record for record in self._kept if self._verdict(record) is False]

    @property
    def lost(self) -> frozenset[Hashable]:
        """The identities of all hits that do not stay under fresh noise draws, replaced ones included."""
        return frozenset(z for z, stay in self._decided().items() if not stay)

    @property
    def checked(self) -> int:
        """How many hits are decided by fresh noise draws."""
        return len(self._decided())

    @property
    def pending(self) -> list[Record]:
        """The distinct hits that are not decided yet."""
        return [record for record in self._kept if self._verdict(record) is None]

    @property
    def due(self) -> list[Latent]:
        """The noise draws to make next: the same batch of each hit that is not decided before it."""
        waiting = [(record, len(self._made(record))) for record in self.pending]
        batch = min((n // BATCH for _, n in waiting), default=0)
        end = min(BATCH * (batch + 1), self._fresh)
        return [
            z for record, n in waiting if n // BATCH == batch for z in fresh_draws(record.scene, end - n, n)
        ]

    def noise_draws(self, record: Record) -> NoiseDraws | None:
        """The fresh noise draws of a hit so far; None if there are none."""
        rows, target = self._made(record), self._target
        if rows:
            stay = sum(target.is_hit(row) for row in rows)
            return NoiseDraws(len(rows), stay, target.confidence(log_mean(rows)))
        mean = self._means.get(identity(record.z))
        return None if mean is None else NoiseDraws(self._fresh, None, target.confidence(mean))

    def add(self, records: Iterable[Record]) -> None:
        """Add the records that hit, and the noise draws of earlier ones."""
        for record in records:
            if record.phase in (BANK, CALIBRATION) or not record.is_rendered:
                continue
            log_probs = np.array(record.log_probs)
            if record.phase == NOISE:
                self._draws[identity(record.z)] = log_probs
                continue
            if record.phase == FRESH:
                self._means[identity(record.z)] = log_probs
                self._verdicts[identity(record.z)] = self._target.is_hit(log_probs)
                continue
            self.best = max(self.best, self._target.confidence(log_probs))
            if self._target.is_hit(log_probs):
                self.hits += 1
                self._keep(record)

    def _verdict(self, kept: Record) -> bool | None:
        """Whether a hit stays, by the draws that were made; None between two decisions."""
        if not self._fresh:
            return True
        key = identity(kept.z)
        if key not in self._verdicts:
            rows = self._made(kept)
            if len(rows) == self._fresh or (rows and len(rows) % BATCH == 0):
                margins = [self._target.margin(row) for row in rows]
                is_inside = self._target.is_hit(log_mean(rows))
                if (stay := stays(margins, is_inside, self._fresh, self._presumed)) is not None:
                    self._verdicts[key] = stay
        return self._verdicts.get(key)

    def _made(self, hit: Record) -> list[Floats]:
        """The log probabilities of a hit's noise draws, in order."""
        if not self._draws:
            return []
        rows = (self._draws.get(identity(z)) for z in fresh_draws(hit.scene, self._fresh))
        made = []
        for row in rows:
            if row is None:
                break
            made.append(row)
        return made

    def _decided(self) -> dict[Hashable, bool]:
        for record in self._kept:
            self._verdict(record)
        return self._verdicts

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
