"""A scene as a graph: its objects with their attributes, and what each is to each other one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trex.scenes.properties import RADIUS
from trex.scenes.relations import related
from trex.scenes.scene import ATTRIBUTES, Scene, SceneObject
from trex.scenes.validity import BEHIND
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class Facts:
    """A scene, and of each object its visible share and the index of what hides most of the rest."""

    scene: Scene
    shares: tuple[float, ...]
    hiders: tuple[int | None, ...]


def facts_of(scene: Scene, vocabulary: Vocabulary) -> Facts:
    """The facts of a scene; takes an id map of the scene and one of each object (some 2 ms each).

    An object's visible share is that of the pixels that it would have alone.
    """
    whole = id_map(scene, vocabulary)
    shares, hiders = [], list[int | None]()
    for index, item in enumerate(scene.objects):
        alone = id_map(replace(scene, objects=(item,)), vocabulary) > 0
        ids, counts = np.unique(whole[alone], return_counts=True)
        shown = {int(number) - 1: int(count) for number, count in zip(ids, counts, strict=True)}
        shares.append(shown.pop(index, 0) / max(1, int(alone.sum())))
        hiders.append(max(shown, key=lambda other: (shown[other], -other)) if shown else None)
    return Facts(scene, tuple(shares), tuple(hiders))


def gap(scene_object: SceneObject, other: SceneObject) -> float:
    """The distance on the ground between two objects' footprints, Blender units."""
    return (
        math.hypot(scene_object.x - other.x, scene_object.y - other.y)
        - RADIUS[scene_object.size]
        - RADIUS[other.size]
    )


def scene_facts(scene: Scene) -> dict[str, float]:
    """What the graph of a scene says of the scene as a whole: `objects` (their number), `camera height` (offset)."""
    return {"objects": len(scene.objects), "camera height": scene.nuisances.camera[2]}


def scene_graph(facts: Facts) -> nx.DiGraph:
    """The graph of a scene, with a node for each object's index.

    A node has its attributes, `visible` (share) and `depth` (along CLEVR's "behind"); the edge j -> i has `gap`,
    `hides` (the share of i that is hidden, if j hides most of it), and as 1 what is true of j as seen from i: `larger`,
    `same color` and the like, `left`, `behind` and the like. Lengths are in Blender units.
    """
    import networkx as nx

    scene, items = facts.scene, facts.scene.objects
    graph = nx.DiGraph(**scene_facts(scene))
    for i, item in enumerate(items):
        names = {name: getattr(item, name) for name in ATTRIBUTES}
        depth = item.x * BEHIND[0] + item.y * BEHIND[1]
        graph.add_node(i, **names, visible=facts.shares[i], depth=depth)
    for i, item in enumerate(items):
        for j, other in enumerate(items):
            if i != j:
                edge = {
                    f"same {name}": 1 for name in ATTRIBUTES if getattr(item, name) == getattr(other, name)
                }
                if RADIUS[other.size] > RADIUS[item.size]:
                    edge["larger"] = 1
                graph.add_edge(j, i, gap=gap(item, other), **edge)
        if (hider := facts.hiders[i]) is not None:
            graph.edges[hider, i]["hides"] = 1.0 - facts.shares[i]
    for direction, rows in related(scene).items():
        for i, others in enumerate(rows):
            for j in others:
                graph.edges[j, i][direction] = 1
    return graph
