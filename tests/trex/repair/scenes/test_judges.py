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
from trex.foundation.progress import silent
from trex.repair.results import ANSWERS, CHECKED, ORDINARY
from trex.repair.scenes import bench, identify
from trex.repair.scenes.bench import Judges, PictureQuestions, SceneBench, Shown
from trex.repair.scenes.identify import misread
from trex.repair.scenes.situations import Fresh, Generator
from trex.scenes.prior import ScenePrior

SCENE = ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(1))


def test_clusters_are_the_prior_scenes_of_objects_and_the_pictures_of_answers() -> None:
    fresh = [Fresh(SCENE, 0, 7), Fresh(SCENE, 1, 7), Fresh(SCENE, 0, 9)]
    asked = [PictureQuestions(None, [("", (), "1")] * 2), PictureQuestions(None, [("", (), "1")])]
    judges = Judges({"a": Shown(fresh, []), "b": Shown(fresh[2:], [])}, {"both": ["a", "b"]}, {"said": asked})
    assert judges.clusters("a") == [7, 7, 9] and judges.clusters("both") == [7, 7, 9, 9]
    assert judges.clusters("said") == [0, 0, 1]


class Recorded:
    """A generator that notes what it is asked for."""

    def __init__(self) -> None:
        self.keys: list[tuple[int, ...]] = []

    def draw(self, component: int, n: int, *key: int) -> tuple[list[Fresh], float]:
        self.keys.append(key)
        return [Fresh(SCENE, 0, k) for k in range(n)], 1.0


class Noted(SceneBench):
    """Notes what is rendered at the deciding look, and which ordinary scenes are taken."""

    def _shown(self, drawn, is_deciding):  # type: ignore[no-untyped-def]
        self.generator.looks = [*getattr(self.generator, "looks", []), (len(drawn), is_deciding)]
        return Shown(drawn, [])

    def _labelled(self, scenes):  # type: ignore[no-untyped-def]
        return SimpleNamespace(numbers=scenes)

    def _ordinary(self, rows, what):  # type: ignore[no-untyped-def]
        return rows

    def _questions(self, scene, number):  # type: ignore[no-untyped-def]
        return [("", (), "1")]


def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    monkeypatch.setattr(bench, "read_misreads", lambda path: [])
    folder = SimpleNamespace(query=query(), require=lambda step: Path(step))
    loaded = SimpleNamespace(of_bank=lambda rows, *more: list(rows), members=lambda rows: [SCENE] * len(rows))
    return Noted(folder, loaded, [0, 1], Recorded(), silent)


def test_what_tunes_chooses_and_tests_are_other_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    made = noted(monkeypatch)
    made._drawn(0)
    tuned = {*made.generator.keys}
    made._drawn(1)
    tuned |= {*made.generator.keys}
    made.generator.keys.clear()
    judges = made.judges
    assert len(tuned) == 2 and not tuned & {*made.generator.keys}
    assert (
        len({*made.generator.keys}) == 3 and len(made.generator.keys) == 6
    )  # fresh, deciding, choose: two scenarios
    assert sum(is_deciding for _, is_deciding in made.generator.looks) == 2
    checked, said = judges.answers[CHECKED], judges.answers[ANSWERS]
    pictures = [one.picture for one in (*checked, *said)]
    assert pictures == list(identify.validation(made.folder.query)) and len(checked) == len(pictures) // 3
    new = made._instead(ORDINARY, 0)
    assert len(new) == 12 and new.start >= identify.validation(made.folder.query).stop


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
    made = Generator(
        rows, np.zeros(2, np.int64), SimpleNamespace(inside=lambda scene, index: 0),
        SimpleNamespace(draw=lambda rng, scene: (scene, 0)), 0,
    )  # fmt: skip
    assert {one.member for one in made.draw(0, 30, 5)[0]} == {40, 41}
