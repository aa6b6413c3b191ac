"""Each example of CONTRIBUTING.md's "Extending it" is copied out of the document, installed and used for real."""

import csv
import html
import inspect
import json
import re
import shlex
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tests.running.runs import run, write_query
from tests.serving.documented_extensions import BLOCK, ROOT, Example, examples, trex
from trex.foundation.errors import InputError
from trex.report.context import ReportContext
from trex.runs.folder import RunFolder

EXAMPLES = examples()
HEADINGS = [
    "A nuisance",
    "A target",
    "A sampler",
    "A proposal",
    "A model adapter",
    "A world",
    "A report section",
    "An export format",
    "A tracker",
]
FEW = ("--set", "search.prior_scenes=8", "--set", "search.steps=3", "--no-large")


SCORES = """
import numpy as np, torch
from trex.inference.targets.lead import Lead
probs = np.random.default_rng(1).dirichlet(np.ones(4), size=(3, 2))
score = Lead(2, "2")
assert score(probs).shape == (3, 2, 1)
assert np.allclose(score(probs), score(torch.tensor(probs)).numpy())
assert np.allclose(score(np.array([0.1, 0.2, 0.6, 0.1])), [0.4])
"""
DOTS = 'answer = "far"\n[generator]\nname = "far-out"\n[search]\nprior_scenes = 40\nchains = 2\nsteps = 5\n'


def target_is_searched(place: Path) -> None:
    out = found(place, "--set", "target.kind=lead", "--set", "target.options.level=0.4")
    assert "favors by 40 points the answer" in (place / "run" / "report.html").read_text()
    assert "fake favors by 40 points the answer 2" in out
    code, _, errors = trex(
        place, "check", "query.toml", "--set", "target.kind=lead", "--set", "target.options.leval=1"
    )
    assert code == "2"
    assert "leval" in errors
    code, _, errors = trex(place, code=SCORES)
    assert code == "0", errors


def sampler_moves(place: Path) -> None:
    found(place, "--set", "search.kernel=independence")
    assert '"kernel": "independence"' in (place / "run" / "run.json").read_text()
    code, _, errors = trex(place, "check", "query.toml", "--set", "search.kernel=dependence")
    assert code == "2"
    assert "independence" in errors


def proposal_moves(place: Path) -> None:
    write_query(place, 'answer = 7\n[generator]\nname = "mnist-vae"\n')
    code, words, errors = trex(place, "check", "query.toml", "--set", "search.kernel=cauchy", "--json")
    assert code == "0", errors
    assert '"kernel": "cauchy"' in words
    code, _, errors = trex(place, "check", "demo", "--set", "search.kernel=cauchy")
    assert code == "2"
    assert "cannot sample generator 'clevr'" in errors


def world_is_searched(place: Path) -> None:
    query = write_query(place, DOTS)
    code, _, errors = trex(place, "find", query, "--out", place / "run")
    assert code == "0", errors
    code, _, errors = trex(place, "report", place / "run")
    assert code == "2"
    assert f"run: trex resume {place / 'run'};" in errors
    code, _, errors = trex(place, "resume", place / "run")
    assert code == "0", errors
    assert "Is the dot far out?" in (place / "run" / "report.html").read_text()


def adapter_answers(place: Path) -> None:
    out = found(place, "--model", "always:2")
    assert "always:2 is sure of 2" in out
    code, _, errors = trex(place, "find", "query.toml", "--out", place / "other", "--model", "never")
    assert code == "2"
    assert "'always:ANSWER'" in errors


def section_is_shown(place: Path) -> None:
    found(place)
    page = (place / "run" / "report.html").read_text()
    assert '<h2 id="draws-title">How many draws</h2>' in page
    assert '8 prior draws are in the <abbr title="' in page
    assert page.index("How many draws") < page.index("What may be said")


def run_is_logged(place: Path) -> None:
    outcome = run(place)
    for _ in range(2):
        code, _, errors = trex(place, "report", outcome.folder, "--log", "diary")
        assert code == "0", errors
    lines = [json.loads(line) for line in (place / "diary.jsonl").read_text().splitlines()]
    assert [line["again"] for line in lines] == [False, True]
    assert {line["found"] for line in lines} == {float(len(outcome.results.found))}


def format_is_written(place: Path) -> None:
    outcome = run(place)
    code, words, errors = trex(place, "export", outcome.folder, "--format", "answers")
    assert code == "0", errors
    assert words.endswith(f"answers: {outcome.folder}/export-answers\n")
    with (outcome.folder / "export-answers" / "answers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(outcome.results.found) > 0
    assert all((outcome.folder / "export-answers" / row["picture"]).is_file() for row in rows)
    assert all(row["model's answer"] == "2" for row in rows)


NUISANCE = """
from dataclasses import replace
import numpy as np
from trex.render.fake import FakeRenderer
from trex.report.gallery import nuisances
from trex.runs.record import Record
from trex.scenes.moves.block_moves import RedrawNuisances
from trex.scenes.moves.random_walk import RandomWalk
from trex.scenes.prior import ScenePrior, draw_nuisances
from trex.scenes.scene import scene_from_dict, scene_to_dict
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import CLEVR
rng = np.random.default_rng(1)
scene = ScenePrior(n_objects=(2, 2)).sample(rng)
given = scene.nuisances
assert 0 < abs(given.exposure[0]) <= 0.3
stored = scene_to_dict(scene)
assert scene_from_dict(stored) == scene
del stored["nuisances"]["exposure"]
old = scene_from_dict(stored)
assert old.nuisances == replace(given, exposure=(0.0,))
first, second = (FakeRenderer().picture_of(each).pixels.astype(float).mean() for each in (scene, old))
assert (first > second) == (given.exposure[0] > 0)
assert not is_valid(replace(scene, nuisances=replace(given, exposure=(0.4,))), CLEVR)
for move in (RedrawNuisances(), RandomWalk(CLEVR)):
    to = move.propose(rng, scene)
    assert to.nuisances.exposure != given.exposure and np.isfinite(move.log_q(to, scene))
    stuck = replace(to, nuisances=replace(to.nuisances, exposure=given.exposure))
    assert move.log_q(stuck, scene) == -np.inf
new = draw_nuisances(rng)
assert given.redrawn(new, "lights") == replace(given, key=new.key, fill=new.fill, back=new.back)
assert given.redrawn(new, "exposure") == replace(given, exposure=new.exposure)
shown = nuisances(Record("prior", -1, 0, scene, True, 0.0, 0.0, 0.0, (), ()))
assert f"{given.exposure[0]:+.2f}" in repr(shown) and "exposure (of the base" in repr(shown)
"""


def nuisance_is_everywhere(place: Path) -> None:
    code, _, errors = trex(place, code=NUISANCE)
    assert code == "0", errors
    found(place)
    assert "exposure offset" in (place / "run" / "report.html").read_text()


USED: dict[str, Callable[[Path], None]] = {
    "A nuisance": nuisance_is_everywhere,
    "A target": target_is_searched,
    "A sampler": sampler_moves,
    "A proposal": proposal_moves,
    "A world": world_is_searched,
    "A model adapter": adapter_answers,
    "A report section": section_is_shown,
    "An export format": format_is_written,
    "A tracker": run_is_logged,
}


def found(place: Path, *words: str) -> str:
    query = write_query(place)
    code, out, errors = trex(place, "find", query, "--out", place / "run", *FEW, *words)
    assert code == "0", errors
    return out


def test_every_kind_of_extension_has_an_example() -> None:
    assert list(EXAMPLES) == HEADINGS
    assert all(example.touched for example in EXAMPLES.values())
    assert sorted(USED) == sorted(HEADINGS)


def test_the_three_small_changes_touch_few_files() -> None:
    assert EXAMPLES["A nuisance"].touched == {"scenes/scene.py", "render/fake.py"}
    assert len(EXAMPLES["A report section"].touched) == 1


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("heading", HEADINGS)
def test_an_example_of_the_document_works(heading: str, tmp_path: Path) -> None:
    EXAMPLES[heading].install(tmp_path)
    USED[heading](tmp_path)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("\n{{ nothing }}", " in its template, line 2: UndefinedError: 'nothing' is undefined"),
        ("{% if %}", "TemplateSyntaxError"),
        ("{{ x }}", " in odd.py, line 2: AttributeError: 'ReportContext' object has no attribute 'x'"),
    ],
)
def test_a_broken_section_is_named(template: str, says: str, tmp_path: Path) -> None:
    outcome = run(tmp_path)
    data = "context.x" if template == "{{ x }}" else "{}"
    text = f"from trex.report.section import Section\nSECTION = Section('odd', {template!r}, lambda context: {data})"
    Example({"odd.py": text}, {"trex.sections": {"odd": "odd:SECTION"}}).install(tmp_path, "odd")
    code, _, errors = trex(tmp_path, "report", outcome.folder)
    assert code == "2"
    assert "section 'odd' fails" in errors
    assert says in errors
    assert errors.endswith(f"correct the section, then: trex report {shlex.quote(str(outcome.folder))}\n")


def test_the_names_that_the_document_lists_for_sections_exist(tmp_path: Path) -> None:
    outcome = run(tmp_path)
    text = (ROOT / "CONTRIBUTING.md").read_text().split("### A report section")[1].split("\n### ")[0]
    table = {row.split(" | ")[0]: row for row in text.splitlines() if row.startswith("| `context")}
    context = ReportContext(RunFolder(outcome.folder, outcome.manifest, None), outcome.results)
    for name in re.findall(r"`context\.([\w.]+)", "".join(table.values())):
        assert attrgetter(name)(context) is not None, name
    for first, thing in (("found", outcome.results.found[0]), ("prior", outcome.results.prior[0])):
        row = next(row for left, row in table.items() if f"results.{first}" in left)
        for name in re.findall(r"`([a-z][a-z_.]+)`", re.sub(r"`context[^`]*`", "", row)):
            assert attrgetter(name)(thing) is not None, name


@pytest.mark.slow
@pytest.mark.process
def test_what_a_section_shows_is_escaped(tmp_path: Path) -> None:
    outcome = run(tmp_path)
    text = (
        "from trex.report.section import Section\n"
        "SECTION = Section('odd', '<p>{{ x }}</p>', lambda context: {'x': '<script>'})"
    )
    Example({"odd.py": text}, {"trex.sections": {"odd": "odd:SECTION"}}).install(tmp_path, "odd")
    code, _, errors = trex(tmp_path, "report", outcome.folder)
    assert code == "0", errors
    assert "<p>&lt;script&gt;</p>" in (outcome.folder / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.process
def test_a_section_that_cannot_be_imported_stops_no_report(tmp_path: Path) -> None:
    outcome = run(tmp_path)
    assert "Not shown" not in outcome.report.read_text()
    Example({"odd.py": "1 / 0"}, {"trex.sections": {"odd": "odd:SECTION"}}).install(tmp_path, "odd")
    code, _, errors = trex(tmp_path, "report", outcome.folder)
    assert code == "0", errors
    page = (outcome.folder / "report.html").read_text()
    assert "Not shown" in page
    assert "trex.sections': ZeroDivisionError" in html.unescape(page)


TRUSTED = """
import shlex
import sys
from trex.query.schema import Query
from trex.runs.trust import named_code
query = Query.model_validate({"question": "q", "answer": "2", "model": {"name": sys.argv[1]}})
print(named_code(query))
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("trust", "named"),
    [("", "(\"runs the code of model 'odd:x'\",)"), (", trust=lambda spec: None", "()")],
)
def test_an_adapter_counts_as_code_unless_it_says_otherwise(trust: str, named: str, tmp_path: Path) -> None:
    text = (
        "from trex.clevr_models.specs.adapter import Adapter\n"
        f"ADAPTER = Adapter('odd', lambda spec: spec.startswith('odd:'), None, 'odd:NAME'{trust})"
    )
    Example({"odd.py": text}, {"trex.adapters": {"odd": "odd:ADAPTER"}}).install(tmp_path, "odd")
    code, words, errors = trex(tmp_path, "odd:x", code=TRUSTED)
    assert (code, words.strip()) == ("0", named), errors


def test_a_verb_and_one_option_more_work_in_python_and_in_the_shell(tmp_path: Path) -> None:
    document = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## A verb and its options\n")[1]
    )
    text, more = (block for _, block in BLOCK.findall(document)[:2])
    field = "= 1\n"
    assert text.count(field) == 1
    namespace: dict[str, Any] = {"__name__": "greet"}
    exec(compile(text.replace(field, f"{field}    {more}"), "greet.py", "exec"), namespace)
    greet, command = namespace["VERB"].function(), namespace["VERB"].command()
    assert str(greet("Tyra", times=2)) == "hello Tyra, hello Tyra"
    assert inspect.signature(greet).parameters["loudly"].default is False
    assert "In capitals." in greet.__doc__
    with pytest.raises(InputError, match=r"^times 10: give 1 to 9$"):
        greet("Tyra", times=10)
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, ["Tyra", "--loudly", "--json"])
    assert result.stdout == '{"words": "hello Tyra"}\n'
    assert "In capitals." in CliRunner().invoke(app, ["--help"]).stdout
    assert str(CliRunner().invoke(app, ["Tyra", "--times", "0"]).exception) == "--times 0: give 1 to 9"
