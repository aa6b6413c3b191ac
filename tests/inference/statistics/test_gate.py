"""The gate lets a cheap look lead if it ranks scenes as the deciding look does, near the level set too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trex.foundation.errors import InputError
from trex.inference.statistics.gate import gate

DEAR = np.random.default_rng(1).standard_normal(48)


def noisy(noise: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return DEAR + noise * np.random.default_rng(2).standard_normal(48)


def test_a_good_look_passes_and_a_noisy_one_does_not() -> None:
    good, poor = gate(noisy(0.2), DEAR), gate(noisy(3.0), DEAR)
    assert good.passes and not poor.passes
    assert good.rank_correlation == pytest.approx(stats.spearmanr(noisy(0.2), DEAR).statistic)


def test_the_scale_does_not_matter() -> None:
    assert gate(np.exp(noisy(0.2)) - 200.0, DEAR) == gate(noisy(0.2), 1e-6 * DEAR)


def test_a_look_that_is_blind_near_the_level_set_fails_though_it_ranks_the_rest() -> None:
    top = np.argsort(-DEAR)[:10]
    blind = DEAR.copy()
    blind[top] = DEAR[top][::-1]  # the ten nearest the wrong way round
    found = gate(blind, DEAR)
    assert found.rank_correlation is not None and found.rank_correlation > 0.7
    assert found.top_fifth == pytest.approx(-1.0) and not found.passes


def test_the_top_fifth_is_that_of_the_deciding_look() -> None:
    """Planted: chosen by the cheap look, other scenes are compared."""
    cheap = noisy(0.6)
    ours, theirs = (np.argsort(-v, kind="stable")[:10] for v in (DEAR, cheap))
    expected, planted = (stats.spearmanr(cheap[k], DEAR[k]).statistic for k in (ours, theirs))
    assert gate(cheap, DEAR).top_fifth == pytest.approx(expected) != pytest.approx(planted)


@pytest.mark.parametrize("of", [(np.zeros(48), DEAR), (DEAR, np.full(48, -200.0))])
def test_constant_scores_do_not_pass(of: tuple[np.ndarray, np.ndarray]) -> None:  # type: ignore[type-arg]
    found = gate(*of)
    assert (found.rank_correlation, found.top_fifth, found.passes) == (None, None, False)


def test_ties_have_the_mean_of_their_ranks_and_minus_infinity_is_the_lowest() -> None:
    tied = np.where(DEAR < 0.0, -200.0, DEAR)
    lowest = np.where(DEAR < 0.0, -np.inf, DEAR)
    assert gate(tied, DEAR) == gate(lowest, DEAR)
    assert gate(tied, DEAR).rank_correlation == pytest.approx(stats.spearmanr(tied, DEAR).statistic)
    flat_top = np.minimum(DEAR, np.sort(DEAR)[-11])  # the top fifth has one cheap score
    assert gate(flat_top, DEAR).top_fifth is None and not gate(flat_top, DEAR).passes


def test_too_few_or_impossible_scores_are_refused() -> None:
    with pytest.raises(InputError, match="at least 24"):
        gate(DEAR[:10], DEAR[:10])
    with pytest.raises(InputError, match="same scenes"):
        gate(DEAR[:30], DEAR)
    with pytest.raises(InputError, match="NaN"):
        gate(np.where(DEAR > 1.0, np.nan, DEAR), DEAR)
