"""Scenes in which one quantity of the misread object is turned up and down, all else equal.

"All else" is everything that the quantity does not force: the other objects, the camera, the lights and the noise seed
stay. A changed scene may break the prior's rules of distance and visibility (it is marked), but footprints never
overlap, and every object that is not to be hidden keeps the prior's 200 visible pixels. A dose that a scene cannot
reach so is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import hypot

import numpy as np

from trex.curves.around import at_visible_shares, led_around
from trex.curves.subject import Dosed, Subject, is_drawable, neighbor, placed, visible_share
from trex.foundation.errors import InputError, unknown
from trex.scenes.camera import POSITION, project
from trex.scenes.edits import leave_out
from trex.scenes.graph import gap
from trex.scenes.noise import seeded_draws
from trex.scenes.prior import MAX_OBJECTS, draw_object
from trex.scenes.properties import RADIUS
from trex.scenes.scene import scene_id
from trex.scenes.validity import is_valid
from trex.scenes.visibility import visible_pixels
from trex.scenes.vocabulary import Vocabulary

SEED = 0  # of the noise draws: whether hits stay found is judged by others
ADDITIONS = 300  # draws of an object that is added before there is no place for one
Make = Callable[[Subject, Sequence[float], Vocabulary], list[Dosed | None]]


@dataclass(frozen=True)
class Quantity:
    """What a curve turns up and down: its name, its axis in words, the doses by default, and how scenes get them.

    `figure` is the format of a dose, `place` has it within a sentence: "60% visible". `low` and `high` bound doses that
    a user gives.
    """

    name: str
    axis: str
    figure: str
    place: str
    doses: tuple[float, ...]
    low: float
    high: float
    make: Make
    is_whole: bool = False
    is_ordered: bool = True  # False: the doses have no order, and no threshold

    def shown(self, dose: float) -> str:
        """A dose as a figure: "60%"."""
        return format(dose, self.figure).replace("-", "−")

    def at(self, dose: float) -> str:
        """A dose within a sentence: "60% visible"."""
        words = self.place.format(self.shown(dose))
        return "1 object" if words == "1 objects" else words

    def chosen(self, n: int | None, given: Sequence[float]) -> tuple[float, ...]:
        """The doses, ascending: those given, n evenly spaced ones, or the default; InputError if one is impossible."""
        values = sorted(set(given)) or (
            self.doses if n is None else np.linspace(self.doses[0], self.doses[-1], n).round(4).tolist()
        )
        if self.is_whole:
            values = sorted({round(value) for value in values}) if not given else values
        for value in values:
            if not self.low <= value <= self.high or (self.is_whole and value != round(value)):
                kind = "a whole number " if self.is_whole else ""
                raise InputError(
                    f"dose {value:g} of {self.name!r} is impossible; give {kind}from {self.low:g} to {self.high:g}"
                )
        return tuple(map(float, values))


def quantity_named(name: str) -> Quantity:
    """The quantity of this name; InputError lists those that there are."""
    if name not in QUANTITIES:
        raise unknown("quantity", name, list(QUANTITIES))
    return QUANTITIES[name]


def _distance(subject: Subject, doses: Sequence[float], vocabulary: Vocabulary) -> list[Dosed | None]:
    """The object is moved along the ground, away from the center of its neighbor, so that their gap grows by a dose."""
    scene, index = subject
    other = neighbor(subject, vocabulary)
    if other is None:
        return [None] * len(doses)
    item, near = subject.item, scene.objects[other]
    far = hypot(item.x - near.x, item.y - near.y)
    x, y = (item.x - near.x) / far, (item.y - near.y) / far
    rows = [Subject(placed(scene, index, item.x + d * x, item.y + d * y), index) for d in doses]
    return [
        Dosed(*row, gap(row.item, near) - gap(item, near)) if is_drawable(row.scene, vocabulary) else None
        for row in rows
    ]


def _size(subject: Subject, doses: Sequence[float], vocabulary: Vocabulary) -> list[Dosed | None]:
    """The object is moved towards the camera, or away, along the ground, and its neighbor by as much.

    The neighbor is then led around the object until the same share of it is visible as before.
    """
    scene, index = subject
    camera, item, other = scene.nuisances.camera, subject.item, neighbor(subject, vocabulary)
    x, y = POSITION[0] + camera[0], POSITION[1] + camera[1]
    share = visible_share(subject, vocabulary)

    def depth(at: float) -> float:  # linear along the way: 0 below the camera, 1 where the object stands
        place = (x + at * (item.x - x), y + at * (item.y - y), RADIUS[item.size])
        return float(project(np.array([place]), camera)[2][0])

    start, now = depth(0.0), depth(1.0)

    def dosed(times: float) -> Dosed | None:
        at = (now / times - start) / (now - start)
        changed = scene
        for each in {index, index if other is None else other} if times != 1.0 else ():
            was = scene.objects[each]
            by = at - 1.0
            changed = placed(changed, each, was.x + by * (item.x - x), was.y + by * (item.y - y))
        if other is None:
            return Dosed(changed, index, now / depth(at)) if is_drawable(changed, vocabulary) else None
        (row,) = led_around(Subject(changed, index), other, (share,), vocabulary)
        return row and row._replace(measured=now / depth(at))

    return [dosed(times) for times in doses]


def _objects(subject: Subject, doses: Sequence[float], vocabulary: Vocabulary) -> list[Dosed | None]:
    """Others are left out, the farthest first; or objects of the prior are added that hide nothing of the misread one.

    The scene of one number holds that of the next smaller one; what is added follows from the scene.
    """
    number = len(subject.scene.objects)
    by_number = {number: subject}
    for fewer in range(number - 1, 0, -1):
        by_number[fewer] = _without_farthest(by_number[fewer + 1])
    highest = int(max(doses, default=0.0))
    rng = np.random.default_rng(int(scene_id(subject.scene)[:16], 16))
    for more in range(number + 1, highest + 1):
        added = _with_another(rng, by_number[more - 1], vocabulary)
        if added is None:
            break
        by_number[more] = added
    found = [by_number.get(int(dose)) for dose in doses]
    return [None if row is None else Dosed(*row, len(row.scene.objects)) for row in found]


def _without_farthest(subject: Subject) -> Subject:
    scene, index = subject
    others = [other for other in range(len(scene.objects)) if other != index]
    farthest = max(others, key=lambda other: gap(subject.item, scene.objects[other]))
    return Subject(leave_out(scene, farthest), index - (farthest < index))


def _with_another(rng: np.random.Generator, subject: Subject, vocabulary: Vocabulary) -> Subject | None:
    scene, index = subject
    seen = visible_pixels(scene, vocabulary)[index]
    for _ in range(ADDITIONS):
        more = replace(scene, objects=(*scene.objects, draw_object(rng, vocabulary)))
        if is_valid(more, vocabulary) and visible_pixels(more, vocabulary)[index] == seen:
            return Subject(more, index)
    return None


def _noise(subject: Subject, doses: Sequence[float], vocabulary: Vocabulary) -> list[Dosed | None]:
    """Seed 0 is the scene's own; by the others no hit was chosen."""
    draws = (subject.scene, *seeded_draws(subject.scene, int(max(doses, default=0.0)), SEED))
    return [Dosed(draws[int(dose)], subject.misread, dose) for dose in doses]


def _light(subject: Subject, doses: Sequence[float], vocabulary: Vocabulary) -> list[Dosed | None]:
    """The key light is raised or lowered: the offset of its height is the dose."""
    scene, index = subject
    x, y, _ = scene.nuisances.key
    rows = [replace(scene, nuisances=replace(scene.nuisances, key=(x, y, dose))) for dose in doses]
    return [Dosed(row, index, dose) for row, dose in zip(rows, doses, strict=True)]


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity(
            "visible", "visible share of the object", ".0%", "{} visible",
            tuple(k / 10 for k in range(11)), 0.0, 1.0, at_visible_shares,
        ),
        Quantity(
            "distance", "moved away from its neighbor, Blender units", "z.2f", "{} units farther away",
            (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8), -2.0, 5.0, _distance,
        ),
        Quantity(
            "objects", "number of objects", ".0f", "{} objects",
            tuple(map(float, range(1, MAX_OBJECTS + 1))), 1, MAX_OBJECTS, _objects, is_whole=True,
        ),
        Quantity(
            "size", "size in the picture, times that found", ".2f", "{} times its size in the picture",
            tuple(k / 10 for k in range(7, 15)), 0.3, 3.0, _size,
        ),
        Quantity(
            "noise", "seed of the render noise (0: its own)", ".0f", "noise seed {}",
            tuple(map(float, range(11))), 0, 1000, _noise, is_whole=True, is_ordered=False,
        ),
        Quantity(
            "light", "key-light height, Blender units", "+z.1f", "{} units of key-light height",
            tuple(k / 10 for k in range(-8, 9, 2)), -1.0, 1.0, _light,
        ),
    )
}  # fmt: skip


def value_quantity(name: str, doses: tuple[float, ...], ends: tuple[float, float]) -> Quantity:
    """A named value of a world of the user's own as a quantity; no scene is made from it."""
    place = f"{name.replace('{', '{{').replace('}', '}}')} {{}}"
    return Quantity(name, name, ".3g", place, doses, *ends, lambda *_: [])
