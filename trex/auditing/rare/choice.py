"""Which of many drawn scenes to render, so that each rare combination of conditions on an object is among them.

Combinations of three, as in combinatorial interaction testing (Kuhn, Wallace and Gallo 2004, IEEE Transactions on
Software Engineering 30, 418-421), covered greedily: the next scene is the one that shows most combinations that none
before it has shown. What a model says decides nothing here.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trex.families.discover import conditions_of
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress, silent
from trex.inference.rng import AUDIT_STREAM, stream
from trex.render.ahead import CROWDED, drawers, drawn_ahead
from trex.scenes.conditions import object_rows
from trex.scenes.graph import facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene

# Scenes for each one that is rendered; the second where all have more than CROWDED objects.
DRAWN, OF_CROWDED = 20, 2
RARE = 0.002  # of the objects drawn, those that show a rare combination at most
CHOICE = 4  # stream of random numbers of an audit, after those of `examine`
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]


def chosen_scenes(
    prior: ScenePrior, seed: int, n: int, progress: Progress = silent, processes: int = 1
) -> list[Scene]:
    """n scenes with rare combinations, of DRAWN times as many of at most CROWDED objects; a function of the seed.

    Many are drawn by so many processes. Of a world whose scenes all have more objects, or whose condition no smaller
    one meets, of OF_CROWDED times as many: 500 of ten objects take 12 minutes.
    """
    low, high = prior.n_objects
    drawn, times = replace(prior, n_objects=(low, min(high, max(low, CROWDED)))), DRAWN
    try:
        is_sparse = low <= CROWDED and bool(_candidate(drawn, seed, 0).objects)
    except InputError:
        is_sparse = False
    if not is_sparse:
        drawn, times = prior, OF_CROWDED
    conditions = conditions_of(prior.vocabulary)["object"]
    scenes, tables = list[Scene](), list[Bools]()
    n_drawn = times * n
    candidates = partial(_candidate, drawn, seed)
    for k, scene in drawn_ahead(candidates, range(n_drawn), drawers(drawn, n_drawn, processes)):
        scenes.append(scene)
        tables.append(object_rows(facts_of(scene, prior.vocabulary), conditions))
        progress("scenes drawn", k + 1, n_drawn)
    return [scenes[k] for k in rare_first(tables, n)]


def _candidate(prior: ScenePrior, seed: int, k: int) -> Scene:
    return prior.sample(stream(seed, AUDIT_STREAM, CHOICE, k))


def rare_first(tables: Sequence[Bools], n: int) -> list[int]:
    """The places of n tables (units, conditions) that together show most rare combinations of three; all if fewer.

    A combination is shown by a unit for which all three conditions hold. Each further time that one is shown counts
    half of the time before.
    """
    width = max((table.shape[1] for table in tables), default=0)
    often = np.zeros(width**3, dtype=np.int32)  # units that show a combination
    for row in (row for table in tables for row in table):
        often[_combinations(row)] += 1
    most = RARE * sum(map(len, tables))
    rare = [_rare_of(table, often, most) for table in tables]
    worth = np.ones(often.size)
    queue, chosen = [(-float(len(places)), k) for k, places in enumerate(rare)], list[int]()
    heapq.heapify(queue)
    while queue and len(chosen) < n:
        _, k = heapq.heappop(queue)
        now = (-float(worth[rare[k]].sum()), k)
        if queue and now > queue[0]:  # gains only shrink: the first that is up to date is the largest
            heapq.heappush(queue, now)
            continue
        chosen.append(k)
        worth[rare[k]] /= 2.0
    return chosen


def _rare_of(table: Bools, often: NDArray[np.int32], most: float) -> Places:
    """The combinations that at most so many units show, of those that a unit of this table does."""
    shown = [np.empty(0, dtype=np.int64), *map(_combinations, table)]
    rare: Places = np.unique(np.concatenate([places[often[places] <= most] for places in shown]))
    return rare


def _combinations(row: Bools) -> Places:
    """The combinations of three columns that a row shows, ascending, each as one number."""
    held = np.flatnonzero(row)
    first, second, third = held[_triples(len(held))].T
    combined: Places = (first * len(row) + second) * len(row) + third
    return combined


@cache
def _triples(n: int) -> Places:
    """(k, 3): the combinations of three of n places."""
    return np.array(list(combinations(range(n), 3)), dtype=np.int64).reshape(-1, 3)
