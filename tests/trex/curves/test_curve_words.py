"""What a curve says: a threshold only where one is shown, and what limits it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from trex.curves.curve import Curve, CurveScene, Event, Point
from trex.curves.figure import figure
from trex.curves.tables import dose_table, scene_table
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
        "Each point is the mean of 2 draws of the render noise; scenes count as independent.",
    )
    assert dose_table(shown).text()[2].split() == ["0.10", "2", "0%", "0–89%", "0.50", "1"]
    assert [line.split() for line in scene_table(shown).text()[1:3]] == [
        ["1", "0.50", "0.50"],
        ["2", "0.50", "–"],
    ]
