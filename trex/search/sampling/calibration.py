"""Which cheap look may lead the chains: looks are tried in the order of their cost until one ranks scenes well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trex.inference.rng import CALIBRATION_STREAM, stream
from trex.inference.statistics.gate import Gate, gate
from trex.inference.types import Floats
from trex.runs.record import CALIBRATION, Record
from trex.search.sampling.prior_sample import PriorSample, log_weights
from trex.worlds.latents import Latent
from trex.worlds.looks import DECIDING

SCENES = 32  # half of them the likeliest at the deciding look, half drawn from the others


@dataclass(frozen=True)
class TriedLook:
    """One look of the ladder, and how it ranks the calibration's scenes."""

    look: str
    gate: Gate


@dataclass(frozen=True)
class LookCalibration:
    """The looks that were tried, cheapest first; the last one leads if it passed."""

    tried: tuple[TriedLook, ...]

    @property
    def lead(self) -> str:
        """The look that leads the chains; the deciding look if none passed."""
        return next((row.look for row in self.tried if row.gate.passes), DECIDING)


def calibration_places(seed: int, sample: PriorSample) -> tuple[int, ...]:
    """The places in the prior sample of the scenes that all looks are compared on, increasing."""
    weights = log_weights(sample.draws)
    order = np.argsort(-weights, kind="stable")
    array = order[SCENES // 2 :]
    n_more = min(SCENES - SCENES // 2, array.size)
    more = stream(seed, CALIBRATION_STREAM).choice(array, size=n_more, replace=False)
    return tuple(sorted(int(place) for place in (*order[: SCENES // 2], *more)))


def read_calibration(
    records: Sequence[Record], ladder: Sequence[str], places: Sequence[int], sample: PriorSample, bank: Floats
) -> LookCalibration:
    """The calibration that a run's records hold so far.

    `ladder` lists the looks, the bank's first, whose log weights (n,) of the sample's scenes are `bank`.
    """
    dear = log_weights(sample.draws)[list(places)]
    tried = [TriedLook(ladder[0], gate(bank[list(places)], dear))]
    for rank, look in enumerate(ladder[1:], start=1):
        rows = {record.index: record.log_weight for record in records if _is_of(record, rank)}
        if tried[-1].gate.passes or len(rows) < len(places):
            break
        tried.append(TriedLook(look, gate(np.array([rows[index] for index in range(len(places))]), dear)))
    return LookCalibration(tuple(tried))


def calibration_latents(places: Sequence[int], sample: PriorSample) -> Mapping[int, Latent]:
    """The calibration's scenes by index."""
    return {index: sample.draws[place].z for index, place in enumerate(places)}


def _is_of(record: Record, rank: int) -> bool:
    return record.phase == CALIBRATION and record.rank == rank
