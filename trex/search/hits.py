"""Distinct hits: each kept once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from trex.inference.types import Target
from trex.runs.record import Record
from trex.worlds.latents import Latent, from_stored

Distinct = Callable[[Latent, Latent], bool]


class Hits:
    """Distinct hits in order of arrival, including proposals that the chain rejected.

    A hit that resembles exactly one kept hit, and has more confidence, replaces it.
    """

    def __init__(self, target: Target, are_distinct: Distinct) -> None:
        self._target, self._are_distinct = target, are_distinct
        self._kept: list[tuple[Latent, Record]] = []
        self.hits = 0
        self.best = 0.0  # highest confidence of any rendered draw

    @property
    def records(self) -> list[Record]:
        """The distinct hits."""
        return [record for _, record in self._kept]

    def add(self, records: Iterable[Record]) -> None:
        """Add the records that hit and are distinct from all kept ones."""
        for record in records:
            if not record.is_rendered:
                continue
            log_probs = np.array(record.log_probs)
            self.best = max(self.best, self._target.confidence(log_probs))
            if self._target.is_hit(log_probs):
                self.hits += 1
                self._keep(record)

    def _keep(self, record: Record) -> None:
        z = from_stored(record.z)
        alike = [place for place, (held, _) in enumerate(self._kept) if not self._are_distinct(z, held)]
        if not alike:
            self._kept.append((z, record))
        elif len(alike) == 1 and self._confidence(record) > self._confidence(self._kept[alike[0]][1]):
            self._kept[alike[0]] = (z, record)

    def _confidence(self, record: Record) -> float:
        return self._target.confidence(np.array(record.log_probs))
