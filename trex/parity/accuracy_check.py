"""The accuracy check: a model's accuracy on official pictures beside the published one, stored by its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from trex.artifacts.cache import cache_root
from trex.clevr_models.published import PUBLISHED
from trex.foundation.errors import RunError
from trex.foundation.fields import Number
from trex.foundation.files import disk_error, read_text, write_atomic
from trex.foundation.parse import parse_json
from trex.inference.statistics.clustered import clustered_interval
from trex.pages.wording import percent

PASSED, FAILED, UNDECIDED, NO_GATE = "PASSED", "FAILED", "UNDECIDED", "NOT COMPARED"
WIDEST = 0.2  # a wider interval cannot detect a wrongly assembled model


@dataclass(frozen=True)
class AccuracyShare:
    """The share of right answers; the 95 % interval resamples whole pictures, not questions."""

    right: int
    of: int
    pictures: int
    low: Number
    high: Number

    @property
    def value(self) -> float:
        """The share; 0 if there are no questions."""
        return self.right / self.of if self.of else 0.0

    def words(self) -> str:
        """The share in words: "45 of 47 official questions on 5 pictures, 95.7 % (95 %: 84.1 % to 99.5 %)"."""
        interval = f"95 %: {percent(self.low)} to {percent(self.high)}"
        pictures = "1 picture" if self.pictures == 1 else f"{self.pictures} pictures"
        asked = f"{self.right} of {self.of} official questions on {pictures}"
        return f"{asked}, {percent(self.value)} ({interval})"


@dataclass(frozen=True)
class AccuracyCheck:
    """One measurement: which weights, on which data (by content hash), and the accuracy by source and question type.

    `official` covers CLEVR's own questions, "all" first; `others` covers questions from elsewhere, which are never
    compared. `unread` questions contain a word outside the model's vocabulary, and count as wrong; `skipped` ones
    have no answer or no picture here. `published` is None if there is nothing to compare with.
    """

    model: str
    weights: str
    dataset: str
    data: str
    splits: dict[str, int]
    official: dict[str, AccuracyShare]
    others: dict[str, dict[str, AccuracyShare]]
    unread: int
    skipped: int
    published: Number | None = None
    source: str = ""
    note: str = ""
    format: Literal[1] = 1

    @property
    def outcome(self) -> str:
        """FAILED if the published accuracy is above the interval, PASSED if it is in it or below."""
        share = self.official.get("all")
        if self.published is None or share is None:
            return NO_GATE
        if share.high < self.published:
            return FAILED
        return UNDECIDED if share.high - share.low > WIDEST else PASSED

    def sentences(self) -> tuple[str, ...]:
        """The result in sentences, for the terminal and the report."""
        share = self.official.get("all")
        if share is None:
            return (
                f"Parity gate: not run. {self.dataset} holds no official CLEVR question on a picture at hand.",
            )
        right = f"{self.model} is right in {share.words()}"
        if self.published is None:
            return (f"Parity gate: nothing to compare with. {right}; no accuracy was published.",)
        note = f" ({self.note})" if self.note else ""
        said = [
            f"Parity gate {self.outcome}: {right}; published {percent(self.published)}, {self.source}{note}."
        ]
        if self.outcome == UNDECIDED:
            said.append("That is too few to tell; give a folder with more pictures and questions.")
        elif self.outcome == PASSED:
            said.append(
                f"A model that is right in {percent(share.low)} would agree with these answers as well."
            )
        if self.splits.get("train"):
            said.append(
                f"{self.splits['train']} of the questions are of the training split, which it has seen."
            )
        return tuple(said)


def share(counts: Iterable[tuple[int, int]]) -> AccuracyShare:
    """The share over pictures, each (right, questions); pictures without a question do not count."""
    kept = [(right, of) for right, of in counts if of]
    low, high = clustered_interval([right for right, _ in kept], [of for _, of in kept])
    return AccuracyShare(sum(right for right, _ in kept), sum(of for _, of in kept), len(kept), low, high)


_ADAPTER: TypeAdapter[AccuracyCheck] = TypeAdapter(AccuracyCheck)


def gates_folder() -> Path:
    """The folder of stored measurements: `gates` in the user's cache."""
    return cache_root() / "gates"


def keep_gate(gate: AccuracyCheck) -> Path:
    """Write a measurement; it replaces one of the same weights on the same data."""
    path = gates_folder() / f"{short_hash(gate.weights + gate.data)}.json"
    make_folder(path.parent)
    write_atomic(path, _ADAPTER.dump_json(gate, indent=1) + b"\n")
    return path


def read_gates() -> list[AccuracyCheck]:
    """All stored measurements; RunError names a damaged file."""
    return [_read(path) for path in sorted(gates_folder().glob("*.json"))]


def gate_of(weights: str) -> AccuracyCheck | None:
    """The measurement of exactly these weights with the most official questions, None if there is none."""
    compared = [
        gate for gate in read_gates() if weights and gate.weights == weights and "all" in gate.official
    ]
    return max(compared, key=lambda gate: gate.official["all"].of, default=None)


def gate_words(weights: str, name: str) -> Sequence[str]:
    """The report's sentences on a model's accuracy check; none for a model without published or measured values."""
    found = gate_of(weights)
    if found is not None:
        return found.sentences()
    if name not in PUBLISHED:
        return ()
    if not weights:
        return ("Parity gate: not known. This run did not record its weights.",)
    return (
        f"Parity gate: not run for these weights. Before a number is trusted: trex models verify {name} "
        "--dataset CLEVR_v1.0",
    )


def short_hash(text: str) -> str:
    """The first 32 hexadecimal digits of the text's sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def make_folder(path: Path) -> None:
    """Create the folder and its parents."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, path) from error


def _read(path: Path) -> AccuracyCheck:
    try:
        written = read_text(path, error=RunError)
        parse_json(written, str(path), error=RunError)
        return _ADAPTER.validate_json(written, strict=True)
    except (RunError, ValidationError, ValueError) as error:
        words = str(error).replace("\n", " ")
        raise RunError(
            f"{path} is damaged ({words[:200]}); delete it, then: trex models verify MODEL --dataset DIR"
        ) from error
