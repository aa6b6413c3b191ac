"""The report: one file, no network, everything on it; and the same run for ArviZ."""

from __future__ import annotations

import json
import os
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY, SEARCHES, find, run, write_query
from tests.serving.html_page import Page, read_page
from trex.explain.run_families import CODEC, FILE, StoredFamilies, StoredFamily
from trex.export.netcdf import write_netcdf
from trex.families.family import Family
from trex.families.lineage import NO_FAMILY, Families
from trex.families.pattern import Pattern
from trex.families.symptom import RESPONSIBLE
from trex.finding.conclude import Outcome, conclude_run
from trex.foundation.words import percent, percent_span
from trex.pages import figures
from trex.report import context
from trex.report.context import goal
from trex.report.gallery import ALONE, family_choices, family_counts, family_key, first_places, kinds
from trex.runs.draw_log import read_draws
from trex.runs.folder import open_run
from trex.runs.record import CONTROL, CONTROLS
from trex.scenes.clevr_format.scene_json import read_scenes
from trex.scenes.conditions import has
from trex.scenes.questions.programs import execute
from trex.scenes.scene import scene_id
from trex.worlds.description import Noun


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run(tmp_path_factory.mktemp("report"), ["search.steps=40", "search.seed=3"])


@pytest.fixture(scope="module")
def page(done: Outcome) -> Page:
    return read_page(done.report)


def test_it_needs_nothing_but_itself(page: Page, done: Outcome) -> None:
    assert page.references
    assert all(reference.startswith(("data:", "#")) for reference in page.references)
    html = done.report.read_text(encoding="utf-8")
    assert not re.search(r"url\((?!#)", html)
    assert "@import" not in html
    assert "content=\"default-src 'none'" in html
    assert page.open == []


def test_a_run_of_before_names_the_weights_that_the_user_gave(done: Outcome) -> None:
    """Planted bug: "percept", whatever file it was."""
    query = done.manifest.query
    own = query.model_copy(update={"model": query.model.model_copy(update={"name": "mine.safetensors"})})
    facts = done.manifest.facts.model_copy(update={"model": "percept"})
    before = done.manifest.model_copy(update={"query": own, "facts": facts})
    assert context.model_words(before) == "mine.safetensors"


def test_a_page_replaces_a_page(done: Outcome, tmp_path: Path) -> None:
    for _ in range(2):
        trex_done("report", done.folder, "--out", tmp_path / "page.html")
    refused(trex("report", done.folder, "--out", ""), "--out")


def test_out_needs_no_writable_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: "cannot write RUN/findings.json". Tests run as root, too, for whom no folder is read-only."""
    done = run(tmp_path)
    path, page = done.folder, tmp_path / "page.html"
    made = ("report.html", "findings.json", "found_scenes.json")
    whole = (path / "report.html").read_text(encoding="utf-8")
    for name in made:
        (path / name).unlink()
    access = os.access
    with monkeypatch.context() as mounted:
        mounted.setattr(
            os, "access", lambda at, mode: access(at, mode) and not (Path(at) == path and mode == os.W_OK)
        )
        said = trex_done("report", path, "--out", page).stdout.splitlines()
    assert said == [*done.first.lines, f"report: {page}"]
    assert not any((path / name).exists() for name in made)
    assert page.read_text(encoding="utf-8").count("<img") == whole.count("<img") > 0
    trex_done("report", path, "--out", page)
    assert all((path / name).exists() for name in made)


def test_a_page_that_leaves_scenes_out_says_which(done: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: "The 4 most confident" of a page whose first cards stand for families."""
    found = done.results.found
    stored = [
        StoredFamily("object", "responsible", (), (), (scene_id(found[place].record.scene),), 1, False)
        for place in (5, 2)
    ]
    monkeypatch.setattr(context, "MOST", 4)
    with open_run(done.folder, for_writing=True) as folder:
        try:
            folder.write(FILE, CODEC.text(StoredFamilies(tuple(stored))))
            text = conclude_run(folder, read_draws(folder.draws)).report.read_text(encoding="utf-8")
        finally:
            monkeypatch.undo()
            (folder.path / FILE).unlink()
            conclude_run(folder, read_draws(folder.draws))
    assert f"The 4 most confident of {len(found)}" not in text
    cards = re.findall(r'id="scene-(\d+)" aria', text)
    assert cards == ["6", "3", "1", "2"]
    assert (
        f"4 of {len(found)}: families first, each by its most confident scene; then the most confident"
        in text
    )


def test_a_hit_of_either_level_of_the_control_is_offered_as_one(done: Outcome) -> None:
    hit = done.results.found[0]
    of_levels = [replace(hit, record=replace(hit.record, phase=phase)) for phase in CONTROLS]
    assert all(CONTROL in kinds(hit, False) for hit in of_levels)


def test_it_shows_every_scene_with_its_true_answer(page: Page, done: Outcome) -> None:
    found = done.results.found
    assert len(found) >= 5
    shown = [found[place] for place in first_places(done.results.families, 24)]
    assert len(page.images) == len(shown)
    assert all((image["alt"] or "").startswith("Rendered scene with 5 objects:") for image in page.images)
    html = done.report.read_text(encoding="utf-8")
    truths = re.findall(r'True answer: <span class="answer">([^<]*)', html)
    assert truths == [execute(done.manifest.question.program, scene.record.scene) for scene in shown]
    says = re.findall(r'Model: <span class="answer">([^<]*)', html)
    assert says == ["2"] * len(shown)
    assert all(scene.confidence >= 0.9 for scene in shown)


def test_it_says_how_often_how_sure_and_how_to_do_it_again(page: Page, done: Outcome) -> None:
    for sentence in (*done.results.conclusion.sentences, *done.results.how_often.sentences()):
        assert sentence in page.text
    assert done.results.checks[0].startswith("Visible pixels, id map")
    assert done.results.checks[0] in page.text
    assert done.manifest.command in page.text
    assert "--set search.steps=40" in page.text
    for key in ("search.seed", "target.width", "scene.revoke", "render.preset"):
        assert key in page.text
    assert done.manifest.made.renderer in page.text
    assert done.manifest.versions["bayes-trex"] in page.text
    assert "prior_scenes = 12" in page.text  # the query as asked


def test_all_28_answers_are_there(done: Outcome) -> None:
    html = done.report.read_text(encoding="utf-8")
    tables = re.findall(r"All answers for scene \d+</caption>(.*?)</table>", html, re.DOTALL)
    assert len(tables) == len(done.results.found[:24])
    for table in tables:
        answers = re.findall(r'<th scope="row">(.*?)</th>', table)
        assert sorted(answers) == sorted(done.manifest.facts.labels)


def test_what_a_user_writes_is_escaped(tmp_path: Path) -> None:
    query = write_query(tmp_path, '# <script>alert("hi")</script>\n' + QUERY)
    done = find(query, ["search.steps=0"], tmp_path / "run")
    html = done.report.read_text(encoding="utf-8")
    assert html.count("<script") == 1  # the page's own, whose hash the policy names
    assert "&lt;script&gt;" in html


def test_nothing_found_is_said_with_its_bound_and_control(tmp_path: Path) -> None:
    done = run(tmp_path, SEARCHES["control"])
    page = read_page(done.report)
    assert done.results.ending == "NOT FOUND"
    assert "less than 3.6% of all prior draws" in page.text  # of 100
    assert "Positive control" in page.text
    html = done.report.read_text(encoding="utf-8")
    below = html[html.index("Nearest misses") :]
    assert below.count("<img src=") == len(page.images)  # nothing else has a picture
    assert below.count(">miss</span>") == len(done.results.nearest) == 6


def test_findings_for_machines(done: Outcome) -> None:
    data = json.loads((done.folder / "findings.json").read_text())
    assert data["ending"] == done.results.ending
    assert len(data["found"]) == len(done.results.found)
    assert data["how_often"]["prior_draws"] == 12
    first = data["found"][0]
    assert (done.folder / first["picture"]).exists()
    assert first["probabilities"]["2"] == pytest.approx(first["confidence"])


def test_found_scenes_are_clevr_scenes(done: Outcome) -> None:
    records = list(read_scenes(done.folder / "found_scenes.json"))
    assert [record.scene for record in records] == [found.record.scene for found in done.results.found]


def test_netcdf(done: Outcome, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import arviz
    with open_run(done.folder, for_writing=False) as folder:
        write_netcdf(folder.manifest, read_draws(folder.draws), tmp_path / "draws.nc")
    data = arviz.from_netcdf(str(tmp_path / "draws.nc"))
    assert (data.posterior.sizes["chain"], data.posterior.sizes["draw"]) == (
        3,
        32,
    )  # of 40 steps, 8 are warmup
    assert data.prior.sizes["draw"] == 12
    assert data.categories["shape"].shape == (3, 32, 5)
    assert not (data.categories["shape"] == "cube").any()
    assert data.prior_categories["shape"].shape == (1, 12, 5)
    for group in ("posterior", "prior"):
        assert {variable.dtype.kind for variable in data[group].values()} <= set("fb")
    answer = data.posterior["log_probs"].sel(answer="2")
    np.testing.assert_allclose(np.exp(answer), data.posterior["confidence"])
    kept = [draw for draw in done.results.chains if not draw.is_warmup]
    chain = [draw.state.log_weight for draw in kept if draw.chain == 1]
    np.testing.assert_array_equal(data.posterior["log_weight"][1], chain)
    assert data.sample_stats["is_accepted"].sum() == sum(draw.is_accepted for draw in kept)
    assert data.attrs["question"] == "How many red things are there?"


KINDS = {
    "threshold": (["target.kind=threshold"], "is at least 90.0% sure of 2"),
    "ambiguous": (["target.kind=ambiguous", "answer=[2, 3]"], "is torn between 2 and 3"),
    "k_way": (["target.kind=k_way", "answer=[2, 3, 4]"], "is torn between 2 and 3 and 4"),
    "uniform": (["target.kind=uniform", "answer=[]"], "is torn between all answers and "),
    "graded": (
        ["target.kind=graded", "answer=[2, 3]", "target.share=0.3"],
        "gives 2: 30.0% and 3: 70.0%",
    ),
    "probabilities": (
        ["target.kind=probabilities", "answer=[]", "target.probabilities={3 = 1.0}"],
        "gives 3: 100%",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_target_runs_and_is_put_into_words(kind: str, tmp_path: Path) -> None:
    overrides, words = KINDS[kind]
    done = run(tmp_path, [*overrides, "search.steps=0"])
    verb, answers = goal(done.manifest)
    assert f"{verb} {' and '.join(answers)}".strip() == words.removesuffix(" and ")
    assert verb in done.report.read_text(encoding="utf-8")


NO_CHAIN = {
    "enough": (["search.stop_when_found=1"], "already held what was asked for"),
    "none asked for": (["search.steps=0"], "the query asks for none"),
}


@pytest.mark.parametrize("name", NO_CHAIN)
def test_why_no_chain_was_run_is_said(name: str, tmp_path: Path) -> None:
    overrides, words = NO_CHAIN[name]
    done = run(tmp_path, overrides)
    assert done.results.ending == "FOUND" and not done.results.chains
    assert words in read_page(done.report).text
    assert [kind for kind, (_, part) in NO_CHAIN.items() if part in read_page(done.report).text] == [name]


def test_a_common_target_with_too_few_draws_is_said_to_be_that(tmp_path: Path) -> None:
    """The run was stopped between the draws that decide and the further ones."""
    done = run(tmp_path, [*SEARCHES["common"], "search.prior_scenes=20"])
    first = done.manifest.query.search.prior_scenes
    assert done.results.ending == "CONVERGED" and len(done.results.prior) > first
    (done.folder / "finished").unlink()  # as after a kill
    for path in done.folder.glob("draws.*"):
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:first]))
    with open_run(done.folder, for_writing=False) as folder:
        part = conclude_run(folder, read_draws(folder.draws))
    assert part.results.ending == "FOUND" and not part.results.chains
    assert f"the target is common, but the effective size of {first}" in read_page(part.report).text


def test_a_run_that_was_stopped_before_its_chains_does_not_say_that_none_was_asked_for(
    tmp_path: Path,
) -> None:
    done = run(tmp_path, [])
    path = done.folder / "draws.jsonl"
    (done.folder / "finished").unlink(missing_ok=True)  # as after a kill
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:12]))  # the prior draws
    with open_run(done.folder, for_writing=False) as folder:
        assert conclude_run(folder, read_draws(folder.draws)).results.ending == "FOUND"
    assert "No chain has been run yet." in read_page(done.report).text


@pytest.mark.parametrize(("answer", "share"), [("2", 0.1), ("2", 0.55), ("3", 0.9)])
def test_a_run_that_is_not_finished_has_a_report_too(answer: str, share: float, tmp_path: Path) -> None:
    done = run(tmp_path, [f"answer={answer}"])
    assert "not finished" not in read_page(done.report).text
    path = done.folder / "draws.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    (done.folder / "finished").unlink()
    with open_run(done.folder, for_writing=False) as folder:
        part = conclude_run(folder, read_draws(folder.draws))
    page = read_page(part.report)
    assert "This run is not finished" in page.text
    assert f"{part.results.how_often.n} prior draws" in page.text


SCENE = Noun("scene", "scenes")
RED = Pattern(((has("color", "red"),),))
FAMILIES = Families(
    numbers=(1, 1, NO_FAMILY, 2, 3, 2),
    known=(
        Family(RED, RESPONSIBLE, number=1, members=(0, 1)),
        Family(Pattern(), RESPONSIBLE, number=2, members=(3, 5)),
        Family(Pattern(), RESPONSIBLE, number=3, members=(4,)),
    ),
)


def test_one_scene_of_each_family_comes_first_then_the_others_by_confidence() -> None:
    assert first_places(FAMILIES, 240) == [0, 3, 4, 1, 2, 5]
    assert first_places(FAMILIES, 4) == [0, 3, 4, 1]  # no family is cut off before a second scene is shown


def test_a_family_without_traced_misreadings_says_what_is_wrong_first() -> None:
    """A page about wrong answers opened with "The model is right without an object"."""
    red, any_object = replace(FAMILIES.known[0], is_clear=True), FAMILIES.known[1]
    assert red.words == "The model is wrong, and becomes right without a red object."
    assert (
        any_object.wrongly("2")
        == "The model wrongly answers 2, and becomes right without one of the objects."
    )
    assert any_object.wrongly("") == any_object.words


def test_each_scene_is_reached_by_one_choice_of_the_filter() -> None:
    values = [value for value, _ in family_choices(FAMILIES, SCENE)]
    assert values == ["1", "2", "3", ALONE]
    assert list(map(family_key, FAMILIES.numbers)) == ["1", "1", ALONE, "2", "3", "2"]
    counts = family_counts(FAMILIES.known[0], 6, SCENE).replace("\u00a0", " ")
    assert counts == "2 scenes, 33.3% of all 6 found"
    assert family_choices(Families(numbers=(NO_FAMILY,)), SCENE) == []


def test_percent_keeps_what_matters() -> None:
    shown = [percent(value).replace("\u00a0", " ") for value in (0, 1, 0.9996, 0.1234, 0.00144, 0.0004, 1e-9)]
    assert shown == ["0%", "100%", "99.96%", "12.3%", "0.14%", "0.04%", "< 0.01%"]
    spans = [
        percent_span(*ends) for ends in ((0.0019, 0.0096), (1e-9, 0.021), (1e-9, 1e-8), (0.707, 0.99999))
    ]
    assert spans == ["0.19–0.96%", "less than 0.01% to 2.1%", "less than 0.01%", "70.7–99.99%"]


def test_rolling_mean_matches_the_plain_sum() -> None:
    values = np.random.default_rng(0).random(40)
    plain = [values[max(0, k - 24) : k + 1].mean() for k in range(40)]
    np.testing.assert_allclose(figures.rolling(values, 25), plain)
