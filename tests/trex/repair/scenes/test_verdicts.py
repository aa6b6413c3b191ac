"""What a repair on scenes may claim: each seed, each control and each test can take the claim back.

The planted bugs, each of which the fixtures with equal seeds and controls let pass: any seed, any control or any test
suffices; the seed that loses least decides; figures of another model in a sentence.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.trex.repair.scenes.planted import query, silent
from tests.trex.repair.scenes.test_correct import PAIRS, result
from tests.trex.repair.scenes.test_proof import official, row
from trex.repair.correction.results import BEFORE, ZERO, Tuned
from trex.repair.scenes import correct, label
from trex.repair.scenes import results as names
from trex.repair.scenes.draws import Fresh
from trex.repair.scenes.label import NEITHER, SCENARIO, WEAK, interval, met_words
from trex.repair.scenes.proof.records import Proof
from trex.repair.scenes.results import SceneCorrectResult, compared, scenario_test
from trex.repair.scenes.words import corrected
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import with_attribute
from trex.scenes.vocabulary import CLEVR

SCENE = ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(1))


def weaker(
    found: SceneCorrectResult, seed: int, against: str, test: str, gain: int = 0
) -> SceneCorrectResult:
    """The same with this comparison of this seed alone at another gain."""
    chosen, other = np.zeros(PAIRS, np.bool_), np.zeros(PAIRS, np.bool_)
    chosen[:100], other[: 100 - gain] = True, True
    new = compared(seed, against, test, (chosen, other), range(PAIRS))
    rows = [
        new if (one.seed, one.against, one.test) == (seed, against, test) else one for one in found.compared
    ]
    return found.model_copy(update={"compared": rows})


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("against", [BEFORE, ZERO, *names.CONTROLS])
@pytest.mark.parametrize("test", [names.FRESH, names.GROWN, names.DECIDING])
def test_one_seed_one_control_or_one_test_without_a_gain_is_not_mended(
    seed: int, against: str, test: str
) -> None:
    assert not weaker(result(40, 0.0), seed, against, test).is_mended


@pytest.mark.parametrize("seed", [0, 1])
def test_the_seed_that_loses_most_decides_and_against_the_model_before(seed: int) -> None:
    assert not weaker(result(40, 0.0), seed, BEFORE, names.ANSWERS, -2).is_mended
    assert weaker(result(40, 0.0), seed, ZERO, names.ANSWERS, -2).is_mended


@pytest.mark.parametrize("seed", [0, 1])
def test_halved_takes_every_seed_and_is_of_this_scenario_against_the_model_before(seed: int) -> None:
    test = scenario_test(names.DECIDING, 4)
    assert weaker(result(100, 0.0), seed, BEFORE, test, 90).halved() == []
    assert weaker(result(100, 0.0), seed, ZERO, test, 90).halved() == [4]
    assert weaker(result(100, 0.0), seed, BEFORE, names.DECIDING, 90).halved() == [4]


def test_every_seed_and_every_search_of_a_proof_has_to_hold() -> None:
    both = official(2).rows + official(3).rows
    assert not official(2).model_copy(update={"rows": both}).holds
    assert not official(2).model_copy(update={"rows": both[::-1]}).holds
    assert not Proof((), (row(), row(prior_after=7))).holds
    assert (
        row(after=row().before.model_copy(update={"found": 4}), new=2).verdict == "fewer"
    )  # half is not most


def test_the_sentences_give_the_figures_of_their_own_models() -> None:
    """60 of 200 right before, 100 after; answers 101 before and 100 after; weight 0 has other figures throughout."""
    found = result(40, 0.005)
    before = found.before.model_copy(update={"right": {**found.before.right, names.ANSWERS: (101, PAIRS)}})
    zero = [
        Tuned(seed=s, kind=names.SWEEP, weight=0.0, right=dict.fromkeys(names.TESTS, (50, PAIRS)))
        for s in (0, 1)
    ]
    said = list(corrected(found.model_copy(update={"before": before, "tuned": [*zero, *found.tuned]})))
    assert said[1] == "Fresh scenes: misread 140 of 200 before, 100 of 200 / 100 of 200 after."
    assert said[4] == (
        "Answers about ordinary scenes: 50.5 % right before, 50.0 % (50.0–50.0) after (−0.5 to −0.5 points)."
    )
    halved = result(100, 0.0).model_copy(update={"corrected": [4, 5]})
    assert "1 (component 4)." in next(iter(corrected(halved)))


@pytest.mark.parametrize(("hits", "kind"), [(28, SCENARIO), (26, WEAK), (17, WEAK), (16, NEITHER)])
def test_a_verdict_rests_on_the_lower_end_and_on_the_share_of_misread_objects(
    hits: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 fresh scenes; 10 of 200 objects of the prior are misread, so five times as many are a quarter."""
    known = SimpleNamespace(
        components=[SimpleNamespace(number=0, sentence="x")], misread=10, objects=200, scenes=40
    )
    drawn = [Fresh(SCENE, 0, k) for k in range(40)]
    stored: list[label.SceneLabelResult] = []
    monkeypatch.setattr(label, "read_record", lambda kind, path: known)
    monkeypatch.setattr(label, "generator_of", lambda *given: SimpleNamespace(draw=lambda *key: (drawn, 1.0)))
    monkeypatch.setattr(label, "_examples", lambda *given: [])
    monkeypatch.setattr(label, "write_record", lambda path, found: stored.append(found))
    folder = SimpleNamespace(
        query=query(), require=Path, begin=lambda step: Path(step), finish=lambda step: None
    )
    seen = [("missed" if k < hits else "",) for k in range(40)]
    label.label_scenes(folder, SimpleNamespace(seen=lambda *given: seen), silent)
    (verdict,) = stored[0].verdicts
    assert verdict.kind == kind and verdict.misread == hits and stored[0].prior == 0.05


def test_the_scenarios_that_are_misread_most_often_are_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
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

    given = label.SceneLabelResult(prior=0.1, verdicts=[verdict(0, 0.6), verdict(1, 0.9), verdict(2, 0.7)])
    stored = []
    monkeypatch.setattr(correct, "read_record", lambda kind, path: given)
    monkeypatch.setattr(correct, "generator_of", lambda *more: None)
    monkeypatch.setattr(correct._Correction, "all", lambda self, empty: empty)
    monkeypatch.setattr(correct, "write_record", lambda path, found: stored.append(found))
    folder = SimpleNamespace(
        query=query(correct={"most": 2}),
        require=Path,
        begin=lambda step: Path(step),
        finish=lambda step: None,
    )
    correct.correct_scenes(folder, None, silent)
    assert stored[0].corrected == [1, 2]


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
