"""`draws.jsonl`: appended and synced step by step, so that all whole lines survive a kill at any moment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.errors import RunError
from trex.foundation.files import Closing, disk_error, read_text, write_atomic
from trex.runs.checked_lines import CheckedLog, chained, check_path, read_checked, set_aside
from trex.runs.draw_checks import DrawChecks
from trex.runs.folder import FINISHED, RunFolder, seal_in
from trex.runs.manifest import Manifest
from trex.runs.record import PRIOR, Record, from_line, to_line


@dataclass(frozen=True)
class Draws:
    """The sound draws at the start of a log; `damage` describes the fault in the next line, "" if there is none."""

    records: list[Record]
    lines: tuple[bytes, ...]
    damage: str


class DrawLog(Closing):
    """The draws of a run, open for appending; opening it cuts off a half-written last line.

    Raises RunError, and cuts nothing, if a line differs from what was written. `seal` is that of the run's manifest.
    """

    def __init__(self, path: Path, seal: str) -> None:
        found = read_checked(path, seal)
        if found.sound < len(found.lines):
            raise RunError(_damaged(path, found.sound + 1, CHANGED))
        self._path, self._log = path, CheckedLog(path, found.lines, seal)

    def append(self, records: Sequence[Record]) -> None:
        """Append all records, synced to the disk, or none and raise an error."""
        try:
            self._log.append([to_line(record).encode() for record in records])
        except OSError as error:
            raise disk_error(error, self._path) from error

    def close(self) -> None:
        """Close the files; the log cannot be used afterwards."""
        self._log.close()


CHANGED = "this line or one before it was changed, lost or doubled (wrong or missing checksum)"


def run_draws(folder: RunFolder) -> list[Record]:
    """The draws of a run; RunError if one is damaged or there are none yet."""
    records = read_draws(folder.draws, folder.manifest)
    check_begun(folder.path, records)
    return records


def check_begun(run: Path, records: Sequence[Record]) -> None:
    """Raise RunError if these records hold no prior draw: then there is nothing to report yet."""
    if not any(record.phase == PRIOR for record in records):
        raise RunError(f"{run} has no draws yet; resume it first: trex resume {run}")


def read_draws(path: Path, manifest: Manifest | None = None) -> list[Record]:
    """All whole lines of a log, without a half-written last line; RunError names the first damaged one.

    With the run's manifest, also checks the draws against it.
    """
    found = sound_draws(path, manifest)
    if found.damage:
        raise RunError(found.damage)
    return found.records


def sound_draws(path: Path, manifest: Manifest | None = None) -> Draws:
    """The draws of a run's log up to its first damaged line, also while another process searches, or ends."""
    ended = _finished_with(
        path.parent
    )  # first: a run that ends meanwhile has more draws than are read, never fewer
    found = read_checked(path, manifest.seal if manifest else seal_in(path.parent))
    checks = DrawChecks(manifest)
    records: list[Record] = []
    damage = ""
    for line in found.lines[: found.sound]:
        try:
            record = from_line(line.decode())
            checks.take(record)
        except (RunError, UnicodeDecodeError) as error:
            damage = _damaged(path, len(records) + 1, str(error))
            break
        records.append(record)
    else:
        if found.sound < len(found.lines):
            damage = _damaged(path, found.sound + 1, CHANGED)
        elif len(found.lines) < ended:
            damage = _damaged(
                path, len(found.lines) + 1, f"the run ended with {ended:,} draws, and this one is missing"
            )
    return Draws(records, found.lines[: len(records)], damage)


def repair(path: Path, manifest: Manifest) -> tuple[Path, int] | None:
    """Keep the draws before the first damaged line; return the damaged file's new path and the number of draws kept.

    Returns None if no line is damaged. The run has to be open for writing.
    """
    found = sound_draws(path, manifest)
    if not found.damage:
        return None
    (path.parent / FINISHED).unlink(missing_ok=True)  # what follows is still to be repeated
    aside = set_aside(path)
    sums = "".join(f"{text}\n" for text in chained(found.lines, manifest.seal))
    write_atomic(path, b"".join(found.lines))
    write_atomic(check_path(path), sums.encode())
    return aside, len(found.lines)


def _finished_with(run: Path) -> int:
    """The number of draws with which a run ended; 0 if it has not, or does not say."""
    if not (run / FINISHED).exists():
        return 0
    match = re.match(r"(\d{1,12}) draws", read_text(run / FINISHED, error=RunError, inside=run))
    return int(match[1]) if match else 0


def _damaged(path: Path, number: int, why: str) -> str:
    return (
        f"{path}, line {number}: {why}; the lines before it are sound: "
        f"'trex resume {path.parent} --repair' keeps them and repeats the rest"
    )
