"""What tunes a model, what chooses its weight and what tests it are different pictures, and clusters are kept.

The planted bugs: tuned or chosen on the test scenes; controls of scenes that were learned already; the deciding look
left out; each object its own cluster.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.trex.repair.scenes.planted import query
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Symptom
from trex.foundation.progress import silent
from trex.repair.results import ANSWERS, CHECKED, DECIDING, ORDINARY, scenario_test
from trex.repair.scenes import bench, identify
from trex.repair.scenes.bench import SceneBench
from trex.repair.scenes.families import Fresh, Generator
from trex.repair.scenes.identify import misread
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

SCENE = ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(1))


class Recorded:
    """A generator that notes what it is asked for."""

    def __init__(self) -> None:
        self.keys: list[tuple[int, ...]] = []

    def draw(self, component: int, n: int, *key: int) -> tuple[list[Fresh], float]:
        self.keys.append(key)
        return [Fresh(SCENE, 0, k // 2) for k in range(n)], 1.0


def noted(monkeypatch: pytest.MonkeyPatch) -> tuple[SceneBench, Recorded, list[str]]:
    """A bench of two scenarios without pictures, its generator, and what it rendered, in words."""
    monkeypatch.setattr(bench, "read_misreads", lambda path: [])
    monkeypatch.setattr(
        bench, "labelled", lambda scenes, pixels: SimpleNamespace(numbers=scenes, pixels=pixels)
    )
    rendered: list[str] = []

    def pictures(renderer: str, scenes: list[Scene], progress: object, what: str) -> list[SimpleNamespace]:
        rendered.append(renderer)
        return [SimpleNamespace(pixels=None)] * len(scenes)

    loaded = SimpleNamespace(
        near="near", deciding="deciding", prior=ScenePrior(), pictures=pictures,
        of_bank=lambda rows, *more: [SimpleNamespace(pixels=row) for row in rows],
        members=lambda rows: [SCENE] * len(rows),
    )  # fmt: skip
    folder = SimpleNamespace(query=query(), require=Path)
    generator = Recorded()
    return SceneBench(folder, loaded, [0, 1], generator, silent), generator, rendered


def test_what_tunes_chooses_and_tests_are_other_draws_and_clusters_are_prior_scenes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, generator, rendered = noted(monkeypatch)
    made._drawn(0)
    made._drawn(1)
    tuned = {*generator.keys}
    generator.keys.clear()
    rendered.clear()
    judged = made.judged
    assert len(tuned) == 2 and not tuned & {*generator.keys}
    assert len({*generator.keys}) == 3 and len(generator.keys) == 6  # fresh, deciding, choose: two scenarios
    assert rendered.count("deciding") == 2
    checked, answers = judged[CHECKED], judged[ANSWERS]
    pictures = [one.picture.pixels for one in (*checked, *answers)]
    assert pictures == list(identify.validation(made.folder.query)) and len(checked) == len(pictures) // 3
    new = made._instead(ORDINARY, 0).pixels  # type: ignore[attr-defined]
    assert len(new) == 12 and min(new) >= identify.validation(made.folder.query).stop
    first, second = made.clusters(scenario_test(DECIDING, 0)), made.clusters(DECIDING)
    assert first == [0, 0, 1, 1] and second == [*first, *first]
    asked = made.clusters(ANSWERS)
    assert asked is not None and len(set(asked)) == len(answers) and len(asked) == 2 * len(answers)


def test_the_banks_members_are_divided_without_overlap() -> None:
    folder = SimpleNamespace(query=query())
    parts = [
        identify.learned(folder.query),
        identify.held_out(folder.query),
        identify.validation(folder.query),
        identify.further(folder.query, 5),
    ]
    assert [number for part in parts for number in part] == list(range(150 + 20 + 9 + 5))


def test_a_fresh_scene_keeps_the_member_that_it_grew_from() -> None:
    rows = [misread(SCENE, 0, "missed", 40 + k, is_grown=False) for k in range(2)]
    family = Family(Pattern(), Symptom("object", "missed"))
    change = SimpleNamespace(draw=lambda rng, scene: (scene, 0), vocabulary=CLEVR)
    made = Generator(rows, np.zeros(2, np.int64), [family], change, 0)  # type: ignore[arg-type]
    assert {one.member for one in made.draw(0, 30, 5)[0]} == {40, 41}
