"""A share at each of several doses: a band that holds at all of them at once, and where the share crosses one half.

The independent units are scenes, or starts from which a search has found several. One gives one value in [0, 1] at a
dose, the mean of its noise draws and scenes. Values at different doses, which come from the same scenes, may depend on
each other in any way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex.inference.statistics.proportion import Interval, clopper_pearson

HALF = 0.5


def simultaneous_band(sums: Sequence[float], counts: Sequence[int], level: float = 0.95) -> list[Interval]:
    """One interval for each dose, all of which hold together with this probability; (0, 1) where no scene counts.

    `sums` are the sums of `counts` independent values in [0, 1]. Clopper and Pearson's intervals (see
    `clopper_pearson`) at level 1 - (1 - level) / K for K doses, by Bonferroni's inequality: nothing is supposed of
    the dependence between doses, nor of the curve's shape.
    """
    each = 1.0 - (1.0 - level) / max(1, len(counts))
    return [clopper_pearson(min(hits, n), n, each) for hits, n in zip(sums, counts, strict=True)]


@dataclass(frozen=True)
class Threshold:
    """Where a share crosses one half as the dose goes up.

    `low` and `high` are the side of one half that the share is shown to be on at the lowest and the highest dose: 1
    above, -1 below, 0 neither is shown. It is on side `low` at every dose up to `up_to`, and on side `high` at every
    dose from `since` on. All of these statements hold together at the level. `value` is the last dose at which the
    estimated shares cross one half, between doses by linear interpolation; None if they do not, or if nothing is shown.
    """

    low: int
    high: int
    up_to: float | None
    since: float | None
    value: float | None

    @property
    def is_crossed(self) -> bool:
        """Whether the share is shown to be on one side at low doses, and on the other at high ones."""
        return self.low * self.high < 0

    @property
    def side_throughout(self) -> int:
        """The side that it is shown to be on at every dose, 0 if it is not."""
        if self.up_to is None or self.since is None:
            return 0
        return self.low if self.up_to >= self.since else 0


def threshold_of(
    doses: Sequence[float], sums: Sequence[float], counts: Sequence[int], level: float = 0.95
) -> Threshold:
    """Where the share crosses one half; doses ascend.

    From either end, dose after dose is tested against one half until one test does not reject: a fixed sequence, which
    needs no correction for the number of doses (Maurer, Hothorn and Lehmacher 1995). Each test has a quarter of the
    error, for there are two ends and two sides. That the share stays on its side between two tested doses is supposed,
    nothing else of its shape. Clopper and Pearson's intervals invert the tests.
    """
    sides = [_side(hits, n, 0.5 * (1.0 + level)) for hits, n in zip(sums, counts, strict=True)]
    low, n_low = _run(sides)
    high, n_high = _run(sides[::-1])
    shares = [(d, hits / n - HALF) for d, hits, n in zip(doses, sums, counts, strict=True) if n]
    return Threshold(
        low,
        high,
        doses[n_low - 1] if n_low else None,
        doses[len(doses) - n_high] if n_high else None,
        _last_crossing(shares) if n_low or n_high else None,
    )


def shows_a_side(n: int) -> bool:
    """Whether n independent values can show on which side of one half a share is: if they all agree."""
    return threshold_of([0.0], [0.0], [n]).low != 0


def _side(hits: float, n: int, level: float) -> int:
    """1 if the share is shown to be above one half, -1 if below, else 0."""
    low, high = clopper_pearson(min(hits, n), n, level)
    return int(low > HALF) - int(high < HALF)


def _run(sides: Sequence[int]) -> tuple[int, int]:
    """The first side, and how many in a row are on it; (0, 0) if the first is not shown to be on any."""
    first = sides[0] if sides else 0
    n = next((k for k, side in enumerate(sides) if side != first or not first), len(sides))
    return first, n


def _last_crossing(shares: Sequence[tuple[float, float]]) -> float | None:
    """Where the line through (dose, share - 1/2) crosses 0 for the last time; None if it does not."""
    for (dose, share), (after, later) in zip(shares[-2::-1], shares[:0:-1], strict=True):
        if share * later < 0 or (share == 0 != later):
            return dose + (after - dose) * share / (share - later)
    return None
