"""Diagnostics and the three endings: each rule, in numbers and in words."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from tests.references.draws import scored
from trex.foundation.errors import InputError
from trex.foundation.words import percent
from trex.inference.statistics.diagnostics import basic_summaries, by_chain, collect, diagnose
from trex.inference.statistics.how_often import HowOften, how_often
from trex.inference.statistics.two_phase import everyone
from trex.inference.statistics.verdict import Ending, conclude
from trex.inference.targets import GaussianTarget, high_confidence
from trex.inference.types import PRIOR_CHAIN, Draw, Floats

LABELS = ("a", "b")
TARGET = high_confidence(LABELS, "a")
RNG = np.random.default_rng(12)
MIXED = RNG.normal(size=(4, 200))
SHIFTED = MIXED + np.array([[0.0], [0.0], [0.0], [2.0]])


def draw(chain: int, index: int, confidence: float, is_warmup: bool = False) -> Draw[float]:
    state = scored(TARGET, [confidence, 1.0 - confidence], confidence)
    return Draw(state, chain=chain, index=index, is_warmup=is_warmup)


def chains(values: Floats) -> list[Draw[float]]:
    return [draw(c, i, float(v)) for c, row in enumerate(values) for i, v in enumerate(row)]


def prior(hits: int = 0, n: int = 100) -> HowOften:
    draws = [draw(PRIOR_CHAIN, i, 0.95 if i < hits else 0.2) for i in range(n)]
    return how_often(draws, everyone(n), TARGET)


def test_mixed_chains_and_a_strayed_one() -> None:
    good, bad = diagnose("x", MIXED), diagnose("x", SHIFTED)
    assert good.r_hat < 1.01 and good.ess > 600
    assert bad.r_hat > 1.05 and bad.ess < good.ess / 2
    assert good.words == f"x: R-hat {good.r_hat:.3f}, ESS {good.ess:.0f}"


def test_the_figures_are_those_of_arviz() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        arviz = pytest.importorskip("arviz")
    for values in (MIXED, SHIFTED, np.cumsum(MIXED, axis=1), np.round(MIXED), MIXED[:2, :5], MIXED**3):
        found = diagnose("x", values)
        assert found.ess == pytest.approx(float(arviz.ess(values, method="bulk")), rel=1e-10)
        assert found.r_hat == pytest.approx(float(arviz.rhat(values, method="rank")), rel=1e-10)
    other = diagnose("x", MIXED).ess
    assert other != pytest.approx(float(arviz.ess(MIXED, method="mean")), rel=1e-3), "this cannot fail"


def test_splitting_shows_a_trend() -> None:
    trend = MIXED + np.linspace(-2, 2, 200)  # all chains drift alike: only the split halves disagree
    assert diagnose("x", trend).r_hat > 1.05


def test_ranks_show_a_wider_chain_that_means_hide() -> None:
    wide = MIXED * np.array([[1.0], [1.0], [1.0], [20.0]])
    assert diagnose("x", wide).r_hat > 1.05


@pytest.mark.parametrize(
    ("values", "words", "ess", "r_hat"),
    [
        (np.full((4, 50), 3.0), "3 in every draw", math.nan, math.nan),
        (np.tile(np.arange(4.0)[:, None], (1, 50)), "stuck at its own value", 0.0, math.inf),
        (MIXED[:1], "a single chain has no R-hat", None, math.nan),
        (MIXED[:, :3], "too few", math.nan, math.nan),
    ],
)
def test_what_has_no_number_is_said_in_words(
    values: Floats, words: str, ess: float | None, r_hat: float
) -> None:
    found = diagnose("x", values)
    assert words in found.words
    assert found.r_hat == r_hat or (math.isnan(found.r_hat) and math.isnan(r_hat))
    assert ess is None or found.ess == ess or (math.isnan(found.ess) and math.isnan(ess))


def test_warmup_and_prior_draws_are_left_out_and_chains_cut_to_one_length() -> None:
    draws = [draw(PRIOR_CHAIN, 0, 0.5), draw(0, 0, 0.5, True)]
    draws += [draw(0, i, 0.6) for i in range(1, 4)] + [draw(2, i, 0.7) for i in range(1, 3)]
    assert [[d.index for d in chain] for chain in by_chain(draws)] == [[1, 2], [1, 2]]
    values = collect(draws, basic_summaries(TARGET))
    assert values["confidence"] == pytest.approx(np.array([[0.6, 0.6], [0.7, 0.7]]))
    with pytest.raises(InputError, match="shape"):
        diagnose("x", np.zeros(3))


def confidences(n_chains: int, n: int = 200, seed: int = 3) -> Floats:
    values: Floats = np.random.default_rng(seed).uniform(0.85, 0.99, (n_chains, n))
    return values


def ending(draws: Sequence[Draw[float]], found: HowOften, target: GaussianTarget = TARGET) -> Ending:
    return conclude(draws, target, basic_summaries(target), found, renders=1000).ending


def test_converged_needs_agreement_size_and_four_chains() -> None:
    assert ending(chains(confidences(4)), prior()) is Ending.CONVERGED
    assert ending(chains(confidences(3)), prior()) is Ending.FOUND  # three chains
    low = confidences(4)
    low[3] -= 0.3  # the fourth never hits, and strays
    assert ending(chains(low), prior()) is Ending.FOUND
    assert ending(chains(confidences(4, n=5)), prior()) is Ending.FOUND  # ESS below 25
    assert ending(chains(np.full((4, 50), 0.95)), prior()) is Ending.FOUND  # nothing ever changed


def test_a_chain_outside_the_level_set_contradicts_convergence() -> None:
    """Five chains of which four hit: four would do, but the fifth says that there is more to mix."""
    values = confidences(5, n=2000)
    values[4] = 0.8  # seldom differs from the others in rank-normalized summaries of something else
    same = {"spread": lambda draw: float(np.random.default_rng((draw.chain, draw.index)).normal())}
    result = conclude(chains(values), TARGET, same, prior(), renders=1)
    assert result.ending is Ending.FOUND
    assert result.sentences[1] == "Not converged: 1 of 5 chains never hit the level set after warmup."
    assert (
        conclude(chains(values[:4]), TARGET, same, prior(), renders=1).ending is Ending.CONVERGED
    )  # negative control


def test_doubts_of_the_sampler_contradict_convergence() -> None:
    remaining = (TARGET, basic_summaries(TARGET), prior())
    assert conclude(chains(confidences(4)), *remaining, renders=1).ending is Ending.CONVERGED
    doubted = conclude(chains(confidences(4)), *remaining, renders=1, doubts=["2% diverged"])
    assert doubted.ending is Ending.FOUND and "Not converged: 2% diverged." in doubted.sentences


def test_found_counts_what_is_distinct_if_it_is_told() -> None:
    remaining = (TARGET, basic_summaries(TARGET), prior())
    conclusion = conclude(chains(confidences(3)), *remaining, renders=1, examples="9 variations of one scene")
    assert conclusion.sentences[0].startswith("FOUND: 9 variations of one scene in the level set.")
    assert "600" not in conclusion.sentences[0]  # draws


def test_a_stray_chain_is_named() -> None:
    strayed = confidences(4)
    strayed[0] = np.clip(strayed[0] + 0.05, 0.0, 0.999)
    result = conclude(chains(strayed), TARGET, basic_summaries(TARGET), prior(), renders=1000)
    assert result.ending is Ending.FOUND
    assert any("R-hat" in sentence for sentence in result.sentences)
    assert "as examples, not as a distribution" in result.sentences[0]


def test_not_found_says_what_it_cost_and_bounds_by_prior_draws_only() -> None:
    result = conclude(chains(confidences(4) - 0.5), TARGET, basic_summaries(TARGET), prior(n=60), renders=860)
    assert result.ending is Ending.NOT_FOUND
    assert "860 renders" in result.sentences[0] and percent(result.best) in result.sentences[0]
    assert "less than 6.0% of all" in result.sentences[1]  # of 60, however many chain draws there are


def test_a_hit_in_the_prior_batch_or_in_warmup_is_found() -> None:
    assert ending(chains(confidences(4) - 0.5), prior(hits=1)) is Ending.FOUND
    assert ending([draw(0, 0, 0.95, is_warmup=True), draw(0, 1, 0.2)], prior()) is Ending.FOUND
    assert ending([], prior()) is Ending.NOT_FOUND


def test_a_common_target_ends_with_its_prior_draws() -> None:
    common = prior(hits=40).decided(True)
    result = conclude([], TARGET, basic_summaries(TARGET), common, renders=100)
    assert common.is_common and result.ending is Ending.CONVERGED
    assert "independent prior draws" in result.sentences[0]
    assert ending([], replace(common, ess=12.0)) is Ending.FOUND  # too few of them matter


# --- what R-hat and effective sizes mean

CHAINS, DRAWS = 4, 5_000


def autoregressive(correlation: float, n: int = DRAWS) -> Floats:
    """(CHAINS, n), stationary: x_t = correlation * x_(t-1) + noise, of ESS n (1 - correlation) / (1 + correlation)."""
    noise = np.random.default_rng(11).standard_normal((CHAINS, n))
    noise[:, 0] /= np.sqrt(1.0 - correlation**2)
    chains: Floats = lfilter([1.0], [1.0, -correlation], noise, axis=1)
    return chains


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, -0.3])
def test_autoregressive_chains_have_their_known_size(correlation: float) -> None:
    """Within a sixth; an ESS doubled, or halved, is out by far."""
    exact = CHAINS * DRAWS * (1.0 - correlation) / (1.0 + correlation)
    found = diagnose("x", autoregressive(correlation)).ess
    assert exact / 1.17 < found < exact * 1.17
    assert not exact / 1.17 < 2.0 * found < exact * 1.17


@pytest.mark.parametrize("times", [2, 5])
def test_repeated_draws_add_nothing(times: int) -> None:
    """A chain that rejects repeats its state; planted: each repeat counted as a draw."""
    once = autoregressive(0.0, 1_000)
    found = diagnose("x", np.repeat(once, times, axis=1)).ess
    assert 0.8 < found / once.size < 1.2
    assert found < 0.7 * times * once.size


def test_the_effective_size_does_not_depend_on_the_scale_of_a_summary() -> None:
    """A log weight and its weight rank alike. Planted bug: the size of the mean, which a few heavy draws decide."""
    slow = MIXED.copy()
    for k in range(1, slow.shape[1]):
        slow[:, k] += 0.7 * slow[:, k - 1]
    known = diagnose("log weight", slow).ess
    assert diagnose("weight", np.exp(4.0 * slow)).ess == pytest.approx(known, rel=1e-9)


def test_one_chain_that_does_not_move_is_not_said_of_all() -> None:
    """Planted bug: one stuck chain of four, and the words were those of four."""
    values = MIXED.copy()
    values[2] = 0.3
    found = diagnose("x", values)
    assert np.isfinite(found.r_hat) and "every chain" not in found.words
