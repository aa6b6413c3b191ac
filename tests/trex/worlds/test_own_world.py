"""Worlds, targets, proposals and priors of plain functions: each against what it must equal, and what is refused."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

import trex
from tests.running.runs import leave_draws, seal_draws
from trex.curves.stored import file_name, read_curves
from trex.explain.changes import read_changes
from trex.export.netcdf import write_netcdf
from trex.foundation import extensions
from trex.inference.targets.kind import TargetRequest
from trex.runs.folder import open_run
from trex.scenes.scene import Scene
from trex.worlds.own.values import latent_at, own_edits, specs_of, values_at
from trex.worlds.own.vectors import Functions

QUIET: dict[str, Any] = {"progress": False, "explain": False, "large": False}
SPECS = specs_of({"x": (2.0, 5.0), "kind": ["a", "b", "c"], "n": range(4)})


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test passes as an object is forgotten after it."""
    monkeypatch.setattr(extensions, "_given", {})


def draw(values: Any) -> Any:
    return np.full((4, 4), values["gray"])


def classify(pictures: Any, question: object) -> Any:
    """Says "light" with the picture's brightness as probability."""
    light = pictures.mean(axis=(1, 2, 3))
    return np.stack([1 - light, light], axis=1)


def truth(values: Any) -> str:
    return "light" if values["gray"] > 0.6 else "dark"


def world(**changes: Any) -> trex.World:
    parts: dict[str, Any] = {
        "prior": {"gray": (0.0, 1.0), "unused": (0.0, 1.0)},
        "render": draw,
        "answer": truth,
        "answers": ["dark", "light"],
    }
    return trex.World(**(parts | changes))


ASKED: dict[str, Any] = {
    "model": classify, "answer": "light", "target": "threshold", "threshold": 0.55, "prior_scenes": 400, **QUIET,
}  # fmt: skip


def test_named_values_are_drawn_as_the_prior_says_and_come_back_from_their_latents() -> None:
    rng = np.random.default_rng(0)
    zs = rng.standard_normal((4000, len(SPECS)))
    drawn = [values_at(SPECS, z) for z in zs]
    assert kstest([(each["x"] - 2) / 3 for each in drawn], "uniform").pvalue > 1e-5  # type: ignore[operator]
    for name, entries in (("kind", "abc"), ("n", range(4))):
        assert chisquare([sum(each[name] == entry for each in drawn) for entry in entries]).pvalue > 1e-5
    for z, values in zip(zs[:50], drawn, strict=False):
        np.testing.assert_array_equal(latent_at(SPECS, values, z), z)
        for changed in own_edits(SPECS, values).values():
            back = values_at(SPECS, latent_at(SPECS, changed, z))
            assert back == pytest.approx(changed)
            assert sum(back[name] != values[name] for name in values) <= 1


def test_a_world_of_functions_is_searched_judged_and_explained(tmp_path: Path) -> None:
    run = trex.find(world=world(), wrong=True, steps=30, out=tmp_path / "run", **ASKED)
    assert run.hits and all(hit.truth == "dark" and hit.is_wrong for hit in run.hits)
    grays = [float(np.asarray(hit.picture).mean()) / 255 for hit in run.hits]
    assert min(grays) > 0.545 and max(grays) < 0.605, "the level set is 0.55 to 0.6"
    # given that it is not light: 0.05 of 0.6
    assert run.rate.interval.low < 0.05 / 0.6 < run.rate.interval.high
    (found, *_) = run.explain(top=2, progress=False)
    assert "After one change alone (gray to 0.5) the model is right." in found.sentences  # type: ignore[union-attr]
    assert found.responsible == ("gray to 0.5",) and found.is_exact and len(found.changes) == 2  # type: ignore[union-attr]
    assert "gray" in found._repr_html_() and len(repr(found)) < 300
    curve = run.curve(over="gray", scenes=3, at=[0.1, 0.3, 0.52, 0.58, 0.9], progress=False)
    assert curve.means == [0, 0, 1, 1, 0], "wrong between one half, where the model says light, and 0.6"
    with pytest.raises(
        trex.InputError, match=r"quantity 'size' is not known \(gray, unused.*name one of these with over=$"
    ):
        run.curve(over="size", progress=False)
    page = run.report().read_text()
    assert "One value changed at a time" in page and curve.headline in page
    with open_run(run.path, for_writing=False) as folder:
        assert read_curves(folder) == [curve]
        (again, *_) = read_changes(folder, run.results.found)
        assert (again.changes, again.sentences) == (found.changes, found.sentences)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["../../out", "..", "a/b", "", "x" * 300, "two words", "ä-1"])
def test_a_curve_over_a_value_of_any_name_stays_in_its_folder(name: str) -> None:
    """Planted bug: the value's name was the file's."""
    file = file_name(name)
    assert Path(file).name == file and file not in (".json", "..json") and len(file) < 255
    assert file_name(name) == file != file_name(name + "'")


def test_hits_with_one_picture_keep_their_own_changes(tmp_path: Path) -> None:
    """Planted bug: changes were kept by picture, so that hits which share one shared their changes too."""
    dull = world(render=lambda values: np.full((4, 4), 0.57 if values["gray"] < 0.6 else 0.9))
    run = trex.find(world=dull, wrong=True, steps=0, out=tmp_path / "run", **ASKED)
    assert len(run.hits) > 5 and len({hit.record.picture for hit in run.hits}) == 1
    found = run.explain(top=2, progress=False)
    with open_run(run.path, for_writing=False) as folder:
        kept = read_changes(folder, run.results.found)
    assert [(each.hit.origin, each.changes) for each in kept] == [
        (each.hit.origin, each.changes)  # type: ignore[union-attr]
        for each in found
    ]


def test_damaged_changes_and_curves_are_named_with_what_to_do(tmp_path: Path) -> None:
    run = trex.find(world=world(), wrong=True, steps=5, out=tmp_path / "run", **ASKED)
    run.explain(top=1, progress=False)
    run.curve(over="gray", scenes=2, doses=3, progress=False)
    for file, old, new in (
        ("changes.json", '"compared":"truth"', '"compared":"mood"'),
        ("curves/gray.json", '"range":[0.0,1.0]', '"range":[0.7,1.0]'),
    ):
        path = run.path / file
        text = path.read_text()
        squeezed = "".join(text.split())
        assert old in squeezed
        path.write_text(squeezed.replace(old, new))
        with pytest.raises(
            trex.RunError, match=rf"{path.name} is damaged.*delete it, then(:| in Python:) trex"
        ):
            run.report()
        path.write_text(text)
    assert run.report().is_file()


def test_explanations_name_no_change_that_does_nothing_and_take_edits_of_ones_own(tmp_path: Path) -> None:
    """Planted bug: an edit that changes nothing counted as an explanation."""
    own = world(edits=lambda values: {"nothing": values, "black": {**values, "gray": 0.0}})
    run = trex.find(world=own, steps=0, out=tmp_path / "run", **ASKED)
    changes = {each.name: each for each in run.explain(top=1, progress=False)[0].changes}  # type: ignore[union-attr]
    assert changes["nothing"].effect == 0 and not changes["nothing"].explains
    assert changes["black"].effect < -0.5 and changes["black"].explains


def test_a_run_is_resumed_with_the_same_objects_and_refused_with_others(tmp_path: Path) -> None:
    out = tmp_path / "run"
    whole = trex.find(world=world(), steps=20, out=tmp_path / "whole", **ASKED)
    trex.find(world=world(), steps=20, out=out, **ASKED)
    lines = (out / "draws.jsonl").read_bytes().splitlines(keepends=True)
    leave_draws(out, b"".join(lines[:410]))
    seal_draws(out)
    extensions._given.clear()
    with pytest.raises(
        trex.InputError, match=r"an object of a Python session.*open_run\(folder, world=\.\.\.\)"
    ):
        trex.open_run(out, model=classify).resume(progress=False, explain=False, large=False)

    def other(values: Any) -> Any:
        return np.full((4, 4), 0.5 * values["gray"])

    other.__qualname__ = draw.__qualname__
    with pytest.raises(trex.RunError, match="the renderer was own"):
        trex.open_run(out, model=classify, world=world(render=other)).resume(progress=False)
    resumed = trex.open_run(out, model=classify, world=world())
    done = resumed.resume(progress=False, explain=False, large=False)
    assert [r.probs for r in done.records] == [r.probs for r in whole.records]


def test_the_target_of_a_function_is_its_level_set(tmp_path: Path) -> None:
    """At least 0.3 apart and light: exactly the pictures of brightness 0.65 and more."""
    apart = trex.Target(lambda p: p["light"] - p["dark"], at_least=0.3)
    asked = {**ASKED, "target": apart, "threshold": None, "answer": None}
    run = trex.find(world=world(), steps=0, out=tmp_path / "run", **asked)
    lights = [record.probs[1] for record in run.records if record.phase == "prior"]
    assert run.rate.count == sum(2 * light - 1 >= 0.3 for light in lights) > 0
    assert min(hit.probabilities["light"] for hit in run.hits) >= 0.65
    assert " of at least 0.3; world: " in run.summary()
    extensions._given.clear()
    with pytest.raises(
        trex.RunError, match=r"its target .* is an object .*open_run\(folder, target=\.\.\.\)"
    ):
        trex.open_run(run.path)
    assert trex.open_run(run.path, world=world(), target=apart).hits == run.hits
    reached = trex.Target(lambda p: p["light"], at=0.5)
    found = trex.find(
        world=world(), steps=0, out=tmp_path / "at", **{**asked, "target": reached, "width": 0.02}
    )
    assert found.hits and all(abs(hit.probabilities["light"] - 0.5) <= 0.0401 for hit in found.hits)


def test_a_proposal_of_a_function_samples_the_same_posterior(tmp_path: Path) -> None:
    """Negative control: a move that is not symmetric does not."""

    def jump(rng: np.random.Generator, z: Any) -> Any:
        return z + rng.uniform(-1, 1, size=z.shape)

    def drift(rng: np.random.Generator, z: Any) -> Any:
        return z + rng.uniform(-1, 1, size=z.shape) + 0.5

    def unused(move: Any, name: str) -> float:
        """The mean of the coordinate that no picture shows: 0 under the posterior."""
        asked = {**ASKED, "prior_scenes": 60}
        run = trex.find(world=world(), proposal=move, steps=600, further=0, out=tmp_path / name, **asked)
        chains = [record.z[1] for record in run.records if record.phase == "chain" and record.is_accepted]
        return float(np.mean(chains))

    assert abs(unused(jump, "symmetric")) < 0.25
    assert unused(drift, "drifting") > 0.4


def test_a_prior_of_scenes_is_narrowed_exactly_and_refused_where_too_little_is_left() -> None:
    def is_first_sphere(scene: Scene) -> bool:
        return scene.objects[0].shape == "sphere"

    prior = trex.ScenePrior(n_objects=(2, 2)).where(is_first_sphere)
    rng = np.random.default_rng(0)
    scenes = [prior.sample(rng) for _ in range(300)]
    assert all(map(is_first_sphere, scenes)) and all(np.isfinite(prior.log_density(each)) for each in scenes)
    counts = [
        sum(each.objects[1].shape == shape for each in scenes) for shape in ("cube", "sphere", "cylinder")
    ]
    assert chisquare(counts).pvalue > 1e-5, "what the condition leaves open stays as it was"
    free = trex.ScenePrior(n_objects=(2, 2))
    assert prior.log_density(scenes[0]) == free.log_density(scenes[0])
    outside = next(scene for scene in (free.sample(rng) for _ in range(100)) if not is_first_sphere(scene))
    assert prior.log_density(outside) == -np.inf
    asked = {"question": "How many spheres are there?", "answer": "1", "model": "fake", "preset": "fake"}
    never = trex.ScenePrior(n_objects=(2, 2)).where(lambda scene: len(scene.objects) == 3)
    with pytest.raises(trex.InputError, match=r"0 of 1,000 scenes of the prior are .* at least 10 must be"):
        trex.check(world=never, **asked)
    assert trex.check(world=prior, **asked).query.scene.objects == (2, 2)
    assert prior.world != free.world and "is_first_sphere" in prior.condition_words
    with pytest.raises(trex.InputError, match=r"the world gives scene\.objects already"):
        trex.check(world=prior, objects=3, **asked)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: world(prior={}), "draws nothing"),
        (lambda: world(prior={"x": (1, 0)}), r"x = \(1, 0\) is no range"),
        (lambda: world(prior={"x": "red"}), "give a pair"),
        (lambda: world(prior=0), "a number of dimensions from 1 to"),
        (lambda: world(prior=object()), "an object with sample"),
        (lambda: world(render=None), "needs render"),
        (lambda: world(answer="light"), "answer is of type str; give a function"),
        (lambda: trex.World(prior=trex.ScenePrior(), answer=truth), "answer belong to a prior of your own"),
        (lambda: trex.Target(0.5), "made of a function, not of a float"),
        (lambda: trex.Target(max, at=1, at_most=0), "at and at_most do not go together"),
    ],
)
def test_a_part_that_cannot_be_is_refused_at_once(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"world": world(render=lambda v: np.full((4, 4), 2.0))}, "values from 2 to 2"),
        ({"world": world(render=lambda v: v["grey"])}, "render fails: KeyError"),
        ({"world": world(render=lambda v: None)}, "render gives a NoneType; it must give a picture"),
        ({"world": world(answers=())}, "does not name its answers"),
        ({"world": world(answers=["a", "b"])}, "answer"),
        ({"world": world(answer=None), "wrong": True}, "needs the true answers"),
        ({"world": world(answer=lambda v: "light"), "wrong": True}, "in none of 1,000 draws"),
        ({"world": 3}, "world is of type int; give a trex.World"),
        ({"target": lambda p: 1.0}, r"wrap the function: trex.Target\(function\)"),
        (
            {"target": trex.Target(lambda p: p["no"]), "threshold": None},
            "a function of the probabilities of dark, light, fails: KeyError: 'no'",
        ),
        (
            {"world": world(answer=lambda v: truth(v).title())},
            r"answer gives '(Dark|Light)', which is none of the answers \(dark, light\)",
        ),
        ({"world": world(answer=lambda v: 1), "wrong": True}, r"gives '1', which is none of the answers"),
        ({"world": world(answers=["dark", "dim", "light"])}, r"a column for each of its answers \(dark, dim"),
        ({"out": ""}, "out '': it is empty"),
        ({"out": 3}, "out 3: it must be a path"),
        ({"proposal": 3}, "proposal is of type int; give a function"),
        ({"model": "shipped"}, "give a world of your own a model of your own"),
        ({"generator": "clevr"}, "sets generator.name, which another keyword sets too"),
    ],
)
def test_a_part_that_does_not_fit_is_refused_before_anything_is_written(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        trex.find(**{"world": world(), **ASKED, "out": tmp_path / "run", **changes})
    assert not (tmp_path / "run").exists()


def test_an_error_names_no_target_or_proposal_that_was_given_before(tmp_path: Path) -> None:
    keywords = {"world": world(), **ASKED, "prior_scenes": 4, "steps": 2, "threshold": None}
    trex.find(
        **{
            **keywords,
            "target": trex.Target(lambda p: p["light"]),
            "proposal": lambda rng, z: z,
            "out": tmp_path / "run",
        }
    )
    for wrong in ({"target": "treshold"}, {"kernel": "gausian"}):
        with pytest.raises(trex.InputError, match="; use ") as caught:
            trex.find(**{**keywords, **wrong})
        assert "live:" not in str(caught.value).partition("; use ")[2]


def test_a_pickled_run_is_its_folder_without_the_objects_of_the_session(tmp_path: Path) -> None:
    """Planted bug: a pool of processes lost every search, as no `Run` and no `Hit` could be sent back."""
    run = trex.find(**{"world": world(), **ASKED, "prior_scenes": 40, "steps": 2, "out": tmp_path / "run"})
    assert run.hits and run.families
    sent = pickle.loads(pickle.dumps((run, run.hits, run.families, run.results, run.explain(top=1))))
    assert sent[0].world is None and sent[0].model is None and sent[0].rate == run.rate
    assert sent[1] == run.hits and sent[2] == run.families and sent[1][0].picture == run.hits[0].picture


def test_a_page_is_not_replaced_by_one_that_knows_less(tmp_path: Path) -> None:
    """Planted bug: a run opened without its world wrote a page without true answers and families over the good one."""
    run = trex.find(world=world(), wrong=True, steps=0, out=tmp_path / "run", **ASKED)
    page, known = run.report(), run.families[0].words
    before = page.read_bytes()
    unread = trex.open_run(run.path)
    for write in (unread.report, unread.summary):
        with pytest.raises(trex.RunError, match=r"would lose.*trex\.open_run\('.*run', world=\.\.\.\)"):
            write()
    assert page.read_bytes() == before
    assert known in trex.open_run(run.path, world=world()).summary()


def test_a_rare_true_answer_that_is_no_answer_is_refused_where_it_is_met(tmp_path: Path) -> None:
    """Planted bug: such hits were "wrong". The draws that are tried before the search do not meet it."""

    def rarely(values: Any) -> str:
        return "Light" if 0.99 < values["gray"] < 0.995 else truth(values)

    with pytest.raises(trex.InputError, match="answer gives 'Light'"):
        trex.find(world=world(answer=rarely), steps=0, out=tmp_path / "run", **ASKED)


@pytest.mark.parametrize(
    ("level", "words"),
    [
        ({"at_most": -2}, r"\(1 minus the score of the target\) was \d"),
        ({"at_least": 2}, r"\(the score of the target\) was \d"),
        ({"at": 2}, r"\(1 minus the distance of the score of the target from 2\) was \d"),
    ],
)
def test_a_target_that_is_not_met_says_what_its_confidence_is(
    level: dict[str, float], words: str, tmp_path: Path
) -> None:
    target = trex.Target(lambda p: p["light"] - p["dark"], **level)
    asked = {**ASKED, "target": target, "threshold": None, "answer": None, "prior_scenes": 30}
    run = trex.find(world=world(), steps=0, out=tmp_path / "run", **asked)
    assert re.search(f"The best confidence {words}", run.summary())


def test_a_path_from_home_is_one_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a folder "~" in the current one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    few = {**ASKED, "prior_scenes": 4}
    assert trex.find(world=world(), steps=0, out="~/run", **few).path == tmp_path / "run"
    assert trex.open_run("~/run", world=world()).path == tmp_path / "run"


def test_a_function_as_preset_is_told_where_it_belongs() -> None:
    with pytest.raises(trex.InputError, match=r"trex\.World\(prior=trex\.ScenePrior.*render=function\)"):
        trex.check(question="How many cubes are there?", answer="1", preset=lambda scene: None)


MODULE = """
import numpy as np, trex
def draw(v): return np.full((4, 4), v["gray"])
def classify(pictures, question):
    light = pictures.mean(axis=(1, 2, 3))
    return np.stack([1 - light, light], axis=1)
world = trex.World(prior={"gray": (0.0, 1.0)}, render=draw, answers=["dark", "light"])
bright = trex.Target(lambda p: p["light"], at_least=0.9)
def move(rng, z): return z + rng.standard_normal(z.shape)
"""
QUERY = """
[generator]
name = "parts:world"
[model]
name = "parts:classify"
[target]
kind = "parts:bright"
[search]
kernel = "parts:move"
prior_scenes = 60
steps = 10
further = 0
"""


def test_a_query_file_names_them_by_module_once_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts.py").write_text(f"{MODULE}\nopen('imported', 'a').close()\n")
    (tmp_path / "query.toml").write_text(QUERY)
    monkeypatch.setenv("TREX_TRUST", "")

    def trex_(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "trex", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    refused = trex_("find", "query.toml", "--out", "run")
    assert refused.returncode == 2 and "runs the code of target.kind = 'parts:bright'" in refused.stderr
    assert not (tmp_path / "imported").exists(), "nothing is imported before it is trusted"
    done = trex_("find", "query.toml", "--out", "run", "--trust")
    assert done.returncode == 0, done.stderr
    again = trex_("report", "run")
    assert again.returncode == 2 and "run: trex resume run" in again.stderr, "it loads no code"
    explained = trex_("explain", "run", "--top", "2")
    assert explained.returncode == 0, explained.stderr
    # without a truth, a change explains a hit if the model answers otherwise: at 0.5 it says either
    assert (
        "Each change" not in explained.stderr
        and "gray" in explained.stdout
        and "report: run" in explained.stdout
    )
    refused = trex_("explain", "run", "--flip-depth", "2")
    assert refused.returncode == 2 and "it needs objects" in refused.stderr
    turned = trex_("curve", "run", "--over", "gray", "--at", "0.3", "--at", "0.95", "--scenes", "3", "--json")
    assert turned.returncode == 0, turned.stderr
    assert [row["share"] for row in json.loads(turned.stdout)["at"]] == [0, 1]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "One value changed at a time" in page and "Turned up and down, all else equal" in page
    (tmp_path / "run").rename(tmp_path / "moved")
    (tmp_path / "imported").unlink()
    for words in (("report", "moved"), ("explain", "moved"), ("curve", "moved", "--over", "gray")):
        foreign = trex_(*words)
        assert foreign.returncode == 2 and "comes from elsewhere" in foreign.stderr, foreign.stderr
    assert not (tmp_path / "imported").exists(), "a run folder from elsewhere imports nothing"


def test_two_lambdas_in_one_session_are_two_targets(tmp_path: Path) -> None:
    """Planted bug: they had one name, so the second made the first one's run unreadable."""
    asked = {**ASKED, "target": None, "threshold": None, "answer": None, "steps": 0}
    parts = [trex.Target(lambda p: p["light"], at_least=0.9), trex.Target(lambda p: p["dark"], at_least=0.9)]
    light, dark = (
        trex.find(world=world(), out=tmp_path / name, **{**asked, "target": part})
        for name, part in zip(("light", "dark"), parts, strict=True)
    )
    assert min(hit.probabilities["light"] for hit in light.hits) >= 0.9
    assert min(hit.probabilities["dark"] for hit in dark.hits) >= 0.9
    assert trex.Target(max, at_least=0.5).kind().name != trex.Target(max, at_least=0.6).kind().name


def test_a_run_keeps_its_world_after_another_of_the_same_name(tmp_path: Path) -> None:
    """Planted bug: a world with the same `render` took its place, so that the run could not be explained."""
    run = trex.find(world=world(), steps=0, out=tmp_path / "wide", **ASKED)
    narrow = world(prior={"gray": (0.0, 0.8)}, answer=lambda values: None)
    trex.find(world=narrow, steps=0, out=tmp_path / "narrow", **ASKED)
    (found, *_) = run.explain(top=1, progress=False)
    assert found.is_exact and {each.truth for each in found.changes} <= {"light", "dark"}  # type: ignore[union-attr]
    assert run.resume(progress=False, explain=False, large=False).hits == run.hits


def test_true_answers_that_narrow_the_prior_may_not_change(tmp_path: Path) -> None:
    """Planted bug: a run with `wrong` was resumed with another `answer`, and so under another prior."""
    out = tmp_path / "run"
    trex.find(world=world(), wrong=True, steps=20, out=out, **ASKED)
    lines = (out / "draws.jsonl").read_bytes().splitlines(keepends=True)
    leave_draws(out, b"".join(lines[:410]))
    seal_draws(out)
    other = world(answer=lambda values: "light" if values["gray"] > 0.56 else "dark")
    with pytest.raises(
        trex.RunError, match="the code of the true answers, which narrow the prior, has changed"
    ):
        trex.open_run(out, model=classify, world=other).resume(progress=False)
    resumed = trex.open_run(out, model=classify, world=world())
    assert resumed.resume(progress=False, explain=False, large=False).is_finished


def test_where_no_true_answer_is_known_no_answer_is_wrong(tmp_path: Path) -> None:
    """Planted bug: None was the answer "None", so that every answer was wrong."""
    own = world(answer=lambda values: "dark" if values["unused"] > 0.5 else None)
    run = trex.find(world=own, steps=0, out=tmp_path / "run", **ASKED)
    assert {(hit.truth, hit.is_wrong) for hit in run.hits} == {("dark", True), (None, None)}
    run = trex.find(world=own, wrong=True, steps=0, out=tmp_path / "wrong", **ASKED)
    assert {hit.truth for hit in run.hits} == {"dark"}


class Moves:
    """A proposal as an object, which gives what a test wants."""

    def __init__(self, point: Any, log_q: Any = 0.0) -> None:
        self.point, self.density = point, log_q

    def propose(self, rng: np.random.Generator, z: Any) -> Any:
        return self.point(rng, z)

    def log_q(self, to: Any, given: Any) -> Any:
        return self.density


@pytest.mark.parametrize(
    ("proposal", "message"),
    [
        (Moves(lambda rng, z: np.zeros(7)), r"gives \(7,\) for a latent \(2,\)"),
        (Moves(lambda rng, z: z, np.nan), "log_q of the proposal is nan"),
        (Moves(lambda rng, z: z, "much"), "log_q of the proposal fails: ValueError"),
        (Moves(lambda rng, z: sys.exit(0)), "the proposal fails: SystemExit"),
        (lambda rng, z: z * np.nan, "numbers that are not finite"),
        (lambda rng, z: ["a", "b"], "the proposal fails: ValueError"),
    ],
)
def test_a_proposal_that_gives_no_latent_is_named(proposal: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(trex.InputError, match=message):
        trex.find(world=world(), proposal=proposal, steps=5, further=0, out=tmp_path / "run", **ASKED)


def test_a_proposal_cannot_move_the_chain_itself(tmp_path: Path) -> None:
    """Planted bugs: the state of a chain changed in place, by an object's `propose`, or after it was returned."""
    kept = np.zeros(2)

    def in_place(rng: np.random.Generator, z: Any) -> Any:
        z += rng.standard_normal(2)
        return z

    def one_buffer(rng: np.random.Generator, z: Any) -> Any:
        kept[:] = z + rng.standard_normal(2)
        return kept

    def fresh(rng: np.random.Generator, z: Any) -> Any:
        return z + rng.standard_normal(2)

    def draws(proposal: Any, name: str) -> list[Any]:
        asked = {**ASKED, "prior_scenes": 60}
        run = trex.find(world=world(), proposal=proposal, steps=20, further=0, out=tmp_path / name, **asked)
        return [record.z.tolist() for record in run.records if record.phase != "prior"]

    assert draws(Moves(in_place), "in-place") == draws(one_buffer, "buffer") == draws(fresh, "fresh")


def test_entries_of_a_list_that_look_the_same_are_edited_apart_or_refused() -> None:
    specs = specs_of({"n": [5, 1, "1"], "n 5": (0.0, 1.0)})
    assert list(own_edits(specs, {"n": "1", "n 5": 0.2})) == ["n to 5", "n to 1", "n 5 to 0.5"]
    assert [each["n"] for each in own_edits(specs, {"n": 5, "n 5": 0.2}).values()] == [1, "1", 5]
    for twice in ([1, True], [0.0, 0], [1.0, "a", True]):
        with pytest.raises(trex.InputError, match="which are equal in Python; give one of them"):
            specs_of({"n": twice})
    with pytest.raises(trex.InputError, match="give a pair"):
        specs_of({"n": [float("nan"), 1.0]})
    assert specs_of({"n": ["a", "a", "b"]})[0].entries == ("a", "a", "b"), "twice as likely"


def test_a_value_may_have_any_name(tmp_path: Path) -> None:
    """Planted bugs: "z" and "confidence" hid the latents and the confidence, "a/b" was no NetCDF, "{" no curve."""
    names = ("gray", "z", "confidence", "log_prior", "chain", "a/b", "a{b}", "a b", "a_b")
    own = world(prior=dict.fromkeys(names, (0.0, 1.0)))
    run = trex.find(world=own, steps=10, further=0, out=tmp_path / "run", **ASKED)
    write_netcdf(run.manifest, run.records, tmp_path / "draws.nc")
    prior = run.draws.prior
    assert prior["z"].shape[-1] == len(names) and float(prior["log_prior"].max()) < 0
    firsts = [record.z[1] for record in run.records if record.phase == "prior"]
    np.testing.assert_allclose(prior["z_"].values[0], [SPECS[0].at(z) / 3 - 2 / 3 for z in firsts])
    assert {"value_confidence", "chain_", "a_b", "a_b_", "a_b__"} <= set(prior.data_vars)
    assert "a{b}" in run.curve(over="a{b}", doses=2, progress=False).headline


@pytest.mark.parametrize("level", ["0.3", [1], float("nan")])
def test_a_level_that_is_no_number_is_refused(level: Any) -> None:
    with pytest.raises(trex.InputError, match="give a finite number"):
        trex.Target(max, at_least=level)


def test_a_target_weighs_any_number_of_answers() -> None:
    """Planted bug: none at all raised an error of NumPy's."""
    request = TargetRequest(("a", "b"), (), ("a", "b"), 0.05, 0.9, 0.5)
    target = trex.Target(lambda p: p["a"], at_least=0.5).kind().build(request)
    assert target.statistic(np.array([[[0.25, 0.75]], [[0.75, 0.25]]])).tolist() == [[[0.25]], [[0.5]]]
    assert target.log_weights(np.zeros((0, 2))).shape == (0,)


SCENES: dict[str, Any] = {
    "question": "How many red things are there?", "answer": "0", "model": "fake", "steps": 0, "prior_scenes": 20,
    **QUIET,
}  # fmt: skip


def test_a_condition_and_a_drawing_may_ask_for_an_object_that_every_scene_of_theirs_has(
    tmp_path: Path,
) -> None:
    """Planted bug: both were tried on scenes of fewer objects."""
    prior = trex.ScenePrior(n_objects=(7, 7)).where(lambda scene: scene.objects[6].material == "metal")

    def seventh(scene: Scene) -> Any:
        return np.full((8, 12), 0.5 if scene.objects[6].size == "large" else 0.2)

    run = trex.find(world=trex.World(prior=prior, render=seventh), out=tmp_path / "run", **SCENES)
    assert all(record.z.objects[6].material == "metal" for record in run.records)


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        (lambda scene: (np.zeros((8, 12)), np.full((8, 12), 300)), "a mask of other numbers"),
        (lambda scene: (np.zeros((8, 12)), np.full((8, 12), -1)), "a mask of other numbers"),
        (lambda scene: (np.zeros((8, 12)), np.full((8, 12), "a")), "a mask of other numbers"),
        (lambda scene: np.zeros((0, 0, 3)), r"gives float64 \(0, 0, 3\)"),
        (lambda scene: [[1, 2], [3]], "render fails: ValueError"),
        (lambda scene: sys.exit(0), "render fails: SystemExit"),
    ],
)
def test_what_is_no_drawing_of_a_scene_is_refused(drawn: Any, message: str, tmp_path: Path) -> None:
    own = trex.World(prior=trex.ScenePrior(n_objects=(3, 4)), render=drawn)
    with pytest.raises(trex.InputError, match=message):
        trex.find(world=own, out=tmp_path / "run", **SCENES)


def test_a_table_of_no_runs_is_refused() -> None:
    with pytest.raises(trex.InputError, match="no run is given"):
        trex.frame([])


class Square:
    """A prior of two numbers within 0 and 1; a test may replace a part."""

    def __init__(self, point: Any = lambda z: z, density: Any = 0.0) -> None:
        self.point, self.density = point, density

    def sample(self, rng: np.random.Generator) -> Any:
        return self.point(rng.random(2))

    def log_density(self, z: Any) -> Any:
        return self.density if ((z > 0) & (z < 1)).all() else -np.inf


def of_prior(prior: Any, **changes: Any) -> trex.World:
    def first(z: Any) -> Any:
        return np.full((4, 4), np.clip(z[0], 0, 1))

    return world(**{"prior": prior, "render": first, "answer": None, **changes})


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Square(density=np.nan), "log_density of the prior is nan"),
        (Square(density="a"), "log_density of the prior fails: ValueError"),
        (Square(lambda z: z[: 1 + int(z[0] > 0.5)]), "it must keep the shape"),
        (Square(lambda z: z * np.nan), "it must draw finite floats"),
        (Square(lambda z: sys.exit(0)), "sample of the prior fails: SystemExit"),
    ],
)
def test_what_is_no_prior_is_named(prior: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(trex.InputError, match=message):
        trex.find(world=of_prior(prior), steps=0, out=tmp_path / "run", **ASKED)


def test_a_prior_of_32_bits_is_explained_as_it_was_drawn(tmp_path: Path) -> None:
    """Planted bug: the picture was drawn of 32 bits, and drawn again of 64."""
    own = of_prior(
        Square(lambda z: z.astype(np.float32)),
        render=lambda z: np.full((4, 4), float(z[0] * z[0] * 1e4 % 1)),
        edits=lambda z: {"black": 0 * z},
    )
    run = trex.find(world=own, steps=0, out=tmp_path / "run", **ASKED)
    assert all(each.is_exact for each in run.explain(top=8, progress=False))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (of_prior(Square()), of_prior(Square(density=-3.0))),
        (world(prior={"gray": (0, 1), "n": ["a"]}), world(prior={"gray": (0, 1), "n": ["a", "b"]})),
    ],
)
def test_a_run_is_not_resumed_with_another_prior(before: Any, after: Any, tmp_path: Path) -> None:
    """Planted bug: a prior was known by three pictures alone, which do not show all of it."""
    out = tmp_path / "run"
    trex.find(world=before, steps=20, out=out, **ASKED)
    lines = (out / "draws.jsonl").read_bytes().splitlines(keepends=True)
    leave_draws(out, b"".join(lines[:410]))
    seal_draws(out)
    with pytest.raises(trex.RunError, match="the code of the prior has changed"):
        trex.open_run(out, model=classify, world=after).resume(progress=False)
    resumed = trex.open_run(out, model=classify, world=before)
    assert resumed.resume(progress=False, explain=False, large=False).is_finished


def test_the_answers_are_a_list_and_numpy_counts_dimensions() -> None:
    """Planted bug: answers="ab" were the answers "a" and "b"."""
    with pytest.raises(trex.InputError, match="answers = 'ab' is one word; give a list"):
        trex.World(prior=2, render=lambda z: np.zeros((4, 4)), answers="ab")
    with pytest.raises(
        trex.InputError, match="prior = 1000000000; give a number of dimensions from 1 to 10,000"
    ):
        trex.World(prior=10**9, render=lambda z: np.zeros((4, 4)))
    trex.World(prior=np.int64(2), render=lambda z: np.zeros((4, 4)))  # type: ignore[arg-type]


def test_a_true_number_may_be_beyond_those_that_a_model_can_say() -> None:
    """Planted bug: seven things were refused as a typing error of a model that counts to two."""
    seven = Functions(draw, lambda shown: "7")
    assert seven.truth(np.zeros(2), ("0", "1", "2")) == "7"
    with pytest.raises(trex.InputError, match="answer gives '7'"):
        seven.truth(np.zeros(2), ("dark", "light"))
