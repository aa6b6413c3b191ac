"""A dose curve in sentences and tables, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from trex.curves.curve import Curve, CurveScene, Event
from trex.foundation.percent import whole_percent
from trex.foundation.words import counted
from trex.inference.statistics.dose_response import HALF
from trex.inference.statistics.proportion import clopper_pearson
from trex.pages.table import Column, Table

NOT_REACHED = "–"
STATES: Mapping[Event, tuple[str, str]] = {  # of the model: on the upper and on the lower side of one half
    "wrong": ("is wrong", "is right"),
    "level set": ("stays in the level set", "leaves the level set"),
}
SHARES: Mapping[Event, str] = {"wrong": "share wrong", "level set": "share in the level set"}


def headline(curve: Curve) -> str:
    """What the curve says, in one sentence or two; it claims no threshold that is not shown."""
    found, quantity = curve.threshold, curve.quantity
    if not quantity.is_ordered:
        return _noise_headline(curve)
    if side := found.side_throughout:
        ends = f"{quantity.at(curve.doses[0])} to {quantity.at(curve.doses[-1])}"
        return f"The model {_state(curve, side)} at every dose, {ends}."
    if found.up_to is not None and found.since is not None:
        return _between_both(curve, found.up_to, found.since)
    few = f"{counted(len(curve.scenes), 'scene')} {'is' if len(curve.scenes) == 1 else 'are'} too few"
    near = (
        ""
        if found.value is None
        else f" That changes near {quantity.shown(found.value)}, but {few} for an interval."
    )
    if found.since is not None:
        return f"From {quantity.at(found.since)} on the model {_state(curve, found.high)}.{near}"
    if found.up_to is not None:
        return f"Up to {quantity.at(found.up_to)} the model {_state(curve, found.low)}.{near}"
    means = [mean for mean in curve.means if mean is not None]
    for side in (1, -1):
        if means and all((mean - HALF) * side > 0 for mean in means):
            return f"The model {_state(curve, side)} at every dose measured, but {few} to be sure."
    return f"No threshold is shown: {few} to say at which doses the model {_state(curve, -1)}."


def _between_both(curve: Curve, up_to: float, since: float) -> str:
    """What is shown at low doses and at high ones."""
    found, at, shown = curve.threshold, curve.quantity.at, curve.quantity.shown
    if found.is_crossed and found.value is not None:
        return (
            f"From {at(found.value)} on the model {_state(curve, found.high)} (95% CI "
            f"{between(shown(up_to), shown(since))}); below that it {_state(curve, found.low)}."
        )
    return f"Up to {at(up_to)} and from {shown(since)} on the model {_state(curve, found.low)}; not always in between."


def evidence(curve: Curve) -> str:
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


def caveats(curve: Curve) -> list[str]:
    """What limits the statement: doses that scenes do not reach, rules that they break, noise."""
    n = len(curve.scenes)
    missing = sum(n - count for count in curve.counts)
    outside = sum(map(curve.outside, range(len(curve.doses))))
    found = []
    if missing:
        found.append(
            f"{missing} of {n * len(curve.doses)} changed scenes are left out, as they cannot reach their dose."
        )
    if outside:
        found.append(
            f"{outside} of {sum(curve.counts)} changed scenes break the prior's rules of distance or visibility."
        )
    if curve.draws > 1:
        found.append(
            f"Each point is the mean of {curve.draws} draws of the render noise; scenes count as independent."
        )
    return found


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
    lines = [headline(curve), evidence(curve), *caveats(curve), "", *dose_table(curve).text("  ")]
    table = scene_table(curve)
    return "\n".join([*lines, "", f"{table.label}:", *table.text("  ")])


def _interval(curve: Curve, k: int) -> str:
    low, high = map(whole_percent, curve.band[k])
    return between(low, high) if curve.counts[k] else NOT_REACHED


def between(low: str, high: str) -> str:
    """Both ends of an interval: "50–70%", "0.10–0.15"."""
    return f"{low.removesuffix('%') if high.endswith('%') else low}–{high}"


def _cell(k: int, row: tuple[int, CurveScene]) -> str:
    point = row[1].points[k]
    return NOT_REACHED if point is None else _two_digits(point.confidence)


def _two_digits(value: float | None) -> str:
    return NOT_REACHED if value is None else f"{value:.2f}"


def _state(curve: Curve, side: int) -> str:
    above, below = STATES[curve.event]
    return above if side > 0 else below


def _noise_headline(curve: Curve) -> str:
    """The mean share over the seeds that are not the scene's own."""
    fresh = [k for k, dose in enumerate(curve.doses) if dose > 0]
    rows = [[p.share for k in fresh if (p := scene.points[k]) is not None] for scene in curve.scenes]
    means = [sum(row) / len(row) for row in rows if row]
    if not means:
        return "No fresh noise was drawn."
    low, high = clopper_pearson(min(sum(means), len(means)), len(means))
    return (
        f"With new render noise the model {_state(curve, 1)} in {whole_percent(sum(means) / len(means))} of draws "
        f"(95% CI {between(whole_percent(low), whole_percent(high))})."
    )
