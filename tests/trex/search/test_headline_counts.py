"""How many answers are wrong, in the headline: none, some, all, or not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.running.runs import run
from trex.families.relatives import Families
from trex.finding.conclude import Outcome
from trex.search.hit import count_known
from trex.search.judging.headline import headline

HITS = ["search.steps=0", "render.fresh=0", "answer=1", "target.kind=threshold", "target.threshold=0.01"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    found = run(tmp_path_factory.mktemp("hits"), [*HITS, "search.prior_scenes=30"])
    assert len(found.results.found) >= 3
    return found


def said(done: Outcome, wrong: Sequence[bool | None]) -> str:
    """The headline if of the first hits these answers are wrong."""
    hits = tuple(replace(hit, is_wrong=flag) for hit, flag in zip(done.results.found, wrong, strict=False))
    return headline(
        done.manifest, replace(done.results, found=hits, families=Families(tuple(range(1, len(hits) + 1))))
    )


def test_the_headline_counts_what_is_wrong_and_what_is_unknown(done: Outcome) -> None:
    """Planted bugs: one wrong answer, and every one was; what nobody knows counted as right."""
    assert said(done, [True, False, True]).endswith("; in 2 of them the answer is wrong.")
    assert said(done, [True, True, True]).endswith(", and in every one the answer is wrong.")
    assert said(done, [False, False, False]).endswith("; the answer is right in all of them.")
    assert "in 1 of them the answer is wrong, and in 2 that is not known" in said(done, [True, None, None])
    assert "wrong" not in said(done, [None, None, None]) and "right" not in said(done, [None, None, None])


def test_a_count_is_unknown_only_if_nothing_is_known() -> None:
    assert count_known([True, None, False]) == 1 and count_known([None, None]) is None
    assert count_known([]) == 0 and count_known([False, None]) == 0
