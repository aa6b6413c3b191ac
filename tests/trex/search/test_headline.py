"""Page, terminal and notebook say in the same words what stays under new render noise, and how often it happens."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import trex_done
from tests.running.runs import QUERY, run, write_query
from tests.serving.html_page import read_page
from tests.worlds import grainy_models
from trex.commands.results.run import open_run
from trex.families.lineage import Families, distinct_words
from trex.finding.conclude import Outcome
from trex.inference.statistics.how_often import rate_words
from trex.report.calibration import calibration_view
from trex.runs.draw_log import read_draws
from trex.runs.record import FRESH, NOISE, PRIOR
from trex.search.hit import count_known
from trex.search.judging.headline import family_sentences, fragile_words, headline, how_often_words
from trex.search.results import Results, read_results

BANKED = ["search.bank=200", "render.fresh=2", "search.prior_scenes=40", "search.steps=8"]


@pytest.fixture(scope="module")
def grainy(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A run of a model that sees the renderer's noise: most of its hits are fragile."""
    folder = tmp_path_factory.mktemp("grainy")
    return run(folder, [*BANKED, f"model.name={grainy_models.NAMED}", "answer=1"])


@pytest.fixture(scope="module")
def banked(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run(tmp_path_factory.mktemp("banked"), BANKED)


@pytest.mark.slow
def test_the_first_sentences_count_survivors_families_and_fragile_hits(grainy: Outcome) -> None:
    results = grainy.results
    kept, lost = len(results.found), len(results.fragile)
    assert kept and lost
    page = read_page(grainy.report).text
    says = headline(grainy.manifest, results)
    counted = distinct_words(grainy.manifest.world.noun, kept, results.families)
    assert says.startswith(counted) and "under new render noise" in says and says in page
    often = how_often_words(grainy.manifest, results)
    words = rate_words(results.how_often.rate, "scenes")
    assert f"At preset fake (120×80) it happens in {words}. " in often
    assert (
        often.endswith(f"{lost} more candidates were dropped because they depend on render noise.")
        and lost > 1
    )
    assert often in page
    assert "kind" not in re.sub(r"target\.kind", "", page[: page.index("What may be said")])


def test_a_check_that_failed_is_said_though_a_like_hit_survived(grainy: Outcome) -> None:
    """Planted bug: "no candidate was dropped" where two checks failed and the third, of a hit like them, did not."""
    none_left = replace(grainy.results, fragile=(), fresh_checks=(2, 9))
    kept = len(none_left.found)
    assert fragile_words(grainy.manifest, none_left) == (
        "2 of 9 candidates depend on render noise, and resemble a scene that does not."
    )
    assert fragile_words(grainy.manifest, replace(none_left, fresh_checks=(0, 9))) == (
        "No candidate was dropped: all stay under 2 draws of new render noise."
    )
    one = replace(none_left, fragile=grainy.results.fragile[:1], found=())
    assert fragile_words(grainy.manifest, one) == (
        "1 candidate was dropped because it depends on render noise."
    )
    failed, checks = grainy.results.fresh_checks
    assert checks >= kept + len(grainy.results.fragile) and failed >= len(grainy.results.fragile)


def test_a_failed_check_counts_though_another_hit_took_its_place(grainy: Outcome) -> None:
    """Planted bug: failures counted among the hits that are kept, without those that a like one replaced."""
    records = read_draws(grainy.folder / "draws.jsonl", grainy.manifest)
    tried = [record for record in records if record.phase == NOISE]
    miss = next(record for record in tried if not grainy.manifest.target.is_hit(np.array(record.log_probs)))
    failed = replace(miss, phase=FRESH)  # as runs of earlier versions record the check of a hit
    hits = {hit.record.z for hit in (*grainy.results.found, *grainy.results.fragile)}
    replaced = next(record.z for record in records if record.phase == PRIOR and record.z not in hits)
    before, after = (
        read_results(grainy.manifest, rows) for rows in (records, [*records, replace(failed, z=replaced)])
    )
    assert after.fresh_checks == (before.fresh_checks[0] + 1, before.fresh_checks[1] + 1)
    assert len(after.fragile) == len(before.fragile)


def test_the_terminal_says_it_in_the_same_words(tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY)
    changes = [part for text in (*BANKED, "search.stop_when_found=6") for part in ("--set", text)]
    result = trex_done("find", query, "--out", tmp_path / "run", "--no-large", *changes)
    built = open_run(tmp_path / "run")
    often = how_often_words(built.manifest, built.results)
    for sentence in (headline(built.manifest, built.results), often, *family_sentences(built.results)):
        assert sentence in result.stdout
    known = tuple(replace(family, rate=None) for family in built.results.families.known)
    unmet = replace(built.results, families=replace(built.results.families, known=known))
    assert all(text.endswith("found; none in random scenes") for text in family_sentences(unmet)) and known
    assert "   1. " in result.stdout and "true answer" in result.stdout
    first = json.loads((built.path / "findings.json").read_text())["finding"]
    notebook, page = built._repr_html_(), (built.path / "report.html").read_text()
    for sentence in (first["what"], *first["evidence"], f"How often: {first['how_often']}"):
        assert sentence in result.stdout and escape(sentence) in notebook
    assert f"<h1>{escape(first['what'])}</h1>" in page


def test_nothing_that_survives_is_no_finding(grainy: Outcome) -> None:
    none: Results = replace(grainy.results, found=())
    lost = len(none.fragile)
    assert headline(grainy.manifest, none) == (
        f"No such scene: none of {lost} distinct hits stays under new render noise."
    )
    results = replace(none, fragile=none.fragile[:1])
    assert (
        headline(grainy.manifest, results)
        == "No such scene: the one hit does not stay under new render noise."
    )


@pytest.mark.slow
def test_the_look_that_led_and_the_cheap_renders_are_on_the_page(banked: Outcome) -> None:
    page = read_page(banked.report).text
    view = calibration_view(banked.manifest, banked.results)
    assert view is not None and banked.results.calibration is not None
    (look,) = banked.results.calibration.tried
    assert view.sentence in page
    assert look.gate.passes and "Preset fake-small led the chains, 16 of its steps for one" in view.sentence
    shown = f"{look.gate.rank_correlation:.2f}"
    assert shown in view.sentence and view.table.rows[0][:2] == ("fake-small", shown)
    assert f"and {banked.results.cheap:,} cheap ones" in page
    assert banked.results.cheap > 200  # the bank, and the chains' inner steps


def test_what_it_costs_if_no_look_passed_is_said(banked: Outcome) -> None:
    found = banked.results.calibration
    assert found is not None
    failed = replace(found.tried[0], gate=found.tried[0].gate._replace(passes=False))
    view = calibration_view(
        banked.manifest, replace(banked.results, calibration=replace(found, tried=(failed,)))
    )
    assert view is not None and view.table.rows[0][3] == "no"
    assert "No cheap preset led the chains (tried: fake-small)" in view.sentence
    assert "would have tried 16" in view.sentence
    without = calibration_view(banked.manifest, replace(banked.results, proposals=0))
    assert without is not None and without.sentence.startswith("No chain was run, so no preset had to lead")
    assert calibration_view(banked.manifest, replace(banked.results, calibration=None)) is None


def test_each_scene_shows_its_camera_lights_and_noise_seed(banked: Outcome) -> None:
    html = banked.report.read_text(encoding="utf-8")
    seeds = re.findall(r'<th scope="row">noise seed</th><td class="number">(\d+)</td>', html)
    assert sorted(seeds) == sorted(str(hit.record.scene.noise) for hit in banked.results.found)
    first = banked.results.found[0].record.scene.nuisances.camera
    assert f'<th scope="row">camera</th><td class="number">{first[0]:+.2f}</td>' in html
    assert (
        banked.results.checks[0].startswith("Visible pixels") and " 0 decisions" in banked.results.checks[0]
    )


def test_scenes_are_counted_whatever_their_noise_draws(tmp_path: Path) -> None:
    """Planted bug: four noise draws of each of 12 scenes were 48 scenes."""
    none = ["answer=6", "target.width=1e-6", "search.steps=0"]
    for noise in (1, 4):
        done = run(tmp_path, [*none, f"render.noise={noise}"], f"noise-{noise}")
        assert headline(done.manifest, done.results) == "No such scene among 12 rendered."


ALL_HITS = ["search.steps=0", "render.fresh=0", "answer=1", "target.kind=threshold", "target.threshold=0.01"]


@pytest.fixture(scope="module")
def wrong_ones(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    found = run(tmp_path_factory.mktemp("hits"), [*ALL_HITS, "search.prior_scenes=30"])
    assert len(found.results.found) >= 3
    return found


def said(wrong_ones: Outcome, wrong: Sequence[bool | None]) -> str:
    """The headline if of the first hits these answers are wrong."""
    hits = tuple(
        replace(hit, is_wrong=flag) for hit, flag in zip(wrong_ones.results.found, wrong, strict=False)
    )
    return headline(
        wrong_ones.manifest,
        replace(wrong_ones.results, found=hits, families=Families(tuple(range(1, len(hits) + 1)))),
    )


def test_the_headline_counts_what_is_wrong_and_what_is_unknown(wrong_ones: Outcome) -> None:
    """Planted bugs: one wrong answer, and every one was; what nobody knows counted as right."""
    assert said(wrong_ones, [True, False, True]).endswith("; in 2 of them the answer is wrong.")
    assert said(wrong_ones, [True, True, True]).endswith(", and in every one the answer is wrong.")
    assert said(wrong_ones, [False, False, False]).endswith("; the answer is right in all of them.")
    assert "in 1 of them the answer is wrong, and in 2 that is not known" in said(
        wrong_ones, [True, None, None]
    )
    assert "wrong" not in said(wrong_ones, [None, None, None]) and "right" not in said(
        wrong_ones, [None, None, None]
    )


def test_a_count_is_unknown_only_if_nothing_is_known() -> None:
    assert count_known([True, None, False]) == 1 and count_known([None, None]) is None
    assert count_known([]) == 0 and count_known([False, None]) == 0
