"""What one network says of pictures whose digit is known, and how two networks differ on the same pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reproduce.adaptation.calibration import expected_calibration_error
from trex.foundation.errors import InputError
from trex.inference.statistics.paired import Paired, paired
from trex.inference.statistics.proportion import Proportion

SURE = 0.9  # two widths of the papers' target below 1
NO_DIGIT = -1  # the truth of a picture that shows no digit
DIGITS = 10

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Answers:
    """Log probabilities (N, 10) of N pictures, and the digit that each shows (N,), or NO_DIGIT."""

    log_probs: Floats
    truth: Numbers

    def __post_init__(self) -> None:
        if self.log_probs.shape != (len(self.truth), DIGITS):
            raise InputError(
                f"answers {self.log_probs.shape} are not of {len(self.truth)} pictures of ten digits"
            )

    @cached_property
    def digit(self) -> Numbers:
        """The most probable digit of each picture (N,)."""
        found: Numbers = self.log_probs.argmax(axis=1)
        return found

    @cached_property
    def confidence(self) -> Floats:
        """Its probability (N,)."""
        found: Floats = np.minimum(1.0, np.exp(self.log_probs.max(axis=1)))
        return found

    @property
    def is_right(self) -> Flags:
        """Whether it is the digit that the picture shows."""
        found: Flags = self.digit == self.truth
        return found

    @property
    def is_sure(self) -> Flags:
        """Whether its probability is at least SURE."""
        return self.confidence >= SURE

    @property
    def is_sure_and_wrong(self) -> Flags:
        """Confident mistakes; a picture that shows no digit is one."""
        return self.is_sure & ~self.is_right

    @property
    def accuracy(self) -> Proportion:
        """The pictures that it gets right."""
        return Proportion(int(self.is_right.sum()), len(self.truth))

    @property
    def sure_wrong(self) -> Proportion:
        """The wrong ones among those of which it is sure."""
        return Proportion(int(self.is_sure_and_wrong.sum()), int(self.is_sure.sum()))

    @property
    def calibration_error(self) -> float:
        """Expected calibration error, 15 bins."""
        return expected_calibration_error(self.confidence, self.is_right)

    def sure_of(self, digit: int, most: int | None = None) -> Proportion:
        """The right ones among the first `most` pictures that it is sure show this digit."""
        rows = np.flatnonzero(self.is_sure & (self.digit == digit))[:most]
        return Proportion(int(self.is_right[rows].sum()), len(rows))

    @property
    def confusion(self) -> Numbers:
        """Counts (10, 10): rows the digit shown, columns the answer; pictures of no digit are left out."""
        shown = self.truth != NO_DIGIT
        counts = np.zeros((DIGITS, DIGITS), np.int64)
        np.add.at(counts, (self.truth[shown], self.digit[shown]), 1)
        return counts

    @property
    def swapped(self) -> tuple[int, ...]:
        """Digits of which most sure answers are wrong."""
        found = [self.sure_of(digit) for digit in range(DIGITS)]
        return tuple(digit for digit, rate in enumerate(found) if rate.of and rate.value < 0.5)

    def without(self, digits: tuple[int, ...]) -> Answers:
        """The answers other than these digits."""
        rows = ~np.isin(self.digit, digits)
        return Answers(self.log_probs[rows], self.truth[rows])


@dataclass(frozen=True, eq=False)
class Contrast:
    """A source network and its adaptation on the same pictures."""

    source: Answers
    adapted: Answers

    @property
    def mistakes(self) -> Paired:
        """Pictures that the adapted network, the source network, both or neither get confidently wrong."""
        return paired(self.adapted.is_sure_and_wrong.tolist(), self.source.is_sure_and_wrong.tolist())

    @property
    def sure_wrong_change(self) -> float:
        """The adapted network's share of wrong ones among those it is sure of, minus the source network's.

        NaN if one of them is sure of nothing.
        """
        if not self.adapted.sure_wrong.of or not self.source.sure_wrong.of:
            return math.nan
        return self.adapted.sure_wrong.value - self.source.sure_wrong.value

    @property
    def calibration_change(self) -> float:
        """The adapted network's expected calibration error minus the source network's."""
        return self.adapted.calibration_error - self.source.calibration_error

    @property
    def swapped(self) -> tuple[int, ...]:
        """Digits that either network swapped."""
        return tuple(sorted({*self.source.swapped, *self.adapted.swapped}))

    @property
    def unswapped(self) -> Contrast:
        """Without the answers that name a swapped digit."""
        return Contrast(self.source.without(self.swapped), self.adapted.without(self.swapped))
