"""The visible share of an object as a dose: its neighbor is led around it, before it or beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from trex.curves.subject import Dosed, Subject, is_drawable, neighbor, placed, visible_share
from trex.scenes.camera import POSITION
from trex.scenes.properties import RADIUS
from trex.scenes.scene import Scene
from trex.scenes.validity import MIN_GAP
from trex.scenes.vocabulary import Vocabulary

TOLERANCE = 0.01  # of a visible share
TURNS = 40  # places of the hiding object that are tried around the hidden one, before the best are refined
BISECTIONS = 8
WIDEST = math.radians(110.0)  # from the direction of the camera: beside the object there, not before it


def at_visible_shares(subject: Subject, doses: Sequence[float], vocabulary: Vocabulary) -> list[Dosed | None]:
    """The object's neighbor is led around it until these shares of the object are visible."""
    other = neighbor(subject, vocabulary)
    return [None] * len(doses) if other is None else led_around(subject, other, doses, vocabulary)


def led_around(
    subject: Subject, other: int, shares: Sequence[float], vocabulary: Vocabulary
) -> list[Dosed | None]:
    """The other object led around the misread one, from where it is to before it, or to beside it.

    Of several places that give a share, the one nearest to where the other object is.
    """
    found, turn_to = _around(subject, other)

    def share(angle: float) -> float | None:
        scene = turn_to(angle)
        if not is_drawable(scene, vocabulary, hidden=subject.misread):
            return None
        return visible_share(Subject(scene, subject.misread), vocabulary)

    angles = sorted({found, *np.linspace(0.0, max(found, WIDEST), TURNS).tolist()})
    tried = [(angle, value) for angle in angles if (value := share(angle)) is not None]
    brackets = sorted(pairwise(tried), key=lambda pair: min(abs(angle - found) for angle, _ in pair))

    def dosed(wanted: float) -> Dosed | None:
        places = list(tried)
        for first, last in brackets:
            if (first[1] - wanted) * (last[1] - wanted) < 0:
                places.append(_refined(share, wanted, first, last))
                break
        near = [place for place in places if abs(place[1] - wanted) <= TOLERANCE]
        if not near:
            return None
        angle, value = min(near, key=lambda place: (abs(place[0] - found), place[0]))
        return Dosed(turn_to(angle), subject.misread, value)

    return [dosed(wanted) for wanted in shares]


def _refined(
    share: Callable[[float], float | None], wanted: float, first: tuple[float, float], last: tuple[float, float]
) -> tuple[float, float]:  # fmt: skip
    """The place (angle, share) between two whose share is nearest to the wanted one, by bisection."""
    best = min(first, last, key=lambda place: abs(place[1] - wanted))
    for _ in range(BISECTIONS):
        middle = 0.5 * (first[0] + last[0])
        value = share(middle)
        if value is None:
            break
        best = min(best, (middle, value), key=lambda place: abs(place[1] - wanted))
        if (value - wanted) * (first[1] - wanted) > 0:
            first = (middle, value)
        else:
            last = (middle, value)
    return best


def _around(subject: Subject, other: int) -> tuple[float, Callable[[float], Scene]]:
    """The angle at which the other object stands, 0 being towards the camera, and the scene with it at an angle.

    Its distance falls to the prior's smallest, or stays if it is nearer, from where it stands to before the object.
    """
    scene, item, hider = subject.scene, subject.item, subject.scene.objects[other]
    x, y = POSITION[0] + scene.nuisances.camera[0], POSITION[1] + scene.nuisances.camera[1]
    towards = math.atan2(y - item.y, x - item.x)
    turned = math.atan2(hider.y - item.y, hider.x - item.x) - towards
    turned = math.remainder(turned, math.tau)
    side, found = math.copysign(1.0, turned), abs(turned)
    far = math.hypot(hider.x - item.x, hider.y - item.y)
    near = min(far, RADIUS[item.size] + RADIUS[hider.size] + MIN_GAP)

    def turn_to(angle: float) -> Scene:
        if angle == found:
            return scene
        distance = far if angle >= found else near + (far - near) * angle / found
        at = towards + side * angle
        return placed(scene, other, item.x + distance * math.cos(at), item.y + distance * math.sin(at))

    return found, turn_to
