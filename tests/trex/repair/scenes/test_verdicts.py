"""What a component of scenes is: its verdict by the truth of fresh scenes, its sentence, and which are corrected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.trex.repair.scenes.planted import query
from trex.foundation.progress import silent
from trex.repair.domain import Voters
from trex.repair.scenes import bench, label
from trex.repair.scenes.label import NEITHER, SCENARIO, WEAK, interval, met_words
from trex.repair.scenes.situations import Fresh
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import with_attribute
from trex.scenes.vocabulary import CLEVR

SCENE = ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(1))


@pytest.mark.parametrize(("hits", "kind"), [(28, SCENARIO), (26, WEAK), (17, WEAK), (16, NEITHER)])
def test_a_verdict_rests_on_the_lower_end_and_on_the_share_of_misread_objects(
    hits: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 fresh scenes; 10 of 200 objects of the prior are misread, so five times as many are a quarter."""
    known = SimpleNamespace(
        components=[SimpleNamespace(number=0, sentence="x")], misread=10, objects=200, scenes=40
    )
    drawn = [Fresh(SCENE, 0, k) for k in range(40)]
    monkeypatch.setattr(label, "generator_of", lambda *given: SimpleNamespace(draw=lambda *key: (drawn, 1.0)))
    monkeypatch.setattr(label, "_examples", lambda *given: [])
    folder = SimpleNamespace(query=query(), require=Path, found=lambda step, model: known)
    seen = [("missed" if k < hits else "",) for k in range(40)]
    judging = label.judge(folder, SimpleNamespace(seen=lambda *given: seen), Voters())
    found = judging.carry_out(Path(), silent)
    assert isinstance(found, label.TruthResult)
    (verdict,) = found.verdicts
    assert verdict.kind == kind and verdict.misread == hits and found.prior == 0.05


def test_the_scenarios_that_are_misread_most_often_are_corrected() -> None:
    def verdict(number: int, low: float) -> label.Verdict:
        return label.Verdict(
            number=number,
            sentence="",
            drawn=9,
            misread=9,
            low=low,
            high=1.0,
            inside=1.0,
            kind=WEAK,
            examples=[],
        )

    given = label.TruthResult(prior=0.1, verdicts=[verdict(0, 0.6), verdict(1, 0.9), verdict(2, 0.7)])
    folder = SimpleNamespace(query=query(correct={"most": 2}), found=lambda step, model: given)
    assert [each.number for each in bench.tune(folder, None).scenarios] == [1, 2]


def test_a_verdict_takes_scenes_of_one_prior_scene_as_a_cluster() -> None:
    drawn, hits = [Fresh(SCENE, 0, k // 10) for k in range(40)], [k < 30 for k in range(40)]
    low, high = interval(drawn, hits)
    assert low < 0.3 and high > 0.98  # as 40 independent scenes: .59 to .87


@pytest.mark.parametrize(
    ("metal", "words"),
    [
        (20, "a small metal object"),
        (16, "a small metal object"),
        (15, "a small object"),
        (0, "a small object"),
    ],
)
def test_a_sentence_keeps_the_conditions_that_the_fresh_objects_meet(metal: int, words: str) -> None:
    """Planted bug: "a small metal object" was a scenario by 20 fresh objects of which 15 were metal, or none."""
    drawn = []
    for k in range(20):
        item = with_attribute(SCENE.objects[0], "size", "small")
        item = with_attribute(item, "material", "metal" if k < metal else "rubber")
        drawn.append(Fresh(replace(SCENE, objects=(item, *SCENE.objects[1:])), 0, k))
    assert met_words(["size small", "material metal"], drawn, CLEVR) == words
    assert met_words([], drawn, CLEVR) == "an object"
