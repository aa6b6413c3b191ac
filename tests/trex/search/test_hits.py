"""Which hit stands for those like it, and how often one that did not survive fresh noise may be replaced."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.references.draws import scored
from trex.inference.statistics.how_often import HowOften, how_often
from trex.inference.statistics.two_phase import everyone
from trex.inference.statistics.verdict import conclude
from trex.inference.targets import threshold
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.record import BANK, CALIBRATION, CHAIN, CONTROL, FRESH, PRIOR, Record
from trex.search.hits import TRIES, Hits
from trex.search.judging.endings import corrected
from trex.worlds.latents import Latent

TARGET = threshold(("a", "b"), "a", 0.5, width=0.01)


def are_distinct(one: Latent, other: Latent) -> bool:
    return abs(float(one[0] - other[0])) > 0.5


def record(x: float, confidence: float, phase: str = CHAIN) -> Record:
    log_probs = (math.log(confidence), math.log1p(-confidence))
    return Record(phase, 0, 0, (x,), True, 0.0, 0.0, 0.0, log_probs, ())


def hits(*records: Record, fresh: bool = True) -> Hits:
    found = Hits(TARGET, are_distinct, fresh)
    found.add(records)
    return found


def places(records: list[Record]) -> list[float]:
    return [float(np.asarray(record.z)[0]) for record in records]


def test_without_fresh_draws_every_hit_survives_and_the_most_confident_of_its_like_is_kept() -> None:
    found = hits(record(0.0, 0.7), record(0.1, 0.9), record(0.2, 0.8), record(3.0, 0.6), fresh=False)
    assert places(found.found) == [0.1, 3.0] and not found.fragile and not found.pending
    assert found.hits == 4 and found.best == pytest.approx(0.9)


def test_a_hit_that_is_like_two_kept_ones_replaces_neither() -> None:
    found = hits(record(0.0, 0.7), record(0.8, 0.7), record(0.4, 0.99), fresh=False)
    assert places(found.found) == [0.0, 0.8]


def test_a_hit_is_pending_until_its_fresh_draw_decides() -> None:
    found = hits(record(0.0, 0.7), record(3.0, 0.8))
    assert places(found.pending) == [0.0, 3.0] and not found.found and not found.fragile
    found.add([record(0.0, 0.9, FRESH), record(3.0, 0.2, FRESH)])
    assert (places(found.found), places(found.fragile), found.pending) == ([0.0], [3.0], [])
    assert found.hits == 2 and found.best == pytest.approx(0.8)  # fresh draws are no hits of the search


def test_one_that_has_survived_is_never_replaced() -> None:
    found = hits(record(0.0, 0.7), record(0.0, 0.9, FRESH), record(0.1, 0.99))
    assert places(found.found) == [0.0] and not found.pending


def test_a_fragile_hit_stays_known_as_lost_when_one_like_it_survives() -> None:
    """Planted bug: replaced, it counted for the rate of the family of the one that survived."""
    found = hits(
        record(0.0, 0.7), record(0.0, 0.2, FRESH), record(0.1, 0.9), record(0.1, 0.8, FRESH), record(3.0, 0.9)
    )
    assert places(found.found) == [0.1] and not found.fragile
    assert found.lost == {(0.0,)}


def test_one_that_is_pending_is_replaced_by_a_more_confident_one_alone() -> None:
    assert places(hits(record(0.0, 0.7), record(0.1, 0.9)).pending) == [0.1]
    assert places(hits(record(0.0, 0.7), record(0.1, 0.6)).pending) == [0.0]


def test_a_fragile_one_is_tried_again_with_more_confident_ones_but_not_for_ever() -> None:
    """Otherwise a chain that stays near a scene would draw noise until it is lucky."""
    found, checks = hits(), 0
    for step in range(20):
        x = 0.01 * step
        found.add([record(x, 0.6 + 0.01 * step)])
        for pending in found.pending:
            checks += 1
            found.add([record(float(np.asarray(pending.z)[0]), 0.1, FRESH)])
    assert checks == TRIES
    assert places(found.fragile) == [0.01 * (TRIES - 1)] and not found.found
    found.add([record(0.0, 0.55)])  # less confident: not tried at all
    assert not found.pending


@pytest.mark.parametrize("phase", [BANK, CALIBRATION])
def test_draws_at_other_looks_are_no_hits(phase: str) -> None:
    found = hits(record(0.0, 0.99, phase))
    assert (found.hits, found.best, found.pending) == (0, 0.0, [])
    assert hits(record(0.0, 0.99, PRIOR)).hits == 1


def test_what_is_kept_is_the_same_from_the_log_in_one_go() -> None:
    """A resumed run reads hits and fresh draws from its log, in the order in which they were made."""
    rng, live, log = np.random.default_rng(7), hits(), []
    for _ in range(300):
        hit = record(float(rng.uniform(0, 6)), float(rng.uniform(0.3, 0.99)))
        live.add([hit])
        log.append(hit)
        for pending in live.pending:
            fresh = record(float(np.asarray(pending.z)[0]), float(rng.uniform(0.2, 0.9)), FRESH)
            live.add([fresh])
            log.append(fresh)
    again = hits(*log)
    assert len(live.found) > 2 and live.fragile
    assert (again.found, again.fragile, again.pending) == (live.found, live.fragile, live.pending)


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (CHAIN, "only as proposals"),
        (CONTROL, "of a positive control"),
        (PRIOR, "prior scenes that the rate does not"),
    ],
)
def test_where_hits_come_from_that_are_no_states_of_the_chains(phase: str, words: str) -> None:
    """Planted bug: of all of them it was said that they were proposals which became no state."""
    found = hits(record(0.0, 0.9, phase), fresh=False)
    none = how_often_of_none()
    before = conclude([], TARGET, {}, none, renders=1)
    said = corrected(before, found, "1 distinct scene", [], none, SearchSection()).sentences[0]
    assert said.startswith("FOUND: 1 distinct scene in the level set") and words in said
    assert ("proposals" in said) == (phase == CHAIN)


def how_often_of_none() -> HowOften:
    """What one prior draw outside of the level set shows."""
    miss = Draw(scored(TARGET, [0.1, 0.9]))
    return how_often([miss], everyone(1), TARGET, 0.95)
