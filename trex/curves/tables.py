"""The tables of a dose curve, and all of it as text for the terminal."""

from __future__ import annotations

from functools import partial

from trex.curves.curve import SHARES, Curve, CurveScene
from trex.foundation.words import between, whole_percent
from trex.pages.table import Column, Table

NOT_REACHED = "–"
AS_FOUND = "as found"


def dose_table(curve: Curve) -> Table[int]:
    """A row for each dose: scenes, their mean share, the band, the mean confidence."""
    means, confidences = curve.means, curve.confidences

    def share(k: int) -> str:
        mean = means[k]
        return NOT_REACHED if mean is None else whole_percent(mean)

    columns = (
        Column[int](curve.over, lambda k: curve.quantity.shown(curve.doses[k]), is_number=True),
        Column[int]("scenes", lambda k: str(curve.counts[k]), is_number=True),
        Column[int](SHARES[curve.event], share, is_number=True),
        Column[int]("95% band", lambda k: _interval(curve, k)),
        Column[int]("mean confidence", lambda k: _two_digits(confidences[k]), is_number=True),
        Column[int]("outside the prior", lambda k: str(curve.outside(k)), is_number=True),
    )
    return Table("Each dose", columns, range(len(curve.doses)))


def scene_table(curve: Curve) -> Table[tuple[int, CurveScene]]:
    """A row for each scene: its confidence at each dose."""
    columns = [
        Column[tuple[int, CurveScene]]("scene", lambda row: str(row[0])),
        *(
            Column[tuple[int, CurveScene]](curve.quantity.shown(dose), partial(_cell, k), is_number=True)
            for k, dose in enumerate(curve.doses)
        ),
    ]
    return Table("Confidence of each scene at each dose", columns, list(enumerate(curve.scenes, start=1)))


def text(curve: Curve) -> str:
    """The curve for the terminal."""
    lines = [*curve.sentences, "", *dose_table(curve).text("  ")]
    table = scene_table(curve)
    return "\n".join([*lines, "", f"{table.label}:", *table.text("  ")])


def _interval(curve: Curve, k: int) -> str:
    low, high = map(whole_percent, curve.band[k])
    if curve.counts[k] and not curve.tested[k]:
        return AS_FOUND
    return between(low, high) if curve.counts[k] else NOT_REACHED


def _cell(k: int, row: tuple[int, CurveScene]) -> str:
    point = row[1].points[k]
    return NOT_REACHED if point is None else _two_digits(point.confidence)


def _two_digits(value: float | None) -> str:
    return NOT_REACHED if value is None else f"{value:.2f}"
