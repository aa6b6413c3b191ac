"""What an audit hands on: to Python, to a build server, and to a regression suite."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import trex as package
from tests.running.command_line import refused, trex
from tests.running.junit_files import check_valid
from tests.worlds.color_models import NAMED
from tests.worlds.repair_toy import tree
from trex.auditing import page
from trex.auditing.document import FAILURES, Failure, opened_failure, read_failures
from trex.auditing.judging.reword import wordings_words
from trex.auditing.page import write_report
from trex.foundation.errors import InputError
from trex.query.schema import RenderSection
from trex.render.renderer import SceneRenderer
from trex.scenes.clevr_format.scene_json import read_scenes
from trex.scenes.questions.programs import Program, execute
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR, Vocabulary
from trex.suite.batch import Batch, read_batches
from trex.suite.options import SuiteRunOptions
from trex.suite.run import run_suite
from trex.worlds.world import open_renderer

WORLD = "one_cube_without_cubes"
COMMAND = (
    "audit", NAMED, "--preset", "fake", "--confirm-preset", "fake", "--world", WORLD,
    "--scenes", "40", "--held-out", "40", "--questions", "12", "--tested", "3", "--probed", "1",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(slow: None, tmp_path_factory: pytest.TempPathFactory) -> package.AuditResult:
    """An audit of a model that counts brown from Python, with confirmed families."""
    folder = tmp_path_factory.mktemp("audit")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = package.audit(
            NAMED, preset="fake", confirm_preset="fake", world=WORLD, scenes=40, held_out=40, questions=12, tested=3,
            probed=1, bank="bank", out="audit", junit="audit.xml", progress=False,
        )  # fmt: skip
    assert found.families and (found.path, found.page.parent) == (folder / "audit", folder / "audit")
    return found


@pytest.fixture(scope="module")
def suite(made: package.AuditResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made") / "suite"
    message = json.loads(trex("suite", "add", made.path, "--to", place, "--json").stdout)
    assert message[0]["new"] == len({(str(scene), program) for _, scene, program in known(made)})
    assert not message[0]["known"]
    return place


def known(result: package.AuditResult) -> list[tuple[Failure, Scene, Program]]:
    found = read_failures(result.path).failures
    return [(failure, *opened_failure(result.path, failure)[:2]) for failure in found]


def only(suite: Path) -> Batch:
    (batch,) = read_batches(suite)
    return batch


def test_the_command_and_python_take_one_road(made: package.AuditResult) -> None:
    before = tree(made.path)
    message = json.loads(
        trex(*COMMAND, "--bank", made.path.parent / "bank", "--out", made.path, "--json").stdout
    )
    assert message == {**made.document(), "page": str(made.page)}
    assert tree(made.path) == before
    assert made.headline in str(made) and str(made.page) in str(made)
    assert {finding.words for finding in (*made.families, *made.rejected)} == {
        row["words"] for row in message["families"]
    }


def test_cut_among_its_last_steps_it_ends_in_the_same_bytes(
    made: package.AuditResult, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made.path, tmp_path / "cut"))
    for name in ("tested.jsonl", "reworded.jsonl", "probed.jsonl"):
        lines = (folder / name).read_bytes().splitlines(keepends=True)
        assert len(lines) > 1
        (folder / name).write_bytes(b"".join(lines[:1]) + lines[1][:9])
    assert trex(*COMMAND, "--bank", made.path.parent / "bank", "--out", folder).exit_code == 0
    assert tree(folder) == tree(made.path)


def test_the_page_the_document_and_the_terminal_tell_of_other_wordings(made: package.AuditResult) -> None:
    page, families = made.page.read_text(), made.families
    assert all(family.wordings is not None and family.wordings.stays.of for family in families)
    documented = [item for item in made.document()["families"] if item["confirmed"]]  # type: ignore[attr-defined]
    for family, item in zip(families, documented, strict=True):
        words = wordings_words(family.wordings)
        assert "tays in " in words and words in page and words in str(made)
        assert item["wordings"]["stays"]["of"] == family.wordings.stays.of  # type: ignore[union-attr]
    assert page.count("<dt>In other words</dt>") == len(families)


def test_a_family_that_is_told_with_another_has_no_section_of_its_own(
    made: package.AuditResult, tmp_path: Path
) -> None:
    """Seven families fill the page, and one is folded away; with the second told with the first there are six."""
    folder = Path(shutil.copytree(made.path, tmp_path / "one"))
    first = made.families[0]
    rest = [replace(first, number=100 + k, words=f"The model fails {k}.") for k in range(6)]
    for within in (None, first.number):
        found = (first, replace(rest[0], within=within), *rest[1:])
        done = replace(
            made.done, folder=folder, findings=found, probes={key: {} for key in range(200)}, fresh=None
        )
        page, is_told_with = write_report(done, CLEVR).read_text(), within is not None
        assert page.count('<section class="family"') == 7 - is_told_with
        assert page.count("<dt>Also</dt><dd>The model fails 0.") == is_told_with
        assert page.count("1 less harmful family</summary>") == (not is_told_with)
        assert done.headline.startswith(f"{7 - is_told_with} failure families are confirmed. ")
        assert (". With 1 more that is listed under “Also”, they hold" in done.headline) == is_told_with
        assert (". They hold" in done.headline) == (not is_told_with)
        documented = json.loads((folder / "report.json").read_text())["families"]
        assert [item["within"] for item in documented[:3]] == [
            None,
            first.words if is_told_with else None,
            None,
        ]
        told = str(replace(made, done=done))
        assert told.count("Also: The model fails 0.") == is_told_with and "The model fails 5." in told


def test_an_audit_without_other_wordings_has_the_bytes_of_before_and_is_asked_later(
    made: package.AuditResult, tmp_path: Path
) -> None:
    """An audit of an earlier version has no such log; it opens, stays as it is, and is completed if asked for."""
    folder, bank = Path(shutil.copytree(made.path, tmp_path / "earlier")), made.path.parent / "bank"
    for path in folder.glob("reworded.jsonl*"):
        path.unlink()
    kept = {name: data for name, data in tree(folder).items() if not name.startswith("report.")}
    assert len(kept) < len(tree(made.path)) - 2
    assert trex(*COMMAND, "--wordings", "1", "--bank", bank, "--out", folder).exit_code == 0
    assert {name: data for name, data in tree(folder).items() if not name.startswith("report.")} == kept
    assert "In other words" not in (folder / "report.html").read_text()
    assert "wordings" not in (folder / "report.json").read_text()
    assert trex(*COMMAND, "--bank", bank, "--out", folder).exit_code == 0
    assert tree(folder) == tree(made.path)


def test_the_page_tells_of_probes_and_flips(made: package.AuditResult) -> None:
    page = made.page.read_text()
    families = [item for item in made.document()["families"] if item["confirmed"]]  # type: ignore[attr-defined]
    # Not around every failure can other objects be placed.
    ways = [set(family["probes"]) for family in families]
    assert all({"noise", "camera", "lights"} <= way for way in ways) and any("objects" in way for way in ways)
    assert page.count("made from its known failures") == len(families)
    assert any(flip for family in families for flip in family["flips"]) and "single changes tried" in page


def test_the_page_s_pictures_are_those_of_the_device_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the page named pictures of the device that this machine has, which nothing had rendered."""
    devices = []

    def opened(section: RenderSection, vocabulary: Vocabulary) -> SceneRenderer:
        devices.append(section.device)
        return open_renderer(section, vocabulary)

    monkeypatch.setattr(page, "open_renderer", opened)
    package.audit(
        NAMED, preset="fake", confirm_preset="fake", scenes=2, held_out=2, rare=0, questions=2, device="cpu",
        bank=tmp_path / "bank", out=tmp_path / "audit", progress=False,
    )  # fmt: skip
    assert devices == ["cpu"]


def test_wrong_arguments_are_named_before_anything_is_written(tmp_path: Path) -> None:
    given: dict[str, Any] = {"model": "fake", "preset": "fake", "out": tmp_path / "out", "progress": False}
    wrong: dict[str, Any]
    for wrong, words in (
        ({"scenes": 0}, "scenes 0"),
        ({"scenes": 2.5}, "scenes 2.5"),
        ({"probed": -1}, "probed -1"),
        ({"weigh": {"mised": 3}}, "mised"),
        ({"world": "no_such_query"}, "no_such_query"),
        ({"junit": tmp_path / "none" / "x.xml"}, f"^junit={tmp_path}"),
        ({"model": 3}, "model is of type int"),
    ):
        with pytest.raises(InputError, match=words):
            package.audit(**(given | wrong))
    assert list(tmp_path.iterdir()) == []


def test_each_confirmed_family_is_a_failed_case(made: package.AuditResult) -> None:
    root = ElementTree.parse(made.path.parent / "audit.xml").getroot()
    failed = {case.get("name") for case in root.iter("testcase") if case.find("failure") is not None}
    skipped = {case.get("name") for case in root.iter("testcase") if case.find("skipped") is not None}
    assert failed == {family.words for family in made.families}
    assert skipped == {finding.words for finding in made.rejected}


def test_its_junit_file_is_valid(made: package.AuditResult) -> None:
    check_valid(made.path.parent / "audit.xml")


def test_an_audit_without_a_family_is_one_case_that_passed(tmp_path: Path) -> None:
    few = [*COMMAND, "--bank", tmp_path / "bank", "--out", tmp_path / "audit", "--junit", tmp_path / "j.xml"]
    few[few.index("--scenes") + 1] = "2"
    few[few.index("--held-out") + 1] = "2"
    assert trex(*few).exit_code == 0
    (case,) = ElementTree.parse(tmp_path / "j.xml").getroot().iter("testcase")
    assert case.get("name") == "no failure family" and len(case) == 0
    refused(trex("suite", "add", tmp_path / "audit", "--to", tmp_path / "suite"), "has no confirmed family")
    assert not (tmp_path / "suite").exists()


def test_a_suite_keeps_every_confirmed_failure_with_its_own_question(
    made: package.AuditResult, suite: Path
) -> None:
    batch = only(suite)
    wanted = {(failure.question, failure.truth, failure.said) for failure, *_ in known(made)}
    assert len({scene.question for scene in batch.content.scenes}) > 1
    assert {(scene.question, scene.truth, scene.answer) for scene in batch.content.scenes} == wanted
    records = list(read_scenes(batch.folder / "scenes" / "CLEVR_found_scenes.json"))
    for record, batch_scene in zip(records, batch.content.scenes, strict=True):
        assert record.image_filename == batch_scene.name and batch_scene.confirmed == ("fake",)
        assert execute(batch.program(batch_scene), record.scene) == batch_scene.truth != batch_scene.answer
    stored = {
        (str(record.scene), scene.question)
        for record, scene in zip(records, batch.content.scenes, strict=True)
    }
    assert stored == {(str(scene), failure.question) for failure, scene, _ in known(made)}, (
        "stored without a loss"
    )


def test_the_audited_model_fails_its_suite_with_the_same_answers(suite: Path) -> None:
    """Each question goes with its own picture: swapped questions would give other answers."""
    results = run_suite(SuiteRunOptions(suite=suite, model=NAMED)).results
    assert results and all(result.fails for result in results)
    content = only(suite).content
    assert [result.answer for result in results] == [scene.answer for scene in content.scenes]
    assert content.weights and not content.is_by(content.model, "other weights")


def test_adding_an_audit_again_adds_nothing(made: package.AuditResult, suite: Path) -> None:
    before = tree(suite)
    message = json.loads(trex("suite", "add", made.path, "--to", suite, "--json").stdout)
    assert message[0]["new"] == 0 and message[0]["batch"] is None
    assert tree(suite) == before


@pytest.mark.parametrize("what", ["picture", "scene", "unfinished"])
def test_a_damaged_audit_is_refused_and_nothing_is_written(
    made: package.AuditResult, tmp_path: Path, what: str
) -> None:
    folder = Path(shutil.copytree(made.path, tmp_path / "audit"))
    path = folder / FAILURES
    if what == "picture":
        for picture in (folder / "pictures").rglob("*.picture"):
            picture.write_bytes(picture.read_bytes()[:-1] + b"x")
    elif what == "scene":
        content = json.loads(path.read_text())
        content["failures"][0]["scene"] = {"objects": 3}
        path.write_text(json.dumps(content))
    else:
        path.unlink()
    words = "holds no finished audit" if what == "unfinished" else "picture of a failure is not usable"
    refused(trex("suite", "add", folder, "--to", tmp_path / "suite"), words)
    assert not (tmp_path / "suite").exists()
    if what == "picture":  # the advice works
        (folder / "tested.jsonl").unlink()
        assert trex(*COMMAND, "--bank", made.path.parent / "bank", "--out", folder).exit_code == 0
        assert trex("suite", "add", folder, "--to", tmp_path / "suite").exit_code == 0


def test_beside_a_copy_of_itself_a_model_is_no_better(made: package.AuditResult, tmp_path: Path) -> None:
    copy = shutil.copytree(made.path, tmp_path / "copy")
    message = json.loads(
        trex(
            *COMMAND, "--bank", made.path.parent / "bank", "--out", made.path, "--json", "--beside", copy
        ).stdout
    )["beside"]
    assert message["model"] == NAMED and len(message["families"]) == len(made.families)
    assert all(
        row["only_first"] == row["only_second"] == 0 for row in (message["mistakes"], *message["families"])
    )
    assert f"Beside {NAMED}" in made.page.read_text()
    other = trex(*COMMAND, "--seed", "5", "--out", made.path.parent / "new", "--beside", made.path)
    refused(other, "is of other scenes or questions; give both audits the same --seed")
    other = trex(*COMMAND, "--preset", "draft", "--out", made.path.parent / "new", "--beside", made.path)
    refused(other, "give both audits the same --preset")
    assert not (made.path.parent / "new").exists()
