"""What a curve says: a threshold only where one is shown, and what limits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trex.commands.curve import CurveMade
from trex.curves.curve import Curve, CurveScene, Event, Point
from trex.curves.shown import dose_table, figure, scene_table
from trex.foundation.words import between, whole_percent
from trex.inference.statistics.proportion import clopper_pearson
from trex.scenes.scene import Nuisances, Scene, SceneObject

SCENE = Scene((SceneObject("cube", "small", "red", "metal", 0.0, 0.0, 0.0),), Nuisances())


def curve(
    over: str,
    doses: Sequence[float],
    wrong: Sequence[float],
    n: int = 9,
    event: Event = "wrong",
    draws: int = 1,
) -> Curve:
    """n scenes of which a share is wrong at each dose."""
    scenes = [
        CurveScene(
            SCENE,
            0,
            tuple(
                Point(d, float(k < round(p * n)), 0.5, "1", "0", True)
                for d, p in zip(doses, wrong, strict=True)
            ),
        )
        for k in range(n)
    ]
    return Curve(over, tuple(doses), tuple(scenes), event, draws)


VISIBLE = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (curve("visible", VISIBLE, (1, 1, 1, 0, 0, 0)),
         "From 50% visible on the model is right (95% CI 40–60%); below that it is wrong."),
        (curve("objects", (1, 4, 7, 10), (0, 0, 1, 1)),
         "From 6 objects on the model is wrong (95% CI 4–7); below that it is right."),
        (curve("light", (-0.4, 0, 0.4), (1, 0, 0), event="level set"),
         "From −0.2 units of key-light height on scenes leave the level set (95% CI −0.4 to +0.0); below that they "
         "stay in it."),
        (curve("visible", VISIBLE, (1,) * 6), "The model is wrong at every dose, from 0% to 100% visible."),
        (curve("visible", VISIBLE, (0,) * 6), "The model is right at every dose, from 0% to 100% visible."),
        (curve("visible", VISIBLE, (1,) * 6, n=4),
         "The model is wrong at every dose measured, but 4 scenes are too few to be sure."),
        (curve("visible", VISIBLE, (1, 1, 0.5, 0.5, 0.2, 0.2), n=5),
         "No threshold is shown: 5 scenes are too few to say at which doses the model is right."),
        (curve("visible", VISIBLE, (0, 1, 1, 0, 0, 0)),
         "Up to 0% and from 60% visible on the model is right; not always in between."),
        (curve("distance", (0, 0.1, 0.2), (1, 1, 0.3)),
         "Up to 0.10 units farther away the model is wrong. That changes near 0.17, but 9 scenes are too few for an "
         "interval."),
        (curve("distance", (0, 0.1, 0.2), (0.7, 0, 0)),
         "From 0.10 units farther away on the model is right. That changes near 0.02, but 9 scenes are too few for an "
         "interval."),
        (curve("noise", (0, 1, 2), (1, 0.5, 0.5), n=8),
         "With new render noise the model is wrong in 50% of draws (95% CI 16–84%)."),
        (curve("noise", (0,), (1,)), "No new render noise was drawn."),
    ],
)  # fmt: skip
def test_the_headline_says_what_is_shown(shown: Curve, words: str) -> None:
    assert shown.headline == words
    assert figure(shown).startswith("<svg viewBox")
    assert str(shown).startswith(words)


def test_the_document_has_a_threshold_only_if_a_side_is_shown() -> None:
    """Planted bug: where nothing was shown, its sides were 0, as if that were a dose."""
    crossed = CurveMade(curve("visible", VISIBLE, (1, 1, 1, 0, 0, 0)), Path("report.html")).document()
    assert crossed["threshold"] == {"low": 1, "high": -1, "up_to": 0.4, "since": 0.6, "value": 0.5}
    for nothing in (curve("visible", VISIBLE, (1,) * 6, n=4), curve("noise", (0, 1, 2), (1, 0.5, 0.5), n=8)):
        assert CurveMade(nothing, Path("report.html")).document()["threshold"] is None


def test_left_out_and_outside_scenes_are_counted() -> None:
    whole = curve("distance", (0, 0.1), (1, 0), n=3, draws=2)
    first, second, third = whole.scenes
    broken = Point(0.1, 0.0, 0.5, "0", "0", False)
    parts = (
        first,
        CurveScene(SCENE, 0, (second.points[0], None)),
        CurveScene(SCENE, 0, (third.points[0], broken)),
    )
    shown = Curve("distance", whole.doses, parts, draws=2)
    assert shown.counts == [3, 2]
    assert shown.details == (
        "The share wrong falls from 100% at the lowest dose to 0% at the highest. Nothing else changes in any of the 3 "
        "scenes.",
        "1 of 6 changed scenes is left out, as it cannot reach its dose.",
        "1 of 5 changed scenes breaks the prior's rules of distance or visibility.",
        "Each point is the mean of 2 draws of the render noise.",
    )
    assert dose_table(shown).text()[2].split() == ["0.10", "2", "0%", "0–89%", "0.50", "1"]
    assert [line.split() for line in scene_table(shown).text()[1:3]] == [
        ["1", "0.50", "0.50"],
        ["2", "0.50", "–"],
    ]


def alike(rng: np.random.Generator, starts: Sequence[int], truth: Sequence[float]) -> Curve:
    """A scene for each entry, whose chance of being wrong at a dose lies around the truth as that of its start does."""
    off = rng.choice([-0.45, 0.45], max(starts) + 1)
    doses = tuple(float(k) for k in range(len(truth)))
    scenes = []
    for start in starts:
        shares = [float(np.clip(true + off[start], 0.0, 1.0)) for true in truth]
        points = (Point(d, s, 0.5, "1", "0", True) for d, s in zip(doses, shares, strict=True))
        scenes.append(CurveScene(SCENE, 0, tuple(points), start))
    return Curve("objects", doses, tuple(scenes))


def test_scenes_of_one_start_count_once_in_band_and_threshold() -> None:
    """Twelve scenes of three starts that are alike, wrong in half of all. Planted bug: each scene counted."""
    rng, starts, truth = np.random.default_rng(3), [0] * 6 + [1] * 3 + [2] * 3, (0.5, 0.5)
    curves = [alike(rng, starts, truth) for _ in range(200)]
    alone = [replace(made, scenes=tuple(replace(row, start=None) for row in made.scenes)) for made in curves]

    def holds(made: Curve) -> bool:
        return all(low <= 0.5 <= high for low, high in made.band)

    assert np.mean([holds(made) for made in curves]) > 0.99 and np.mean([holds(made) for made in alone]) < 0.8
    assert not any(made.threshold.side_throughout for made in curves)
    assert np.mean([bool(made.threshold.side_throughout) for made in alone]) > 0.1
    shown = curves[0]
    assert "but 12 scenes from 3 starts are too few" in shown.headline
    assert (
        shown.details[-1]
        == "The 12 scenes come from 3 starts; in intervals, those of one start count as one."
    )
    noise = replace(shown, over="noise", doses=(0.0, 1.0))
    assert noise.headline.endswith(f"(95% CI {noise_interval(noise.means_of_starts([1]))}).")


def noise_interval(means: Sequence[float]) -> str:
    low, high = clopper_pearson(sum(means), len(means))
    return between(whole_percent(low), whole_percent(high))


def test_a_scene_as_it_was_found_shows_no_threshold() -> None:
    """Hits are wrong where they were found, and after any move with one chance in ten, however far. Planted bug: the
    scene as it was found is a dose like others, and the model is right from the first move on."""
    doses = (0.0, 0.05, 0.1, 0.2)
    rng, claimed, before = np.random.default_rng(5), 0, 0
    for _ in range(100):
        scenes = []
        for _ in range(12):
            shares = [1.0, *(float(rng.random() < 0.1) for _ in doses[1:])]
            points = [
                Point(d, s, 0.5, "1", "0", True, is_found=not d) for d, s in zip(doses, shares, strict=True)
            ]
            scenes.append(CurveScene(SCENE, 0, tuple(points)))
        made = Curve("distance", doses, tuple(scenes))
        told = [
            replace(row, points=tuple(replace(p, is_found=False) for p in row.points if p)) for row in scenes
        ]
        claimed += made.threshold.is_crossed
        before += replace(made, scenes=tuple(told)).threshold.is_crossed
    assert claimed == 0 and before > 50
    assert dose_table(made).text()[1].split()[3:5] == ["as", "found"] and figure(made).startswith(
        "<svg viewBox"
    )
    sides = made.threshold.side_throughout
    assert (
        made.headline == "The model is right at every dose, from 0.05 to 0.20 units farther away."
        or not sides
    )
    assert made.details[-1].startswith("Intervals leave scenes out as they were found")
    only = Curve("distance", (0.0,), tuple(replace(row, points=row.points[:1]) for row in scenes))
    assert only.headline.startswith("The model is wrong at every dose measured, but 12 scenes are too few")
