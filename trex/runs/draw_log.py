"""`draws.jsonl`: appended and synced step by step, so that all whole lines survive a kill at any moment."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.errors import RunError, unknown
from trex.foundation.files import Closing, disk_error, read_text, write_atomic
from trex.foundation.words import quoted
from trex.inference.nuts.options import DEPTH, FIGURES
from trex.inference.types import PRIOR_CHAIN
from trex.runs.checked_lines import CheckedLog, chained, check_path, read_checked, set_aside
from trex.runs.folder import FINISHED, RunFolder, seal_in
from trex.runs.manifest import Manifest
from trex.runs.record import CALIBRATION, CHAIN, CONTROLS, INDEPENDENT, PRIOR, Record, from_line, to_line
from trex.worlds.latents import VECTORS, Form, Latent, form_of


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
NORMALIZED = 1.1e-3  # how far a sum of probabilities may be from 1; inference.scoring allows less
PICTURE = re.compile("[0-9a-f]{32}")
MAX_LOOKS = 100  # of a ladder


def run_draws(folder: RunFolder) -> list[Record]:
    """The draws of a run; RunError if one is damaged or there are none yet."""
    records = read_draws(folder.draws, folder.manifest)
    check_begun(folder.path, records)
    return records


def check_begun(run: Path, records: Sequence[Record]) -> None:
    """Raise RunError if these records hold no prior draw: then there is nothing to report yet."""
    if not any(record.phase == PRIOR for record in records):
        raise RunError(f"{run} has no draws yet; resume it first: trex resume {quoted(run)}")


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
        f"trex resume {quoted(path.parent)} --repair keeps them and repeats the rest"
    )


class DrawChecks:
    """Checks a log from its first line on; without a manifest, only what needs none."""

    def __init__(self, manifest: Manifest | None) -> None:
        self._chains = manifest.query.search.chains if manifest else None
        self._answers = len(manifest.facts.labels) if manifest else None
        self._form: Form[Latent] | None = manifest.world.form if manifest else None
        self._shapes = {card.name for card in manifest.facts.cards} if manifest else None
        self._length: int | None = None  # length of the vectors
        self._next: dict[tuple[str, int], int] = defaultdict(int)

    def take(self, record: Record) -> None:
        """Check the draw of the next line; RunError describes what is impossible."""
        self._check_place(record)
        if record.is_rendered:
            self._check_score(record)
            self._check_objects(record)
        elif record.is_copy and record.phase not in INDEPENDENT:
            self._check_score(record)
            if not record.is_accepted or record.picture or record.visible:
                raise RunError(
                    "a copied state must be accepted and must not have a picture of its own; this one is not or has one"
                )
        else:
            _check_invalid(record)
        self._check_latent(record.z)
        self._check_line(record)
        if record.picture and not PICTURE.fullmatch(record.picture):
            raise RunError(f"picture {record.picture[:40]!r} is not a content hash")

    def _check_place(self, record: Record) -> None:
        phase, chain, index = record.key
        known = (*INDEPENDENT, CHAIN, *CONTROLS)
        if phase not in known:
            raise RunError(f"phase {phase[:40]!r} is not known ({', '.join(known)})")
        if phase in INDEPENDENT:
            least = 1 if phase == CALIBRATION else 0  # the bank was scored at look 0
            is_known = record.chain == PRIOR_CHAIN and least <= record.rank < MAX_LOOKS
        else:
            is_known = chain >= 0 and (self._chains is None or chain < self._chains)
        if not is_known:
            raise RunError(f"phase {phase} of this run has no chain {chain}")
        due = self._next[phase, chain]
        if index != due:
            raise RunError(f"index {index} of {phase} {chain} is out of order: expected index {due}")
        self._next[phase, chain] = due + 1

    def _check_score(self, record: Record) -> None:
        total = sum(math.exp(min(value, 700.0)) for value in record.log_probs)
        if not abs(total - 1.0) <= NORMALIZED:
            raise RunError(f"log_probs are not a distribution: the probabilities sum to {total:.6g}, not 1")
        self._answers = self._answers or len(record.log_probs)
        if len(record.log_probs) != self._answers:
            raise RunError(f"log_probs has {len(record.log_probs)} answers, the run has {self._answers}")
        if not math.isfinite(record.log_prior) or record.log_weight == math.inf:
            raise RunError(
                f"log_prior {record.log_prior} or log_weight {record.log_weight} is impossible for a rendered draw"
            )
        if record.phase in INDEPENDENT and not record.is_accepted:
            raise RunError(f"a {record.phase} draw must be accepted, this one is not")

    def _check_line(self, record: Record) -> None:
        line = record.figures.get("line", 0)
        if not (isinstance(line, int) and line >= 0 and (self._chains is None or line < self._chains)):
            raise RunError(f"line {line} of chain {record.chain} is not a start of this run")
        if DEPTH not in record.figures:
            return
        if not record.figures.keys() >= set(FIGURES):
            raise RunError(f"a trajectory has {', '.join(FIGURES)}; this one lacks one of them")
        if form_of(record.z) is not VECTORS:
            raise RunError(
                f"it has {form_of(record.z)} and the figures of a trajectory, which only vectors have"
            )

    def _check_objects(self, record: Record) -> None:
        objects = form_of(record.z).objects(record.z)
        if len(record.visible) != len(objects):
            raise RunError(f"visible has {len(record.visible)} numbers for {len(objects)} objects")

    def _check_latent(self, z: Latent) -> None:
        form = form_of(z)
        if self._form not in (None, form):
            raise RunError(f"it has {form}, unlike the other draws of this run")
        self._form = form
        for item in form.objects(z):
            if self._shapes is not None and item.shape not in self._shapes:
                raise RunError(str(unknown("shape", item.shape, sorted(self._shapes))))
        if form is not VECTORS:
            return
        self._length = len(z) if self._length is None else self._length
        if len(z) != self._length:
            raise RunError(f"z has {len(z)} numbers, the draws before have {self._length}")


def _check_invalid(record: Record) -> None:
    """Check a latent that was not rendered because it is invalid."""
    if record.phase in INDEPENDENT:
        raise RunError(f"a {record.phase} draw must have log_probs")
    if record.is_accepted or record.log_prior != -math.inf or record.log_weight != -math.inf:
        raise RunError(
            "a draw without log_probs was not rendered, so it must not be accepted or have a weight"
        )
