"""A scene as a graph, and an object as its picture shows it: how much of it is visible, and what hides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from tests.references.official_clevr import SCENES, raw, scenes_by_picture
from tests.references.scene_strategies import scenes
from trex.families.pattern import object_words
from trex.scenes import graph
from trex.scenes.conditions import (
    Condition,
    Known,
    Term,
    has,
    object_conditions,
    object_rows,
    scene_conditions,
)
from trex.scenes.graph import DIRECTIONS, NEAR_PX, Facts, facts_of, gap, related, scene_graph, touching
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import ATTRIBUTES, Nuisances, Scene, SceneObject
from trex.scenes.validity import BEHIND
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import CLEVR


def behind(gap: float, aside: float = 0.0) -> Scene:
    """A small sphere `gap` units behind a large cylinder, and `aside` units to its right."""
    x, y = gap * BEHIND[0] - aside * BEHIND[1], gap * BEHIND[1] + aside * BEHIND[0]
    return Scene(
        (
            SceneObject("cylinder", "large", "gray", "rubber", 0.0, 0.0, 0.0),
            SceneObject("sphere", "small", "red", "metal", x, y, 0.0),
        ),
        Nuisances(),
    )


def seen(scene: Scene, index: int) -> tuple[float, list[int]]:
    """How much of an object is visible, and what hides the rest."""
    graph = scene_graph(facts_of(scene, CLEVR))
    return graph.nodes[index]["visible"], [j for j, edge in graph.pred[index].items() if "hides" in edge]


def holds(condition: Condition, graph: nx.DiGraph, index: int) -> bool:
    """Whether a condition holds for an object of a scene's graph, by its definition."""
    if not are_met(condition.terms, graph.graph if condition.part == "scene" else graph.nodes[index]):
        return False
    return not condition.relation or any(
        are_met(condition.relation, edge) and are_met(condition.other, graph.nodes[j])
        for j, edge in graph.pred[index].items()
    )


def are_met(terms: tuple[Term, ...], known: Known) -> bool:
    return all(term.holds(known) for term in terms)


@pytest.mark.parametrize(
    ("aside", "low", "high"),
    [(0.0, 0.0, 0.5), (0.9, 0.5, 0.9), (1.5, 0.9, 1.1), (-1.5, 0.9, 1.1), (-0.9, 0.5, 0.9)],
)
def test_an_object_behind_another_is_hidden_by_it_as_far_as_it_overlaps(
    aside: float, low: float, high: float
) -> None:
    share, hiders = seen(behind(1.2, aside), 1)
    assert low <= share < high and (hiders == [0] or low == 0.9)
    assert seen(behind(1.2, aside), 0) == (1.0, [])  # it stands in front


def test_the_visible_share_is_that_of_the_pixels_that_it_would_have_alone() -> None:
    rng = np.random.default_rng(20_270)
    shares = []
    for scene in (ScenePrior(CLEVR, (8, 8)).sample(rng) for _ in range(20)):
        whole, facts = id_map(scene, CLEVR), facts_of(scene, CLEVR)
        graph = scene_graph(facts)
        for index, item in enumerate(scene.objects):
            alone = id_map(replace(scene, objects=(item,)), CLEVR) == 1
            shares.append((whole == index + 1).sum() / alone.sum())
            assert graph.nodes[index]["visible"] == shares[-1]
            hiders = [j for j in graph.predecessors(index) if "hides" in graph.edges[j, index]]
            assert hiders == [] if facts.hiders[index] is None else [facts.hiders[index]]
            assert hiders or shares[-1] == 1.0
    assert set(np.digitize(shares, (0.5, 0.9)).tolist()) == {0, 1, 2}


def test_the_words_name_the_kind_and_what_hides_it() -> None:
    (item,) = behind(1.2).objects[1:]
    nouns = [has(name, getattr(item, name)) for name in ATTRIBUTES]
    hidden = Condition("hidden", "seen", "mostly hidden by a large cylinder")
    assert object_words([*nouns, hidden]) == "a small red metal sphere mostly hidden by a large cylinder"
    assert object_words([has("color", "red")]) == "a red object"


@given(scenes())
def test_the_graph_holds_the_attributes_and_the_relations(scene: Scene) -> None:
    n = len(scene.objects)
    graph = scene_graph(Facts(scene, (1.0,) * n, (None,) * n, ((),) * n))
    assert sorted(graph) == list(range(n)) and graph.number_of_edges() == n * (n - 1)
    assert all(graph.nodes[i]["color"] == item.color for i, item in enumerate(scene.objects))
    for name, lists in related(scene).items():
        edges = {(j, i) for i, row in enumerate(lists) for j in row}
        assert {(j, i) for j, i, data in graph.edges(data=True) if name in data} == edges
    for i, j, data in graph.edges(data=True):
        element, other = scene.objects[i], scene.objects[j]
        assert data["gap"] == gap(other, element) and ("same color" in data) == (element.color == other.color)
        assert ("larger" in data) == ((element.size, other.size) == ("large", "small"))


def test_a_relation_is_to_some_other_object() -> None:
    """Planted: an object that counts as its own neighbor would be beside its own color."""
    known = {condition.key: condition for condition in object_conditions(CLEVR)}
    graph = scene_graph(facts_of(behind(1.2), CLEVR))
    assert holds(known["hidden by larger"], graph, 1) and not holds(known["hidden by larger"], graph, 0)
    assert holds(known["beside color gray"], graph, 1) and not holds(known["beside color red"], graph, 1)


def test_what_touches_in_the_picture_is_next_to_it_there() -> None:
    """Against the definition, pixel by pixel. Planted: neighbors on the ground, which the picture shows apart."""
    rng, prior = np.random.default_rng(3), ScenePrior(CLEVR, (5, 8))
    met = apart = 0
    for _ in range(12):
        scene = prior.sample(rng)
        ids, found = id_map(scene, CLEVR), touching(scene, CLEVR)
        for i, j in permutations(range(len(scene.objects)), 2):
            mine = np.pad(ids == i + 1, NEAR_PX)
            height, width = ids.shape
            moves = [(k, 0) for k in range(-NEAR_PX, NEAR_PX + 1)] + [
                (0, k) for k in range(-NEAR_PX, NEAR_PX + 1)
            ]
            near = np.zeros_like(ids, dtype=bool)
            for dy, dx in moves:
                near |= mine[NEAR_PX + dy : NEAR_PX + dy + height, NEAR_PX + dx : NEAR_PX + dx + width]
            assert (j in found[i]) == bool((near & (ids == j + 1)).any())
            met += j in found[i]
            apart += j not in found[i] and gap(scene.objects[i], scene.objects[j]) < 0.5
    assert met > 10 and apart > 2


def test_the_rows_are_those_of_each_condition_by_itself() -> None:
    """Planted: relations the wrong way round ("left of" for "right of", "hides" for "is hidden")."""
    conditions = (*object_conditions(CLEVR), *scene_conditions())
    for scene in (behind(1.2), behind(3.0), ScenePrior(CLEVR, (8, 8)).sample(np.random.default_rng(4))):
        facts = facts_of(scene, CLEVR)
        graph, rows = scene_graph(facts), object_rows(facts, conditions)
        expected = [[holds(each, graph, i) for each in conditions] for i in range(len(scene.objects))]
        assert rows.tolist() == expected
        keys = {each.key: column for column, each in enumerate(conditions)}
        reds = [i for i, item in enumerate(scene.objects) if item.color == "red"]
        for i in range(len(scene.objects)):
            is_left = any(j in related(scene)["right"][i] for j in reds)
            assert rows[i, keys["left color red"]] == is_left
            assert rows[i, keys["hides"]] == (i in facts.hiders)


OPPOSITE = {"left": "right", "right": "left", "front": "behind", "behind": "front"}


def _at(*places: tuple[float, float]) -> Scene:
    objects = tuple(SceneObject("cube", "small", "red", "rubber", x, y, 0.0) for x, y in places)
    return Scene(objects, Nuisances())


# The base camera stands at x > 0, y < 0 and looks at the origin: what lies towards (1, 1) is on the picture's
# right, what lies towards (1, -1) is nearer to it, in front.
RIGHT_AND_FRONT = _at((0.0, 0.0), (1.0, 1.0), (1.0, -1.0))


def test_directions_of_a_hand_made_scene() -> None:
    rows = related(RIGHT_AND_FRONT)
    assert rows["right"][0] == [1]
    assert rows["left"] == [[], [0, 2], []]
    assert rows["front"][0] == [2]
    assert rows["behind"][2] == [0, 1]


def test_swapped_left_and_right_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    swapped = dict(DIRECTIONS, left=DIRECTIONS["right"], right=DIRECTIONS["left"])
    monkeypatch.setattr(graph, "DIRECTIONS", swapped)
    with pytest.raises(AssertionError):
        test_directions_of_a_hand_made_scene()


def test_margin_leaves_close_objects_unrelated() -> None:
    dx, dy, _ = DIRECTIONS["right"]
    assert related(_at((0.0, 0.0), (0.19 * dx, 0.19 * dy)))["right"] == [[], []]
    assert related(_at((0.0, 0.0), (0.21 * dx, 0.21 * dy)))["right"] == [[1], []]


@given(scenes())
def test_relations_are_antisymmetric(scene: Scene) -> None:
    rows = related(scene)
    for name, lists in rows.items():
        for i, row in enumerate(lists):
            assert i not in row
            assert all(i in rows[OPPOSITE[name]][j] for j in row)
            assert all(i not in lists[j] for j in row)


@pytest.mark.parametrize("name", SCENES)
def test_equal_to_the_published_relationships(name: str) -> None:
    _compare_with(name, related)


def test_a_mirrored_scene_does_not_have_the_published_relationships() -> None:
    def mirrored(scene: Scene) -> dict[str, list[list[int]]]:
        rows = related(scene)
        return rows | {"left": rows["right"], "right": rows["left"]}

    with pytest.raises(AssertionError):
        _compare_with(SCENES[1], mirrored)


def _compare_with(name: str, relate: Callable[[Scene], dict[str, list[list[int]]]]) -> None:
    found = scenes_by_picture((name,))
    for record in raw(name, "scenes"):
        assert relate(found[str(record["image_filename"])]) == _sorted(record["relationships"])


def _sorted(relationships: object) -> dict[str, list[list[int]]]:
    assert isinstance(relationships, dict)
    return {
        name: [sorted(row) for row in relationships[name]] for name in ("left", "right", "front", "behind")
    }
