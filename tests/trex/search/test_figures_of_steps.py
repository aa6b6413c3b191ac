"""What the figures of a run's steps say: of the steps after warmup, and of the particles at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tests.references.draws import scored
from trex.inference.targets import threshold
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.record import CHAIN, Record
from trex.search.judging.endings import diagnosis_of, lines_left

TARGET = threshold(("a", "b"), "a", 0.5)
ROW = np.log([0.9, 0.1])


def step(chain: int, index: int, figures: Mapping[str, float]) -> Record:
    return Record(
        CHAIN, chain, index, (float(index),), True, 0.0, 0.0, 0.0, tuple(ROW.tolist()), (), figures=figures
    )


def test_particles_descend_from_the_starts_of_their_last_step() -> None:
    """Planted bug: from those of their first one, when nothing had been resampled."""
    first = [step(chain, 0, {"line": chain}) for chain in range(6)]
    last = [step(chain, 1, {"line": chain // 3}) for chain in range(6)]
    assert lines_left([*first, *last]) == 2
    assert lines_left(first) == 6 and lines_left([step(0, 0, {})]) is None


def test_trajectories_of_warmup_are_no_divergences() -> None:
    """Planted bugs: a run that was stopped in warmup had no report; divergences while the step size is sought."""
    search = SearchSection(kernel="nuts", steps=100, warmup=50)
    tree = {"accept_prob": 0.8, "depth": 3.0, "n_gradients": 8.0, "energy": 1.0}
    draws = [
        Draw(
            scored(TARGET, [0.9, 0.1], np.array([float(k)])),
            figures={**tree, "is_divergent": float(k < 10), "energy": float(k % 3)},
            chain=0,
            index=k,
            is_warmup=k < 10,
        )
        for k in range(20)
    ]
    found = diagnosis_of(draws, TARGET, search)
    assert found is not None and (found.divergent, found.n_draws, found.doubts) == (0, 10, ())
    assert diagnosis_of(draws[:10], TARGET, search) is None
    never = diagnosis_of([replace(draw, is_warmup=False) for draw in draws], TARGET, search)
    assert never is not None and never.divergent == 10 and never.doubts
