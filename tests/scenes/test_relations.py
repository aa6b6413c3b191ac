"""CLEVR's relations: by hand, as properties, and against every published scene at hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from tests.references.official_clevr import SCENES, raw, scenes_by_picture
from tests.references.scene_strategies import scenes
from trex.scenes import relations
from trex.scenes.relations import DIRECTIONS, related
from trex.scenes.scene import Nuisances, Scene, SceneObject

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
    monkeypatch.setattr(relations, "DIRECTIONS", swapped)
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
