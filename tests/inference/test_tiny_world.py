"""The kernel against the exact matrix of a world of 224 states: detailed balance, stationary vector, planted bugs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from tests.simulations.tiny_world import (
    BLOCKS,
    VALID,
    Outcomes,
    Tiny,
    TinyProposal,
    blocks,
    kernel,
    posterior,
    retried,
    states,
    transition_matrix,
)
from trex.foundation.errors import InputError
from trex.inference.metropolis import Candidate
from trex.inference.types import Floats

ROUNDING = 1e-15  # probabilities of about 1/224, summed over 224 states
RETRIED = TinyProposal(retried, blocks)
UNHASTY = TinyProposal(blocks, lambda z: dict.fromkeys(blocks(z), 1.0))  # planted: no Hastings ratio


def imbalance(matrix: Floats, exact: Floats) -> float:
    """The largest violation of detailed balance."""
    flow = exact[:, None] * matrix
    return float(np.abs(flow - flow.T).max())


def drift(matrix: Floats, exact: Floats) -> float:
    """How far one step moves the exact posterior."""
    return float(np.abs(exact @ matrix - exact).max())


def stationary(matrix: Floats) -> Floats:
    """The matrix's own stationary vector, by powers."""
    vector = np.full(len(matrix), 1.0 / len(matrix))
    for _ in range(20):
        matrix = matrix @ matrix
    result: Floats = vector @ matrix
    return result


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0])
def test_the_kernel_is_in_detailed_balance_with_the_posterior(power: float) -> None:
    of = kernel(power=power)
    matrix, exact = transition_matrix(of, BLOCKS), posterior(of)
    assert np.allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    assert imbalance(matrix, exact) < ROUNDING
    assert drift(matrix, exact) < ROUNDING
    assert np.abs(stationary(matrix) - exact).max() < 1e-9


@pytest.mark.parametrize(
    "planted", [pytest.param(RETRIED, id="D5-retries"), pytest.param(UNHASTY, id="no-ratio")]
)
def test_a_planted_bug_breaks_the_balance(planted: TinyProposal) -> None:
    of = kernel(planted)
    matrix, exact = transition_matrix(of, planted), posterior(of)
    assert imbalance(matrix, exact) > 1e6 * ROUNDING
    assert np.abs(stationary(matrix) - exact).max() > 1e-4


def test_the_retrying_kernel_is_wrong_by_exactly_the_share_of_valid_proposals() -> None:
    """D5: drawing until valid proposes with q / Z(z), so its stationary vector is no longer the posterior; with the
    true density of the retries in the ratio it is again. In the real world nobody knows Z(z)."""
    honest = TinyProposal(retried, retried)
    assert drift(transition_matrix(kernel(honest), honest), posterior(kernel())) < ROUNDING
    shares = [sum(p for to, p in blocks(z).items() if to[0] != to[1]) for z in VALID]
    assert max(shares) - min(shares) > 0.1


def test_steps_follow_the_exact_row() -> None:
    of = kernel()
    every = states(of)
    rng = np.random.default_rng(3)
    start = VALID.index((2, 3, 1))
    row = transition_matrix(of, BLOCKS)[start]
    n = 6_000
    counts = np.zeros(len(VALID))
    for _ in range(n):
        counts[VALID.index(of.step([rng], [every[start]])[0].z)] += 1
    reached = row > 0
    assert counts[~reached].sum() == 0
    assert stats.chisquare(counts[reached], n * row[reached]).pvalue > ALPHA
    shifted = np.roll(row[reached], 1)  # negative control: the same numbers at the wrong places
    assert stats.chisquare(counts[reached], n * shifted).pvalue < ALPHA


@dataclass
class FixedUniform:
    """An rng of which only `random` is asked."""

    value: float

    def random(self) -> float:
        return self.value


@pytest.mark.parametrize("ratio", [-0.01, -1.0, -3.0])
def test_acceptance_compares_the_log_of_a_uniform_with_the_ratio(ratio: float) -> None:
    of, edge = kernel(), 1.0 - math.exp(ratio)
    state = states(of)[0]
    candidate = Candidate(VALID[1], state.log_prior, ratio)
    for value, expected in ((edge - 1e-9, False), (edge + 1e-9, True)):
        rng = FixedUniform(value)
        draw = of.decide(rng, state, candidate, state)  # type: ignore[arg-type]
        assert draw.is_accepted is expected
        assert draw.log_accept_ratio == pytest.approx(ratio)


def test_an_invalid_point_is_rejected_without_a_render() -> None:
    invalid: Tiny = (4, 4, 0)

    def only_invalid(z: Tiny) -> Outcomes:
        return {invalid: 1.0}

    @dataclass(frozen=True)
    class Forbidden:
        def render(self, zs: object) -> list[object]:
            raise AssertionError("rendered")

    of = kernel(TinyProposal(only_invalid, only_invalid))
    state = states(of)[5]
    blind = replace(of, scorer=replace(of.scorer, renderer=Forbidden()))  # type: ignore[arg-type]
    (draw,) = blind.step([np.random.default_rng(0)], [state])
    assert draw.state is state
    assert draw.proposed.z == invalid
    assert not (draw.proposed.is_scored or draw.is_accepted or draw.was_rendered)


def test_a_chain_cannot_start_outside_the_prior() -> None:
    with pytest.raises(InputError, match="the prior excludes"):
        kernel().init((1, 1, 0))
