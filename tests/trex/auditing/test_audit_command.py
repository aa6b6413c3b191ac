"""`trex audit` from the first question to the page: stopped at any moment, given nonsense, read again."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

import trex as package
from tests.running.command_line import refused, trex
from tests.worlds.color_models import NAMED
from tests.worlds.repair_toy import tree
from trex.auditing.audit import begin
from trex.auditing.options import MAX_SCENES, AuditOptions
from trex.auditing.perform import (
    ASKING_S,
    EXPECTED_FAMILIES,
    LEAST_TESTED,
    RARE_PART,
    SWEEP_SHARE,
    planned,
    work_of,
)
from trex.auditing.records import SETTINGS, Settings, check_same, option_name
from trex.auditing.work import Opened
from trex.commands.shell.app import loaded
from trex.foundation.errors import InputError
from trex.render.presets import PRESETS
from trex.scenes.questions.families import FAMILIES
from trex.worlds.costs import CPU_S

ARGUMENTS = (
    "audit", NAMED, "--preset", "fake", "--confirm-preset", "fake", "--world", "one_cube_without_cubes",
    "--scenes", "16", "--held-out", "16", "--questions", "12", "--tested", "3",
)  # fmt: skip
KINDS = ("--families", "zero_hop/count", "--families", "compare_integer")


def test_errors_name_the_options_of_settings() -> None:
    known = {option for parameter in loaded("audit").params for option in parameter.opts}
    told = {option_name(field.name) for field in fields(Settings)}
    assert {"--preset", "--confirm-preset", "--held-out", "--weigh"} <= told
    assert len(told) == len(fields(Settings)), "two settings of one name would hide a difference"
    assert all(words.startswith("the ") or words in known for words in told), told


def carried_out(out: Path, bank: Path, *more: str) -> dict[str, object]:
    """The JSON document of an audit of a model that counts brown."""
    found: dict[str, object] = json.loads(
        trex(*ARGUMENTS, "--bank", bank, "--out", out, "--json", *more).stdout
    )
    return found


@pytest.fixture(scope="module")
def whole(slow: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, object]]:
    """A finished audit, its bank, and what it printed."""
    folder = tmp_path_factory.mktemp("audit")
    return folder / "whole", folder / "bank", carried_out(folder / "whole", folder / "bank")


def test_the_page_says_what_the_document_says(whole: tuple[Path, Path, dict[str, object]]) -> None:
    folder, _, message = whole
    page = (folder / "report.html").read_text()
    assert str(message["headline"]) in page and message["families"]
    assert json.loads((folder / "report.json").read_text())["headline"] == message["headline"]
    assert message["page"] == str(folder / "report.html")
    assert (
        "16 random scenes, 4 with rare combinations and up to 4 changed copies of those that failed" in page
    )
    assert message["not_found"] and "mistake types checked" in page


def test_another_bank_seed_examines_other_scenes(tmp_path: Path) -> None:
    drawn = []
    for seed in (0, 0, 1):
        options = AuditOptions(
            model=NAMED, preset="fake", confirm_preset="fake", bank=tmp_path, bank_seed=seed
        )
        with Opened(work_of(options)) as opened:
            drawn.append(opened.bank.scenes(range(8)))
    assert drawn[0] == drawn[1] and not set(drawn[0]) & set(drawn[2])


@pytest.mark.parametrize("lines", [0, 17, 31])
def test_cut_anywhere_it_ends_in_the_same_bytes(
    whole: tuple[Path, Path, dict[str, object]], tmp_path: Path, lines: int
) -> None:
    """A kill leaves whole lines, half a line and no page."""
    folder, bank, _ = whole
    shutil.copytree(folder, tmp_path / "cut")
    for name in ("report.html", "report.json"):
        (tmp_path / "cut" / name).unlink()
    kept = (folder / "swept.jsonl").read_bytes().splitlines(keepends=True)[:lines]
    (tmp_path / "cut" / "swept.jsonl").write_bytes(b"".join(kept) + b'{"scene": ')
    (tmp_path / "cut" / "tested.jsonl").write_bytes((folder / "tested.jsonl").read_bytes()[:40])
    for path in (tmp_path / "cut").glob("rare-*.jsonl"):
        path.write_bytes(path.read_bytes()[: lines * 90])
    carried_out(tmp_path / "cut", bank)
    assert tree(tmp_path / "cut") == tree(folder)


def test_a_finished_audit_is_only_read(whole: tuple[Path, Path, dict[str, object]]) -> None:
    folder, bank, message = whole
    before = tree(folder)
    assert carried_out(folder, bank) == message
    assert tree(folder) == before


@pytest.mark.parametrize("name", ["swept", "tested"])
def test_a_changed_line_costs_the_answers_behind_it_and_no_other(
    whole: tuple[Path, Path, dict[str, object]], tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Planted: the whole folder was refused, and was to be deleted."""
    folder, bank, message = whole
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    path = copy / f"{name}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"truth"', b'"tooth"', 1)
    path.write_bytes(b"".join(lines))
    assert carried_out(copy, bank)["families"] == message["families"]
    assert f"line 2 of {path} was changed" in caplog.text
    aside = copy / f"{name}.damaged-1.jsonl"
    assert aside.read_bytes() == b"".join(lines)
    aside.unlink()
    assert tree(copy) == tree(folder)


def damaged(folder: Path) -> None:
    (folder / "audit.json").write_text('{"model": 3}')
    (folder / "report.json").unlink()


@pytest.mark.parametrize("text", [b"", b'{"model": 3}', b'{"mod', b"\xff"])
def test_a_finished_audit_whose_settings_are_damaged_is_read_by_its_report(
    whole: tuple[Path, Path, dict[str, object]], tmp_path: Path, text: bytes
) -> None:
    """Planted bug: the whole folder was to be deleted."""
    folder, bank, message = whole
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    (copy / "audit.json").write_bytes(text)
    assert carried_out(copy, bank)["families"] == message["families"]
    refused(trex(*ARGUMENTS, "--bank", bank, "--out", copy, "--seed", "1"), "other settings (--seed)")


def linked(folder: Path) -> None:
    (folder / "pictures").rename(folder.parent / "elsewhere")
    (folder / "pictures").symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [(damaged, "audit.json is damaged"), (linked, "is a symbolic link")],
)
def test_a_folder_that_was_tampered_with_is_named(
    whole: tuple[Path, Path, dict[str, object]],
    tmp_path: Path,
    spoil: Callable[[Path], None],
    words: str,
) -> None:
    folder, bank, _ = whole
    shutil.copytree(folder, tmp_path / "copy")
    spoil(tmp_path / "copy")
    refused(trex(*ARGUMENTS, "--bank", bank, "--out", tmp_path / "copy"), words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--seed", "1"), "other settings (--seed)"),
        (("--bank-seed", "1"), "other settings (--bank-seed)"),
        (("--no-explain",), "other settings (--explain)"),
        (("--bank-seed", "-1"), "--bank-seed -1: give 0"),
        (("--scenes", "0"), "--scenes 0: give 1"),
        (("--held-out", "0"), "--held-out 0: give 1"),
        (("--questions", "501"), "--questions 501"),
        (("--sure", "0.5"), "--sure 0.5"),
        (("--weigh", "missed"), "--weigh missed: give SYMPTOM=WEIGHT"),
        (("--weigh", "missed=-1"), "--weigh missed=-1"),
        (("--weigh", "mised=2"), "missed"),
        (("--preset", "shiny"), "shiny"),
        (("--families", "zero_hops"), "did you mean 'zero_hop'"),
        (("--budget", "nan"), "--budget nan"),
        (("--budget", "1e308"), "at most 1,000,000"),
        (("--processes", "0"), "--processes"),
        (("--junit", "notes.txt"), "--junit notes.txt holds something else"),
        (("--world", "mnist_sure_of_7"), "generator 'clevr'"),
    ],
)
def test_nonsense_is_refused_before_anything_is_rendered(
    whole: tuple[Path, Path, dict[str, object]],
    options: tuple[str, str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, bank, _ = whole
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("mine")
    before = tree(folder), tree(bank)
    refused(trex(*ARGUMENTS, "--bank", bank, "--out", folder, *options), words)
    with pytest.raises(InputError, match=r"^processes 0: give 1 to 256$"):
        AuditOptions.checked({"model": NAMED, "processes": 0})
    assert (tree(folder), tree(bank)) == before


def test_a_budget_and_a_size_contradict_each_other() -> None:
    """Planted bug: the sizes were dropped without a word."""
    refused(
        trex(*ARGUMENTS, "--budget", "4"),
        "--scenes and --held-out and --tested do not apply: --budget chooses",
    )
    for name in ("scenes", "held_out", "tested"):
        with pytest.raises(InputError, match=f"^{name} does not apply: budget chooses the sizes"):
            package.audit(NAMED, budget=4.0, **{name: AuditOptions.model_fields[name].default})


def test_an_audit_is_not_compared_with_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: an audit was compared with itself, which always ends in a draw."""
    monkeypatch.chdir(tmp_path)
    itself = trex(*ARGUMENTS, "--out", tmp_path / "mine", "--beside", "mine")
    refused(itself, "--beside mine is the folder of this audit")
    assert not Path("mine").exists()


def test_the_settings_of_a_model_that_was_named_otherwise_are_the_same(tmp_path: Path) -> None:
    """Audits of before called the shipped model, and weights of one's own, "percept"."""
    settings = work_of(AuditOptions(model=NAMED)).settings
    check_same(replace(settings, model="percept"), settings, tmp_path)
    with pytest.raises(InputError, match="the model or its weights"):
        check_same(replace(settings, weights="percept 0"), settings, tmp_path)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    refused(trex(*ARGUMENTS, "--out", tmp_path), "holds no audit")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_what_a_kill_at_the_very_beginning_leaves_is_an_audit_begun(
    whole: tuple[Path, Path, dict[str, object]], tmp_path: Path
) -> None:
    _, bank, message = whole
    with subprocess.Popen(["true"]) as dead:
        dead.wait()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f".audit.json.{dead.pid}.tmp").write_text('{"half": ')
    shutil.copy(whole[0] / "audit.json", tmp_path / "out")  # of a try that failed, with other settings
    other = json.loads((tmp_path / "out" / "audit.json").read_text()) | {"scenes": 99}
    (tmp_path / "out" / "audit.json").write_text(json.dumps(other))
    assert carried_out(tmp_path / "out", bank)["headline"] == message["headline"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_budget_counts_each_look_at_its_measured_cost(preset: str) -> None:
    """Planted bug: a look that a table of costs lacks, draft among them, cost a minute a scene."""
    each = CPU_S[preset] + ASKING_S
    scenes = planned(1000.0, AuditOptions(model=NAMED, preset=preset, rare=0)).scenes
    assert scenes == min(MAX_SCENES, int(1000 * 3600 * SWEEP_SHARE / each / 2))
    request = AuditOptions(model=NAMED, confirm_preset=preset)
    if (tested := min(50, _renders(preset) - 65)) >= LEAST_TESTED:
        assert planned(10.0, request).tested == tested
    else:
        with pytest.raises(InputError, match=f"too small at presets fast and {preset}; .*, or --no-explain"):
            planned(10.0, request)


def test_a_budget_counts_what_rare_failures_take_and_the_least_that_an_error_names_is_enough() -> None:
    """Planted bugs: chosen scenes, copies and the draws for rare families counted for nothing, so that 4 hours took 6;
    with a small budget, eight families were looked at more closely for many times its hours."""
    sizes = [planned(10.0, AuditOptions(model=NAMED, rare=rare)) for rare in (0, 400, None)]
    assert sizes[0].scenes > sizes[1].scenes > sizes[2].scenes > 0.4 * sizes[0].scenes
    assert [each.rare for each in sizes] == [0, 400, sizes[2].scenes // RARE_PART]
    for request in (
        AuditOptions(model=NAMED), AuditOptions(model=NAMED, explain=False), AuditOptions(model=NAMED, rare=4000),
    ):  # fmt: skip
        with pytest.raises(InputError, match="too small") as error:
            planned(0.1, request)
        least = float(str(error.value).partition("at least ")[2].split(",")[0])
        assert planned(least, request).tested >= LEAST_TESTED
        with pytest.raises(InputError, match="too small"):
            planned(least - 0.02, request)


def test_the_rare_scenes_of_an_audit_that_never_began_are_not_taken(tmp_path: Path) -> None:
    """Planted bug: after a start with --scenes 100 that was stopped at once, one with 1,000 had 25 rare scenes."""
    for scenes, rare in ((100, 25), (1000, 250)):
        options = AuditOptions(model=NAMED, scenes=scenes, out=tmp_path)
        settings = work_of(options).settings
        assert settings.rare == rare
        for name, data in begin(settings).items():
            (tmp_path / name).write_bytes(data)


def _renders(deciding: str) -> int:
    return int(10 * 3600 * (1 - SWEEP_SHARE) / EXPECTED_FAMILIES / (CPU_S[deciding] + ASKING_S))


@pytest.fixture(scope="module")
def of_kinds(slow: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit that asks some kinds of questions only; its bank is beside it."""
    place = tmp_path_factory.mktemp("families")
    carried_out(place / "audit", place / "bank", *KINDS)
    return place / "audit"


def test_questions_of_the_chosen_kinds_and_families_alone_are_asked(of_kinds: Path) -> None:
    lines = map(json.loads, (of_kinds / "swept.jsonl").read_text().splitlines())
    request = {FAMILIES[answer["family"]] for line in lines for answer in line["answers"]}
    names, kinds = {family.name for family in request}, {family.kind for family in request}
    assert kinds == {"zero_hop", "compare_integer"}
    assert {name for name in names if name.startswith("zero_hop")} == {"zero_hop/count"}
    assert len(names) > 2, "a kind stands for all of its families"
    page = (of_kinds / "report.html").read_text()
    assert "of these kinds or families alone: compare_integer, zero_hop/count" in page


def test_the_choice_of_kinds_is_part_of_the_audit(of_kinds: Path) -> None:
    """In another order it is the same one."""
    carried_out(of_kinds, of_kinds.parent / "bank", *KINDS[2:], *KINDS[:2])
    refused(trex(*ARGUMENTS, "--out", of_kinds), "other settings (--families)")


def test_a_budget_does_not_change_with_the_probes(tmp_path: Path) -> None:
    """Planted bug: with --budget, another --probed made another audit, which the same folder refused."""
    request = [
        AuditOptions(model=NAMED, budget=4.0, probed=probed, out=tmp_path / "a") for probed in (0, 8, 16)
    ]
    settings = [work_of(options).settings for options in request]
    assert settings[0] == settings[1] == settings[2]


def test_an_audit_of_before_keeps_its_scenes_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: in the folder that is taken without --out, it was refused for scenes that it never had."""
    monkeypatch.chdir(tmp_path)
    options = AuditOptions.checked({"model": NAMED, "preset": "fake", "confirm_preset": "fake", "scenes": 16})
    work = work_of(options)
    assert work.settings.rare == 4
    work.folder.mkdir(parents=True)
    (work.folder / "audit.json").write_text(SETTINGS.text(replace(work.settings, rare=0)))
    (work.folder / "swept.jsonl").touch()
    assert work_of(options).settings.rare == 0
    assert work_of(options.changed(rare=2)).settings.rare == 2


def test_a_symptom_has_one_weight() -> None:
    """Planted bug: of two weights the last one counted, without a word."""
    options = AuditOptions(model=NAMED, weigh=("missed=1", "doubled=2", "missed=2"))
    with pytest.raises(InputError, match="--weigh missed=2: missed is weighed twice; give each symptom once"):
        work_of(options)
