"""What a family is: its verdict by the truth of fresh scenes, and which are corrected."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.trex.repair.scenes.planted import query
from trex.foundation.progress import silent
from trex.repair.domain import Voters
from trex.repair.scenes import bench, label
from trex.repair.scenes.families import Fresh
from trex.repair.scenes.label import NEITHER, SCENARIO, WEAK, interval
from trex.scenes.prior import ScenePrior

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
    _, carry_out = label.judge(folder, SimpleNamespace(seen=lambda *given: seen), Voters())
    found = carry_out(Path(), silent)
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
    assert [each.number for each in bench.tune(folder, None)[0]] == [1, 2]


def test_a_verdict_takes_scenes_of_one_prior_scene_as_a_cluster() -> None:
    drawn, hits = [Fresh(SCENE, 0, k // 10) for k in range(40)], [k < 30 for k in range(40)]
    low, high = interval(drawn, hits)
    assert low < 0.3 and high > 0.98  # as 40 independent scenes: .59 to .87
