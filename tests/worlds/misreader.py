"""Models that misread one kind of object under planted conditions, for tests of searches by the fake renderer.

A search is told the wrong answer, not the fault. Its story is true if the first family's sentence names every planted
condition, no other, and the value that the object is taken for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import networkx as nx

import trex
from benchmarks.auditing.misreader import Misreader, showing
from trex.scenes.graph import Facts, scene_graph
from trex.scenes.scene import SceneObject, with_attribute

SURE = 0.97
SEEN_AS = "cube"
Fault = Callable[[nx.DiGraph, int], bool]  # whether an object is misread


def _touching(graph: nx.DiGraph, index: int) -> list[int]:
    return [j for j, edge in graph.pred[index].items() if "touches" in edge]


def same_color_neighbor(graph: nx.DiGraph, index: int) -> bool:
    """A cylinder that touches an object of its color."""
    color = graph.nodes[index]["color"]
    return _is(graph, index, shape="cylinder") and any(
        graph.nodes[j]["color"] == color for j in _touching(graph, index)
    )


def behind_a_larger_one(graph: nx.DiGraph, index: int) -> bool:
    """A sphere that a larger object hides most."""
    edges = graph.pred[index].values()
    return _is(graph, index, shape="sphere") and any("hides" in edge and "larger" in edge for edge in edges)


def left_of_a_metal_thing(graph: nx.DiGraph, index: int) -> bool:
    """A small sphere left of a metal object."""
    return _is(graph, index, shape="sphere", size="small") and any(
        "right" in edge and _is(graph, j, material="metal") for j, edge in graph.pred[index].items()
    )


def third_of_its_kind(graph: nx.DiGraph, index: int) -> bool:
    """A metal cylinder among three cylinders or more."""
    return _is(graph, index, shape="cylinder", material="metal") and graph.nodes[index]["same shape"] >= 2


def in_low_light(graph: nx.DiGraph, index: int) -> bool:
    """A rubber cylinder when the key light is low."""
    return _is(graph, index, shape="cylinder", material="rubber") and graph.graph["key height"] < -0.5


def _is(graph: nx.DiGraph, index: int, **values: str) -> bool:
    return all(graph.nodes[index][name] == value for name, value in values.items())


FAULTS: dict[str, tuple[Fault, frozenset[str]]] = {
    "same-color neighbor": (same_color_neighbor, frozenset({"shape cylinder", "touches same color"})),
    "behind a larger one": (behind_a_larger_one, frozenset({"shape sphere", "hidden by larger"})),
    "left of a metal thing": (
        left_of_a_metal_thing,
        frozenset({"shape sphere", "size small", "left material metal"}),
    ),
    "third of its kind": (
        third_of_its_kind,
        frozenset({"shape cylinder", "material metal", "2 others of its shape"}),
    ),
    "in low light": (in_low_light, frozenset({"shape cylinder", "material rubber", "key low"})),
}


def misreader(fault: Fault) -> Misreader:
    """A model that takes the objects with this fault for cubes."""

    def seen_as(facts: Facts, index: int, item: SceneObject) -> SceneObject:
        return with_attribute(item, "shape", SEEN_AS) if fault(_graph(facts), index) else item

    return Misreader(seen_as, SURE)


@lru_cache(maxsize=4)  # asked for each object of a scene
def _graph(facts: Facts) -> nx.DiGraph:
    return scene_graph(facts)


@dataclass(frozen=True)
class Story:
    """What a search says of a planted fault; `is_true`: every planted condition, no other, and the right value."""

    fault: str
    seed: int
    words: str
    conditions: tuple[str, ...]
    planted: tuple[str, ...]
    hits: int
    confirmed: bool
    is_true: bool


def story(name: str, seed: int, out: Path) -> Story:
    """Search for scenes in which the model counts one cube where there is none, and read its first family."""
    fault, planted = FAULTS[name]
    model = misreader(fault)
    with showing(model, out.with_suffix(".cache")):
        run = trex.find(
            question="How many cubes are there?",
            answer="1",
            revoke=["cube"],
            objects=5,
            preset="fake",
            model=model,
            seed=seed,
            prior_scenes=400,
            steps=0,
            control=False,
            out=out,
            progress=False,
            large=False,
        )
    family = next(iter(run.results.families.known), None)
    conditions = {condition.key for condition in family.pattern.conditions} if family else set()
    return Story(
        name,
        seed,
        family.words if family else "",
        tuple(sorted(conditions)),
        tuple(sorted(planted)),
        len(run.hits),
        bool(family and family.is_established),
        family is not None and conditions == planted and family.value == SEEN_AS,
    )
