"""From found scenes to a sentence: a planted misreading is traced, described, kept, and the same after a kill."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

import trex
from benchmarks.auditing.misreader import Misreader, showing
from tests.running.command_line import trex as command
from tests.worlds.misreader import FAULTS, misreader, story
from trex.clevr_models.specs.ours import asks_freely
from trex.commands.results.run import Run
from trex.explain import run_families
from trex.explain.stored import read_explanations
from trex.explain.traces import read_traces
from trex.families import trace
from trex.families.pattern import Pattern
from trex.families.symptom import Symptom
from trex.report.first_screen import first_screen
from trex.runs.folder import open_run

FILES = ("traces.jsonl", "families.json", "findings.json")


def found(out: Path, model: Misreader | None = None, **options: object) -> Run:
    """A search of 120 prior scenes for one cube where there is none, by a model with a planted fault."""
    model = model or misreader(FAULTS["same-color neighbor"][0])
    with showing(model, out.with_suffix(".cache")):
        return trex.find(
            question="How many cubes are there?", answer="1", revoke=["cube"], objects=5, preset="fake", model=model,
            prior_scenes=120, steps=0, control=False, out=out, progress=False, large=False, **options,
        )  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return found(tmp_path_factory.mktemp("traced") / "run")


def test_every_hit_is_traced_to_the_planted_misreading(done: Run) -> None:
    assert len(done.hits) >= 3
    with open_run(done.path, for_writing=False) as folder:
        known = read_traces(folder)
    for row in known.hits.values():
        (failure,) = row.failures
        assert (failure.symptom.what, failure.value) == ("shape", "cube")
    assert len(known.hits) == len(done.hits) and set(done.results.families.numbers) == {1}


def test_the_first_line_says_what_the_model_does_wrong(done: Run) -> None:
    first = json.loads((done.path / "findings.json").read_text())["finding"]
    assert first["what"].startswith("The model reads a") and "as a cube" in first["what"]
    page = (done.path / "report.html").read_text()
    assert f"<h1>{first['what']}</h1>" in page and 'class="proof chief"' in page and 'class="plane"' in page
    assert command("report", done.path, "--json").exit_code == 0
    assert first["what"] in done._repr_html_()


def test_a_changed_trace_costs_no_draw_and_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Planted: neither a page nor `resume` was to be had any more, and the run was to be deleted."""
    model = misreader(FAULTS["same-color neighbor"][0])
    path = found(tmp_path / "run", model).path / "traces.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"shape", b"shade", 1))
    assert command("report", tmp_path / "run").exit_code == 0 and f"line 1 of {path}" in caplog.text
    found(tmp_path / "run", model)
    assert path.read_bytes() == whole and path.with_name("traces.damaged-1.jsonl").is_file()


def left_out(run: Run) -> list[str]:
    """What the run says of the scenes without one object."""
    evidence = json.loads((run.path / "findings.json").read_text())["finding"]["evidence"]
    return [words for words in evidence if "removing one" in words]


def test_it_is_said_that_the_model_is_right_without_the_neighbor(done: Run) -> None:
    n = len(list((done.path / "explanations").glob("*.json")))
    assert left_out(done) == [f"In {n} of {n} scenes, removing one other object makes the model right."]


def test_where_no_condition_is_known_the_neighbor_is_not_in_contradiction_to_it(done: Run) -> None:
    """Readers took "when is not known" and "without one other object it is right" for a contradiction."""
    known = tuple(replace(family, pattern=Pattern()) for family in done.results.families.known)
    results = replace(done.results, families=replace(done.results.families, known=known))
    with open_run(done.path, for_writing=False) as folder:
        traces, explained = read_traces(folder), read_explanations(folder)
    evidence = first_screen(done.manifest, results, done.path, done.holds, traces, explained).evidence
    assert any(words.endswith("removing one other object makes the model right.") for words in evidence)
    assert any(words.startswith("When it does so is not known") for words in evidence)


@pytest.mark.parametrize(("starts", "is_suggested"), [(6, False), (7, True)])
def test_a_curve_is_suggested_only_if_it_could_show_a_threshold(
    done: Run, starts: int, is_suggested: bool
) -> None:
    clusters = tuple(range(1, starts + 1))
    results = replace(done.results, families=replace(done.results.families, clusters=clusters))
    with open_run(done.path, for_writing=False) as folder:
        traces, explained = read_traces(folder), read_explanations(folder)
    then = first_screen(done.manifest, results, done.path, done.holds, traces, explained).then
    assert any(step.startswith("trex curve") for _, step in then) == is_suggested
    assert any(step.startswith("trex explain") for _, step in then)


def test_a_family_that_does_not_hold_all_scenes_says_how_many(done: Run) -> None:
    """A reader of "this holds in all 5" beside six scenes asked which five."""
    first, *others = done.results.families.known
    held = replace(first, members=first.members[:-1])
    results = replace(done.results, families=replace(done.results.families, known=(held, *others)))
    with open_run(done.path, for_writing=False) as folder:
        traces, explained = read_traces(folder), read_explanations(folder)
    given = [
        first_screen(done.manifest, each, done.path, done.holds, traces, explained).evidence
        for each in (done.results, results)
    ]
    n, said = (
        len(done.results.found),
        [[w for w in each if w.endswith("show this mistake.")] for each in given],
    )
    assert said == [
        [] if first.size == n else said[0],
        [f"{first.size - 1} of the {n} scenes show this mistake."],
    ]


def test_the_same_mistake_without_the_conditions_is_said_to_be_elsewhere(done: Run) -> None:
    """A reader took "Also: the model reads a cylinder as a cube" for the headline again."""
    first = done.results.families.known[0]
    rest = replace(first.anywhere, number=first.number + 1)
    other = replace(rest, symptom=Symptom("object", "missed"))
    results = replace(done.results, families=replace(done.results.families, known=(first, rest, other)))
    with open_run(done.path, for_writing=False) as folder:
        traces, explained = read_traces(folder), read_explanations(folder)
    also = first_screen(done.manifest, results, done.path, done.holds, traces, explained).also
    assert first.words != rest.words
    n = len(done.results.found)
    assert also[0] == f"{rest.words.removesuffix('.')} elsewhere ({rest.size} of {n})."
    assert "elsewhere" not in also[1] and also[1].endswith(f"({other.size} of {n}).")


@pytest.mark.slow
def test_an_object_that_is_misread_by_itself_is_not_said_to_need_another(tmp_path: Path) -> None:
    """Planted bug: the scene without the misread object counted as well."""
    run = found(tmp_path / "run", misreader(FAULTS["in low light"][0]))
    assert len(run.hits) >= 3 and list((run.path / "explanations").glob("*.json"))
    assert left_out(run) == []


@pytest.mark.slow
def test_what_a_kill_left_is_finished_to_the_same_bytes(done: Run, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    calls = 0

    def dies(*given: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise Killed
        return traced(*given, **named)

    traced, model = trace.trace, misreader(FAULTS["same-color neighbor"][0])
    with patch.object(trace, "trace", dies), pytest.raises(Killed):
        found(tmp_path / "run", model)
    assert not (tmp_path / "run" / "families.json").exists()
    found(tmp_path / "run", model)
    for name in FILES:
        texts = [
            (place / name).read_text().replace(str(place), "") for place in (done.path, tmp_path / "run")
        ]
        assert texts[0] == texts[1], name


def test_families_are_made_again_if_a_kill_left_those_of_before(done: Run, tmp_path: Path) -> None:
    """Planted bug: a kill between the explanations and the families left those that knew fewer failures."""
    shutil.copytree(done.path, tmp_path / "run")
    place = tmp_path / "run" / "families.json"
    whole = place.read_text()
    before = json.loads(whole)
    place.write_text(json.dumps(before | {"families": [], "parts": [before["parts"][0], 0]}))
    found(tmp_path / "run")
    assert place.read_text() == whole


def test_families_judged_by_shares_of_scenes_are_made_again(done: Run, tmp_path: Path) -> None:
    """Planted bugs: shares of scenes of a run of before read as shares of objects, or left for good."""
    shutil.copytree(done.path, tmp_path / "run")
    place = tmp_path / "run" / "families.json"
    whole = place.read_text()
    share = {"value": 0.5, "low": 0.4, "high": 0.6}
    shares = {"inside": share, "outside": {key: each / 10.0 for key, each in share.items()}, "scenes": 9}
    families = [dict(each) for each in json.loads(whole)["families"]]
    for each in families:
        del each["shares"]
        each["judged"] = shares
    place.write_text(json.dumps(json.loads(whole) | {"families": families, "format": 1}))
    assert all(each.judged is None for each in trex.open_run(tmp_path / "run").families)
    found(tmp_path / "run")
    assert place.read_text() == whole


def test_without_explanations_nothing_is_asked(tmp_path: Path) -> None:
    run = found(tmp_path / "run", explain=False)
    assert not (run.path / "traces.jsonl").exists() and not (run.path / "explanations").exists()
    first = json.loads((run.path / "findings.json").read_text())["finding"]
    assert first["what"].startswith("The model is sure of ") and "distinct scenes" in first["what"]
    assert run.results.families.numbers == (0,) * len(run.hits)


def test_a_condition_of_another_version_is_named(done: Run, tmp_path: Path) -> None:
    path = done.path / "families.json"
    text = path.read_text()
    try:
        path.write_text(text.replace("shape cylinder", "shape of things"))
        with pytest.raises(trex.RunError, match="delete the file"):
            trex.open_run(done.path).results  # noqa: B018
        path.write_text("{")
        with pytest.raises(trex.RunError, match=r"families\.json is damaged"):
            trex.open_run(done.path).results  # noqa: B018
    finally:
        path.write_text(text)


def test_a_model_behind_an_address_is_asked_by_explain_alone() -> None:
    """Two hundred questions a picture cost money there."""
    assert not any(map(asks_freely, ("openai:gpt-4o", "http://localhost:8000/ask", "hf:some/model")))
    assert all(
        map(asks_freely, ("shipped", "relation-network:original", "live:module.Model", "weights.onnx"))
    )


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["same-color neighbor", "in low light"])
def test_a_search_tells_the_true_story_of_a_planted_fault(fault: str, tmp_path: Path) -> None:
    """Planted bug: descriptions of everything that the scenes hold, instead of what singles them out."""
    told = story(fault, 0, tmp_path / "run")
    assert told.is_true and told.confirmed, told
    assert run_families.COHORT >= 100
