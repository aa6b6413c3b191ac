"""The accuracy check: a model's accuracy on official pictures beside the published one, stored by its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trex.artifacts.cache import cache_root
from trex.clevr_models.published import PUBLISHED
from trex.foundation.codec import Codec
from trex.foundation.fields import Number
from trex.foundation.files import make_folder, write_atomic
from trex.foundation.words import counted, percent, percent_span, quoted
from trex.inference.statistics.clustered import clustered_share

PASSED, FAILED, UNDECIDED, NOT_COMPARED = "PASSED", "FAILED", "UNDECIDED", "NOT COMPARED"
WIDEST = 0.2  # a wider interval cannot detect a wrongly assembled model


@dataclass(frozen=True)
class AccuracyShare:
    """The share of right answers; the 95% interval takes pictures as clusters, not questions."""

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
        """The share in words: "45 of 47 official questions on 5 pictures, 95.7% (95% CI 84.1–99.5%)"."""
        questions = f"{self.right} of {self.of} official questions on {counted(self.pictures, 'picture')}"
        return f"{questions}, {percent(self.value)} (95% CI {percent_span(self.low, self.high)})"


@dataclass(frozen=True)
class AccuracyCheck:
    """One measurement: which weights, on which data (by content hash), and the accuracy by source and question type.

    `official` covers CLEVR's own questions, "all" first; `others` covers questions from elsewhere, which are never
    compared. `unread` questions contain a word outside the model's vocabulary, and count as wrong; `skipped` ones
    have no answer, no readable program or no usable picture here, as `notes` tell. `published` is None if there is
    nothing to compare with.
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
    notes: tuple[str, ...] = ()
    format: Literal[1] = 1

    @property
    def outcome(self) -> str:
        """FAILED if the published accuracy is above the interval, PASSED if it is in it or below."""
        share = self.official.get("all")
        if self.published is None or share is None:
            return NOT_COMPARED
        if share.high < self.published:
            return FAILED
        return UNDECIDED if share.high - share.low > WIDEST else PASSED

    def sentences(self) -> tuple[str, ...]:
        """The result in sentences, for the terminal and the report."""
        share = self.official.get("all")
        if share is None:
            return (
                f"Accuracy check: not run. {self.dataset} has no official CLEVR question on a picture that is there.",
            )
        right = f"{self.model} is right in {share.words()}"
        if self.published is None:
            return (f"Accuracy check: nothing to compare with. {right}; no accuracy was published.",)
        note = f" ({self.note})" if self.note else ""
        words = [
            f"Accuracy check {self.outcome}: {right}; published {percent(self.published)}, {self.source}{note}."
        ]
        if self.outcome == UNDECIDED:
            words.append("Too few questions to decide; give a folder with more pictures and questions.")
        elif self.outcome == PASSED:
            words.append(
                f"A model that is right in {percent(share.low)} would be consistent with these answers too."
            )
        if self.splits.get("train"):
            words.append(
                f"{self.splits['train']} of the questions are of the training split, which the model has seen."
            )
        return tuple(words)


def share(counts: Iterable[tuple[int, int]]) -> AccuracyShare:
    """The share over pictures, each (right, questions); pictures without a question do not count."""
    kept = [(right, of) for right, of in counts if of]
    found = clustered_share([right for right, _ in kept], [of for _, of in kept])
    return AccuracyShare(found.count, found.of, len(kept), *found.interval)


CODEC = Codec(AccuracyCheck)


def checks_folder() -> Path:
    """The folder of stored measurements: `gates` in the user's cache."""
    return cache_root() / "gates"


def store_check(check: AccuracyCheck) -> None:
    """Write a measurement; it replaces one of the same weights on the same data."""
    path = checks_folder() / f"{short_hash(check.weights + check.data)}.json"
    make_folder(path.parent)
    write_atomic(path, CODEC.text(check).encode())


def read_checks() -> list[AccuracyCheck]:
    """All stored measurements; RunError names a damaged file."""
    remedy = "delete it, then: trex models verify MODEL --dataset DIR"
    found = [CODEC.read(path, remedy) for path in sorted(checks_folder().glob("*.json"))]
    return [check for check in found if check is not None]


def check_of(weights: str) -> AccuracyCheck | None:
    """The measurement of exactly these weights with the most official questions, None if there is none."""
    official = [
        check for check in read_checks() if weights and check.weights == weights and "all" in check.official
    ]
    return max(official, key=lambda check: check.official["all"].of, default=None)


def check_words(weights: str, name: str) -> Sequence[str]:
    """The report's sentences on a model's accuracy check; none for a model without published or measured values."""
    found = check_of(weights)
    if found is not None:
        return found.sentences()
    if name not in PUBLISHED:
        return ()
    if not weights:
        return ("Accuracy check: unknown. This run did not record its weights.",)
    return (
        f"Accuracy check: not run for these weights. Run it before you trust a number: trex models verify "
        f"{quoted(name)} --dataset CLEVR_v1.0",
    )


def short_hash(text: str) -> str:
    """The first 32 hexadecimal digits of the text's sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
