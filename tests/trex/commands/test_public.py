"""`import trex`: the same searches as on the command line, as Python values."""

from __future__ import annotations

import inspect
import json
import pickle
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trex
from tests.running.runs import BANK, QUERY, draws, run, write_query
from tests.worlds.live_models import uniform
from trex.commands.parameters import in_call
from trex.export.frame import draws_frame
from trex.finding.options import FindOptions, ReportOptions
from trex.finding.source import query_keywords
from trex.foundation import extensions
from trex.foundation.errors import InputError
from trex.inference.statistics.how_often import SampledRate
from trex.inference.targets.gaussian import gaussian_target
from trex.inference.targets.kind import Goal, TargetKind
from trex.query import schema
from trex.query.schema import Query
from trex.query.shape_cards import SHIPPED
from trex.query.shipped import QUERIES
from trex.query.toml_file import parse_query
from trex.query.toml_text import toml_text
from trex.worlds import kernels

ASKED: dict[str, Any] = {
    "question": "How many red things are there?",
    "answer": 2,
    "revoke": "cube",
    "model": "fake",
    "preset": "fake",
    "prior_scenes": 12,
    "chains": 3,
    "steps": 12,
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> trex.Run:
    """A run of ASKED that has found something."""
    return trex.find(out=tmp_path_factory.mktemp("api") / "run", progress=False, **ASKED)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test passes as an object is forgotten after it."""
    monkeypatch.setattr(extensions, "_given", {})


def test_everything_that_is_offered_is_there_and_described() -> None:
    for name in trex.__all__:
        assert name in dir(trex)
        assert inspect.getdoc(getattr(trex, name))
    with pytest.raises(AttributeError, match="no attribute 'fnid'"):
        getattr(trex, "fnid")  # noqa: B009


PAGES = Path(trex.__file__).parents[1] / "docs" / "reference" / "python"


def test_the_public_names_are_those_of_the_reference_and_no_others() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    documented = re.findall(r"^::: trex\.(?:verbs\.)?(\w+)$", pages, re.MULTILINE)
    assert sorted(documented) == sorted(set(trex.__all__) - {"__version__"})
    assert dir(trex) == sorted(trex.__all__)
    told = set(re.findall(r"`(\w+)`", (PAGES / "index.md").read_text(encoding="utf-8")))
    assert set(documented) <= told
    assert trex.__version__ == version("bayes-trex")


def test_a_subpackage_that_is_a_verb_is_called_and_still_imported() -> None:
    """Planted bug: importing a module of it replaced the verb by the package."""
    code = (
        "import trex; assert callable(trex.export); import trex.export.netcdf as n; assert callable(trex.export);"
        "assert trex.export.netcdf is n; import trex.render.fake; assert callable(trex.render) and n.write_netcdf"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(ValueError, match="run is missing"):
        trex.export()


@pytest.mark.parametrize("name", ["explain", "families", "report", "resume", "label", "prove"])
def test_what_is_called_without_its_run_says_where_it_is(name: str) -> None:
    """Planted bug: `trex.report(folder)` said that a module is not callable."""
    with suppress(ModuleNotFoundError):
        import_module(f"trex.{name}")
    opened = trex.open_repair if name in {"label", "prove"} else trex.open_run
    with pytest.raises((TypeError, AttributeError), match=rf"trex\.{opened.__name__}\(FOLDER\)\.{name}$"):
        getattr(trex, name)("runs/one")
    assert hasattr(trex.Repair if name in {"label", "prove"} else trex.Run, name)


def test_results_are_short_where_they_are_echoed_and_whole_where_they_are_printed(found: trex.Run) -> None:
    """Planted bug: the repr of an audit, of 63,855 characters, held every picture and answer."""
    (explanation,) = found.explain(
        top=1, edits=False, flip_depth=0, nuisances=0, saliency=False, progress=False
    )
    for thing in (found, found.hits[0], explanation, *found.families, trex.check(**ASKED)):
        assert len(repr(thing)) < 400, repr(thing)
        assert thing._repr_html_().startswith("<div")
    assert found.ending in found.summary() and str(found.report()) in found.summary()
    assert str(explanation).count("\n") > 4


def test_results_can_be_sent_to_another_process(found: trex.Run) -> None:
    run, hits, families = pickle.loads(pickle.dumps((found, found.hits, found.families)))
    assert (run.path, run.rate, hits) == (found.path, found.rate, found.hits)
    assert [family.sample(2) for family in families] == [family.sample(2) for family in found.families]


def test_the_graph_of_a_hit_is_networkx_s_own(found: trex.Run) -> None:
    hit = found.hits[0]
    assert hit.scene is not None
    graph = hit.graph
    assert [graph.nodes[i]["color"] for i in graph] == [item.color for item in hit.scene.objects]
    assert graph.number_of_edges() == len(graph) * (len(graph) - 1)
    graph.clear()
    assert len(hit.graph) == len(hit.scene.objects), "a copy: the scene's own is shared"


def test_scenes_are_rendered_and_exported(found: trex.Run, tmp_path: Path) -> None:
    scenes = [hit.scene for hit in found.hits[:2] if hit.scene]
    pictures = trex.render(scenes, preset="fake", progress=False)
    np.testing.assert_array_equal(pictures[0].pixels, np.asarray(found.hits[0].picture))
    assert found.export("coco", out=tmp_path / "coco", progress=False) == tmp_path / "coco"
    assert (
        trex.export(found, format="clevr", out=tmp_path / "clevr", progress=False).out == tmp_path / "clevr"
    )


def test_runs_stand_below_each_other_in_one_frame(found: trex.Run) -> None:
    frame = trex.frame([found, str(found.path)])
    assert len(frame) == 2 * len(found.draws_frame())
    assert list(frame.columns[:4]) == ["run", "model", "question", "target"] and set(frame.model) == {"fake"}


def test_a_suite_keeps_failures_and_asks_another_model(found: trex.Run, tmp_path: Path) -> None:
    wrong = [hit for hit in found.hits if hit.is_wrong]
    suite = trex.suite(tmp_path / "suite")
    (batch,) = suite.add(found, progress=False)
    assert batch.new == len(wrong) > 0
    (again,) = suite.add([found], progress=False)
    assert (again.new, again.known) == (0, len(wrong))
    done = suite.run("fake", progress=False)
    assert len(done.results) == len(wrong) and len(repr(done)) < 300


def test_what_is_opened_or_made_is_found_after_a_change_of_folder(
    found: trex.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: after `os.chdir` a run was "not a run folder", and a suite was begun in another place."""
    (tmp_path / "elsewhere").mkdir()
    shutil.copytree(found.path, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    opened, suite = trex.open_run("run"), trex.suite("suite")
    made = trex.find(out="made", progress=False, **{**ASKED, "steps": 0})
    counted = trex.baseline("made/query.toml", rendered=2, out="counted", progress=False)
    exported = made.export(out="exported", progress=False)
    assert repr(trex.Run(Path("run"))).startswith("<Run run: ")
    assert repr(opened).startswith("<Run run: ") and repr(counted).startswith("<Baseline counted: ")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert opened.hits == found.hits and opened.hits[0].picture and opened.report().is_file()
    assert (made.manifest.query, opened.path) == (trex.open_run(made).query, tmp_path / "run")
    assert counted.path == tmp_path / "counted" and exported == tmp_path / "exported"
    suite.add(opened, progress=False)
    assert (tmp_path / "suite").is_dir() and not list(Path().iterdir())


def test_keywords_are_the_query_that_a_file_would_be(found: trex.Run, tmp_path: Path) -> None:
    from_file = run(tmp_path)
    assert found.query == from_file.manifest.query
    assert draws(found.path) == draws(from_file.folder)
    text = (found.path / "query.toml").read_text()
    assert parse_query(text, "kept") == parse_query(QUERY, "file")


def test_a_file_is_changed_by_keywords_and_by_set(tmp_path: Path) -> None:
    path = write_query(tmp_path)
    changed = trex.check(path, seed=3, objects=(3, 10), set={"search.steps": 0})
    assert (changed.query.search.seed, changed.query.search.steps) == (3, 0)
    assert changed.query.scene.objects == (3, 10)
    assert changed.renders_at_most == 12
    assert changed.answers[:3] == ("0", "1", "2")


def test_every_keyword_is_a_key_of_a_query_and_shown_to_help() -> None:
    assert set(query_keywords()) < set(inspect.signature(trex.find).parameters)
    sections = {name: field.annotation for name, field in Query.model_fields.items()}
    wanted = {
        f"{name}.{key}" if hasattr(kind, "model_fields") else name
        for name, kind in sections.items()
        for key in getattr(kind, "model_fields", [""])
    }
    assert {key.dotted for key in query_keywords().values()} == wanted


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"quesion": "Are there any cubes?"}, "keyword 'quesion' is not known .*did you mean 'question'"),
        ({"answer": object()}, "answer = <object .* give a text, a number"),
        (
            {"set": {"search.seed": 1}, "seed": 2},
            "set search.seed=1 does not apply: set search.seed=2 sets search.seed too",
        ),
        ({"set": 3}, r"set \(3, .* should be a valid string"),
        (
            {"target": lambda probs: probs},
            r"target is of type function; wrap the function: trex.Target\(function\)",
        ),
        ({"seed": "a"}, "the query: search.seed = 'a': input should be a valid integer"),
        ({"set": {"search.sed": 1}}, r"the query: unknown key 'sed' in \[search\]; did you mean 'seed'"),
        ({"model": 3}, "model is of type int; give a name, a torch.nn.Module, or a callable"),
        ({"model": dict}, "model is the class dict; give an instance"),
    ],
)
def test_a_mistake_is_an_input_error_and_nothing_is_written(
    keywords: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(trex.InputError, match=message):
        trex.find(out=tmp_path / "run", progress=False, **{**ASKED, **keywords})
    assert list(tmp_path.iterdir()) == []


def test_an_error_names_keywords_where_the_command_line_has_options(tmp_path: Path) -> None:
    """Planted bug: `trex.find` advised --out. What is a whole command stays as it is typed."""
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"not an empty folder; give another folder with out=$"):
        trex.find(out=tmp_path, progress=False, **ASKED)
    with pytest.raises(
        InputError, match=r"^give either dataset=DIR, or rendered=N for N scenes of the prior$"
    ):
        trex.baseline(write_query(tmp_path), progress=False)
    words = "delete it, then: trex find Q --out DIR; or give --no-explain, --top 3 or --trust (in Python: trust=True)"
    assert in_call(words, FindOptions) == (
        "delete it, then: trex find Q --out DIR; or give explain=False, --top 3 or trust=True"
    )
    words = "--confirm PRESET and --out /a/b.html are two; with --confirm any preset may be given"
    assert in_call(words, ReportOptions) == (
        "confirm=PRESET and out=/a/b.html are two; with confirm any preset may be given"
    )


def test_two_runs_by_position_are_told_to_be_a_list() -> None:
    with pytest.raises(trex.InputError, match=r"\(it takes runs\); .* as a list"):
        trex.compare("first", "second")


class Flat:
    """A statistic without its last axis."""

    def __call__(self, probs: Any) -> Any:
        return probs[..., 0]

    def confidence(self, probs: Any) -> float:
        return float(probs[0])

    def describe(self) -> str:
        return "flat"


def test_a_statistic_of_another_shape_is_refused_before_the_search(given: None, tmp_path: Path) -> None:
    kind = TargetKind(
        "flat", (1, 1), lambda _: gaussian_target(Flat(), (1.0,), 0.05), lambda _: Goal("is", ())
    )
    with pytest.raises(
        trex.InputError, match=r"target kind 'flat': .* into shape \(2,\); it must be \(2, 1\)"
    ):
        trex.find(out=tmp_path / "run", progress=False, **ASKED, target=kind)
    assert list(tmp_path.iterdir()) == []


def test_an_object_is_searched_like_the_target_and_the_kernel_that_it_repeats(
    given: None, tmp_path: Path
) -> None:
    own = {
        "target": replace(schema.targets()["high_confidence"], name="my-target"),
        "kernel": replace(kernels.proposals()["block"], name="my-moves"),
    }
    runs = [
        trex.find(out=tmp_path / str(n), progress=False, **ASKED, **more) for n, more in enumerate((own, {}))
    ]
    assert [r.probs for r in runs[0].records] == [r.probs for r in runs[1].records]
    assert [runs[0].query.target.kind, runs[0].query.search.kernel] == ["my-target", "my-moves"]
    code = f"import trex; trex.open_run({str(runs[0].path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "query.target.kind: it is not known; use" in done.stderr
    assert "and to its run by trex.open_run(folder, target=...)" in done.stderr
    opened = trex.open_run(runs[0].path, target=own["target"], proposal=own["kernel"])
    assert opened.hits == runs[0].hits


def test_a_run_is_read_by_the_target_that_it_was_made_with_alone(given: None, tmp_path: Path) -> None:
    """Planted bug: another object of the same name, with another level set, judged the draws of the first."""
    kind = replace(schema.targets()["threshold"], name="mine")
    run = trex.find(out=tmp_path / "run", progress=False, **ASKED, target=kind)
    trex.check(**ASKED, target=replace(kind, n_answers=(0, 2)))
    assert trex.open_run(run.path).hits == run.hits
    other = replace(schema.targets()["high_confidence"], name="mine", takes_threshold=True)
    trex.check(**ASKED, target=other)
    with pytest.raises(
        trex.RunError, match="'target mine' is another object than the run's, with other scores"
    ):
        trex.open_run(run.path)


def test_an_object_that_cannot_be_told_from_ours_is_refused(given: None, tmp_path: Path) -> None:
    kind = schema.targets()["high_confidence"]
    with pytest.raises(
        trex.InputError, match="target 'high_confidence' exists already; give yours another name"
    ):
        trex.find(out=tmp_path / "run", progress=False, **ASKED, target=replace(kind, n_answers=(0, 9)))
    assert schema.targets()["high_confidence"] is kind


def test_values_come_back_from_toml_as_they_were() -> None:
    text = toml_text(
        {
            "question": 'Are there "big" \\ things?',
            "answer": ["yes"],
            "scene.objects": (3, np.int64(4)),
            "target.probabilities": {"1": 0.7, "a b": np.float64(0.3)},
            "search.control": np.bool_(False),
            "scene.revoke": np.array(["cube", "cone"]),
            "render.looks": np.array(["analytic"])[0:0],
            "program": [{"function": "scene", "inputs": []}],
        }
    )
    query = parse_query(text, "text")
    assert query.question == 'Are there "big" \\ things?'
    assert (query.scene.objects, query.search.control) == ((3, 4), False)
    assert query.target.probabilities == {"1": 0.7, "a b": 0.3}
    assert query.program[0].function == "scene"
    assert (query.scene.revoke, query.render.looks) == (("cube", "cone"), ())
    given = parse_query(toml_text({"scene.objects": np.array([3, 5]), "wrong": np.bool_(True)}), "text")
    assert given.scene.objects == (3, 5) and given.wrong is True
    with pytest.raises(
        trex.InputError, match=r"scene\.objects = .* is of type complex; give a text, a number"
    ):
        toml_text({"scene.objects": np.array([3j])})


@pytest.mark.parametrize("given", [None, 5, b"runs", ""])
def test_what_is_no_path_is_refused(given: object) -> None:
    """Planted bug: it ended in a TypeError of Python's own modules."""
    for opened in (trex.open_run, trex.open_repair, trex.suite, lambda one: trex.frame([one])):
        with pytest.raises(trex.InputError, match=r"is no path; give the folder of a "):
            opened(given)
    with pytest.raises(trex.InputError, match=r"^None is no path; give the folder of a run"):
        trex.frame(None)


def test_a_run_says_what_its_report_says(found: trex.Run) -> None:
    message = json.loads((found.path / "findings.json").read_text())
    assert found.ending == message["ending"] and found.is_finished
    assert (found.rate.count, found.rate.of) == (
        message["how_often"]["hits"],
        message["how_often"]["prior_draws"],
    )
    assert list(found.rate.interval) == message["how_often"]["interval_95"]
    assert len(found.hits) == len(message["found"]) > 0
    for hit, row in zip(found.hits, message["found"], strict=True):
        assert (hit.answer, hit.truth, hit.confidence) == (
            row["model_answer"],
            row["true_answer"],
            row["confidence"],
        )
        assert hit.probabilities[hit.answer] == max(hit.probabilities.values())
        assert sum(hit.probabilities.values()) == pytest.approx(1)
        assert hit.scene is not None and len(hit.scene.objects) == 5 and hit.vector is None


def test_a_hit_has_the_picture_that_was_asked_about(found: trex.Run) -> None:
    from trex.clevr_models.fake import ColorArea

    hit = found.hits[0]
    pixels = (np.asarray(hit.picture) / 255).astype(np.float32)[None]
    model = ColorArea("red")
    assert np.exp(model.log_probs(pixels)[0]).max() == pytest.approx(hit.probabilities[hit.answer], abs=1e-9)
    assert hit.mask is not None and hit.mask.shape == pixels.shape[1:3]
    assert set(np.unique(hit.mask)) <= set(range(6))
    (found.path / "pictures" / f"{hit.record.picture}.png").rename(found.path / "aside")
    try:
        with pytest.raises(trex.RunError, match="cannot be read"):
            _ = hit.picture
        assert "<img" not in hit._repr_html_()
    finally:
        (found.path / "aside").rename(found.path / "pictures" / f"{hit.record.picture}.png")


def test_the_draws_are_arviz_s_and_pandas(found: trex.Run) -> None:
    lines = [json.loads(line) for line in (found.path / "draws.jsonl").read_text().splitlines()]
    assert found.draws["prior"].log_probs.shape == (1, 12, 28)
    assert found.draws["posterior"].log_probs.shape == (3, 10, 28)
    frame = found.draws_frame()
    assert len(frame) == len(lines) == 12 + 3 * 12
    assert list(frame["index"]) == [line["index"] for line in lines]
    prior = frame[frame.phase == "prior"]
    assert int(prior.is_hit.sum()) == found.rate.count
    np.testing.assert_allclose(prior["p(2)"], np.exp(found.draws["prior"].log_probs[0, :, 2]))
    assert frame[~frame.is_rendered].confidence.isna().all()


@pytest.fixture(scope="module")
def banked(tmp_path_factory: pytest.TempPathFactory) -> trex.Run:
    """A run that chose its prior draws from a bank, as CLEVR does by default; rendered under fresh noise."""
    done = run(tmp_path_factory.mktemp("banked"), [*BANK, "answer=1"])
    return trex.open_run(done.folder)


@pytest.mark.slow
def test_the_rate_of_a_bank_has_a_value(banked: trex.Run) -> None:
    """Planted bugs: no `value` at all, so AttributeError; and count / of, as if each draw had had the same chance."""
    rate = banked.rate
    assert isinstance(rate, SampledRate) and rate.count
    assert rate.value == rate.estimate.value
    assert rate.interval.low <= rate.value <= rate.interval.high
    assert rate.value != rate.count / rate.of


def test_a_hit_is_one_row_whatever_it_was_rendered_for_besides(banked: trex.Run) -> None:
    """Planted bug: a prior draw of a bank had up to four rows, those at a cheaper look and under fresh noise too."""
    phases = {record.phase for record in banked.records}
    assert {"bank", "noise"} < phases, "this run has no such rows to leave out"
    frame = banked.draws_frame()
    assert set(frame.phase) == {"prior", "chain"}
    prior = frame[frame.phase == "prior"]
    assert (len(prior), int(prior.is_hit.sum())) == (banked.rate.of, banked.rate.count)
    (first, *_) = (record for record in banked.records if record.phase == "prior")
    calibrated = draws_frame(banked.manifest, [first, replace(first, phase="calibration")])
    assert list(calibrated.phase) == ["prior"]


@pytest.mark.slow
def test_a_run_of_other_shapes_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """Planted bug: equal query files with other cards beside them; one's run was returned as the other's."""
    text = QUERY.replace("[scene]", '[scene]\nintroduce = ["own.toml"]')
    for name, outline in (("a", "cone"), ("b", "cube")):
        (tmp_path / name).mkdir()
        write_query(tmp_path / name, text)
        mesh = (SHIPPED / f"{outline}.obj").read_text()
        (tmp_path / name / "own.obj").write_text(mesh)
        card = f'name = "own"\nmesh = "own.obj"\noutline = "{outline}"\n'
        (tmp_path / name / "own.toml").write_text(card)
    out = tmp_path / "run"
    first = trex.find(tmp_path / "a" / "query.toml", out=out, progress=False)
    assert trex.find(tmp_path / "a" / "query.toml", out=out, progress=False).path == first.path
    with pytest.raises(trex.InputError, match=r"another query.* differ in the shapes of scene.introduce"):
        trex.find(tmp_path / "b" / "query.toml", out=out, progress=False)


def test_a_shipped_query_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the name that an error offers is refused, or cards and source start at the current folder."""
    monkeypatch.chdir(tmp_path)
    assert trex.check("demo", model="fake", preset="fake").query.model.name == "fake"
    small: dict[str, Any] = {
        "model": "fake",
        "preset": "fake",
        "prior_scenes": 2,
        "bank": 0,
        "spread": 0,
        "chains": 1,
        "steps": 1,
    }
    found = trex.find("demo", out=tmp_path / "run", progress=False, control=False, **small)
    assert Path(found.manifest.source) == QUERIES / "demo.toml"
    (tmp_path / "demo").write_text(QUERY)
    assert trex.check("demo").question == "How many red things are there?", (
        "a file comes before the shipped query"
    )
    (tmp_path / "demo").unlink()
    (tmp_path / "demo").mkdir()
    assert trex.check("demo").question == "How many cubes are there?", "a folder is no query"


def test_a_notebook_shows_a_run_escaped_with_its_pictures(found: trex.Run, tmp_path: Path) -> None:
    shown = found._repr_html_()
    assert shown.count('<img alt="') == min(len(found.hits), 8)
    assert 'src="data:image/jpeg;base64,' in shown and "<script" not in shown
    folder = tmp_path / "<script>alert(1)</script>"
    with_own: dict[str, Any] = {**ASKED, "model": uniform}
    named = trex.find(out=folder, progress=False, **with_own)
    assert "&lt;script&gt;alert(1)" in named._repr_html_() and "<script" not in named._repr_html_()


def test_the_report_is_written_again(found: trex.Run) -> None:
    before = (found.path / "report.html").read_bytes()
    (found.path / "report.html").unlink()
    assert found.report() == found.path / "report.html"
    assert found.report().read_bytes() == before


def test_conditions_are_judged_from_python_as_by_the_command(found: trex.Run, tmp_path: Path) -> None:
    junit = tmp_path / "verdicts.xml"
    again = trex.find(out=found.path, progress=False, fail_if="found", junit=junit, **ASKED)
    (verdict,) = again.verdicts
    assert (verdict.condition.text, verdict.decision.name) == ("found", "FAIL") and junit.is_file()
    with pytest.raises(trex.InputError, match=r"rate > 7. compares the rate with 7"):
        trex.find(out=tmp_path / "run", progress=False, fail_if="rate > 7", **ASKED)


def test_a_run_is_opened_again_and_a_folder_that_is_none_is_refused(found: trex.Run, tmp_path: Path) -> None:
    again = trex.open_run(str(found.path))
    assert [hit.confidence for hit in again.hits] == [hit.confidence for hit in found.hits]
    with pytest.raises(trex.RunError, match="is not a run folder"):
        trex.open_run(tmp_path)


@pytest.mark.slow
def test_without_a_name_two_runs_of_one_second_have_two_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seeds: list[dict[str, Any]] = [{**ASKED, "seed": seed, "steps": 0} for seed in range(3)]
    paths = {trex.find(progress=False, **keywords).path for keywords in seeds}
    assert len(paths) == 3 and {path.parent for path in paths} == {tmp_path / "runs"}


def test_a_card_of_a_shape_is_found_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trex.query.shape_cards import SHIPPED

    for name in ("cone.toml", "cone.obj"):
        (tmp_path / name).write_bytes((SHIPPED / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    with_cone: dict[str, Any] = {**ASKED, "introduce": "cone.toml"}
    check = trex.check(**with_cone)
    assert check.query.scene.introduce == (str(tmp_path / "cone.toml"),)


def test_a_run_and_a_check_are_shown_on_one_line(tmp_path: Path) -> None:
    """Planted bug: every field of the query, or nothing but the path."""
    found = trex.open_run(run(tmp_path, ["search.steps=0"]).folder)
    begins = (
        f"<Run {found.path}: 'How many red things are there?', model {found.manifest.facts.model}, finished"
    )
    assert repr(found) == f"{begins}>"
    ending = found.ending
    assert repr(found).startswith(f"{begins}, {ending}, ") and "distinct hit" in repr(found)
    made = trex.find(**ASKED, out=tmp_path / "made", progress=False, explain=False)
    assert "distinct hit" in repr(made), "what a search has just said is not read again"
    made.explain(top=1, progress=False)
    assert made.families == trex.open_run(made.path).families, "planted: the families of before"
    assert repr(trex.Run(tmp_path / "gone")) == f"<Run {tmp_path / 'gone'}>"
    checked = trex.check(write_query(tmp_path))
    assert repr(checked).startswith(
        "<QueryCheck: 'How many red things are there?', target high_confidence 2, at most "
    )
    assert "\n" not in repr(checked) and len(repr(checked)) < 150
