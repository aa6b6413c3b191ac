"""A dose curve as it is stored: what the model said to each scene at each dose; band and threshold follow from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from trex.curves.doses import QUANTITIES, Quantity, value_quantity
from trex.explain.explanation import AnyScene
from trex.foundation.fields import Number
from trex.foundation.words import between, capitalized, counted, whole_percent
from trex.inference.statistics.dose_response import HALF, Threshold, simultaneous_band, threshold_of
from trex.inference.statistics.proportion import Interval, clopper_pearson

Event = Literal[
    "wrong", "level set"
]  # what is counted: the answer is wrong, or the scene is in the level set
# What holds above one half and below it; then the same with a pronoun.
STATES: Mapping[Event, tuple[str, str, str, str]] = {
    "wrong": ("the model is wrong", "the model is right", "it is wrong", "it is right"),
    "level set": (
        "scenes stay in the level set",
        "scenes leave the level set",
        "they stay in it",
        "they leave it",
    ),
}
SHARES: Mapping[Event, str] = {"wrong": "share wrong", "level set": "share in the level set"}
Share = Annotated[float, Field(ge=0.0, le=1.0)]


@dataclass(frozen=True)
class Point:
    """One scene at one dose, over its noise draws: the share of draws with the event, and the target's mean confidence.

    `measured` is what the changed scene has of the quantity, `answer` the most probable one to the first draw, `truth`
    that of the changed scene. `is_valid`: whether it keeps the prior's rules of distance and visibility; `is_found`:
    whether it is the scene as it was found, unchanged.
    """

    measured: Number
    share: Share
    confidence: Number
    answer: str
    truth: str
    is_valid: bool
    is_found: bool = False


@dataclass(frozen=True)
class CurveScene:
    """A scene, the index of its misread object, and a point for each dose: None where it does not reach it.

    A picture of a world of the user's own has no scene, and the index -1. Scenes of one `start` are found by one chain,
    or resemble each other; one without is independent of all others.
    """

    scene: AnyScene | None
    index: int
    points: tuple[Point | None, ...]
    start: int | None = None


@dataclass(frozen=True, repr=False)
class Curve:
    """How often the model is wrong (or the scene in the level set) at each dose of a quantity; doses ascend.

    Every scene is seen at every dose that it reaches, under `draws` noise draws, the same at each dose. In a world of
    the user's own, `over` is a named value, which lies in the `range`.
    """

    over: str
    doses: tuple[Number, ...]
    scenes: tuple[CurveScene, ...]
    event: Event = "wrong"
    draws: int = 1
    preset: str = ""
    family: int = 0  # 0: all hits
    range: tuple[Number, Number] | None = None
    format: Literal[1, 2] = 2

    @property
    def quantity(self) -> Quantity:
        return (
            QUANTITIES[self.over] if self.range is None else value_quantity(self.over, self.doses, self.range)
        )

    @property
    def name(self) -> str:
        """What the curve is called in its run's folder."""
        return curve_name(self.over, self.family)

    @cached_property
    def tested(self) -> list[list[float]]:
        """At each dose, for each start the mean share of its scenes that reach the dose by a change.

        Scenes of one start are alike. One as it was found was chosen for what the model says to it, and tells nothing.
        """
        return [self.means_of_starts([k]) for k in range(len(self.doses))]

    def means_of_starts(self, doses: Sequence[int]) -> list[float]:
        """For each start with changed scenes at these doses: the mean share of its scenes.

        Parameters
        ----------
        doses : sequence of int
            The places of the doses in `doses`. Example: [1, 2].
        """
        means: dict[tuple[str, int], list[float]] = {}
        for start, scene in zip(self.starts, self.scenes, strict=True):
            shares = [p.share for k in doses if (p := scene.points[k]) is not None and not p.is_found]
            if shares:
                means.setdefault(start, []).append(sum(shares) / len(shares))
        return [sum(each) / len(each) for each in means.values()]

    @property
    def starts(self) -> list[tuple[str, int]]:
        """What tells the start of each scene from others."""
        return [
            ("alone", k) if row.start is None else ("start", row.start) for k, row in enumerate(self.scenes)
        ]

    @property
    def n_starts(self) -> int:
        """How many independent starts the scenes are of."""
        return len(set(self.starts))

    @property
    def columns(self) -> list[list[Point]]:
        """At each dose, the points of the scenes that reach it."""
        rows = [scene.points for scene in self.scenes]
        return [[row[k] for row in rows if row[k] is not None] for k in range(len(self.doses))]  # type: ignore[misc]

    @property
    def counts(self) -> list[int]:
        """How many scenes reach each dose."""
        return [len(column) for column in self.columns]

    @property
    def means(self) -> list[float | None]:
        """The mean share of the scenes at each dose; None where there is none."""
        return [sum(p.share for p in row) / len(row) if row else None for row in self.columns]

    @property
    def confidences(self) -> list[float | None]:
        """The mean confidence at each dose."""
        return [sum(p.confidence for p in row) / len(row) if row else None for row in self.columns]

    @cached_property
    def band(self) -> list[Interval]:
        """The intervals of the mean share at each dose, all of which hold together at 95%; a start counts once."""
        return simultaneous_band([sum(each) for each in self.tested], [len(each) for each in self.tested])

    @cached_property
    def threshold(self) -> Threshold:
        """Where the mean share crosses one half, at 95%; nothing for a quantity whose doses have no order."""
        if not self.quantity.is_ordered:
            return Threshold(0, 0, None, None, None)
        tested = [self.tested[k] for k in self.asked]
        return threshold_of(
            [self.doses[k] for k in self.asked], list(map(sum, tested)), list(map(len, tested))
        )

    @property
    def asked(self) -> list[int]:
        """The places of the doses that tell of a change: all but those at which each scene is as it was found."""
        return [k for k, row in enumerate(self.columns) if not row or self.tested[k]]

    @property
    def headline(self) -> str:
        """What the curve says, in one sentence or two; it claims no threshold that is not shown."""
        return _headline(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The headline, what it rests on, and what limits it."""
        return (self.headline, *self.details)

    @property
    def details(self) -> tuple[str, ...]:
        """The shares at both ends and what they rest on; then what limits the statement."""
        return (_evidence(self), *_caveats(self))

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def __repr__(self) -> str:
        n, k = counted(len(self.scenes), "scene"), counted(len(self.doses), "dose")
        return f"<Curve over {self.over}, {n}, {k}: {self.headline}>"

    def outside(self, dose: int) -> int:
        """How many scenes break the prior's rules at a dose.

        Parameters
        ----------
        dose : int
            The place of the dose in `doses`. Example: 0.
        """
        return sum(not point.is_valid for point in self.columns[dose])


def curve_name(over: str, family: int = 0) -> str:
    return f"{over}-family-{family}" if family else over


def _headline(curve: Curve) -> str:
    found, quantity = curve.threshold, curve.quantity
    if not quantity.is_ordered:
        return _noise_headline(curve)
    if side := found.side_throughout:
        first, last = (curve.doses[curve.asked[end]] for end in (0, -1))
        ends = f"from {quantity.shown(first)} to {quantity.at(last)}"
        return f"{capitalized(_state(curve, side))} at every dose, {ends}."
    if found.up_to is not None and found.since is not None:
        return _between_both(curve, found.up_to, found.since)
    n = len(curve.scenes)
    of = "" if curve.n_starts == n else f" from {counted(curve.n_starts, 'start')}"
    few = f"{counted(n, 'scene')}{of} {'is' if n == 1 else 'are'} too few"
    at = "" if found.value is None else quantity.shown(found.value)
    near = at and f" That changes near {at}, but {few} for an interval."
    if found.since is not None:
        return f"From {quantity.at(found.since)} on {_state(curve, found.high)}.{near}"
    if found.up_to is not None:
        return f"Up to {quantity.at(found.up_to)} {_state(curve, found.low)}.{near}"
    means = [mean for mean in curve.means if mean is not None]
    for side in (1, -1):
        if means and all((mean - HALF) * side > 0 for mean in means):
            return f"{capitalized(_state(curve, side))} at every dose measured, but {few} to be sure."
    return f"No threshold is shown: {few} to say at which doses {_state(curve, -1)}."


def _between_both(curve: Curve, up_to: float, since: float) -> str:
    """What is shown at low doses and at high ones."""
    found, at, shown = curve.threshold, curve.quantity.at, curve.quantity.shown
    if found.is_crossed and found.value is not None:
        return (
            f"From {at(found.value)} on {_state(curve, found.high)} (95% CI {between(shown(up_to), shown(since))}); "
            f"below that {_state(curve, found.low, again=True)}."
        )
    return f"Up to {shown(up_to)} and from {at(since)} on {_state(curve, found.low)}; not always in between."


def _evidence(curve: Curve) -> str:
    """The shares at both ends, and what they rest on."""
    n = len(curve.scenes)
    rests = f"Nothing else changes in {f'any of the {n} scenes' if n > 1 else 'the scene'}."
    ends = [mean for mean in curve.means if mean is not None]
    if not ends or not curve.quantity.is_ordered:
        return rests
    low, high = ends[0], ends[-1]
    if low == high:
        return f"The {SHARES[curve.event]} is {whole_percent(low)} at the lowest dose and at the highest. {rests}"
    moves = "falls" if high < low else "rises"
    return (
        f"The {SHARES[curve.event]} {moves} from {whole_percent(low)} at the lowest dose to {whole_percent(high)} at "
        f"the highest. {rests}"
    )


def _caveats(curve: Curve) -> list[str]:
    """What limits the statement: doses that scenes do not reach, rules that they break, noise."""
    n = len(curve.scenes)
    missing = sum(n - count for count in curve.counts)
    outside = sum(map(curve.outside, range(len(curve.doses))))
    found = []
    if missing:
        left = (
            "is left out, as it cannot reach its"
            if missing == 1
            else "are left out, as they cannot reach their"
        )
        found.append(f"{missing} of {n * len(curve.doses)} changed scenes {left} dose.")
    if outside:
        breaks = "breaks" if outside == 1 else "break"
        found.append(
            f"{outside} of {sum(curve.counts)} changed scenes {breaks} the prior's rules of distance or visibility."
        )
    if curve.draws > 1:
        found.append(f"Each point is the mean of {curve.draws} draws of the render noise.")
    if any(point.is_found for row in curve.columns for point in row):
        found.append(
            "Intervals leave scenes out as they were found: these were chosen for what the model says."
        )
    if curve.n_starts < n:
        starts = counted(curve.n_starts, "start")
        found.append(f"The {n} scenes come from {starts}; in intervals, those of one start count as one.")
    return found


def _state(curve: Curve, side: int, *, again: bool = False) -> str:
    above, below, it_above, it_below = STATES[curve.event]
    if again:
        return it_above if side > 0 else it_below
    return above if side > 0 else below


def _noise_headline(curve: Curve) -> str:
    """The mean share over the seeds that are not the scene's own."""
    means = curve.means_of_starts([k for k, dose in enumerate(curve.doses) if dose > 0])
    if not means:
        return "No new render noise was drawn."
    low, high = clopper_pearson(min(sum(means), len(means)), len(means))
    return (
        f"With new render noise {_state(curve, 1)} in {whole_percent(sum(means) / len(means))} of draws "
        f"(95% CI {between(whole_percent(low), whole_percent(high))})."
    )
