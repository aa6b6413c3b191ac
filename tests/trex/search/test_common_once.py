"""Whether a target is common is decided once, by the first prior scenes; later ones cannot change it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.references.draws import scored
from trex.inference.targets import high_confidence
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.search.sampling.prior_plan import PriorPlan
from trex.worlds.latents import Latent

TARGET = high_confidence(("a", "b"), "a")
FIRST = 100


def draws(hits: np.ndarray) -> list[Draw[Latent]]:  # type: ignore[type-arg]
    return [
        Draw(scored(TARGET, [0.99, 0.01] if hit else [0.1, 0.9], np.zeros(1)), index=index)
        for index, hit in enumerate(hits)
    ]


class Peeking(PriorPlan):
    """Planted: the decision is made anew at every look, by all draws so far."""

    def n_wanted(self, draws: Sequence[Draw[Latent]]) -> int:
        seen = PriorPlan(self.target, self.options.model_copy(update={"prior_scenes": len(draws)}), ())
        return self.n_initial + seen.n_wanted(draws) - len(draws)


def changes(kind: type[PriorPlan], first_hits: int) -> bool:
    """Whether any number of later draws, all hits or none, changes the number of scenes that is planned."""
    plan = kind(TARGET, SearchSection(prior_scenes=FIRST, further=600), ())
    first = np.arange(FIRST) < first_hits
    later = [np.full(n, is_hit) for n in (1, 40, 300) for is_hit in (False, True)]
    totals = {plan.n_wanted(draws(np.concatenate([first, more]))) for more in later}
    return totals != {plan.n_wanted(draws(first))}


@pytest.mark.parametrize("first_hits", [2, 3, 5, 8, 20])
def test_later_draws_do_not_change_whether_the_target_is_common(first_hits: int) -> None:
    assert not changes(PriorPlan, first_hits)
    assert changes(Peeking, first_hits)
