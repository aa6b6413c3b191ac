"""An audit: a folder that holds what was asked and answered, from which the same command resumes after any stop."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from trex.auditing.by_kind import LookedFor, Row, by_question, looked_for
from trex.auditing.compare import Fresh, in_fresh_scenes
from trex.auditing.examine import Asker
from trex.auditing.judging.findings import (
    Finding,
    HeldOut,
    covered_by_confirmed,
    findings,
    in_held_out,
    share_words,
)
from trex.auditing.judging.membership import ExaminedScene, memberships_of, situations
from trex.auditing.judging.reword import wordings_of
from trex.auditing.leads import Hint, hints
from trex.auditing.probe import probe_shares
from trex.auditing.rare.steps import families_of, judges_of
from trex.auditing.records import (
    EXAMINED,
    FRESH_SCENES,
    NUMBERED,
    PROBED,
    REMEDY,
    REWORDED,
    SETTINGS,
    TESTED,
    Examined,
    FreshScenes,
    Numbered,
    Settings,
    check_same,
    read_settings,
)
from trex.auditing.work import (
    FRESH_SIZE,
    MANIFEST,
    NUMBERS,
    PROBES,
    TESTS,
    WORDS,
    Confirm,
    Crew,
    Examine,
    Here,
    Opened,
    Probe,
    Reword,
    SweepLog,
    Unit,
    Work,
    known_fresh,
)
from trex.bank.bank import BATCH, Bank
from trex.families.family import Family
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import holds_only, make_folder, refuse_links, write_atomic
from trex.foundation.locked_folder import LOCK, closed_on_error, lock_folder
from trex.foundation.progress import Progress, silent
from trex.foundation.words import capitalized, counted
from trex.inference.statistics.proportion import Proportion
from trex.runs.folder import RunInUse
from trex.scenes.graph import Facts, touching
from trex.trials.lines import AGAIN, Lines

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Audit:
    """A finished audit; `coverage` is the share of the held-out confident mistakes in confirmed families."""

    folder: Path
    settings: Settings
    findings: tuple[Finding, ...]
    by_question: tuple[Row, ...]
    coverage: Proportion
    held_out: Sequence[tuple[Facts, Examined]]
    failing: Mapping[int, tuple[Facts, Examined]]  # by number, the scenes that fail as a family says
    asker: Asker
    looked_for: LookedFor  # kinds of confident mistakes, and those that no held-out scene shows
    probes: Mapping[
        int, Mapping[str, Proportion]
    ]  # by family and way, of scenes like its failures those that fail too
    hints: tuple[Hint, ...]  # to kinds of confident mistakes that no scene shows
    fresh: Fresh | None = None  # what the confirmed families hold in scenes that no earlier step has used

    def __repr__(self) -> str:
        return f"<Audit {self.folder}: {self.headline}>"

    @property
    def confirmed(self) -> tuple[Finding, ...]:
        """The families that were confirmed in held-out scenes."""
        return tuple(finding for finding in self.findings if finding.is_confirmed)

    @property
    def told(self) -> tuple[Finding, ...]:
        """The confirmed families that stand by themselves: no two share more than a fifth of their failures."""
        return tuple(finding for finding in self.confirmed if finding.within is None)

    def within(self, finding: Finding) -> tuple[Finding, ...]:
        """The confirmed families that are told with this one, as they share more of its failures."""
        return tuple(each for each in self.confirmed if each.within == finding.number)

    @property
    def headline(self) -> str:
        """What was found, in up to three sentences."""
        n, rejected = len(self.told), len(self.findings) - len(self.confirmed)
        if not self.findings:
            return "No family of confident mistakes was found."
        texts = [f"{counted(n, 'failure family is', 'failure families are')} confirmed"]
        if n and self.fresh and self.fresh.coverage.of:
            held, where = self.fresh.coverage, f"{self.fresh.scenes:,} fresh scenes"
        else:
            held, where = self.coverage, f"the {self.settings.held_out:,} scenes that confirmed them"
        if n and held.of:
            alike, hold = len(self.confirmed) - n, "it holds" if n == 1 else "they hold"
            hold = (
                f"with {alike} more that {'is' if alike == 1 else 'are'} listed under “Also”, {hold}"
                if alike
                else hold
            )
            texts.append(f"{hold} {share_words(held, f'the confident mistakes in {where}')}")
        if rejected:
            texts.append(f"{counted(rejected, 'other rule was', 'other rules were')} not confirmed")
        return " ".join(f"{capitalized(text)}." for text in texts)


@dataclass(frozen=True)
class Grouped:
    """The scenes of a finished sweep in two parts, and what the families of the first show in the second.

    Families are worded as the held-out scenes allow, in the order in which they were discovered.
    """

    rows: Sequence[tuple[Facts, Examined]]
    training: Sequence[ExaminedScene]
    held_out: Sequence[ExaminedScene]
    results: Sequence[HeldOut]

    @property
    def families(self) -> list[Family]:
        """The families."""
        return [held_out.family for held_out in self.results]

    @property
    def failing(self) -> dict[int, tuple[Facts, Examined]]:
        """By number, the scenes that fail as a family says, those that were sought for one among them."""
        return {
            examined.scene: (facts, examined)
            for result in self.results
            for facts, examined, _ in result.failures
        }


def audit(work: Work, progress: Progress = silent, crew: Crew | None = None) -> Audit:
    """Audit a model, or resume one that was stopped; a finished one is only read. By default, all of it here.

    InputError if the folder holds anything else, or an audit with other settings; RunInUse if a process audits there.
    """
    lock = _open(work)
    try:
        with Opened(work) as opened:
            return _carried_out(opened, crew or Here(opened), progress)
    finally:
        os.close(lock)


def begin(settings: Settings) -> dict[str, bytes]:
    """The files, by name, of a folder in which an audit with these settings has begun."""
    return {MANIFEST: SETTINGS.text(settings).encode()}


def _open(work: Work) -> int:
    folder, settings = work.folder, work.settings
    known = read_settings(folder / MANIFEST) if folder.is_dir() else None
    if known is not None and not begun_only(folder):
        check_same(known, settings, folder)
    if known is None and folder.exists() and not (folder.is_dir() and begun_only(folder)):
        raise InputError(f"{folder} exists and holds no audit; choose another folder with --out")
    make_folder(folder)
    refuse_links(folder)
    lock = lock_folder(
        folder,
        RunInUse(f"another process audits into {folder}; wait for it, or stop it"),
    )
    with closed_on_error(lock):
        if work.fresh > known_fresh(folder):
            write_atomic(folder / FRESH_SIZE, FRESH_SCENES.text(FreshScenes(work.fresh)).encode())
        if known is None or begun_only(folder):
            write_atomic(folder / MANIFEST, SETTINGS.text(settings).encode())
    return lock


def begun_only(folder: Path) -> bool:
    """Whether nothing has been done yet, so that other settings may take the place of those that are there."""
    return holds_only(folder, (LOCK, FRESH_SIZE, MANIFEST))


def _carried_out(opened: Opened, crew: Crew, progress: Progress) -> Audit:
    work = opened.work
    folder, settings = work.folder, work.settings
    swept, *further = [_examined(sweep, folder, crew, progress) for sweep in work.sweeps]
    grouped = grouped_scenes(opened, swept, crew, progress)
    fresh = examined_scenes(opened.bank, work.total, further[0]) if further else []
    _check_numbers(folder / NUMBERS, grouped.families)
    memberships = memberships_of(grouped.families, grouped.held_out)
    held_out = grouped.rows[settings.scenes :]
    failing = grouped.failing
    tests = [
        Confirm(number, result.family, result.askable[: settings.tested])
        for number, result in enumerate(grouped.results)
    ]
    tested = _completed(folder / TESTS, TESTED, tests, crew, partial(progress, "families"))
    found = findings(grouped.results, tested, memberships, settings.severity)
    found = _in_other_words(work, grouped, found, crew, partial(progress, "wordings"))
    chosen = {finding.number: finding for finding in found if finding.is_confirmed}
    members = [
        Probe(number, finding.family, [(row.scene, failing[row.scene][0].scene) for row in finding.stayed])
        for number, finding in chosen.items()
    ]
    probes = _completed(folder / PROBES, PROBED, members, crew, partial(progress, "probes"))
    return Audit(
        folder,
        settings,
        tuple(found),
        tuple(by_question([examined for _, examined in grouped.rows])),
        covered_by_confirmed(memberships, set(chosen), len(found)),
        held_out,
        failing,
        work.asker,
        looked_for(held_out, (examined for _, examined in failing.values())),
        {number: probe_shares([row for row in probes if row.family == number]) for number in chosen},
        hints(grouped.rows, work.asker),
        in_fresh_scenes(
            (grouped.training, grouped.held_out),
            grouped.families,
            set(chosen),
            situations(fresh, work.asker),
            work.prior.vocabulary,
        )
        if fresh
        else None,
    )


def _check_numbers(path: Path, families: Sequence[Family]) -> None:
    """Write down which family has which number; RunError if another version has numbered other ones."""
    known = NUMBERED.read(path, AGAIN, inside=path.parent)
    now = Numbered(tuple(family.key for family in families))
    if known is None:
        write_atomic(path, NUMBERED.text(now).encode())
    elif known != now:
        raise RunError(f"{path} is of another version; {REMEDY}")


def _in_other_words(
    work: Work,
    grouped: Grouped,
    found: Sequence[Finding],
    crew: Crew,
    progress: Callable[[int, int], None],
) -> list[Finding]:
    """The findings; confirmed ones with what becomes of their mistakes in other words, if that was ever asked for."""
    path = work.folder / WORDS
    if work.wordings < 2 and not path.exists():
        return list(found)
    units = [
        Reword(finding.number, finding.family, grouped.results[finding.number].of_scenes(finding.stayed))
        for finding in found
        if finding.is_confirmed
    ]
    rows = _completed(path, REWORDED, units, crew, progress)
    asked = {unit.number: (unit.known(rows), len(unit.failures)) for unit in units}
    return [
        replace(finding, wordings=wordings_of(*asked[finding.number])) if finding.number in asked else finding
        for finding in found
    ]


def _examined(sweep: SweepLog, folder: Path, crew: Crew, progress: Progress) -> list[Examined]:
    """The log of a sweep, completed; a kill costs BATCH scenes at most."""
    n = len(sweep.members)
    with Lines(folder / sweep.log, EXAMINED) as log:
        missing = sweep.members[len(log.values) :]
        if isinstance(crew, Here):
            crew.opened.bank.draw_ahead(missing)
        units = [Examine(missing[at : at + BATCH]) for at in range(0, len(missing), BATCH)]
        progress(sweep.step, len(log.values), n)
        for _ in crew.do(units, log):
            progress(sweep.step, len(log.values), n)
        return list(log.values)


def examined_scenes(bank: Bank, first: int, examined: Sequence[Examined]) -> list[tuple[Facts, Examined]]:
    """The facts of examined scenes, whose first has this number in the bank, each with what the model said of it."""
    scenes = bank.scenes(range(first, first + len(examined)))
    vocabulary = bank.prior.vocabulary
    return [
        (Facts(scene, row.shares, row.hiders, touching(scene, vocabulary)), row)
        for scene, row in zip(scenes, examined, strict=True)
    ]


def grouped_scenes(opened: Opened, swept: Sequence[Examined], crew: Crew, progress: Progress) -> Grouped:
    """The families of a finished sweep and of the scenes for rare failures, which are examined from where they end."""
    work = opened.work
    rows = examined_scenes(opened.bank, 0, swept[: work.total])
    scenes = situations(rows, work.asker)
    training, held_out = scenes[: work.settings.scenes], scenes[work.settings.scenes :]
    families = families_of(opened, training, crew, progress)
    judges = judges_of(opened, families, held_out, crew, progress)
    return Grouped(rows, training, held_out, in_held_out(families, held_out, judges))


def _completed(
    path: Path, codec: Codec[T], units: Sequence[Unit[T]], crew: Crew, progress: Callable[[int, int], None]
) -> list[T]:
    """The rows of a log, those of all units among them."""
    with Lines(path, codec) as log:
        progress(0, len(units))
        for done in crew.do(units, log):
            progress(done, len(units))
        return list(log.values)
