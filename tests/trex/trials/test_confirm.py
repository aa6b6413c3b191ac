"""`trex report --confirm` on runs of the fake world: what stays, what does not, killed, asked again, damaged."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import Result

from tests.running.command_line import refused, trex
from tests.running.runs import change_manifest, run
from tests.worlds import grainy_models
from trex.inference.statistics.proportion import clopper_pearson
from trex.pages.wording import rate_words
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.runs.draw_log import read_draws, run_draws
from trex.runs.folder import open_run
from trex.scenes.questions.truth import NO_ANSWER
from trex.scenes.scene import Scene
from trex.search.results import read_results
from trex.trials import confirm as confirming
from trex.trials.confirmation import (
    LEAVES,
    RIGHT,
    STAYS,
    WRONG,
    Confirmation,
    Confirmed,
    Look,
    read_confirmation,
    sentences,
    stay,
    still_wrong,
)
from trex.worlds.registry import make_plan

SIZE = (240, 160)  # the searches see half of it
PRESET = "fast"


class Elsewhere(FakeRenderer):
    """The fake world at another size; it counts, can fail, and can shift a scene's colors."""

    def __init__(self, fails_after: int | None = None, changed: Sequence[Scene] = ()) -> None:
        super().__init__(*SIZE)
        self.rendered: list[Scene] = []
        self.fails_after, self.changed = fails_after, changed

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        if self.fails_after is not None and len(self.rendered) + len(zs) > self.fails_after:
            raise KeyboardInterrupt
        self.rendered += zs
        return [self._shown(z, picture) for z, picture in zip(zs, super().render(zs), strict=True)]

    def _shown(self, scene: Scene, picture: Picture) -> Picture:
        """A changed scene is shown empty: no red thing, so the model says 0."""
        if scene not in self.changed:
            return picture
        return Picture(np.full_like(picture.pixels, 120), picture.mask, picture.scene)


@pytest.fixture(autouse=True)
def no_reports(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report takes longer than all else here; one test looks at it."""
    if "report" not in request.node.name:
        monkeypatch.setattr("trex.commands.results.confirmed.renew_report", without_page)


def without_page(path: Path) -> SimpleNamespace:
    with open_run(path, for_writing=False) as folder:
        return SimpleNamespace(report=path, results=read_results(folder.manifest, run_draws(folder)))


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("searched"), ["search.steps=30", "search.seed=2"]).folder


@pytest.fixture
def path(searched: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(searched, tmp_path / "run"))


@pytest.fixture
def renderer(monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    return put(monkeypatch, Elsewhere())


def put(monkeypatch: pytest.MonkeyPatch, renderer: Elsewhere) -> Elsewhere:
    """Any preset is rendered so."""
    monkeypatch.setattr(confirming, "open_renderer", lambda section, vocabulary: renderer)
    return renderer


def confirm_hits(*arguments: object) -> Result:
    return trex("report", *arguments, "--confirm", PRESET)


def confirmed(path: Path) -> Confirmation:
    with open_run(path, for_writing=False) as folder:
        found = read_confirmation(folder, PRESET)
    assert found is not None
    return found


def found_scenes(path: Path) -> list[Scene]:
    with open_run(path, for_writing=False) as folder:
        found = read_results(folder.manifest, read_draws(folder.draws)).found
    return [hit.record.scene for hit in found]


def test_each_scene_is_rendered_once_and_asked_the_same(path: Path, renderer: Elsewhere) -> None:
    result = confirm_hits(path, "--top", 3)
    assert result.exit_code == 0, result.output
    confirmation = confirmed(path)
    assert renderer.rendered == found_scenes(path)[:3]
    assert (confirmation.size, confirmation.asked, len(confirmation.scenes)) == (SIZE, 3, 3)
    with open_run(path, for_writing=False) as folder:
        plan = make_plan(folder.manifest.query, path)
        kept = {record.picture: record for record in read_draws(folder.draws) if record.picture}
    for scene, again in zip(confirmation.scenes, FakeRenderer(*SIZE).render(renderer.rendered), strict=True):
        assert scene.before.log_probs == kept[scene.before.picture].log_probs
        request = plan.bound.log_probs(again.pixels[None].astype(np.float32) / np.float32(255.0))[0]
        assert scene.after.log_probs == tuple(request)
        assert scene.after.is_hit == plan.target.is_hit(request)
        assert (path / "pictures" / f"{scene.after.picture}.png").is_file()


def test_the_report_shows_each_scene(path: Path, renderer: Elsewhere) -> None:
    assert confirm_hits(path, "--top", 1).exit_code == 0
    html = (path / "report.html").read_text()
    assert "Confirmed at fast" in html and html.count("The scene at fast: the model says") == 1


def test_scenes_that_look_otherwise_are_counted_as_such(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The planted change: one scene loses all color at the other preset, so nobody may say that it stayed."""
    scenes = found_scenes(path)[:3]
    put(monkeypatch, Elsewhere())
    assert confirm_hits(path, "--top", 3).exit_code == 0
    honest = confirmed(path)
    shutil.rmtree(path / "confirmations")
    put(monkeypatch, Elsewhere(changed=[scenes[1]]))
    assert confirm_hits(path, "--top", 3).exit_code == 0
    planted = confirmed(path)
    assert [item.after.answer for item in planted.scenes][1] == "0"
    assert not planted.scenes[1].after.is_hit
    unasked = replace(planted.scenes[1], truth=NO_ANSWER)
    assert unasked.verdict == LEAVES and not unasked.is_wrong  # right or wrong is not said of it
    assert planted.scenes[1].verdict == (WRONG if planted.scenes[1].truth != "0" else RIGHT)
    assert [planted.scenes[i] for i in (0, 2)] == [honest.scenes[i] for i in (0, 2)]
    assert stay(planted.scenes, {}).count == stay(honest.scenes, {}).count - (
        honest.scenes[1].verdict == STAYS
    )


def test_the_sentence_counts_and_scenes_of_one_start_are_alike(path: Path, renderer: Elsewhere) -> None:
    """Planted bug: three scenes of one start told as much as three."""
    assert confirm_hits(path, "--top", 3).exit_code == 0
    confirmation = confirmed(path)
    n = stay(confirmation.scenes, {}).count
    assert stay(confirmation.scenes, {}).interval == pytest.approx(clopper_pearson(n, 3)), (
        "each of its own start"
    )
    alike = {scene.before.picture: 0 for scene in confirmation.scenes}
    assert stay(confirmation.scenes, alike).interval == pytest.approx(clopper_pearson(n // 3, 1))
    assert (
        still_wrong(confirmation.scenes, alike).interval.high
        - still_wrong(confirmation.scenes, alike).interval.low
        > 0.9
    )
    texts = sentences(confirmation.scenes, PRESET, 5, alike)
    assert rate_words(stay(confirmation.scenes, alike)) in texts[0]
    assert f"{n} of 3" in texts[0] and "2 of 5 are not rendered yet" in texts[0]


def test_a_stopped_command_goes_on_and_ends_as_an_unbroken_one(
    path: Path, searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = Path(shutil.copytree(searched, tmp_path / "unbroken"))
    put(monkeypatch, Elsewhere())
    assert confirm_hits(unbroken, "--top", 4).exit_code == 0
    put(monkeypatch, Elsewhere(fails_after=2))
    stopped = confirm_hits(path, "--top", 4)
    assert stopped.exit_code == 130
    assert "the same command resumes" in stopped.stderr
    assert len(confirmed(path).scenes) == 2
    last = put(monkeypatch, Elsewhere())
    assert confirm_hits(path, "--top", 4).exit_code == 0
    assert len(last.rendered) == 2
    assert confirmed(path) == confirmed(unbroken)
    assert confirm_hits(path, "--top", 2).exit_code == 0
    assert len(last.rendered) == 2, "what is there is said, not made again"


def test_runs_take_turns(path: Path, searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = run(tmp_path, ["search.steps=30", "search.seed=3"], "other").folder
    put(monkeypatch, Elsewhere(fails_after=3))
    assert confirm_hits(path, other, path, "--top", 3).exit_code == 130
    assert (len(confirmed(path).scenes), len(confirmed(other).scenes)) == (2, 1)
    put(monkeypatch, Elsewhere())
    result = confirm_hits(path, other, "--top", 3, "--json")
    assert [len(load["scenes"]) for load in json.loads(result.stdout)["runs"]] == [3, 3]


def test_a_model_that_says_otherwise_of_the_kept_picture_is_refused(
    path: Path, renderer: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted drift of the model that its fingerprint does not show."""
    from trex.clevr_models.fake import ColorArea

    true = ColorArea.log_probs
    monkeypatch.setattr(ColorArea, "log_probs", lambda self, images: true(self, images * np.float32(0.98)))
    refused(confirm_hits(path), "have changed since the search")
    assert renderer.rendered == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--top", "0", "--confirm", "fast"], ["--top 0: give 1 or more"]),
        (["--confirm", "photo"], ["preset 'photo'", "clevr"]),
        (["--top", "3"], ["--top does not apply", "add --confirm PRESET"]),
        (["--confirm", "fast", "--format", "netcdf"], ["--format does not apply"]),
    ],
    ids=["none", "preset", "alone", "form"],
)
def test_bad_options_are_refused(
    path: Path, renderer: Elsewhere, arguments: list[str], parts: list[str]
) -> None:
    refused(trex("report", path, *arguments), *parts)
    assert renderer.rendered == []


def test_runs_that_cannot_be_confirmed_are_refused(path: Path, renderer: Elsewhere, tmp_path: Path) -> None:
    refused(confirm_hits(tmp_path / "nowhere"), "not a run folder")
    nothing = run(tmp_path, ["search.steps=0", "search.prior_scenes=1", "search.chains=1"], "nothing").folder
    refused(confirm_hits(nothing), "has no hit to confirm")
    change_manifest(path, lambda data: data["query"]["render"].update(preset=PRESET))
    refused(confirm_hits(path), "was searched at preset fast already; give another preset with --confirm")
    change_manifest(path, lambda data: data["query"]["render"].update(preset="fake"))
    change_manifest(path, lambda data: data["made"].update(model="another"))
    refused(confirm_hits(path), "the model was another")
    assert renderer.rendered == []


@pytest.mark.parametrize(
    "damage",
    [lambda text: text[:-20], lambda text: text.replace('"preset": "fast"', '"preset": "clevr"', 1),
     lambda text: text.replace('"log_probs": [', '"log_probs": [-1.0,', 1)],
    ids=["cut", "moved", "longer"],
)  # fmt: skip
def test_a_damaged_confirmation_is_named_and_left_alone(path: Path, renderer: Elsewhere, damage) -> None:  # type: ignore[no-untyped-def]
    assert confirm_hits(path, "--top", 1).exit_code == 0
    file = path / "confirmations" / f"{PRESET}.json"
    file.write_text(damage(file.read_text()))
    before = file.read_text()
    refused(confirm_hits(path, "--top", 2), str(file), "is damaged", "delete it")
    assert file.read_text() == before


def test_another_renderer_does_not_go_on_with_the_pictures_of_the_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(monkeypatch, Elsewhere())
    assert confirm_hits(path, "--top", 1).exit_code == 0
    other = put(monkeypatch, Elsewhere())
    monkeypatch.setattr(Elsewhere, "key", property(lambda self: "another"))
    refused(confirm_hits(path, "--top", 2), "was made with renderer", "now they are another")
    assert other.rendered == []


@pytest.mark.parametrize("command", ["report --confirm fast", "report"])
def test_a_run_that_is_a_link_to_itself_is_told_in_one_line(tmp_path: Path, command: str) -> None:
    loop = tmp_path / "run"
    loop.symlink_to(loop)
    result = trex(*command.split(), loop, loop)
    assert result.exit_code in (1, 2) and result.stderr.startswith("error: "), result.stderr
    assert result.stderr.count("\n") == 1


def test_hits_of_a_mean_over_noise_draws_are_confirmed(tmp_path: Path, renderer: Elsewhere) -> None:
    """Planted bug: the mean was compared with the answer on its first picture, and the model "had changed"."""
    overrides = [f"model.name={grainy_models.NAMED}", "answer=1", "render.noise=4", "search.steps=0"]
    overrides += ["target.kind=threshold", "target.threshold=0.3", "search.prior_scenes=80"]
    done = run(tmp_path, overrides)
    assert done.results.found
    result = confirm_hits(done.folder, "--top", 2)
    assert result.exit_code == 0, result.output
    assert confirmed(done.folder).scenes and len(renderer.rendered) == 4 * len(confirmed(done.folder).scenes)


# --- what stays, each share of its own denominator


def look(answer: str, is_hit: bool) -> Look:
    return Look("0" * 64, answer, 0.9, is_hit, ())


def scene(truth: str, before: str, after: str, is_hit: bool) -> Confirmed:
    return Confirmed(truth, look(before, True), look(after, is_hit))


SCENES = [
    scene("2", "1", "1", True),  # stays
    scene("2", "1", "3", False),  # leaves, still wrong
    scene("2", "1", "2", False),  # leaves, right now
    scene("1", "1", "1", True),  # a hit whose answer was right
    scene("1", "1", "2", False),  # was right, and is wrong now: no wrong answer that stayed wrong
    scene(NO_ANSWER, "1", "1", True),
    scene(NO_ANSWER, "1", "2", False),
]


def test_each_share_has_its_own_denominator() -> None:
    """Planted bugs: of all scenes, how many are wrong; hits of the search in place of those at the other look; a
    question without an answer counted as wrong.
    """
    wrong, stays = still_wrong(SCENES, {}), stay(SCENES, {})
    assert (stays.count, stays.of) == (3, 7)
    assert (wrong.count, wrong.of) == (2, 3)
    assert [confirmed.verdict for confirmed in SCENES] == [STAYS, WRONG, RIGHT, STAYS, WRONG, STAYS, LEAVES]
