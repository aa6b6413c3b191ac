"""`trex suite run --render`: the stored scenes are rendered exactly, once, and compared with their own look."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import run, without_reports
from tests.trex.suite.suites import only, reseal
from trex.clevr_models.fake import fake
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.foundation.images import decode_png
from trex.render import fake as fake_rendering
from trex.render.picture import Picture
from trex.scenes.noise import fresh_draws, seeded_draws
from trex.scenes.scene import Scene
from trex.suite import rendered
from trex.suite.batch import Batch, picture_path
from trex.suite.look import LastRun, SuiteLook, write_last_run
from trex.suite.rendered import open_rendered, read_scenes
from trex.worlds.asking import ask_all, ask_mean


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def n_rendered(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """The number of pictures that the fake renderer has made since the last call."""
    scenes: list[Scene] = []
    real = fake_rendering.FakeRenderer.picture_of

    def counted(self: fake_rendering.FakeRenderer, scene: Scene) -> Picture:
        scenes.append(scene)
        return real(self, scene)

    def taken() -> int:
        n = len(scenes)
        scenes.clear()
        return n

    monkeypatch.setattr(fake_rendering.FakeRenderer, "picture_of", counted)
    return taken


def run_json(suite: Path, *options: object) -> tuple[int, Any]:
    result = trex("suite", "run", suite, "--model", "fake", "--json", *options)
    assert result.stdout, result.stderr
    return result.exit_code, json.loads(result.stdout)


def differs(suite: Path, preset: str = "fake") -> int:
    """How many pictures, rendered again as the run rendered them, are not the stored ones, byte for byte."""
    batch = only(suite)
    with open_rendered([batch], SuiteLook(preset), processes=1) as opened:
        built = list(opened.pictures(list(opened.scenes)))
    stored = [decode_png(batch.read(picture_path(scene)), "it") for scene in batch.content.scenes]
    return sum(
        not np.array_equal(np.rint(array * 255).astype(np.uint8), old)
        for (array,), old in zip(built, stored, strict=True)
    )


# --- what is rendered


def test_the_stored_scene_gives_the_stored_picture_again(suite: Path) -> None:
    assert differs(suite) == 0


@pytest.mark.parametrize("part", ["noise", "nuisances", "objects"])
def test_a_scene_that_is_stored_with_a_loss_is_noticed(
    part: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: a batch forgets the noise seed, camera and lights, or the last object."""

    def lossy(batch: Batch) -> dict[str, Scene]:
        def change(scene: Scene) -> Scene:
            if part == "noise":
                return replace(scene, noise=0)
            if part == "nuisances":
                return replace(scene, nuisances=type(scene.nuisances)())
            return replace(scene, objects=scene.objects[:-1])

        return {key: change(scene) for key, scene in read_scenes(batch).items()}

    monkeypatch.setattr(rendered, "read_scenes", lossy)
    assert differs(suite) > 0


def test_a_second_run_renders_nothing(suite: Path, n_rendered: Callable[[], int]) -> None:
    n = len(only(suite).content.scenes)
    code, message = run_json(suite, "--render", "fake")
    assert code == 0 and n_rendered() == n
    assert message["look"] == "fake" and message["counts"]["still failing"] == n, "the run's own look"
    again = run_json(suite, "--render", "fake")
    assert n_rendered() == 0 and again[1]["scenes"] == [
        item | {"failed_before": True} for item in message["scenes"]
    ]
    run_json(suite, "--render", "fake-small")
    assert n_rendered() == n, "another look"


def test_a_renderer_without_a_cache_is_noticed(
    suite: Path, n_rendered: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: pictures are not kept."""
    monkeypatch.setattr(rendered, "CachedRenderer", lambda inner, folder: inner)
    run_json(suite, "--render", "fake")
    run_json(suite, "--render", "fake")
    assert n_rendered() == 2 * len(only(suite).content.scenes)


def test_the_stored_pictures_need_no_renderer(
    suite: Path, n_rendered: Callable[[], int], cache: Path
) -> None:
    assert run_json(suite)[1]["look"] == "stored"
    assert n_rendered() == 0 and not cache.exists()


@pytest.mark.slow
@pytest.mark.blender
def test_blender_gives_the_stored_pictures_again(tmp_path: Path) -> None:
    """The fake model sees no color in Blender's pictures, so that it says 0 of every scene."""
    search = [
        "search.bank=0",
        "search.prior_scenes=6",
        "search.chains=1",
        "search.steps=1",
        "search.further=0",
    ]
    render = ["render.preset=sketch", "render.processes=1", "render.fresh=0"]
    settings = ["answer=0", "scene.revoke=[]", "search.kernel=block", *search, *render]
    with without_reports():
        searched = run(tmp_path, settings).folder
        trex_done("suite", "add", searched, "--to", tmp_path / "suite")
    assert len(only(tmp_path / "suite").content.scenes) >= 2
    assert differs(tmp_path / "suite", "sketch") == 0


# --- fresh noise


def test_fresh_draws_follow_from_scene_and_seed_alone(suite: Path, n_rendered: Callable[[], int]) -> None:
    n = len(only(suite).content.scenes)
    first = run_json(suite, "--render", "fake", "--fresh", 3, "--no-record")[1]
    assert n_rendered() == 3 * n and first["look"] == "fake fresh=3 seed=0"
    again = run_json(suite, "--render", "fake", "--fresh", 3, "--no-record")[1]
    assert n_rendered() == 0 and again == first
    other = run_json(suite, "--render", "fake", "--fresh", 3, "--seed", 1, "--no-record")[1]
    assert n_rendered() == 3 * n and other["scenes"] != first["scenes"]
    run_json(suite, "--render", "fake", "--fresh", 4, "--no-record")
    assert n_rendered() == n, "the first three draws are there"


def test_no_draw_is_one_that_the_search_chose_the_hit_by(suite: Path) -> None:
    for scene in read_scenes(only(suite)).values():
        mine = {draw.noise for seed in range(3) for draw in seeded_draws(scene, 8, seed)}
        assert len(mine) == 24 and not mine & {item.noise for item in (scene, *fresh_draws(scene, 8))}
        assert {replace(draw, noise=scene.noise) for draw in seeded_draws(scene, 8, 0)} == {scene}


class ByBrightness:
    """Says "1" of a bright picture and "2" of a dark one, the second with more certainty."""

    name, labels = "brightness", ANSWERS

    def bind(self, question: Question) -> ByBrightness:
        return self

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        is_bright = images[0].mean() > 0.5
        row = np.full(len(ANSWERS), 1e-6)
        row[ANSWERS.index("1")], row[ANSWERS.index("2")] = (0.6, 0.4) if is_bright else (0.01, 0.99)
        return np.log(row / row.sum())[None]


def test_mean_probabilities_decide_and_no_vote() -> None:
    """Two of three pictures say "1", but not surely: the mean says "2"."""
    question = Question("How many?", ())
    bright, dark = np.ones((2, 3, 3), np.float32), np.zeros((2, 3, 3), np.float32)
    output = ask_mean(ByBrightness(), [bright, bright, dark], question, "2")
    assert output.answer == "2" and output.probability == pytest.approx((0.4 + 0.4 + 0.99) / 3, abs=1e-4)


def test_the_mean_of_one_picture_is_its_answer_bit_for_bit(suite: Path) -> None:
    batch, model = only(suite), fake()
    for scene in batch.content.scenes:
        question = Question(scene.question, batch.program(scene))
        picture = batch.picture(scene)
        assert [ask_mean(model, [picture], question, scene.truth)] == ask_all(model, picture, [question])


# --- what it is compared with


def failing(message: Any) -> list[bool | None]:
    return [item["failed_before"] for item in message["scenes"]]


def test_each_look_is_compared_with_its_own_last_run(suite: Path) -> None:
    keys = [only(suite).key(scene) for scene in only(suite).content.scenes]
    n = len(keys)
    write_last_run(suite, LastRun("old", dict.fromkeys(keys, False)), SuiteLook("fake"))
    code, message = run_json(suite)
    assert code == 0 and failing(message) == [None] * n and message["last_model"] is None
    code, message = run_json(suite, "--render", "fake-small", "--no-record")
    assert code == 0 and failing(message) == [None] * n
    code, message = run_json(suite, "--render", "fake")
    assert code == 3 and failing(message) == [False] * n and message["last_model"] == "old"
    assert message["counts"]["newly failing"] == n and message["paired"] is None, (
        "this model's failures were selected"
    )
    assert set(json.loads((suite / "last_run.json").read_text())["looks"]) == {"stored", "fake"}


def test_one_record_for_all_looks_is_noticed(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: all looks have one name, so a change of preset looks like a change of the model."""
    write_last_run(
        suite, LastRun("old", {only(suite).key(scene): False for scene in only(suite).content.scenes})
    )
    monkeypatch.setattr(SuiteLook, "name", "stored")
    assert run_json(suite, "--render", "fake")[0] == 3


@pytest.mark.parametrize(
    "text", ['{"format": 2, "looks": {}}', '{"format": 1}', '{"format": 1, "looks": {"fast": 1}}', "["]
)
def test_a_damaged_record_is_refused_before_anything_is_rendered(
    text: str, suite: Path, n_rendered: Callable[[], int]
) -> None:
    (suite / "last_run.json").write_text(text)
    refused(trex("suite", "run", suite, "--model", "fake", "--render", "fake"), "last_run.json")
    assert n_rendered() == 0 and (suite / "last_run.json").read_text() == text


def test_the_words_and_the_junit_file_name_the_look(suite: Path, tmp_path: Path) -> None:
    options = ("--render", "fake", "--fresh", 2, "--junit", tmp_path / "j.xml")
    result = trex("suite", "run", suite, "--model", "fake", *options)
    assert "rendered at preset fake with 2 new noise seeds (seed 0)" in result.stdout
    assert "No earlier run has asked these scenes at this preset" in result.stdout
    groups = {case.get("classname") for case in ElementTree.parse(tmp_path / "j.xml").iter("testcase")}
    assert groups == {"suite (fake fresh=2 seed=0)"}
    again = trex("suite", "run", suite, "--model", "fake", *options).stdout
    assert "both runs have at this preset were added because fake fails on them" in again


# --- what is refused


REFUSED: dict[str, tuple[Sequence[object], str]] = {
    "a preset": (["--render", "no_such_preset"], "preset 'no_such_preset'"),
    "no name": (["--render", ""], "--render ''"),
    "a device without a render": (["--device", "cpu"], "--device does not apply"),
    "processes without a render": (["--processes", "2"], "--processes does not apply"),
    "fresh noise without a render": (["--fresh", "2"], "--fresh does not apply"),
    "a seed without fresh noise": (["--render", "fake", "--seed", "1"], "--seed does not apply"),
    "too few": (["--render", "fake", "--fresh", "-1"], "--fresh -1"),
    "too many": (["--render", "fake", "--fresh", "65"], "--fresh 65"),
    "a negative seed": (["--render", "fake", "--fresh", "2", "--seed", "-1"], "--seed -1"),
    "a device": (["--render", "fast", "--device", "abacus"], "abacus"),
    "no processes": (["--render", "fast", "--processes", "0"], "processes"),
    "a model": (["--render", "fake", "--model", "no_such_model"], "no_such_model"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_before_anything_is_rendered(
    case: str, suite: Path, n_rendered: Callable[[], int], cache: Path
) -> None:
    options, words = REFUSED[case]
    before = sorted(suite.rglob("*"))
    refused(trex("suite", "run", suite, "--model", "fake", *options), words)
    assert n_rendered() == 0 and sorted(suite.rglob("*")) == before
    assert not list(cache.rglob("*.picture"))


def rewrite_scenes(suite: Path, change: Callable[[Any], object]) -> Batch:
    """Change the batch's scenes and seal it again, as an attacker would."""
    batch = only(suite)
    path = batch.folder / rendered.SCENES
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    reseal(suite, lambda content: content["files"].update({rendered.SCENES: digest}))
    return only(suite)


def other_shape(data: Any) -> None:
    data["scenes"][0]["objects"][0]["shape"] = "teapot"


HOSTILE: dict[str, tuple[Callable[[Any], object], str]] = {
    "a scene is missing": (lambda data: data["scenes"].pop(), "lacks the scene of"),
    "a scene stands twice": (
        lambda data: data["scenes"].append(data["scenes"][0]),
        "two scenes have the picture",
    ),
    "an unknown shape": (other_shape, "teapot"),
    "no list": (lambda data: data.update(scenes=3), "scenes"),
    "a name that is no text": (lambda data: data["scenes"][0].update(image_filename=[]), "image_filename"),
    "a wild noise seed": (lambda data: data["scenes"][0].update(noise=-1), "noise"),
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_damaged_scenes_are_refused_before_anything_is_rendered(
    hostile: str, suite: Path, n_rendered: Callable[[], int]
) -> None:
    change, words = HOSTILE[hostile]
    rewrite_scenes(suite, change)
    refused(trex("suite", "run", suite, "--model", "fake", "--render", "fake"), words)
    assert n_rendered() == 0
    assert trex("suite", "run", suite, "--model", "fake").exit_code == 0, "the stored pictures are sound"


def test_a_batch_without_scenes_cannot_be_rendered(suite: Path) -> None:
    reseal(suite, lambda content: content["files"].pop(rendered.SCENES))
    with pytest.raises(InputError, match="not part of its batch"):
        read_scenes(only(suite))


def test_a_shape_that_we_ship_is_introduced_and_others_are_not_loaded(suite: Path) -> None:
    """The key of a renderer names the shapes it loads: CLEVR's scenes share their pictures with other commands."""

    def cone(data: Any) -> None:
        data["scenes"][0]["objects"][0]["shape"] = "cone"

    with open_rendered([only(suite)], SuiteLook("fake")) as opened:
        plain = opened.renderer.key
    assert plain == fake_rendering.FakeRenderer().key
    with open_rendered([rewrite_scenes(suite, cone)], SuiteLook("fake")) as opened:
        assert opened.renderer.key != plain
        assert len(next(opened.pictures(list(opened.scenes)))) == 1
