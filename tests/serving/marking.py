"""A baseline on disk whose mistakes people mark: small, made without a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trex.pages.thumbnails import Thumbnail, light_url
from trex.trials.baseline.baseline import Baseline, ScoredExample
from trex.trials.baseline.files import StoredBaseline
from trex.trials.baseline.score import SourceResult

# name: (label, the answer of a model that takes everything for a seven)
PICTURES = {"one": "1", "nine": "9", "seven": "7", "four": "4"}
ANSWER = "7"
SECRET = "0.98765"  # the model's probability, which no annotator may see
KNOWN = 4


def example(name: str, label: str, target: str) -> ScoredExample:
    """A picture that the model takes for a seven; a hit of the target that names it."""
    is_hit = target == ANSWER and name != "four"
    return ScoredExample(
        name, "test", ANSWER, float(SECRET), float(SECRET), is_hit, label, is_hit and label != ANSWER, True
    )


def baseline(target: str, query: str, question: str = "Which digit is it?") -> Baseline:
    """What a query of this target counts."""
    seen = tuple(example(name, label, target) for name, label in PICTURES.items())
    words = f"is sure of {target}"
    return Baseline(query, question, words, "m", "m 0", "digits", "4 of test", (target,), seen)


def stored(folder: Path, *baselines: Baseline) -> StoredBaseline:
    """The folder of these baselines; by default two queries share their mistakes, and one has none."""
    queries = baselines or (
        baseline(ANSWER, "a.toml"),
        baseline("3", "b.toml"),
        baseline(ANSWER, "c.toml"),
    )
    pictures = tuple(
        Thumbnail(name, light_url(np.full((28, 28, 1), 40 * k, np.uint8)), f"a {label}")
        for k, (name, label) in enumerate(PICTURES.items())
    )
    stored_baseline = StoredBaseline(folder, (SourceResult("4 of test", queries, pictures, ()),), (), False)
    stored_baseline.write()
    return stored_baseline
