"""Quality of the model on unseen scenes: by question type, by object, and its calibration."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from trex.artifacts.card import card_path, read_card
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import ATTRIBUTE_VALUES
from trex.clevr_models.percept.calibrate import look, match
from trex.clevr_models.percept.model import PerceptModel, load_percept
from trex.clevr_models.percept.network import ObjectTable
from trex.clevr_models.percept.training_data import (
    QuestionRecord,
    Scenes,
    data_hash,
    load_questions,
    load_scenes,
)
from trex.foundation.files import read_text
from trex.foundation.parse import parse_json
from trex.scenes.questions.programs import Program

BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
PRESENT = 0.5
SPLIT = "val"


@dataclass(frozen=True)
class Share:
    """A share as two counts, with the 95% interval of Wilson (1927)."""

    right: int
    of: int

    def value(self) -> float:
        """The share; 0 of 0 is NaN."""
        return self.right / self.of if self.of else math.nan

    def interval(self) -> tuple[float, float]:
        from scipy.stats import binomtest

        if not self.of:
            return (0.0, 1.0)
        found = binomtest(self.right, self.of).proportion_ci(method="wilson")
        return (float(found.low), float(found.high))

    def record(self) -> dict[str, object]:
        low, high = self.interval()
        return {"share": round(self.value(), 4), "low": round(low, 4), "high": round(high, 4), "n": self.of}


class Bin(NamedTuple):
    """Answers given with a confidence in [low, high): the mean confidence, and the share of right ones."""

    low: float
    high: float
    confidence: float
    right: Share


@dataclass(frozen=True)
class Report:
    split: str
    scenes: int
    by_type: dict[str, Share]
    bins: tuple[Bin, ...]
    negative_log_likelihood: float  # mean, natural log
    objects: dict[str, Share]
    position_error: float  # median distance to the truth, Blender units

    def record(self) -> dict[str, object]:
        curve = [
            {"from": b.low, "to": b.high, "confidence": round(b.confidence, 4), "right": b.right.record()}
            for b in self.bins
        ]
        return {
            "split": self.split,
            "scenes": self.scenes,
            "questions": self.by_type["all"].of,
            "accuracy": {name: share.record() for name, share in self.by_type.items()},
            "calibration": curve,
            "negative_log_likelihood": round(self.negative_log_likelihood, 4),
            "objects": {name: share.record() for name, share in self.objects.items()},
            "position_error": round(self.position_error, 4),
        }

    def text(self) -> str:
        lines = [f"{self.split}: {self.scenes} scenes"]
        for name, share in (*self.by_type.items(), *self.objects.items()):
            low, high = share.interval()
            lines.append(f"  {name:24s} {share.value():7.2%}  [{low:.2%}, {high:.2%}]  n={share.of}")
        for b in self.bins:
            sure = f"sure {b.low:.2f}-{b.high:.2f}: {b.confidence:.3f}"
            lines.append(f"  {sure}, right {b.right.value():.3f} (n={b.right.of})")
        lines.append(
            f"  position error {self.position_error:.3f}; log loss {self.negative_log_likelihood:.4f}"
        )
        return "\n".join(lines)


def evaluate(weights: Path, dataset: Path) -> Report:
    """The figures of a weights file on the scenes of split "val" and all questions about them."""
    model = load_percept(weights)
    scenes = load_scenes(dataset, SPLIT)
    known = {int(index): row for row, index in enumerate(scenes.indices)}
    records = [q for q in load_questions(dataset, SPLIT) if q.image_index in known]
    evidence = look(model.percept, scenes)
    with torch.no_grad():
        table: ObjectTable = model.percept.calibration(evidence).double()
    probs, right = _ask(model, table, records, known)
    objects, error = _objects(table, match(evidence, scenes), scenes)
    return Report(
        SPLIT,
        len(scenes.numbers),
        _by_type(records, right),
        _curve(probs, right),
        _loss(probs, records),
        objects,
        error,
    )


def question_type(program: Program) -> str:
    """count, exist, query_ATTRIBUTE, compare_integer or compare_attribute."""
    last = program[-1].function
    if last in ("equal_integer", "less_than", "greater_than"):
        return "compare_integer"
    return "compare_attribute" if last.startswith("equal_") else last


def _ask(
    model: PerceptModel, table: ObjectTable, records: list[QuestionRecord], known: dict[int, int]
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    probs = np.empty((len(records), len(ANSWERS)))
    for number, question in enumerate(records):
        row = torch.tensor([known[question.image_index]])
        probs[number] = np.exp(model.answer(table.take(row), question.program)[0])
    truth = np.array([ANSWERS.index(question.answer) for question in records], np.int64)
    return probs, probs.argmax(axis=1) == truth


def _loss(probs: np.ndarray[tuple[int, int], np.dtype[np.float64]], records: list[QuestionRecord]) -> float:
    truth = [ANSWERS.index(question.answer) for question in records]
    return float(-np.log(probs[np.arange(len(truth)), truth]).mean()) if truth else math.nan


def _by_type(records: list[QuestionRecord], right: Iterable[np.bool_]) -> dict[str, Share]:
    tally: dict[str, list[bool]] = defaultdict(list)
    for question, is_right in zip(records, right, strict=True):
        tally[question_type(question.program)].append(bool(is_right))
        tally["all"].append(bool(is_right))
    return {
        name: Share(sum(tally[name]), len(tally[name])) for name in ("all", *sorted(tally.keys() - {"all"}))
    }


def _curve(
    probs: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    right: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> tuple[Bin, ...]:
    confidence = probs.max(axis=1, initial=0.0)
    where = np.clip(np.digitize(confidence, BINS) - 1, 0, len(BINS) - 2)
    bins = []
    for number in np.unique(where):
        inside = where == number
        share = Share(int(right[inside].sum()), int(inside.sum()))
        bins.append(Bin(BINS[number], BINS[number + 1], float(confidence[inside].mean()), share))
    return tuple(bins)


def _objects(
    table: ObjectTable, items: np.ndarray[tuple[int, ...], np.dtype[np.int64]], scenes: Scenes
) -> tuple[dict[str, Share], float]:
    present = table.presence.numpy() > PRESENT
    row, peak = np.nonzero(present & (items >= 0))
    item = items[row, peak]
    shares = {
        "objects found": Share(len(row), int(scenes.numbers.sum())),
        "results that are objects": Share(len(row), int(present.sum())),
        "scenes counted right": Share(
            int((present.sum(axis=1) == scenes.numbers).sum()), len(scenes.numbers)
        ),
    }
    for slot, name in enumerate(ATTRIBUTE_VALUES):
        guess = table.attribute(name).numpy()[row, peak].argmax(axis=1)
        shares[f"{name} of objects found"] = Share(
            int((guess == scenes.attributes[row, item, slot]).sum()), len(row)
        )
    off = np.linalg.norm(table.position.numpy()[row, peak] - scenes.positions[row, item], axis=1)
    return shares, float(np.median(off)) if len(off) else math.nan


def write_card(weights: Path, dataset: Path, report: Report) -> None:
    """Add the data's fingerprint and the figures to the card beside the weights."""
    data = {**_described(dataset), "sha256": data_hash(dataset)}
    card = {**read_card(weights), "data": data, "figures": report.record()}
    card_path(weights).write_text(json.dumps(card, indent=1) + "\n")


def _described(dataset: Path) -> dict[str, object]:
    pictures = {
        folder.name: len(list(folder.glob("*.png"))) for folder in sorted((dataset / "images").iterdir())
    }
    plans = {
        path.name: parse_json(read_text(path), str(path)) for path in sorted(dataset.glob("*.plan.json"))
    }
    return {"pictures": pictures, "plans": plans, "kept out to calibrate": "every 25th training scene"}
