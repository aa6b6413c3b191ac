"""`trex explain` on whole runs of the fake world: killed, asked again, asked for more, damaged."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trex as trex_api
from tests.running.command_line import refused, trex
from tests.running.runs import leave_draws, run
from trex.explain.explanation import Explanation
from trex.explain.stored import CODEC, check_parts, explanation_path, read_explanation, read_explanations
from trex.foundation.errors import InputError, RunError
from trex.inference.attribution.leave_one_out import only, strongest
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.runs.folder import open_run
from trex.scenes.edits import attribute_edits, removals
from trex.scenes.scene import Scene
from trex.scenes.validity import is_valid

QUICK = ("--top", "2", "--nuisances", "2")


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of pictures are kept here, and no power cut is feared."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with found scenes, not explained."""
    return run(tmp_path_factory.mktemp("searched"), ["search.steps=30"]).folder


@pytest.fixture(scope="module")
def explained(searched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it, explained."""
    path = copied(searched, tmp_path_factory.mktemp("explained"))
    result = trex("explain", path, *QUICK)
    assert result.exit_code == 0, result.output
    return path


def copied(path: Path, folder: Path) -> Path:
    return Path(shutil.copytree(path, folder / "run"))


def explanations(path: Path) -> dict[str, Explanation]:
    with open_run(path, for_writing=False) as folder:
        return read_explanations(folder)


def texts(path: Path) -> dict[str, str]:
    """The explanations and pictures of a run, by name."""
    found = {file.name: file.read_text() for file in sorted((path / "explanations").glob("*.json"))}
    digests = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (path / "pictures").iterdir()
    }
    return found | digests


@pytest.fixture
def no_render(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(FakeRenderer, "render", lambda *_: pytest.fail("rendered"))
    return


@pytest.mark.slow
def test_every_part_is_there(explained: Path) -> None:
    found = explanations(explained)
    assert len(found) == 2
    with open_run(explained, for_writing=False) as folder:
        vocabulary = folder.manifest.vocabulary
    for explanation in found.values():
        assert explanation.control.is_exact
        assert explanation.control.recorded == explanation.control.score.confidence
        assert [effect.edits[0] for effect in explanation.removals] == list(removals(explanation.scene))
        assert explanation.edits is not None
        assert [effect.edits[0] for effect in explanation.edits] == list(
            attribute_edits(explanation.scene, vocabulary)
        )
        for effect in (*explanation.removals, *explanation.edits):
            assert effect.change == effect.score.confidence - explanation.control.score.confidence
            assert explanation.compared == "truth"
            assert effect.is_flip == (effect.score.answer == effect.truth)
            assert (effect.margin < 0) == effect.is_flip
            assert (explained / "pictures" / f"{effect.score.picture}.png").exists()
            assert sum(np.exp(effect.score.log_probs)) == pytest.approx(1.0)
        assert explanation.nuisances is not None
        assert len(explanation.nuisances.baseline) == 2
        assert explanation.saliency is not None
        assert "no gradients" in explanation.saliency.why_none


def test_an_edit_that_breaks_the_rules_is_said_to(explained: Path) -> None:
    """Each small thing made large is judged by the prior's rules of distance and visibility."""
    with open_run(explained, for_writing=False) as folder:
        vocabulary = folder.manifest.vocabulary
    for explanation in explanations(explained).values():
        for effect in (*explanation.removals, *(explanation.edits or ())):
            assert effect.is_valid == is_valid(effect.edits[0].apply(explanation.scene), vocabulary)


@pytest.mark.usefixtures("no_render")
def test_asked_again_it_renders_nothing_and_says_the_same(explained: Path) -> None:
    before = texts(explained)
    first, second = (trex("explain", explained, *QUICK) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert first.stdout == second.stdout
    assert texts(explained) == before
    fewer = trex("explain", explained, "--top", 1, "--no-edits", "--nuisances", 0, "--no-saliency")
    assert fewer.exit_code == 0
    assert texts(explained) == before


def test_more_is_added_and_nothing_made_twice(
    searched: Path, explained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(searched, tmp_path)
    rendered: list[Scene] = []
    real = FakeRenderer.render
    monkeypatch.setattr(FakeRenderer, "render", lambda self, zs: rendered.extend(zs) or real(self, zs))
    few = ("--no-edits", "--flip-depth", 0, "--nuisances", 0, "--no-saliency")
    assert trex("explain", path, "--top", 1, *few).exit_code == 0
    assert len(rendered) == 1 + 5
    (explanation,) = explanations(path).values()
    assert (explanation.edits, explanation.flip, explanation.nuisances, explanation.saliency) == (
        None,
        None,
        None,
        None,
    )
    assert trex("explain", path, *QUICK).exit_code == 0
    assert len(rendered) == len(set(rendered))
    assert texts(path) == texts(explained)


@pytest.mark.slow
@pytest.mark.process
def test_kills_change_nothing(
    searched: Path, explained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after every 30 scenes rendered, in another process, and begun again until it is through."""
    path = copied(searched, tmp_path)
    kills = 0
    while True:
        pid = os.fork()
        if pid == 0:
            left = iter(range(30))
            real = FakeRenderer.picture_of

            def picture(
                self: FakeRenderer, scene: Scene, left: Iterator[int] = left, real: object = real
            ) -> Picture:
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(self, scene)  # type: ignore[operator,no-any-return]

            monkeypatch.setattr(FakeRenderer, "picture_of", picture)
            result = trex("explain", path, *QUICK)
            os._exit(result.exit_code)
        status = os.waitpid(pid, 0)[1]
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            break
        kills += 1
        assert kills < 10
    assert kills >= 3
    assert texts(path) == texts(explained)
    assert not list((path / "explanations").glob(".*"))


def flicker(real: object) -> object:
    """A renderer whose every picture differs from the last one in one bit."""
    calls = iter(range(10**9))

    def render(self: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        pictures = []
        for picture in real(self, zs):  # type: ignore[operator]
            pixels = picture.pixels.copy()
            pixels[0, 0, 0] ^= 1 + next(calls) % 2
            pictures.append(replace(picture, pixels=pixels))
        return pictures

    return render


def test_a_control_that_differs_is_said_loudly(
    searched: Path, explained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(searched, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(FakeRenderer, "render", flicker(FakeRenderer.render))
        result = trex("explain", path, *QUICK)
    assert result.exit_code == 1
    assert "THE CONTROL FAILED" in result.stdout
    assert "control is not exact" in result.stderr
    assert not any(explanation.control.is_exact for explanation in explanations(path).values())
    assert (
        trex("explain", path, *QUICK).exit_code == 0
    )  # a renderer that is sound again: all of it is made anew
    kept = {name: text for name, text in texts(path).items() if name.endswith(".json")}
    assert kept == {name: text for name, text in texts(explained).items() if name.endswith(".json")}


def test_a_model_that_is_not_the_same_fails_the_control(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A score that differs while the picture does not is caught as well."""
    from trex.clevr_models.fake import ColorArea

    path, real = copied(searched, tmp_path), ColorArea.count
    monkeypatch.setattr(ColorArea, "count", lambda self, images: real(self, images) + 1e-9)
    result = trex("explain", path, "--top", 1, "--no-edits", "--nuisances", 0, "--flip-depth", 0, "--json")
    assert result.exit_code == 1
    (scene,) = json.loads(result.stdout)["scenes"]
    assert scene["control"]["is_same_picture"]
    assert 0 < abs(scene["control"]["log_probs_difference"]) < 1e-6
    assert not scene["control_is_exact"]


def test_for_machines(explained: Path) -> None:
    result = trex("explain", explained, *QUICK, "--json")
    data = json.loads(result.stdout)
    assert data["is_exact"]
    assert len(data["scenes"]) == 2
    first = data["scenes"][0]
    assert first["strongest"]["index"] == only(strongest(explanations(explained)[first["picture"]].counted))
    assert data["agreement"] == []
    assert result.stdout.count("\n") == 1


def test_what_is_said(explained: Path) -> None:
    words = trex("explain", explained, *QUICK).stdout
    assert words.count("exactly the same") == 2
    assert words.count("leave out object") >= 10
    assert "is responsible" in words
    assert "Smallest flip" in words
    assert "under 2 other cameras and lights" in words
    *_, place, report = words.splitlines()
    assert place == f"explanations: {explained / 'explanations'}"
    assert report == f"report: {explained / 'report.html'}"
    assert "Which object is responsible" in (explained / "report.html").read_text(encoding="utf-8")


def test_an_unfinished_run_can_be_explained(searched: Path, tmp_path: Path) -> None:
    path = copied(searched, tmp_path)
    (path / "finished").unlink()
    draws = (path / "draws.jsonl").read_bytes()
    (path / "draws.jsonl").write_bytes(draws[: int(0.8 * len(draws))])
    result = trex("explain", path, "--top", 1, "--no-edits", "--nuisances", 0, "--flip-depth", 0)
    assert result.exit_code == 0
    assert len(explanations(path)) == 1


@pytest.mark.usefixtures("no_render")
def test_bad_input_is_refused(searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(trex("explain", tmp_path / "nowhere"), "not a run folder")
    path = copied(searched, tmp_path)
    refused(trex("explain", path, "--top", 0), "--top 0", "give 1 to 100,000")
    refused(trex("explain", path, "--flip-renders", -1), "--flip-renders -1")
    refused(trex("explain", path, "--processes", 0), "--processes 0")
    for name, least in (("top", 1), ("nuisances", 0), ("flip_depth", 0), ("flip_renders", 0)):
        option = f"--{name.replace('_', '-')}"
        refused(trex("explain", path, option, 10**39), f"{option} 1", f"give {least} to ")
        with pytest.raises(InputError, match=f"^{name} 1.* give {least} to "):
            trex_api.open_run(path).explain(progress=False, **{name: 10**39})
    with open_run(path, for_writing=True):
        refused(trex("explain", path), "another process is writing")
    with monkeypatch.context() as patch:
        patch.setattr(FakeRenderer, "key", "another renderer")
        refused(trex("explain", path), "the renderer was fake", "now it is another renderer")
    leave_draws(path, b"")
    refused(trex("explain", path), "no draws yet")
    assert not list((path / "explanations").glob("*"))


def test_ctrl_c_keeps_what_is_done(searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real, left = copied(searched, tmp_path), FakeRenderer.picture_of, iter(range(80))

    def picture(self: FakeRenderer, scene: Scene) -> Picture:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(self, scene)

    monkeypatch.setattr(FakeRenderer, "picture_of", picture)
    result = trex("explain", path, *QUICK)
    assert result.exit_code == 130
    assert "the same command resumes" in result.stderr
    assert len(explanations(path)) == 1


def test_a_run_that_found_nothing_is_refused(tmp_path: Path) -> None:
    path = run(tmp_path, ["answer=9", "search.steps=2"]).folder
    for command, purpose in ((("explain", path), "explain"), (("curve", path, "--over", "size"), "change")):
        refused(
            trex(*command),
            f"has no hit to {purpose}; start a longer search in another folder (trex find QUERY",
        )


DAMAGE = {
    "cut": lambda text: text[: len(text) // 2],
    "format": lambda text: text.replace('"format": 1', '"format": 2'),
    "object": lambda text: text.replace('"index": 4', '"index": 7'),
    "not a number": lambda text: text.replace('"change": ', '"change": NaN, "old": ', 1),
    "path": lambda text: text.replace('"picture": "', '"picture": "../', 1),
    "word": lambda text: text.replace('"confidence": ', '"confidence": "much", "old": ', 1),
    "size": lambda text: re.sub(r'"size": "\w+"', '"size": ""', text, count=1),
    "shape": lambda text: re.sub(r'"shape": "\w+"', '"shape": "cone"', text, count=1),
    "no edit": lambda text: json.dumps(
        (old := json.loads(text)) | {"edits": [old["removals"][0] | {"edits": []}]}
    ),
    "edited to": lambda text: re.sub(r'"value": "\w+"', '"value": "zz"', text, count=1),
    "list": lambda text: f"[{text}]",
}


@pytest.mark.usefixtures("no_render")
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_explanation_is_named(kind: str, explained: Path, tmp_path: Path) -> None:
    path = copied(explained, tmp_path)
    file = sorted((path / "explanations").glob("*.json"))[0]
    damaged = DAMAGE[kind](file.read_text())
    assert damaged != file.read_text()
    file.write_text(damaged)
    refused(trex("explain", path, *QUICK), str(file), "damaged", "delete it")
    with pytest.raises(RunError, match=file.name):
        explanations(path)


def test_a_file_under_another_name_is_noticed(explained: Path, tmp_path: Path) -> None:
    path = copied(explained, tmp_path)
    item, other = sorted((path / "explanations").glob("*.json"))
    shutil.copy(item, other)
    with pytest.raises(RunError, match=r"delete it"):
        explanations(path)


def test_every_bit_is_kept_as_text(explained: Path) -> None:
    built = next(iter(explanations(explained).values()))
    log_probs = (*built.control.score.log_probs[:-1], -np.inf)
    odd = replace(
        built, control=replace(built.control, score=replace(built.control.score, log_probs=log_probs))
    )
    for explanation in (built, odd):
        assert CODEC.parse(CODEC.text(explanation), "x/y.json", "delete it", check_parts) == explanation
    with open_run(explained, for_writing=False) as folder:
        assert read_explanation(folder, built.picture) == built
        assert read_explanation(folder, "0" * 32) is None
        assert explanation_path(folder, built.picture).exists()


@pytest.mark.process
def test_starting_the_command_line_loads_no_torch() -> None:
    modules = "sys, trex.commands.shell.app, trex.explain.explain_run"
    code = f"import {modules}; print({{'torch', 'captum', 'bpy'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
