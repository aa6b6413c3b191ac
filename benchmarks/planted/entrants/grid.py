"""A grid over an object's attributes, the camera and the key light, in the manner of 3DB (2021).

Each render puts one object and the heights at the next cell of the grid; the rest of the scene is a prior draw.
Values, and pairs of values, under which the target surely fails in most scenes are claims: those that seem as precise
as the score asks first, then shorter ones, and none that a claim holds or that holds one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np

from benchmarks.planted.claims import KEYED, Claim, claim_of
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.looking import look
from benchmarks.planted.referee import Referee
from benchmarks.planted.score import PRECISE
from trex.families.pattern import Pattern
from trex.inference.statistics.proportion import clopper_pearson
from trex.scenes.conditions import Condition
from trex.scenes.scene import ATTRIBUTES, Scene, with_attribute
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import CLEVR

LEVELS = {"low": -0.75, "": 0.0, "high": 0.75}
LIGHTS = {"camera": 0.5, "key": 1.0}  # and how far each is moved
SURE = 0.5
Cell = tuple[str, ...]  # conditions' keys


def grid(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """Go through the cells in random order until the budget ends."""
    cells = list(product(*(CLEVR.available(name) for name in ATTRIBUTES), LEVELS, LEVELS))
    order = np.random.default_rng(seed).permutation(len(cells))
    seen: list[tuple[Cell, bool]] = []
    at = 0
    while referee.left:
        (known,) = referee.draw(1)
        cell = cells[int(order[at % len(cells)])]
        scene = _placed(known.scene, cell)
        if not is_valid(scene, CLEVR):
            continue
        at += 1
        seen.append((_keys(cell), look(referee, referee.known(scene, at)).failed))
    return Result(_claims(seen), sum(failed for _, failed in seen))


def _placed(scene: Scene, cell: Cell) -> Scene:
    """The scene with its first object and its heights at a cell."""
    item = scene.objects[0]
    for name, value in zip(ATTRIBUTES, cell, strict=False):
        item = with_attribute(item, name, value)
    heights = {
        name: (*getattr(scene.nuisances, name)[:2], LEVELS[level] * reach)
        for (name, reach), level in zip(LIGHTS.items(), cell[len(ATTRIBUTES) :], strict=True)
    }
    return replace(scene, objects=(item, *scene.objects[1:]), nuisances=replace(scene.nuisances, **heights))


def _keys(cell: Cell) -> Cell:
    nouns = [f"{name} {value}" for name, value in zip(ATTRIBUTES, cell, strict=False)]
    around = zip(LIGHTS, cell[len(ATTRIBUTES) :], strict=True)
    return (*nouns, *(f"{name} {level}" for name, level in around if level))


def _claims(seen: list[tuple[Cell, bool]]) -> tuple[Claim, ...]:
    tried: dict[Cell, tuple[int, int]] = {}
    for keys, failed in seen:
        for n in (1, 2):
            for chosen in combinations(keys, n):
                hits, of = tried.get(chosen, (0, 0))
                tried[chosen] = (hits + failed, of + 1)
    sure = [
        (hits / of < PRECISE, len(chosen), -hits, chosen)
        for chosen, (hits, of) in tried.items()
        if clopper_pearson(hits, of, 0.999).low >= SURE
    ]
    found: list[Cell] = []
    for *_, chosen in sorted(sure):
        if not any(set(other) <= set(chosen) or set(chosen) <= set(other) for other in found):
            found.append(chosen)
    conditions = [[_condition(key) for key in chosen] for chosen in found]
    return tuple(claim_of(each, Pattern.of(each).words) for each in conditions)


def _condition(key: str) -> Condition:
    return KEYED.get(("object", key)) or KEYED[("scene", key)]
