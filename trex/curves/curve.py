"""A dose curve as it is stored: what the model said to each scene at each dose; band and threshold follow from that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from trex.curves.doses import QUANTITIES, Quantity
from trex.explain.explanation import AnyScene
from trex.foundation.fields import Number
from trex.inference.statistics.dose_response import Threshold, simultaneous_band, threshold_of
from trex.inference.statistics.proportion import Interval

Event = Literal[
    "wrong", "level set"
]  # what is counted: the answer is wrong, or the scene is in the level set
Share = Annotated[float, Field(ge=0.0, le=1.0)]


@dataclass(frozen=True)
class Point:
    """One scene at one dose, over its noise draws: the share of draws with the event, and the target's mean confidence.

    `measured` is what the changed scene has of the quantity, `answer` the most probable one to the first draw, `truth`
    that of the changed scene. `is_valid`: whether it keeps the prior's rules of distance and visibility.
    """

    measured: Number
    share: Share
    confidence: Number
    answer: str
    truth: str
    is_valid: bool


@dataclass(frozen=True)
class CurveScene:
    """A scene, the index of its misread object, and a point for each dose: None where it does not reach it."""

    scene: AnyScene
    index: int
    points: tuple[Point | None, ...]


@dataclass(frozen=True)
class Curve:
    """How often the model is wrong (or the scene in the level set) at each dose of a quantity; doses ascend.

    Every scene is seen at every dose that it reaches, under `draws` noise draws, the same at each dose.
    """

    over: str
    doses: tuple[Number, ...]
    scenes: tuple[CurveScene, ...]
    event: Event = "wrong"
    draws: int = 1
    preset: str = ""
    family: int = 0  # 0: all hits
    format: Literal[1] = 1

    @property
    def quantity(self) -> Quantity:
        return QUANTITIES[self.over]

    @property
    def name(self) -> str:
        """What the curve is called in its run's folder."""
        return curve_name(self.over, self.family)

    @cached_property
    def shares(self) -> list[list[float]]:
        """At each dose, the share of each scene that reaches it."""
        return [[point.share for point in row] for row in self.columns]

    @property
    def columns(self) -> list[list[Point]]:
        """At each dose, the points of the scenes that reach it."""
        rows = [scene.points for scene in self.scenes]
        return [[row[k] for row in rows if row[k] is not None] for k in range(len(self.doses))]  # type: ignore[misc]

    @property
    def counts(self) -> list[int]:
        """How many scenes reach each dose."""
        return [len(column) for column in self.shares]

    @property
    def means(self) -> list[float | None]:
        """The mean share of the scenes at each dose; None where there is none."""
        return [sum(column) / len(column) if column else None for column in self.shares]

    @property
    def confidences(self) -> list[float | None]:
        """The mean confidence at each dose."""
        return [sum(p.confidence for p in row) / len(row) if row else None for row in self.columns]

    @cached_property
    def band(self) -> list[Interval]:
        """The intervals of the mean share at each dose, all of which hold together at 95%."""
        return simultaneous_band(self.sums, self.counts)

    @cached_property
    def threshold(self) -> Threshold:
        """Where the mean share crosses one half, at 95%; nothing for a quantity whose doses have no order."""
        if not self.quantity.is_ordered:
            return Threshold(0, 0, None, None, None)
        return threshold_of(self.doses, self.sums, self.counts)

    @property
    def sums(self) -> list[float]:
        return [float(sum(column)) for column in self.shares]

    def outside(self, dose: int) -> int:
        """How many scenes break the prior's rules at this dose (its place)."""
        return sum(not point.is_valid for point in self.columns[dose])


def curve_name(over: str, family: int = 0) -> str:
    return f"{over}-family-{family}" if family else over
