"""What joins families: the objects whose removal changes the answer, by the attributes that decide."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.worlds.explained_worlds import (
    ALL_BUT_SALIENCY,
    NO_CUBES,
    CountsBlobs,
    coded_run,
    found,
    planted_scene,
)
from trex.explain.causes import causes, deciding_attributes
from trex.explain.explain_scene import explain_scene
from trex.explain.explanation import Explanation
from trex.families.pattern import object_words
from trex.families.relatives import responsible
from trex.scenes.graph import facts_of, scene_graph

SEED = 20_265


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Explanation, int]:
    """A scene whose one red metal cylinder is counted as a cube, with every attribute edited."""
    folder: Path = tmp_path_factory.mktemp("causes")
    scene, cause = planted_scene(SEED, 3)
    with coded_run(folder, CountsBlobs()) as scores:
        return explain_scene(scores, found(scores, scene), ALL_BUT_SALIENCY, None), cause


def test_the_attributes_that_decide_are_those_of_the_planted_cause(planted: tuple[Explanation, int]) -> None:
    explanation, cause = planted
    assert deciding_attributes(explanation, cause) == ("shape", "color", "material")  # the model sees no size
    assert deciding_attributes(replace(explanation, edits=None), cause) == (
        "shape",
        "size",
        "color",
        "material",
    )
    (found,) = causes({"a": explanation}, NO_CUBES)["a"]
    graph = scene_graph(facts_of(explanation.scene, NO_CUBES))
    assert found == responsible(graph, cause, ("shape", "color", "material"))
    assert object_words(found.counts) == "a red metal cylinder in full view"


def test_nothing_is_responsible_unless_the_answer_changes_and_the_control_held(
    planted: tuple[Explanation, int],
) -> None:
    explanation, _ = planted
    same = tuple(replace(effect, is_flip=False) for effect in explanation.removals)
    assert causes({"a": replace(explanation, removals=same, flip=None)}, NO_CUBES) == {"a": frozenset()}
    broken = replace(explanation, control=replace(explanation.control, is_same_picture=False))
    assert causes({"a": broken}, NO_CUBES) == {"a": frozenset()}
