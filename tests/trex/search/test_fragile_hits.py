"""Hits that leave the level set under fresh noise fail no build, and take nothing from those that stay."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.references.draws import scored
from tests.running.runs import run
from trex.inference.statistics.how_often import HowOften, how_often
from trex.inference.statistics.two_phase import everyone
from trex.inference.statistics.verdict import Conclusion, Ending
from trex.inference.targets import threshold
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.record import CHAIN, FRESH, Record
from trex.search.hits import Hits
from trex.search.judging.endings import corrected
from trex.search.judging.fail_if import Decision, parse_fail_if, rule
from trex.search.results import Results
from trex.worlds.latents import Latent

TARGET = threshold(("a", "b"), "a", 0.5, width=0.01)


def record(x: float, confidence: float, phase: str = CHAIN) -> Record:
    log_probs = (math.log(confidence), math.log1p(-confidence))
    return Record(phase, 0, 0, (x,), True, 0.0, 0.0, 0.0, log_probs, ())


def are_distinct(one: Latent, other: Latent) -> bool:
    return abs(float(one[0] - other[0])) > 0.5


def hits(*stay: bool) -> Hits:
    """Distinct hits, each with whether it stays under fresh noise."""
    found = Hits(TARGET, are_distinct, True)
    for place, stays in enumerate(stay):
        found.add([record(float(place), 0.9), record(float(place), 0.8 if stays else 0.2, FRESH)])
    return found


def of_none() -> HowOften:
    miss = Draw(scored(TARGET, [0.1, 0.9]))
    return how_often([miss], everyone(1), TARGET)


@pytest.mark.parametrize("ending", list(Ending))
def test_one_hit_that_stays_is_found_whatever_became_of_others(ending: Ending) -> None:
    """Planted bug: one fragile hit, and everything else was not found either."""
    before = Conclusion(ending, ("As it was.",), (), 4, 9, 0.9, 100)
    mixed = corrected(before, hits(True, False, False), "1 scene", [], of_none(), SearchSection())
    assert mixed.ending is (Ending.FOUND if ending is Ending.NOT_FOUND else ending)
    none = corrected(before, hits(False, False), "", [], of_none(), SearchSection())
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
