"""What `benchmarks.efficiency` makes of a search: the CPU seconds for 25 effective scenes, or a bound of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks.efficiency import cost_of_effective, least_ess
from trex.inference.statistics.diagnostics import Diagnosis
from trex.search.results import Results

NAN = float("nan")


def results(sizes: tuple[float, ...], *, hitting: int = 4, hits: int = 0, prior_ess: float = 1.0) -> Results:
    """Results of a search by the effective sizes of its summaries; the last summary never changed."""
    informative = [Diagnosis(f"summary {i}", ess, 1.2, "", True) for i, ess in enumerate(sizes)]
    constant = Diagnosis("constant", NAN, NAN, "", False)
    conclusion = SimpleNamespace(diagnoses=(*informative, constant), n_chains_hit=hitting)
    how_often = SimpleNamespace(hits=hits, ess=prior_ess)
    return cast(Results, SimpleNamespace(conclusion=conclusion, how_often=how_often))


def test_the_summary_that_mixes_worst_decides() -> None:
    found = cost_of_effective(results((99.0, 6.0, 33.0)), 1200.0)
    assert (found["cpu_s_for_25"], found["is_bound"]) == (5000, False)
    assert found["effective_a_cpu_s"] == pytest.approx(0.005)


def test_the_prior_s_effective_size_counts_if_it_is_larger_and_has_hits() -> None:
    assert cost_of_effective(results((4.9,), hits=7, prior_ess=6.25), 600.0)["cpu_s_for_25"] == 2400
    assert cost_of_effective(results((5.0,), hits=0, prior_ess=6.25), 600.0)["cpu_s_for_25"] == 3000


def test_a_stuck_chain_stands_for_one_scene_and_the_cost_is_a_bound() -> None:
    found = cost_of_effective(results((12.0, 0.0), hitting=3), 900.0)
    assert (found["cpu_s_for_25"], found["is_bound"]) == (7500, True)


@pytest.mark.parametrize("sizes", [(), (12.0, NAN)])
def test_an_unknown_effective_size_claims_nothing_beyond_what_was_spent(sizes: tuple[float, ...]) -> None:
    assert least_ess(results(sizes)) is None
    found = cost_of_effective(results(sizes), 900.0)
    assert (found["cpu_s_for_25"], found["is_bound"]) == (900, True)


def test_chains_that_never_hit_have_no_effective_size() -> None:
    assert cost_of_effective(results((50.0,), hitting=0), 900.0)["is_bound"]
