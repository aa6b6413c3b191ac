"""Audits that several programs carry out: the same bytes as one, whoever did what, and whoever dies."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex
from tests.worlds.repair_toy import tree
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.parts import PARTS, Parts
from trex.auditing.sweeping.records import EXAMINED, Examined
from trex.auditing.sweeping.sweep import Sweep
from trex.auditing.work import FRESH_PARTS
from trex.bank.bank import bank_of
from trex.bank.named import bank_world
from trex.clevr_models.fake import FakeModel
from trex.scenes.graph import Facts
from trex.scenes.vocabulary import CLEVR
from trex.trials.lines import Lines

ARGUMENTS = (
    "audit", "fake", "--preset", "fake", "--confirm-preset", "fake", "--world", "one_cube_without_cubes",
    "--scenes", "40", "--held-out", "35", "--questions", "12", "--tested", "3", "--probed", "2",
    "--fresh", "21",
)  # fmt: skip
N, QUESTIONS = 75, 12
Count = Callable[[], int]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An audit by one program, and its bank."""
    folder = tmp_path_factory.mktemp("alone")
    assert trex(*ARGUMENTS, "--bank", folder / "bank", "--out", folder / "audit").exit_code == 0
    return folder / "audit", folder / "bank"


@dataclass(frozen=True)
class Counting(Asker):
    """An asker that notes which scenes it examined."""

    numbers: list[int] = field(default_factory=list)

    def examine(self, facts: Facts, image: object, number: int) -> Examined:
        self.numbers.append(number)
        return super().examine(facts, image, number)  # type: ignore[arg-type]


def asker() -> Counting:
    return Counting(FakeModel(), CLEVR.revoke("cube"), QUESTIONS, 0, 0.9)


def n_of(path: Path) -> Count:
    return lambda: len(path.read_bytes().splitlines()) if path.exists() else 0


WHOLE = range(N)


def names_of(members: range) -> tuple[str, str]:
    return ("swept.jsonl", PARTS) if members.start == 0 else ("fresh.jsonl", FRESH_PARTS)


def lead(folder: Path, bank_folder: Path, one: Asker, members: range = WHOLE) -> None:
    name, parts_name = names_of(members)
    with (
        Lines(folder / name, EXAMINED) as log,
        bank_of(bank_world(Path("one_cube_without_cubes")), "fake", bank_folder) as bank,
        Parts(folder, parts_name) as parts,
    ):
        Sweep(bank, one, parts, members).lead(log, lambda done, of: None)


def help_out(
    folder: Path, bank_folder: Path, one: Asker, stop_after: int = N, members: range = WHOLE
) -> None:
    """Helps, and dies after so many batches."""
    told: list[int] = []
    name, parts_name = names_of(members)

    def on_progress(done: int, of: int) -> None:
        told.append(done)
        if len(told) > stop_after:
            raise KeyboardInterrupt

    with (
        bank_of(bank_world(Path("one_cube_without_cubes")), "fake", bank_folder) as bank,
        Parts(folder, parts_name) as parts,
    ):
        Sweep(bank, one, parts, members).help(n_of(folder / name), on_progress)


def begin(folder: Path, whole: Path, log: str, n: int) -> None:
    """A log that was stopped after n lines, with its checksums."""
    for name in (f"{log}.jsonl", f"{log}.check"):
        (folder / name).write_bytes(b"".join((whole / name).read_bytes().splitlines(keepends=True)[:n]))


def test_the_leader_takes_what_a_helper_examined(alone: tuple[Path, Path], tmp_path: Path) -> None:
    helper, leader = asker(), asker()
    with pytest.raises(KeyboardInterrupt):
        help_out(tmp_path, alone[1], helper, stop_after=2)
    assert sorted(helper.numbers) == [*range(48, 75)]  # the last two batches
    lead(tmp_path, alone[1], leader)
    assert sorted(leader.numbers) == [*range(48)]
    for name in ("swept.jsonl", "swept.check"):
        assert (tmp_path / name).read_bytes() == (alone[0] / name).read_bytes()
    assert not list((tmp_path / PARTS).glob("*.jsonl"))


def test_a_part_that_is_half_there_is_completed(alone: tuple[Path, Path], tmp_path: Path) -> None:
    """As a kill leaves it; and a leader that was stopped within a batch needs only the rest of a part."""
    help_out(tmp_path, alone[1], asker())
    part = tmp_path / PARTS / "2.jsonl"
    part.write_bytes(b"".join(part.read_bytes().splitlines(keepends=True)[:5]) + b'{"scene')
    begin(tmp_path, alone[0], "swept", 19)
    leader = asker()
    lead(tmp_path, alone[1], leader)
    assert leader.numbers == [*range(37, 48)]
    assert (tmp_path / "swept.jsonl").read_bytes() == (alone[0] / "swept.jsonl").read_bytes()


def test_a_sweep_of_fresh_scenes_is_shared_like_the_first(alone: tuple[Path, Path], tmp_path: Path) -> None:
    """Their numbers begin at 75 and their log at 0. A part that holds more than its batch now needs is cut."""
    members = range(N, N + 21)
    begin(tmp_path, alone[0], "fresh", 3)
    helper, leader = asker(), asker()
    help_out(tmp_path, alone[1], helper, members=range(N, N + 32))
    assert sorted(helper.numbers) == [*range(N + 16, N + 32)], "the leader is within the first batch"
    lead(tmp_path, alone[1], leader, members)
    assert sorted(leader.numbers) == [*range(N + 3, N + 16)]
    for name in ("fresh.jsonl", "fresh.check"):
        assert (tmp_path / name).read_bytes() == (alone[0] / name).read_bytes()
    assert not list((tmp_path / FRESH_PARTS).glob("*.jsonl"))


def test_a_helper_examines_nothing_that_the_log_has(alone: tuple[Path, Path], tmp_path: Path) -> None:
    begin(tmp_path, alone[0], "swept", 50)
    helper = asker()
    help_out(tmp_path, alone[1], helper)
    assert helper.numbers == [*range(64, 75)]  # the leader is within the batch before


def test_three_programs_make_the_bytes_of_one(alone: tuple[Path, Path], tmp_path: Path) -> None:
    words = [*ARGUMENTS, "--bank", str(alone[1]), "--out", str(tmp_path / "audit")]
    command = [sys.executable, "-m", "trex.commands.shell.app", *words]
    leader = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while leader.poll() is None and not (tmp_path / "audit" / "audit.json").exists():
        with suppress(subprocess.TimeoutExpired):
            leader.wait(timeout=0.05)
    helpers = [
        subprocess.Popen([*command, "--join"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for one in (leader, *helpers):
        assert one.communicate(timeout=120) and one.returncode == 0
    assert tree(tmp_path / "audit") == tree(alone[0])


def test_a_helper_renders_what_the_leader_will_need(alone: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    shutil.copytree(alone[0], folder)
    for name in (
        "tested.jsonl",
        "tested.check",
        "probed.jsonl",
        "probed.check",
        "report.html",
        "report.json",
    ):
        (folder / name).unlink()
    shutil.rmtree(folder / "pictures")
    words = (*ARGUMENTS, "--bank", alone[1], "--out", folder)
    refused(trex(*words, "--join"), "no program leads the audit")
    made, wanted = tree(folder / "pictures"), tree(alone[0] / "pictures")
    assert made and made.items() <= wanted.items()
    assert not (folder / "tested.jsonl").exists()
    assert trex(*words).exit_code == 0
    assert tree(folder) == tree(alone[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--seed", "1"), "other settings (seed)"),
        (("--fresh", "22"), "--fresh 22: the audit in"),
        ((), "holds no audit to join"),
    ],
)
def test_what_cannot_be_joined_is_refused(
    alone: tuple[Path, Path], tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    out = alone[0] if options else tmp_path / "none"
    before = tree(alone[0])
    refused(trex(*ARGUMENTS, *options, "--bank", alone[1], "--out", out, "--join"), words)
    assert tree(alone[0]) == before and not (tmp_path / "none").exists()
