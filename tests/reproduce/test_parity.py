"""Renderer parity: what is read, how answers are compared, and the page and table, on a made-up CLEVR folder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reproduce.parity import assets, parity
from reproduce.parity.assets import NEEDED_SSIM, AssetComparison, compare_scenes, summarize
from reproduce.parity.parity import read_questions, write_page, write_parity_page, write_table
from reproduce.parity.published_assets import convert_published
from reproduce.parity.scores import PictureAnswers, compare_answers, make_pair
from tests.cases.datasets.test_folders import LOSSY
from tests.references.official_clevr import data_file
from tests.worlds.clevr_folders import official
from trex.datasets.examples import Tally
from trex.datasets.official_scenes import AskedQuestion, OfficialPicture, read_official
from trex.foundation.errors import InputError
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.render.presets import PRESETS
from trex.render.similarity import shrink
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.programs import execute
from trex.scenes.scene import Scene, scene_id
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import CLEVR


def asked(answer: str, source: str = "CLEVR") -> AskedQuestion:
    return AskedQuestion("picture", source, "How many?", (), answer)


def test_shares_are_of_questions_and_intervals_of_whole_pictures() -> None:
    rng = np.random.default_rng(7)
    pictures = []
    for _ in range(200):
        truths = [str(n) for n in rng.integers(0, 4, 5)]
        wrong = rng.random() < 0.3  # a picture is misread as a whole
        rendered = tuple("10" if wrong else truth for truth in truths)
        pictures.append(PictureAnswers(tuple(asked(t) for t in truths), tuple(truths), rendered))
    (row, same) = compare_answers("model", "fast", pictures)
    assert (row.questions, row.pictures, row.official.value) == (1000, 200, 1.0)
    assert same.source == "CLEVR" and same.equal == row.equal
    assert row.difference.value == pytest.approx(row.rendered.value - 1.0)
    assert row.equal.value == row.rendered.value
    width = row.rendered.high - row.rendered.low
    by_picture = 2 * 1.96 * (0.3 * 0.7 / 200) ** 0.5
    assert 0.75 * by_picture < width < 1.3 * by_picture
    assert (
        width > 1.6 * 2 * 1.96 * (0.3 * 0.7 / 1000) ** 0.5
    )  # planted: questions as if they were independent


def test_the_interval_of_answers_that_are_all_right_does_not_say_that_all_answers_are() -> None:
    """Resampled pictures, all of them right, gave an interval of width 0."""
    pictures = [PictureAnswers((asked("1"), asked("2")), ("1", "2"), ("1", "2")) for _ in range(28)]
    row = compare_answers("model", "fast", pictures)[0]
    assert row.official.value == row.equal.value == row.official.high == 1.0
    assert row.official.low == pytest.approx(0.025 ** (1 / 28))  # Clopper and Pearson, 28 of 28 pictures
    assert row.difference.value == 0.0 and row.difference.low < -0.01 < 0.01 < row.difference.high


def test_the_interval_covers_the_accuracy_of_few_questions_about_few_pictures() -> None:
    """Percentiles of resampled pictures covered an accuracy of .98 in 61% of cases."""
    rng, held = np.random.default_rng(4), 0
    for _ in range(200):
        pictures = []
        for questions in rng.multinomial(47 - 28, np.full(28, 1 / 28)) + 1:
            right = rng.random(questions) < 0.98
            official = tuple("1" if item else "2" for item in right)
            pictures.append(PictureAnswers((asked("1"),) * int(questions), official, official))
        found = compare_answers("model", "fast", pictures)[0].official
        held += found.low <= 0.98 <= found.high
    assert held >= 185


def test_rows_are_by_source_and_skip_pictures_without_such_questions() -> None:
    pictures = [
        PictureAnswers((asked("1"), asked("2", "phrased")), ("1", "1"), ("1", "2")),
        PictureAnswers((asked("1"),), ("2",), ("2",)),
    ]
    rows = {row.source: row for row in compare_answers("model", "fast", pictures)}
    assert set(rows) == {"all", "CLEVR", "phrased"}
    assert (rows["phrased"].pictures, rows["phrased"].difference.value) == (1, 1.0)
    assert rows["all"].equal.value == pytest.approx(2 / 3)
    assert rows["CLEVR"].official.value == 0.5


def test_an_official_picture_is_shrunk_by_means() -> None:
    official = np.random.default_rng(1).integers(0, 256, (320, 480, 3), dtype=np.uint8)
    small = shrink(official, np.zeros((160, 240, 3), dtype=np.uint8))
    blocks = official.astype(float).reshape(160, 2, 240, 2, 3).mean(axis=(1, 3))
    assert np.abs(small - blocks).max() <= 1.0  # rounded to bytes in both directions
    assert shrink(official, official) is official


def test_the_pixel_error_is_the_mean_difference_at_the_smaller_size() -> None:
    official = np.full((320, 480, 3), 100, dtype=np.uint8)
    ours = np.full((160, 240, 3), 97, dtype=np.uint8)
    ours[:80] = 106
    pair = make_pair(official, ours)
    assert pair.error == pytest.approx(4.5) and pair.pixels is ours
    assert make_pair(official, official).error == 0.0 and make_pair(official, official).ssim == 1.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in CLEVR's layout with two pictures of the fake renderer and one question on each."""
    rng = np.random.default_rng(5)
    scenes = [ScenePrior().sample(rng) for _ in range(2)]
    for part in ("images/val", "scenes", "questions"):
        (tmp_path / "data" / part).mkdir(parents=True)
    records, questions = [], []
    program = [
        {"function": "scene", "inputs": [], "value_inputs": []},
        {"function": "count", "inputs": [0], "value_inputs": []},
    ]
    for index, picture in enumerate(FakeRenderer(480, 320).render(scenes)):
        name = f"CLEVR_val_{index:06d}.png"
        Image.fromarray(picture.pixels).save(tmp_path / "data/images/val" / name)
        records.append(to_clevr(scenes[index], name, index, "val"))
        answer = str(len(scenes[index].objects))
        questions.append({"image_filename": name, "split": "val", "question": "How many things are there?",
                          "answer": answer, "program": program})  # fmt: skip
    (tmp_path / "data/scenes/CLEVR_val_scenes.json").write_text(json.dumps({"scenes": records}))
    (tmp_path / "data/questions/CLEVR_val_questions.json").write_text(json.dumps({"questions": questions}))
    return tmp_path / "data"


def test_the_page_and_table_are_written_and_a_second_run_renders_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = []

    class Counting(FakeRenderer):
        def render(self, zs):  # type: ignore[no-untyped-def]
            rendered.extend(zs)
            return super().render(zs)

        def __enter__(self):  # type: ignore[no-untyped-def]
            return self

        def __exit__(self, *error: object) -> None:
            return None

    def fake(preset: str, timeout_s: float) -> Counting:
        return Counting(PRESETS[preset].width, PRESETS[preset].height)

    monkeypatch.setattr(parity, "BlenderRenderer", fake)
    monkeypatch.setattr(parity, "answers_to", lambda model, pixels, request: tuple(q.answer for q in request))
    monkeypatch.setattr(parity, "load_model", lambda spec: type("Named", (), {"name": spec})())
    message: list[tuple[str, int, int, str]] = []
    for _ in range(2):
        page = write_parity_page(
            folder, tmp_path / "out", ["some-model"], ["reference", "fast"], tmp_path / "PARITY.md",
            progress=lambda *step: message.append(step),
        )  # fmt: skip
    assert len(rendered) == 4  # two scenes, two presets
    text, table = page.read_text(), (tmp_path / "PARITY.md").read_text()
    assert text.count("data:image/png;base64,") == 6 and "some-model" in text
    assert "| some-model | fast | all |" in table and "+0.0" in table and "base64" not in table
    assert ("rendered at fast", 2, 2) in [step[:3] for step in message]
    assert ("questioned, some-model", 2, 2) in [step[:3] for step in message]


def test_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no images/"):
        read_official(tmp_path)
    (tmp_path / "images").mkdir()
    Image.new("RGB", (120, 80)).save(tmp_path / "images/a.png")
    with pytest.raises(InputError, match="no picture with a scene: there is no file of scenes"):
        read_official(tmp_path)


@pytest.mark.parametrize("change", [{"image_filename": "../val/a.png"}, {"split": ".."}, {"split": "a/b"}])
def test_a_scene_that_names_a_picture_outside_its_folder_is_refused(
    folder: Path, change: dict[str, str]
) -> None:
    file = folder / "scenes" / "CLEVR_val_scenes.json"
    first, second = json.loads(file.read_text())["scenes"]
    file.write_text(json.dumps({"scenes": [first, second | change]}))
    with pytest.raises(InputError, match=r"scene 1, .*a plain name is allowed, no path"):
        read_official(folder)


def wrong_truths(
    questions: Sequence[AskedQuestion], pictures: Sequence[OfficialPicture]
) -> list[AskedQuestion]:
    """The questions whose recorded answer differs from their program's answer on the scene."""
    scenes = {picture.name: picture.scene for picture in pictures}
    return [q for q in questions if execute(q.program, scenes[q.picture]) != q.answer]


def test_the_phrased_questions_have_true_answers(folder: Path) -> None:
    pictures = read_official(folder)
    questions = read_questions(folder, pictures)
    assert {q.source for q in questions} == {"CLEVR", "phrased"} and len(questions) > 20
    assert wrong_truths(questions, pictures) == []
    liar = questions[-1].__class__(**{**vars(questions[-1]), "answer": "wrong"})
    assert wrong_truths([liar], pictures) == [liar]


def test_the_official_pictures_are_28_and_every_recorded_answer_is_their_program_s() -> None:
    root = data_file("CLEVR_v1.0")
    pictures = read_official(root)
    questions = read_questions(root, pictures)
    counts = {source: sum(q.source == source for q in questions) for source in ("CLEVR", "CLOSURE")}
    assert (len(pictures), counts) == (28, {"CLEVR": 47, "CLOSURE": 924})
    assert max(picture.fit.error_px for picture in pictures) < 0.6  # pixel_coords are rounded
    assert wrong_truths(questions, pictures) == []


def test_a_model_that_answers_in_capitals_is_right() -> None:
    """Planted bug: the answers of a model were compared letter by letter."""
    questions = (asked("1"), asked("yes"))
    row = compare_answers("model", "fast", [PictureAnswers(questions, ("1.0", "YES"), ("1", "No"))])[0]
    assert (row.official.value, row.rendered.value) == (1.0, 0.5)


def test_what_a_picture_loses_is_said_on_the_page_and_in_the_table(tmp_path: Path) -> None:
    data, tally = official(tmp_path / "d", 2), Tally()
    (data / "images/val/CLEVR_val_000001.png").write_bytes(LOSSY["a hole"][0])
    pictures = read_official(data, tally=tally)
    pairs = {"fast": [make_pair(picture.pixels, picture.pixels) for picture in pictures]}
    write_table(tmp_path / "table.md", pictures, pairs, [], tally.sentences)
    write_page(tmp_path / "page.html", pictures, pairs, [], tally.sentences)
    for name in ("table.md", "page.html"):
        assert "1 picture has transparent parts" in (tmp_path / name).read_text()


def test_conversion_names_the_published_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no base_scene\.blend"):
        convert_published(tmp_path, tmp_path / "out")


def test_page_shows_pairs_and_table_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    scenes = [ScenePrior().sample(rng) for _ in range(2)]
    pictures = [flat_picture(scene) for scene in scenes]
    comparison = summarize(scenes, pictures, pictures, "draft")
    assert comparison.mean_ssim == pytest.approx(1.0)
    assert all(row.ours == row.published for row in comparison.colors)
    assert crossed(comparison).mean_ssim < NEEDED_SSIM
    check_page(comparison, tmp_path)


def test_pictures_look_like_those_of_the_published_assets() -> None:
    folder = os.environ.get("TREX_CLEVR_ASSETS")
    if not folder:
        pytest.skip("needs the published assets: set TREX_CLEVR_ASSETS to clevr-dataset-gen's assets")
    rng = np.random.default_rng(0)
    scenes = [ScenePrior().sample(rng) for _ in range(2)]
    comparison = compare_scenes(Path(folder), scenes, "fast")
    assert comparison.mean_ssim > 0.97 > NEEDED_SSIM
    assert max(row.mean_abs_diff for row in comparison.pairs) < 1.5
    assert crossed(comparison).mean_ssim < NEEDED_SSIM  # another scene's picture must not pass


def flat_picture(scene: Scene) -> Picture:
    """A picture that needs no renderer: a shade of gray for each object."""
    mask = id_map(scene, CLEVR, 120, 80)
    return Picture(np.repeat(mask[..., None] * np.uint8(20), 3, axis=2), mask, scene_id(scene))


def crossed(comparison: AssetComparison) -> AssetComparison:
    """Each picture of ours against the other scene's published one."""
    first, second = comparison.pairs
    theirs = [second.published, first.published]
    return summarize([first.scene, second.scene], [first.ours, second.ours], theirs, "fast")


def check_page(comparison: AssetComparison, folder: Path) -> None:
    """The page shows every pair, and the table holds numbers only."""
    assets.write_page(comparison, folder / "index.html")
    assets.write_table(comparison, folder / "table.md")
    page, table = ((folder / name).read_text(encoding="utf-8") for name in ("index.html", "table.md"))
    assert page.count("data:image/png;base64,") == 3 * len(comparison.pairs)
    assert f"{comparison.mean_ssim:.4f}" in page and f"**{comparison.mean_ssim:.4f}**" in table
    assert "data:" not in table and table.count("\n| ") == 2 + len(comparison.pairs) + len(comparison.colors)
