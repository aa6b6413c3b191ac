"""Helps an audit that another program leads, in the same folder: on this machine, or on another that shares it.

A helper examines scenes of the sweep from the end, and then renders failures at the deciding look, the last family
first, into the audit's own pictures, where the leader finds them. It writes nothing else, so the audit's files are the
same bytes as without it.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from trex.auditing.audit import Grouped, OnProgress, check_same, grouped_scenes, known_failures
from trex.auditing.judging.confirm import Confirmer
from trex.auditing.judging.findings import findings, memberships_of
from trex.auditing.judging.probe import Prober
from trex.auditing.sweeping.parts import Parts
from trex.auditing.sweeping.records import (
    EXAMINED,
    PROBED,
    REMEDY,
    TESTED,
    Probed,
    Tested,
    read_settings,
)
from trex.auditing.sweeping.sweep import Sweep
from trex.auditing.work import MANIFEST, PROBES, SWEPT, TESTS, SweepLog, Work, known_fresh
from trex.bank.bank import Bank
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import refuse_links
from trex.foundation.locked_folder import lock_folder
from trex.render.cache import CachedRenderer
from trex.runs.checked_lines import DIGITS, check_path, read_checked
from trex.trials.lines import Lines

T = TypeVar("T")
POLL_S = 1.0
SAID_S = 60.0  # who waits longer says for whom
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Helped:
    """What a helper did: pictures that the bank did not have, and pictures at the deciding look."""

    swept: int
    rendered: int

    def document(self) -> dict[str, int]:
        """The same for machines."""
        return {"swept": self.swept, "rendered": self.rendered}

    def __str__(self) -> str:
        return f"helped: {self.swept:,} scenes rendered for the sweep, {self.rendered:,} at the deciding look"


def join(work: Work, on_progress: OnProgress = lambda step, done, of: None) -> Helped:
    """Help until nothing is left to do.

    InputError if the folder holds no audit, or one with other settings; RunError if its leader stops before its end.
    """
    known = read_settings(work.folder / MANIFEST) if work.folder.is_dir() else None
    if known is None:
        raise InputError(f"{work.folder} holds no audit to join; start one there without --join first")
    check_same(known, work.settings, work.folder)
    refuse_links(work.folder)
    if work.fresh not in (0, n := known_fresh(work.folder)):
        raise InputError(
            f"--fresh {work.fresh}: the audit in {work.folder} has {n}; give the same number, or none"
        )
    with work.open_bank() as bank:
        for one in work.sweeps:
            _help_sweep(work, one, bank, on_progress)
        swept = waited_for(work.folder / SWEPT, EXAMINED, work.total)
        grouped = grouped_scenes(work, bank, swept, on_progress)
        n_swept = bank.rendered_now
    with closing(work.open_renderer()) as renderer, TemporaryDirectory() as scratch:
        _render_failures(work, grouped, renderer, Path(scratch), on_progress)
    return Helped(n_swept, renderer.misses)


def _help_sweep(work: Work, sweep: SweepLog, bank: Bank, on_progress: OnProgress) -> None:
    with Parts(work.folder, sweep.parts) as parts:
        Sweep(bank, work.asker, parts, sweep.members).help(
            lambda: n_lines(work.folder / sweep.log), lambda done, of: on_progress(sweep.step, done, of)
        )


def n_lines(log: Path) -> int:
    """The number of lines of a checked log that another program writes: at most the last batch too many."""
    try:
        return check_path(log).stat().st_size // (DIGITS + 1)
    except FileNotFoundError:
        return 0


def waited_for(log: Path, codec: Codec[T], n: int) -> list[T]:
    """The first n lines of a log that the leader writes, once they are there; RunError if it stops before."""
    began, is_said = time.monotonic(), False
    while True:
        found = read_checked(log)
        if found.sound >= n:
            return [codec.parse(line.decode(errors="replace"), str(log), REMEDY) for line in found.lines[:n]]
        check_led(log.parent)
        if not is_said and time.monotonic() - began > SAID_S:
            is_said = True
            logger.warning("waiting for the process that leads the audit in %s", log.parent)
        time.sleep(POLL_S)


def check_led(folder: Path) -> None:
    """RunError if no program leads the audit in this folder."""
    busy = RunError("led")
    try:
        lock = lock_folder(folder, busy)
    except RunError as error:
        if error is busy:
            return
        raise
    os.close(lock)
    raise RunError(
        f"no program leads the audit in {folder}; what this one did is kept. Resume it, then join again"
    )


def _render_failures(
    work: Work, grouped: Grouped, renderer: CachedRenderer, scratch: Path, on_progress: OnProgress
) -> None:
    """Render what the leader will need for the families that it has not begun: the last first."""
    asker, tested = work.asker, work.settings.tested
    with Lines(scratch / TESTS, TESTED) as log:
        for number in reversed(range(len(grouped.results))):
            if _is_begun(work.folder / TESTS, TESTED, number):
                break
            on_progress("families", number, len(grouped.results))
            one = grouped.results[number]
            Confirmer(renderer, asker).confirm(number, one.family, one.askable[:tested], log)
    n_tested = sum(min(len(one.askable), tested) for one in grouped.results)
    rows = waited_for(work.folder / TESTS, TESTED, n_tested)
    memberships = memberships_of(grouped.families, grouped.held_out)
    found = findings(grouped.results, rows, memberships, work.settings.severity)
    chosen = [one for one in found if one.is_confirmed]
    scenes = {one.scene: known for known, one in grouped.rows[work.settings.scenes :]}
    prober = Prober(renderer, asker, work.probed)
    with Lines(scratch / PROBES, PROBED) as log_of_probes:
        for place, finding in reversed(list(enumerate(chosen))):
            if _is_begun(work.folder / PROBES, PROBED, finding.number):
                break
            on_progress("probes", place, len(chosen))
            prober.probe(finding.number, finding.family, known_failures(finding, scenes), log_of_probes)


def _is_begun(log: Path, codec: Codec[Tested] | Codec[Probed], family: int) -> bool:
    """Whether a log that the leader writes has a line of this family."""
    found = read_checked(log)
    lines = (line.decode(errors="replace") for line in found.lines[: found.sound])
    return any(codec.parse(line, str(log), REMEDY).family == family for line in lines)
