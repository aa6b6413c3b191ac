"""Compares two classifiers on the same scenes: is one of them right, or in a level set, more often?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.inference.statistics.proportion import Interval

CLEAR = 0.05  # p-value below which a difference is called one
NORMAL_95 = 1.959963984540054  # the .975 quantile of the standard normal


@dataclass(frozen=True)
class Paired:
    """Counts of n scenes on which a statement holds for both, for one alone, or for neither."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def n(self) -> int:
        """The number of scenes."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def p_value(self) -> float:
        """The exact test of McNemar (1947) for equal discordant counts; 1 if there are none."""
        from scipy.stats import binomtest

        discordant = self.only_first + self.only_second
        return float(binomtest(self.only_first, discordant).pvalue) if discordant else 1.0

    @property
    def sign(self) -> int:
        """1 if the statement holds for the first alone more often than for the second alone, -1 for less often."""
        return (self.only_first > self.only_second) - (self.only_first < self.only_second)

    def words(self, first: str, second: str, what: str, p_value: float) -> str:
        """What differs, in a sentence; `p_value` may be corrected for further tests.

        Parameters
        ----------
        first, second : str
            Names of the classifiers.
        what : str
            Of what they have more or fewer, in the plural.
        p_value : float
            Of the test.

        Example
        -------
        >>> Paired(60, 20, 0, 20).words("a", "b", "right answers", 1.9e-6)
        'a has more right answers than b: 80 of 100 against 60 (exact McNemar test, p = 1.9e-06).'
        """
        test = f"exact McNemar test, p = {p_value:.2g}"
        here, there = self.both + self.only_first, self.both + self.only_second
        if p_value >= CLEAR:
            return (
                f"No clear difference in {what}: {first} {here:,} of {self.n:,}, {second} {there:,} ({test})."
            )
        (most, more), (fewest, less) = sorted(((here, first), (there, second)), reverse=True)
        return f"{more} has more {what} than {less}: {most:,} of {self.n:,} against {fewest:,} ({test})."

    @property
    def difference(self) -> float:
        """The first's share minus the second's."""
        return (self.only_first - self.only_second) / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """95% interval of the difference (Bonett and Price 2012, doi:10.3102/1076998611411915)."""
        n = self.n + 2
        first, second = (self.only_first + 1) / n, (self.only_second + 1) / n
        half = NORMAL_95 * math.sqrt((first + second - (first - second) ** 2) / n)
        return Interval(max(-1.0, first - second - half), min(1.0, first - second + half))


def paired(
    first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Paired:
    """Count, scene by scene, whether the statement holds for both, one or neither.

    With `clusters`, related scenes count once: each cluster says what most of its discordant scenes say, and one
    without a majority, or without a discordant scene, counts as neither. The p-value of these counts is the exact sign
    test over clusters; with one scene in each it is McNemar's.
    """
    if len(first) != len(second):
        raise InputError(
            f"{len(first)} and {len(second)} outcomes cannot be paired: they must be of the same scenes"
        )
    pairs = list(zip(first, second, strict=True))
    if clusters is None:
        return Paired(
            sum(a and b for a, b in pairs),
            sum(a and not b for a, b in pairs),
            sum(b and not a for a, b in pairs),
            sum(not a and not b for a, b in pairs),
        )
    if len(clusters) != len(first):
        raise InputError(f"{len(first)} scenes need a cluster each, not {len(clusters)}")
    members: defaultdict[Hashable, list[tuple[bool, bool]]] = defaultdict(list)
    for cluster, pair in zip(clusters, pairs, strict=True):
        members[cluster].append(pair)
    signs = [paired(*zip(*rows, strict=True)).sign for rows in members.values()]
    return Paired(0, signs.count(1), signs.count(-1), signs.count(0))
