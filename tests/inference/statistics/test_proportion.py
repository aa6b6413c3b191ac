"""What may be said of a rate: one object decides, and no tile, sentence or file says another thing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.references.draws import scored
from tests.running.runs import run
from trex.inference.statistics.how_often import SampledRate, how_often, rate_of
from trex.inference.statistics.proportion import Proportion, clopper_pearson
from trex.inference.statistics.two_phase import Selection, estimate, everyone
from trex.inference.targets import threshold
from trex.inference.types import Draw
from trex.report.compare import compare
from trex.report.compare_page import write_comparison


@pytest.mark.parametrize("n", [50, 100, 5000])
def test_fewer_than_four_hits_give_no_point_value_and_four_do(n: int) -> None:
    assert [Proportion(hits, n).point is not None for hits in range(6)] == [
        False,
        False,
        False,
        False,
        True,
        True,
    ]
    assert Proportion(4, n).point == 4 / n


@pytest.mark.parametrize(("count", "of"), [(1, 1), (2, 2), (2, 3), (3, 12)])
def test_fewer_than_four_hits_give_no_value_however_small_the_sample(count: int, of: int) -> None:
    sampled = SampledRate(
        count, of, bank=of, estimate=estimate(everyone(of), np.repeat([1.0, 0.0], [count, of - count]))
    )
    assert Proportion(count, of).point is None and sampled.point is None
    assert Proportion(4, 4).point == 1.0


def test_a_figure_is_a_value_an_interval_or_a_bound() -> None:
    assert Proportion(12, 100).figure == "12.0%"
    assert Proportion(12, 100).detail == "12 of 100; 95% CI 6.4–20.0%"
    assert Proportion(1, 100).figure == "0.025–5.4%"
    assert Proportion(1, 100).detail == "1 of 100; 95% CI"
    assert (Proportion(0, 100).figure, Proportion(0, 100).detail) == (
        "< 3.6%",
        "none of 100; 95%",
    )
    assert str(Proportion(1, 100)) == "0.025–5.4% (1 of 100; 95% CI)"
    assert (
        repr(Proportion(1, 100)) == "<Proportion 0.025–5.4% (1 of 100; 95% CI)>"
    )  # a notebook's cell `run.rate`
    sampled = SampledRate(4, 40, bank=40, estimate=estimate(everyone(40), np.repeat([1.0, 0.0], [4, 36])))
    assert repr(sampled) == f"<{type(sampled).__name__} {sampled}>"


@pytest.mark.parametrize("answer", ["0", "1", "2", "3", "4", "5"])
def test_the_tile_the_text_and_the_findings_say_the_same_of_the_rate(answer: str, tmp_path: Path) -> None:
    done = run(tmp_path, [f"answer={answer}", "search.steps=2", "search.prior_scenes=40"])
    how = done.results.how_often
    page = done.report.read_text(encoding="utf-8")
    data = json.loads((done.folder / "findings.json").read_text())["how_often"]
    other = run(
        tmp_path, [f"answer={answer}", "search.steps=2", "search.prior_scenes=40", "search.seed=9"], "other"
    )
    write_comparison(compare([done.folder, other.folder]), tmp_path / "comparison.html")
    shown = how.rate.figure.replace("<", "&lt;")
    assert f"<dd>{shown}</dd>" in page
    assert shown in (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert data["says"] == how.rate.figure
    has_point = how.rate.point is not None
    assert (data["rate"] is not None) == has_point
    text = " ".join(how.sentences())
    assert (" is reported." in text) == (not has_point)
    assert not (data["mass"] is not None and not has_point)
    assert "vary too much" not in page
    if not has_point and how.hits:
        assert f"<dd>{how.hits / how.n:.1%}" not in page


TARGET = threshold(("a", "b"), "a", 0.5, width=0.05)


def test_the_effective_size_counts_each_draw_for_those_that_it_stands_for() -> None:
    """Four equal hits with weights 1, 1, 10 and 10 are worth (22)^2 / 202 draws, not 4."""
    draws = [Draw(scored(TARGET, [0.9, 0.1], k), index=k) for k in range(4)]
    chosen = Selection(np.arange(4), np.array([1.0, 1.0, 0.1, 0.1]))
    assert how_often(draws, chosen, TARGET).ess == pytest.approx(22**2 / 202)


def test_at_another_level_the_rate_has_its_interval() -> None:
    hits = np.repeat([1.0, 0.0], [6, 34])
    for level in (0.95, 0.975, 0.9875):
        assert rate_of(hits, everyone(40), level).interval == pytest.approx(clopper_pearson(6, 40, level))
    draws = [Draw(scored(TARGET, [0.9, 0.1], k), index=k) for k in range(9)]
    wide, plain = (how_often(draws, everyone(9), TARGET, level) for level in (0.975, 0.95))
    assert wide.mass.interval.low < plain.mass.interval.low and wide.level == 0.975
