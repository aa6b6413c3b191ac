"""What the figures of a run's steps say: of the steps after warmup, and of the particles at the end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.references.draws import scored
from trex.inference.targets import threshold
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.record import CHAIN, Record
from trex.search.judging.trajectories import diagnosis_of, lines_left
from trex.worlds.latents import Latent

TARGET = threshold(("a", "b"), "a", 0.5)
ROW = np.log([0.9, 0.1])


def step(chain: int, index: int, figures: Mapping[str, float]) -> Record:
    return Record(
        CHAIN, chain, index, (float(index),), True, 0.0, 0.0, 0.0, tuple(ROW.tolist()), (), figures=figures
    )


def draw(chain: int, index: int, is_warmup: bool) -> Draw[Latent]:
    state = scored(TARGET, np.exp(ROW), np.array([float(index)]))
    return Draw(state, chain=chain, index=index, is_warmup=is_warmup)


def test_particles_descend_from_the_starts_of_their_last_step() -> None:
    """Planted bug: from those of their first one, when nothing had been resampled."""
    first = [step(chain, 0, {"line": chain}) for chain in range(6)]
    last = [step(chain, 1, {"line": chain // 3}) for chain in range(6)]
    assert lines_left([*first, *last]) == 2
    assert lines_left(first) == 6 and lines_left([step(0, 0, {})]) is None


def test_trajectories_of_warmup_are_no_divergences() -> None:
    """Planted bugs: a run that was stopped in warmup had no report; divergences while the step size is sought."""
    tree = {"accept_prob": 0.8, "depth": 3.0, "n_gradients": 8.0, "energy": 1.0}
    records = [step(0, k, {**tree, "is_divergent": float(k < 10), "energy": float(k % 3)}) for k in range(20)]
    draws = [draw(0, k, is_warmup=k < 10) for k in range(20)]
    found = diagnosis_of(records, draws, TARGET, SearchSection(kernel="nuts", steps=100, warmup=50))
    assert found is not None and (found.divergent, found.n_draws, found.doubts) == (0, 10, ())
    assert (
        diagnosis_of(records[:10], draws[:10], TARGET, SearchSection(kernel="nuts", steps=100, warmup=50))
        is None
    )
    never = diagnosis_of(
        records,
        [one._replace(is_warmup=False) for one in draws],
        TARGET,
        SearchSection(kernel="nuts", steps=100, warmup=50),
    )
    assert never is not None and never.divergent == 10 and never.doubts
