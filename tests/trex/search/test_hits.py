"""Which hit stands for those like it, and how often one that did not survive fresh noise may be replaced.

The runs here are of an earlier version, in which one record has the mean over a hit's fresh noise draws;
`test_fresh_noise` has those of today.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tests.references.draws import scored
from tests.running.runs import run
from trex.inference.statistics.how_often import HowOften, how_often
from trex.inference.statistics.staying import PRIOR_DEVIATION
from trex.inference.statistics.two_phase import everyone
from trex.inference.statistics.verdict import Conclusion, Ending, conclude
from trex.inference.targets import threshold
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.draw_log import read_draws
from trex.runs.record import BANK, CALIBRATION, CHAIN, CONTROL, FRESH, PRIOR, Record
from trex.scenes import distinct
from trex.search.hit import MAX_MISSES, nearest_misses
from trex.search.hits import TRIES, Hits
from trex.search.judging.endings import corrected
from trex.search.judging.fail_if import Decision, parse_fail_if, rule
from trex.search.results import Results
from trex.worlds.latents import Latent, identity

TARGET = threshold(("a", "b"), "a", 0.5, width=0.01)


def are_distinct(item: Latent, other: Latent) -> bool:
    return abs(float(item[0] - other[0])) > 0.5


def record(x: float, confidence: float, phase: str = CHAIN) -> Record:
    log_probs = (math.log(confidence), math.log1p(-confidence))
    return Record(phase, 0, 0, (x,), True, 0.0, 0.0, 0.0, log_probs, ())


def hits(*records: Record, fresh: int = 2) -> Hits:
    found = Hits(TARGET, are_distinct, fresh, PRIOR_DEVIATION)
    found.add(records)
    return found


def places(records: list[Record]) -> list[float]:
    return [float(np.asarray(record.z)[0]) for record in records]


def test_without_fresh_draws_every_hit_survives_and_the_most_confident_of_its_like_is_kept() -> None:
    found = hits(record(0.0, 0.7), record(0.1, 0.9), record(0.2, 0.8), record(3.0, 0.6), fresh=0)
    assert places(found.found) == [0.1, 3.0] and not found.fragile and not found.pending
    assert found.hits == 4 and found.best == pytest.approx(0.9)


def test_a_hit_that_is_like_two_kept_ones_replaces_neither() -> None:
    found = hits(record(0.0, 0.7), record(0.8, 0.7), record(0.4, 0.99), fresh=0)
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
    found = hits(record(0.0, 0.9, phase), fresh=0)
    none = how_often_of_none()
    before = conclude([], TARGET, {}, none, renders=1)
    text = corrected(before, found, "1 distinct scene", [], none, SearchSection()).sentences[0]
    assert text.startswith("FOUND: 1 distinct scene in the level set") and words in text
    assert ("proposals" in text) == (phase == CHAIN)


def how_often_of_none() -> HowOften:
    """What one prior draw outside of the level set shows."""
    miss = Draw(scored(TARGET, [0.1, 0.9]))
    return how_often([miss], everyone(1), TARGET, 0.95)


def staying(*stay: bool) -> Hits:
    """Distinct hits, each with whether it stays under fresh noise."""
    found = Hits(TARGET, are_distinct, 2, PRIOR_DEVIATION)
    for place, stays in enumerate(stay):
        found.add([record(float(place), 0.9), record(float(place), 0.8 if stays else 0.2, FRESH)])
    return found


@pytest.mark.parametrize("ending", list(Ending))
def test_one_hit_that_stays_is_found_whatever_became_of_others(ending: Ending) -> None:
    """Planted bug: one fragile hit, and everything else was not found either."""
    before = Conclusion(ending, ("As it was.",), (), 4, 9, 0.9, 100)
    mixed = corrected(
        before, staying(True, False, False), "1 scene", [], how_often_of_none(), SearchSection()
    )
    assert mixed.ending is (Ending.FOUND if ending is Ending.NOT_FOUND else ending)
    none = corrected(before, staying(False, False), "", [], how_often_of_none(), SearchSection())
    assert none.ending is Ending.NOT_FOUND and "2 distinct hits were" in none.sentences[0]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A search that has found something."""
    done = run(tmp_path_factory.mktemp("found"), ["search.steps=0", "render.fresh=0", "answer=1"])
    assert done.results.found
    return done.results


def test_a_build_fails_by_hits_that_survive_alone(results: Results) -> None:
    """Planted bug: fragile hits failed it too."""
    condition = parse_fail_if("found")
    fragile = replace(results, found=(), fragile=results.found)
    assert rule(condition, results).decision is Decision.FAIL
    assert rule(condition, fragile).decision is Decision.PASS
    assert rule(condition, replace(results, found=(), fragile=())).decision is Decision.PASS


def test_before_a_search_has_finished_a_hit_alone_decides(results: Results) -> None:
    """Planted bugs: no hit so far passes; an interval of the first draws decides."""
    fragile = replace(results, found=(), fragile=results.found)
    found, rate = parse_fail_if("found"), parse_fail_if("rate < 1")
    assert rule(found, results, is_finished=False).decision is Decision.FAIL
    assert rule(found, fragile, is_finished=False).decision is Decision.UNDECIDED
    assert rule(rate, results, is_finished=True).decision is not Decision.UNDECIDED
    assert rule(rate, results, is_finished=False).decision is Decision.UNDECIDED


def test_near_misses_are_scenes_that_differ_and_none_of_a_cheaper_look(tmp_path: Path) -> None:
    """Planted bugs: any other picture was another miss, such as the same scene under other noise; a look that does not
    decide was near.
    """
    done = run(tmp_path, ["answer=6", "target.width=1e-6", "search.steps=0", "render.fresh=0"])
    prior = read_draws(done.folder / "draws.jsonl", done.manifest)

    def again(record: Record, k: int) -> Record:
        """The same scene under another noise seed, at a place of its own."""
        return replace(record, index=100 * k + record.index, z=identity(replace(record.scene, noise=k)))

    cheap = replace(again(prior[0], 9), phase=BANK, log_probs=prior[0].log_probs[::-1])
    found = nearest_misses(
        done.manifest, [*prior, *(again(record, k) for record in prior for k in (1, 2, 3)), cheap]
    )
    assert len(found) == min(MAX_MISSES, len(prior)) == MAX_MISSES
    assert all(distinct.are_distinct(a.record.scene, b.record.scene) for a, b in combinations(found, 2))
    confidences = [hit.confidence for hit in found]
    assert confidences == sorted(confidences, reverse=True)
    assert [hit.record.scene.objects for hit in found] == [
        miss.record.scene.objects for miss in nearest_misses(done.manifest, prior)
    ]
