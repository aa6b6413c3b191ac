"""`trex suite`: what is kept, what a run tells, and what a damaged or hostile suite does."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.running.command_line import refused, trex
from tests.running.junit_files import check_valid
from tests.running.runs import run, without_reports
from tests.trex.suite.suites import only, reseal, tree
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.datasets.clevr_folder import ClevrFolder
from trex.export.items import Exported, ExportItem, read_items
from trex.foundation.errors import InputError
from trex.inference.statistics.paired import Paired
from trex.runs.folder import RunFolder, open_run
from trex.scenes.clevr_format.scene_json import read_scenes
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import execute
from trex.scenes.vocabulary import CLEVR
from trex.suite import batch as batches
from trex.suite.batch import Batch, read_batches
from trex.suite.run import SceneResult, SuiteRun
from trex.trials.confirmation import CODEC, Confirmation, Confirmed, Look


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with without_reports():
        yield


def wrong_hits(searched: Path) -> list[ExportItem]:
    with open_run(searched, for_writing=False) as folder:
        items = read_items(folder, edits=False).items
    return [item for item in items if item.truth is not None and item.answer != item.truth]


# --- what is kept


def test_every_wrong_hit_is_kept_in_clevrs_layout(searched: Path, suite: Path) -> None:
    wanted, batch = wrong_hits(searched), only(suite)
    assert len(wanted) >= 2
    assert [(batch_scene.truth, batch_scene.answer) for batch_scene in batch.content.scenes] == [
        (w.truth, w.answer) for w in wanted
    ]
    folder = ClevrFolder(batch.folder, (), CLEVR)
    assert (
        len([example for example in folder if example.scene is not None]) == len(wanted)
        and folder.problems == ()
    )
    records = list(read_scenes(batch.folder / "scenes" / "CLEVR_found_scenes.json"))
    assert [record.scene for record in records] == [item.scene for item in wanted]
    questions = json.loads((batch.folder / "questions" / "CLEVR_found_questions.json").read_text())[
        "questions"
    ]
    for question, record, scene in zip(questions, records, batch.content.scenes, strict=True):
        assert execute(program_from_json(question["program"]), record.scene) == scene.truth
        assert question["image_filename"] == record.image_filename == scene.name


def test_a_renamed_batch_is_named_and_not_left_out(suite: Path) -> None:
    """Planted bug: its scenes were gone without a word, and the suite passed."""
    (suite / "__pycache__").mkdir()
    (suite / ".git").mkdir()
    assert only(suite).content.scenes
    only(suite).folder.rename(suite / "batch-of-june")
    with pytest.raises(InputError, match=r"batch-of-june is not the folder of a batch.*was it renamed"):
        read_batches(suite)


def test_runs_and_audits_are_told_from_a_suite(searched: Path, tmp_path: Path) -> None:
    """Planted bug: its folder "pictures" was not the folder of a batch."""
    (tmp_path / "audit.json").touch()
    for place in (searched, tmp_path):
        with pytest.raises(InputError, match=rf"is no suite; .*trex suite add {place} --to DIR"):
            read_batches(place)


def test_the_same_again_adds_nothing(searched: Path, suite: Path, tmp_path: Path) -> None:
    before = tree(suite)
    copy = shutil.copytree(searched, tmp_path / "copy")
    message = json.loads(trex("suite", "add", searched, copy, searched, "--to", suite, "--json").stdout)
    n = len(only(suite).content.scenes)
    assert [(item["new"], item["known"], item["batch"]) for item in message] == [(0, n, None)] * 3
    assert tree(suite) == before


def test_a_suite_that_does_not_know_its_scenes_is_noticed(
    searched: Path, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: scenes are told apart by where they lie, so the same run under another name is new."""
    other = Path(shutil.copytree(searched, suite.parent / "other"))
    monkeypatch.setattr(batches.Batch, "identity", lambda self, scene: (self.content.run, scene.name))
    before = tree(suite)
    assert trex("suite", "add", other, "--to", suite).exit_code == 0
    assert tree(suite) != before


def confirm(searched: Path, folder: Path, answers: list[str]) -> Path:
    """A copy of the run in which its first hits were confirmed, with these answers."""
    path = Path(shutil.copytree(searched, folder))
    scenes = []
    for item, answer in zip(wrong_hits(path), answers, strict=False):
        before = Look(item.picture, item.answer, item.confidence, True, item.log_probs)
        after = Look(item.picture, answer, item.confidence, False, item.log_probs)
        scenes.append(Confirmed(str(item.truth), before, after))
    (path / "confirmations").mkdir()
    found = Confirmation("fast", (240, 160), "r", "m", len(scenes), tuple(scenes))
    (path / "confirmations" / "fast.json").write_text(CODEC.text(found))
    return path


def test_a_hit_that_a_confirmation_takes_back_is_left_out(searched: Path, tmp_path: Path) -> None:
    hits = wrong_hits(searched)
    path = confirm(searched, tmp_path / "run", [str(hits[0].truth), "10"])
    message = json.loads(trex("suite", "add", path, "--to", tmp_path / "all", "--json").stdout)[0]
    assert (message["new"], message["unconfirmed"]) == (len(hits) - 1, 1)
    assert [scene.confirmed for scene in only(tmp_path / "all").content.scenes][:1] == [("fast",)]
    assert trex("suite", "add", path, "--to", tmp_path / "few", "--confirmed").exit_code == 0
    (kept,) = only(tmp_path / "few").content.scenes
    assert (kept.answer, kept.confirmed) == (hits[1].answer, ("fast",))


def test_confirmed_hits_of_a_run_that_was_never_confirmed_are_refused(searched: Path, tmp_path: Path) -> None:
    """Planted bug: all hits were "left out by confirmations", of which there was none."""
    never = trex("suite", "add", searched, "--to", tmp_path / "few", "--confirmed")
    refused(never, f"{searched} has no confirmation", "make one first: trex report", "--confirm PRESET")
    assert not (tmp_path / "few").exists()


def test_a_run_that_gives_nothing_is_refused_and_nothing_is_written(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = tmp_path / "suite"
    refused(trex("suite", "add", searched, tmp_path / "no", "--to", suite), "not a run folder")

    def all_right(folder: RunFolder, edits: bool | None) -> Exported:
        exported = read_items(folder, edits)
        return replace(exported, items=tuple(replace(item, truth=item.answer) for item in exported.items))

    monkeypatch.setattr("trex.suite.add.read_items", all_right)
    refused(trex("suite", "add", searched, "--to", suite), str(searched), "no hit with a wrong answer")
    assert list(tmp_path.iterdir()) == []


# --- what a run tells


@dataclass
class Scripted:
    """Answers the pictures in the order in which they come: right (True) or wrong."""

    truths: list[str]
    script: list[bool]
    name: str = "scripted"
    labels: tuple[str, ...] = ANSWERS

    def bind(self, question: Question) -> Scripted:
        assert question.text == "How many red things are there?" and question.program[-1].function == "count"
        return self

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        truth, is_right = self.truths.pop(0), self.script.pop(0)
        text = truth if is_right else next(item for item in ANSWERS if item != truth)
        row = np.where(np.array(ANSWERS) == text, 0.73, 0.01)
        return np.log(row / row.sum())[None]


Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def ask(suite: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run the suite with a model that is right and wrong as told, scene by scene."""

    def asked(script: list[bool], *options: object) -> tuple[int, Any]:
        model = Scripted([scene.truth for scene in only(suite).content.scenes], list(script))
        monkeypatch.setattr("trex.suite.run.open_model", lambda *_: model)
        result = trex("suite", "run", suite, "--model", "any", "--json", *options)
        return result.exit_code, json.loads(result.stdout)

    return asked


def counts(message: Any) -> list[int]:
    return [message["counts"][key] for key in ("newly failing", "still failing", "fixed", "passing")]


def test_a_model_that_failed_still_fails(suite: Path) -> None:
    """The run's own model, on the stored pictures: the same answers, bit for bit."""
    result = trex("suite", "run", suite, "--model", "fake", "--json")
    message, scenes = json.loads(result.stdout), only(suite).content.scenes
    assert result.exit_code == 0 and counts(message) == [0, len(scenes), 0, 0]
    assert [item["answer"] for item in message["scenes"]] == [scene.answer for scene in scenes]
    assert message["paired"] is None
    assert trex("suite", "run", suite, "--model", "fake", "--strict").exit_code == 3


def test_fixed_newly_failing_and_the_paired_test(suite: Path, ask: Ask) -> None:
    n = len(only(suite).content.scenes)
    code, message = ask([True] * n)
    assert code == 0 and counts(message) == [0, 0, n, 0]
    assert message["paired"] is None, "failures that were selected are no comparison"
    code, message = ask([True] * n)
    assert code == 0 and counts(message) == [0, 0, 0, n]
    code, message = ask([False] * n, "--no-record")
    assert code == 3 and counts(message) == [n, 0, 0, 0]
    paired = message["paired"]
    assert (paired["only_first"], paired["only_second"]) == (0, n)
    groups = len({scene.group for scene in only(suite).content.scenes})
    assert 1 <= groups == paired["groups"] < n, "hits of one family or chain are related"
    assert paired["p_value"] == pytest.approx(min(1.0, 2 * 0.5**groups))
    assert ask([False] * n)[0] == 3, "without a record it is new again"
    code, message = ask([False] * n)
    assert code == 0 and counts(message) == [0, n, 0, 0], "the last run has failed too"


def test_a_run_of_the_model_whose_failures_were_selected_is_no_comparison(suite: Path, ask: Ask) -> None:
    """Planted bug: its failures, recorded as the last run, made any other model significantly better."""
    n = len(only(suite).content.scenes)
    assert trex("suite", "run", suite, "--model", "fake").exit_code == 0
    code, message = ask([True] * n)
    assert code == 0 and counts(message) == [0, 0, n, 0] and message["paired"] is None
    code, message = ask([False, *[True] * (n - 1)])
    assert message["paired"]["only_second"] == 1


def test_related_hits_are_one_case_of_the_test(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: twenty hits of one chain, which all fail or all pass, gave p = 2e-6."""
    batch = only(suite)
    alike = [replace(scene, group=0) for scene in batch.content.scenes]
    results = [
        SceneResult(batch.key(scene), "Q?", "1", "2", 0.9, failed_before=False, group=batch.group(scene))
        for scene in alike
    ]
    done = SuiteRun("new", "old", tuple(results))
    assert done.paired is not None and done.paired.only_second == len(alike) > 5
    assert done.paired_groups == Paired(0, 0, 1, 0) and done.paired_groups.p_value == 1.0
    assert done.sentences()[1] == (
        f"No clear change since the last run (old): of the {len(alike)} scenes that both have, 0 failed then and "
        f"{len(alike)} now (of 1 group of related scenes 1 got worse and 0 better, exact sign test, p = 1)."
    )
    apart = [replace(result, group=str(number)) for number, result in enumerate(results)]
    told = SuiteRun("new", "old", tuple(apart)).sentences()[1]
    assert (
        told.startswith("More failures since the last run (old)") and "(exact McNemar test, p = 0.0" in told
    )
    better = [
        replace(result, answer=result.truth, failed_before=True, group=str(number))
        for number, result in enumerate(results)
    ]
    assert SuiteRun("new", "old", tuple(better)).sentences()[1].startswith("Fewer failures")


def test_both_models_whose_failures_were_selected_are_named() -> None:
    """Planted bug: "one of the two models fails on them" where one model was asked twice."""
    result = SceneResult("b/p", "Q?", "1", "2", 0.9, failed_before=True, is_selected=True)
    for last, who in (("shipped", "shipped"), ("mine.safetensors", "shipped or mine.safetensors")):
        assert (
            f"were added because {who} fails on them" in SuiteRun("shipped", last, (result,)).sentences()[1]
        )


def test_a_model_is_the_one_that_was_searched_by_its_weights_or_else_by_its_name(suite: Path) -> None:
    content = only(suite).content
    assert content.weights and content.is_by("another name", content.weights)
    assert not content.is_by(content.model, "other weights") and content.is_by(content.model, "")
    assert not content.is_by("another name", "")
    audited = replace(
        content, model="percept", weights=""
    )  # by an audit that names the network, not the file
    assert audited.is_by("shipped", "percept 01234567") and not audited.is_by(
        "shipped", "perception 01234567"
    )


def test_each_scene_is_compared_with_itself(suite: Path, ask: Ask) -> None:
    """The planted bug of a comparison of totals: one fixed and one broken scene are no change in number."""
    n = len(only(suite).content.scenes)
    ask([True] + [False] * (n - 1))
    code, message = ask([False, True] + [False] * (n - 2))
    assert code == 3 and counts(message) == [1, n - 2, 1, 0]
    keys = [(item["key"], item["change"]) for item in message["scenes"]]
    batch = only(suite)
    assert keys[0] == (batch.key(batch.content.scenes[0]), "newly failing")


def test_junit_has_a_case_for_each_scene(suite: Path, ask: Ask, tmp_path: Path) -> None:
    n, path = len(only(suite).content.scenes), tmp_path / "j.xml"
    ask([True] + [False] * (n - 1))
    ask([False] * (n - 1) + [True], "--junit", path)
    (cases,) = ElementTree.parse(path).getroot()
    assert [[element.tag for element in case] for case in cases] == [
        ["failure"],
        *[["skipped"]] * (n - 2),
        [],
    ]
    assert "true answer" in cases[0][0].attrib["message"]
    ask([False] * n, "--junit", path, "--strict")
    (cases,) = ElementTree.parse(path).getroot()
    assert cases.attrib["failures"] == str(n)


@pytest.mark.parametrize("options", [(), ("--render", "fake")], ids=["stored", "rendered"])
def test_the_junit_file_is_valid(
    options: tuple[str, ...], suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures, known failures and passes, as a validator of W3C XML Schema reads them."""
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    for strict in ([], ["--strict"]):
        words = ("suite", "run", suite, "--model", "fake", "--junit", tmp_path / "j.xml", *options, *strict)
        assert trex(*words).exit_code == (3 if strict else 0)
        check_valid(tmp_path / "j.xml")


def test_scenes_that_are_gone_since_the_last_run_are_counted(suite: Path, ask: Ask, tmp_path: Path) -> None:
    """Planted bug: whole batches were deleted, and the run said nothing of it."""
    n = len(only(suite).content.scenes)
    assert ask([True] * n)[1]["gone"] == []
    last = json.loads((suite / "last_run.json").read_text())
    last["looks"]["stored"]["failed"] |= {"gone/a.png": True, "gone/b.png": False}
    (suite / "last_run.json").write_text(json.dumps(last))
    code, message = ask([True] * n, "--no-record")
    assert code == 0 and message["gone"] == ["gone/a.png", "gone/b.png"]
    done = SuiteRun("new", "old", (), gone=("gone/a.png", "gone/b.png"))
    assert done.sentences()[-1] == "2 scenes of the last run are gone from the suite."
    assert ask([True] * n, "--no-record", "--strict", "--junit", tmp_path / "j.xml")[0] == 3
    (cases,) = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert [case.attrib["name"] for case in cases if case.find("failure") is not None] == message["gone"]
    assert ask([True] * n)[0] == 0 and ask([True] * n)[1]["gone"] == [], (
        "the run before has not had them either"
    )


@dataclass
class Counts:
    """Names few numbers, and reads every question."""

    labels: tuple[str, ...]
    name: str = "few"

    def bind(self, question: Question) -> Counts:
        return self

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.log(np.full((len(images), len(self.labels)), 1 / len(self.labels)))


@pytest.mark.parametrize("options", [(), ("--render", "fake")], ids=["stored", "rendered"])
def test_a_model_that_cannot_give_the_true_answer_is_refused(
    options: tuple[str, ...], suite: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planted bug: it failed on every scene, as expected of failures, and the build passed."""
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    truths = {scene.truth for scene in only(suite).content.scenes}
    numbers = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    few = tuple(word for k, word in enumerate(numbers) if str(k) not in truths)
    for labels, is_refused in ((few, True), (numbers, False)):
        model = Counts(labels)
        monkeypatch.setattr("trex.suite.run.open_model", lambda *_, model=model: model)
        done = trex("suite", "run", suite, "--model", "any", *options)
        if is_refused:
            refused(
                done,
                "model 'few' cannot give the true answer",
                "name every answer that the question can have",
            )
            assert not (suite / "last_run.json").exists()
            assert not list((tmp_path / "cache").rglob("*.picture"))
        else:
            assert done.exit_code == 0, done.output


def test_a_scene_that_was_added_since_is_not_in_the_test(suite: Path, ask: Ask) -> None:
    n = len(only(suite).content.scenes)
    ask([True] * n)
    last = json.loads((suite / "last_run.json").read_text())
    failed = last["looks"]["stored"]["failed"]
    del failed[next(iter(failed))]
    (suite / "last_run.json").write_text(json.dumps(last))
    code, message = ask([False] * n)
    assert code == 3 and counts(message) == [n - 1, 1, 0, 0]
    assert message["paired"]["only_second"] == n - 1


# --- what it does not trust


def picture(suite: Path) -> Path:
    return next((only(suite).folder / "images" / "found").iterdir())


def other_pixel(suite: Path) -> None:
    path = picture(suite)
    pixels = np.asarray(Image.open(path)).copy()
    pixels[0, 0, 0] ^= 1
    Image.fromarray(pixels).save(path)


def other_truth(suite: Path) -> None:
    path = only(suite).folder / "batch.json"
    path.write_text(path.read_text().replace('"truth": "', '"truth": "1', 1))


def linked(suite: Path) -> None:
    path = picture(suite)
    path.rename(suite.parent / "elsewhere.png")
    path.symlink_to(suite.parent / "elsewhere.png")


def linked_batch(suite: Path) -> None:
    folder = only(suite).folder
    folder.rename(suite.parent / "elsewhere")
    folder.symlink_to(suite.parent / "elsewhere")


def fifo(suite: Path) -> None:
    import os

    path = picture(suite)
    path.unlink()
    os.mkfifo(path)


def no_picture(suite: Path) -> None:
    """The hash is right, and it is no PNG."""
    path = picture(suite)
    path.write_bytes(b"\x80\x04\x95 a pickle")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    reseal(suite, lambda data: data["files"].update({f"images/found/{path.name}": digest}))


def resealed(change: Callable[[Any], object]) -> Callable[[Path], object]:
    return lambda suite: reseal(suite, change)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pixel": (other_pixel, "was changed after it was added"),
    "a truth": (other_truth, "was changed after it was added"),
    "a missing file": (
        lambda suite: picture(suite).unlink(),
        "No such file or directory; restore the folder from its repository",
    ),
    "a missing list": (
        lambda suite: (only(suite).folder / "batch.json").unlink(),
        "No such file or directory; restore the folder from its repository",
    ),
    "a linked picture": (linked, "symbolic link"),
    "a linked batch": (linked_batch, "symbolic link"),
    "a pipe": (fifo, "a pipe, not a file"),
    "a path that escapes": (
        resealed(lambda data: data["files"].update({"../../secret": "0" * 64})),
        "a plain name is allowed",
    ),
    "a scene's path that escapes": (
        resealed(lambda data: data["scenes"][0].update(name="../../secret.png")),
        "a plain name is allowed",
    ),
    "a program": (
        resealed(lambda data: data["scenes"][0].update(program=[{"function": "explode"}])),
        "explode",
    ),
    "a scene twice": (
        resealed(lambda data: data.update(scenes=data["scenes"][:1] * 2)),
        "the same name",
    ),
    "a pickle": (no_picture, "not a readable PNG"),
    "a last run": (
        lambda suite: (suite / "last_run.json").write_text('{"model": 3}'),
        "last_run.json is damaged",
    ),
    "no batch": (lambda suite: shutil.rmtree(only(suite).folder), "holds no scene"),
    "no folder": (shutil.rmtree, "is not a suite"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_suite_is_refused_by_name(damage: str, suite: Path) -> None:
    change, words = DAMAGE[damage]
    change(suite)
    before = sorted(suite.rglob("*"))
    refused(trex("suite", "run", suite, "--model", "fake"), words)
    assert sorted(suite.rglob("*")) == before


def test_a_reader_that_checks_no_hash_is_noticed(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a changed picture is asked as if it were the stored one."""

    def unchecked(self: Batch, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    monkeypatch.setattr(batches.Batch, "read", unchecked)
    other_pixel(suite)
    with pytest.raises(AssertionError):
        refused(trex("suite", "run", suite, "--model", "fake"), "was changed")


def test_an_option_of_other_models_is_refused_and_nothing_is_recorded(suite: Path) -> None:
    for option in (["--endpoint", "http://localhost/v1"], ["--max-requests", "3"], ["--trust-remote-code"]):
        refused(trex("suite", "run", suite, "--model", "fake", *option), "not to 'fake'; leave it out")
    assert not (suite / "last_run.json").exists()


def test_hits_of_a_mean_over_noise_draws_are_no_failures_of_one_picture(tmp_path: Path) -> None:
    """Planted bug: the stored picture was answered rightly, and the unchanged model was "fixed"."""
    done = run(tmp_path, ["render.noise=2", "search.steps=6"])
    result = trex("suite", "add", done.folder, "--to", tmp_path / "suite")
    refused(result, "render.noise = 2", "render.noise=1")
    assert not (tmp_path / "suite").exists()
