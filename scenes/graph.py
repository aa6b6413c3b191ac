"""A scene as a graph: its objects with their attributes, and what each is to each other one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trex.scenes.properties import RADIUS
from trex.scenes.scene import ATTRIBUTES, NUISANCES, Scene, SceneObject, Vec3
from trex.scenes.validity import BEHIND, RIGHT
from trex.scenes.visibility import id_map, id_map_and_alone
from trex.scenes.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx as nx


NEAR_PX = 2  # objects touch in the picture if pixels of theirs are at most so far apart, of 480 by 320
Touching = tuple[tuple[int, ...], ...]
_RIGHT: Vec3 = (*RIGHT, 0.0)
_BEHIND: Vec3 = (*BEHIND, 0.0)


def _opposite(direction: Vec3) -> Vec3:
    x, y, z = direction
    return (-x, -y, -z)


DIRECTIONS: dict[str, Vec3] = {
    "left": _opposite(_RIGHT),
    "right": _RIGHT,
    "front": _opposite(_BEHIND),
    "behind": _BEHIND,
}
RELATIONS = tuple(DIRECTIONS)
# j is r of i if (c_j - c_i) . direction_r > MARGIN, Blender units (clevr-dataset-gen, render_images.py).
MARGIN = 0.2


@dataclass(frozen=True)
class Facts:
    """A scene, and of each object its visible share and the index of what hides most of the rest.

    `touching` has, for each object, the indices of those that it touches in the picture.
    """

    scene: Scene
    shares: tuple[float, ...]
    hiders: tuple[int | None, ...]
    touching: Touching


def facts_of(scene: Scene, vocabulary: Vocabulary) -> Facts:
    """The facts of a scene; takes an id map of the scene, some 3 ms.

    An object's visible share is that of the pixels that it would have alone.
    """
    whole, alone = id_map_and_alone(scene, vocabulary)
    shares, hiders = [], list[int | None]()
    for index, ids in enumerate(alone):
        counts = np.bincount(ids, minlength=1).tolist()
        shown = {number - 1: count for number, count in enumerate(counts) if count}
        shares.append(shown.pop(index, 0) / max(1, ids.size))
        hiders.append(max(shown, key=lambda other: (shown[other], -other)) if shown else None)
    return Facts(scene, tuple(shares), tuple(hiders), _meeting(whole, len(scene.objects)))


def touching(scene: Scene, vocabulary: Vocabulary) -> Touching:
    """The objects that each object touches in the picture, ascending: their visible parts meet there.

    They meet if a pixel of one is at most NEAR_PX rows or columns from a pixel of the other.
    """
    return _meeting(id_map(scene, vocabulary), len(scene.objects))


def _meeting(ids: NDArray[np.uint8], n: int) -> Touching:
    pairs: set[tuple[int, int]] = set()
    for step in range(1, NEAR_PX + 1):
        for first, second in ((ids[step:], ids[:-step]), (ids[:, step:], ids[:, :-step])):
            meet = (first != second) & (first > 0) & (second > 0)
            pairs |= set(zip(first[meet].tolist(), second[meet].tolist(), strict=True))
    either = pairs | {(j, i) for i, j in pairs}
    return tuple(tuple(sorted(j - 1 for i, j in either if i == index + 1)) for index in range(n))


def gap(scene_object: SceneObject, other: SceneObject) -> float:
    """The distance on the ground between two objects' footprints, Blender units."""
    return (
        math.hypot(scene_object.x - other.x, scene_object.y - other.y)
        - RADIUS[scene_object.size]
        - RADIUS[other.size]
    )


def scene_facts(scene: Scene) -> dict[str, float]:
    """What the graph of a scene says of the scene as a whole: `objects` (their number), `camera height` and the like.

    Heights are the offsets of the camera and of each light along z, Blender units.
    """
    heights = {
        f"{part.name} height": getattr(scene.nuisances, part.name)[2] for part in NUISANCES if part.n == 3
    }
    return {"objects": len(scene.objects), **heights}


@lru_cache(maxsize=512)  # a scene is held against one family after the other; nobody changes its graph
def scene_graph(facts: Facts) -> nx.DiGraph:
    """The graph of a scene, with a node for each object's index.

    A node has its attributes, `visible` (share), `depth` (along CLEVR's "behind") and `same shape` and the like (how
    many other objects have it too); the edge j -> i has `gap`, `hides` (the share of i that is hidden, if j hides most
    of it), `hidden` (the share of j that is, if i hides most of it), and as 1 what is true of j as seen from i:
    `touches` (in the picture), `larger`, `same color` and the like, `left`, `behind` and the like. Lengths are in
    Blender units.
    """
    import networkx as nx

    scene, items = facts.scene, facts.scene.objects
    graph = nx.DiGraph(**scene_facts(scene))
    for i, item in enumerate(items):
        names = {name: getattr(item, name) for name in ATTRIBUTES}
        depth = item.x * BEHIND[0] + item.y * BEHIND[1]
        alike = {
            f"same {name}": sum(getattr(other, name) == names[name] for other in items) - 1
            for name in ATTRIBUTES
        }
        graph.add_node(i, **names, **alike, visible=facts.shares[i], depth=depth)
    for i, item in enumerate(items):
        for j, other in enumerate(items):
            if i != j:
                edge = {
                    f"same {name}": 1 for name in ATTRIBUTES if getattr(item, name) == getattr(other, name)
                }
                if RADIUS[other.size] > RADIUS[item.size]:
                    edge["larger"] = 1
                graph.add_edge(j, i, gap=gap(item, other), **edge)
    for i, (share, hider) in enumerate(zip(facts.shares, facts.hiders, strict=True)):
        for j in facts.touching[i]:
            graph.edges[j, i]["touches"] = 1
        if hider is not None:
            graph.edges[hider, i]["hides"] = graph.edges[i, hider]["hidden"] = 1.0 - share
    for direction, rows in related(scene).items():
        for i, others in enumerate(rows):
            for j in others:
                graph.edges[j, i][direction] = 1
    return graph


def related(scene: Scene) -> dict[str, list[list[int]]]:
    """CLEVR's `relationships`: related(scene)["left"][i] lists, ascending, the objects left of object i."""
    places = tuple((item.x, item.y) for item in scene.objects)
    return {name: [_beyond(places, at, name) for at in places] for name in RELATIONS}


def _beyond(places: Iterable[tuple[float, float]], origin: tuple[float, float], name: str) -> list[int]:
    dx, dy, _ = DIRECTIONS[name]
    x0, y0 = origin
    return [j for j, (x, y) in enumerate(places) if (x - x0) * dx + (y - y0) * dy > MARGIN]
