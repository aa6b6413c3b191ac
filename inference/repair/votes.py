"""Votes on what pictures show: a label for each picture, a verdict for each component, and how far voters agree.

A table of votes is (n pictures, m annotators) of class numbers; NONE is the vote "none of the above", MISSING no vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from trex.inference.statistics.proportion import Proportion

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NONE, MISSING = -1, -2
LEAST_LABELLED = 5  # pictures of a component that need a label


def majority(votes: Ints) -> int:
    """The vote with strictly the most voices, which may be NONE; MISSING for a tie or no vote."""
    values, counts = np.unique(votes[votes != MISSING], return_counts=True)
    if not len(values) or (counts == counts.max()).sum() > 1:
        return MISSING
    return int(values[counts.argmax()])


def picture_labels(table: Ints) -> Ints:
    """The label (n,) of each picture; NONE if the voters reject it, MISSING if they do not decide."""
    return np.array([majority(row) for row in table], np.int64)


@dataclass(frozen=True)
class LabelVerdict:
    """What the votes say of a component.

    `labelled` pictures have a class; `disagree` of them have another than the model answers. `label` is the class of
    most of them (MISSING for a tie), and `pure` of them carry it.
    """

    pictures: int
    labelled: int
    disagree: int
    label: int
    pure: int

    @property
    def is_scenario(self) -> bool:
        """Whether voters disagree with the model on more than half of at least 5 labelled pictures."""
        return self.labelled >= LEAST_LABELLED and 2 * self.disagree > self.labelled and self.label != MISSING


def verdict(labels: Ints, answers: Ints) -> LabelVerdict:
    """The verdict on a component from the labels and the model's answers (n,) of its pictures."""
    is_labelled = labels >= 0
    named = labels[is_labelled]
    label = majority(named)
    return LabelVerdict(
        pictures=len(labels),
        labelled=len(named),
        disagree=int((named != answers[is_labelled]).sum()),
        label=label,
        pure=int((named == label).sum()),
    )


def agreements(table: Ints) -> Floats:
    """For each picture with a strict majority, the share of its voters who chose it (the published measure)."""
    found = []
    for row in table:
        winner = majority(row)
        if winner != MISSING:
            found.append(float((row == winner).sum() / (row != MISSING).sum()))
    return np.array(found)


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and standard error; the error of fewer than two values is 0."""
    if not len(values):
        return 0.0, 0.0
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def chance_agreement(voters: int, classes: int) -> float:
    """The expected value of `agreements` if voters choose at random among the classes and NONE.

    K = classes + 1 answers: P(one of them has m of n votes and every other fewer) is K n! / (K^n m!) times the
    coefficient of x^(n - m) in (sum_{j<m} x^j / j!)^(K - 1).
    """
    decided, expected = 0.0, 0.0
    for most in range(1, voters + 1):
        series = np.array([1.0 / factorial(j) for j in range(most)])
        product, number = np.ones(1), voters - most
        for _ in range(classes):
            product = np.convolve(product, series)[: voters + 1]
        strict = product[number] / factorial(most) if len(product) > number else 0.0
        decided += strict
        expected += most / voters * strict
    return float(expected / decided)


def krippendorff(table: Ints) -> float | None:
    """Krippendorff's alpha of nominal votes, missing ones allowed; None if nothing could have disagreed.

    1 - observed / expected disagreement, by the coincidence matrix (Krippendorff 2011, "Computing Krippendorff's
    alpha-reliability"). NONE counts as an answer.
    """
    values = [int(value) for value in np.unique(table) if value != MISSING]
    counts = np.array([[int((row == value).sum()) for value in values] for row in table])  # (n, values)
    counts = counts[counts.sum(axis=1) >= 2] if len(values) else np.zeros((0, 0))
    totals = counts.sum(axis=0)
    n = float(totals.sum())
    expected = n * n - float((totals**2).sum())
    if expected <= 0:
        return None
    voters = counts.sum(axis=1)
    observed = float(((voters**2 - (counts**2).sum(axis=1)) / (voters - 1)).sum())
    return 1.0 - (n - 1.0) * observed / expected


def right_share(table: Ints, truths: Ints) -> Sequence[Proportion]:
    """For each annotator the share of right votes among those on pictures of known class (n,)."""
    cast = table != MISSING
    right = (table == truths[:, None]) & cast
    return [Proportion(int(a), int(b)) for a, b in zip(right.sum(axis=0), cast.sum(axis=0), strict=True)]
