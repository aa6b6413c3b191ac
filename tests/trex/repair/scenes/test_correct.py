"""Step 4 on drawn scenes: the models differ as they should, and the page claims no more than the controls allow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.trex.repair.scenes.planted import loaded, opened, query, silent
from tests.worlds.repair_toy import tree
from trex.artifacts.card import read_card
from trex.clevr_models.percept.model import load_percept
from trex.foundation.errors import InputError
from trex.repair.correction.results import BEFORE, ZERO, Tuned
from trex.repair.records import read_record
from trex.repair.scenes import results as names
from trex.repair.scenes.correct import RESULT, correct_scenes, raw_mistakes
from trex.repair.scenes.distill import distill_scenes
from trex.repair.scenes.identify import identify_scenes
from trex.repair.scenes.label import label_scenes
from trex.repair.scenes.mistakes import misread
from trex.repair.scenes.page import write_scene_report
from trex.repair.scenes.results import SceneCorrectResult, compared, scenario_test
from trex.repair.scenes.words import corrected
from trex.scenes.prior import ScenePrior

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL: dict[str, dict[str, object]] = {"identify": {"seeds": 40, "held_out": 4}, "label": {"pictures": 16}}
PAIRS = 200


def run(path: Path) -> SceneCorrectResult:
    """A whole repair of the shipped model on flat drawings, on which it misreads much."""
    with opened(path, query(**SMALL)) as folder, loaded(path, is_planted=False) as given:
        for step in (identify_scenes, distill_scenes, label_scenes, correct_scenes):
            step(folder, given, silent)
        return read_record(SceneCorrectResult, folder.require("correct") / RESULT)


@pytest.fixture(scope="module")
def corrected_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished repair."""
    path = tmp_path_factory.mktemp("correct") / "r"
    run(path)
    return path


def test_raw_mistakes_are_taken_once_before_any_is_taken_again_and_grown_ones_first() -> None:
    """Planted bug: drawn with replacement, this control once had half as many pictures as the scenarios."""
    scene = ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(1))
    rows = [misread(scene, 0, "missed", k, is_grown=k % 2 == 1) for k in range(40)]
    some = raw_mistakes(np.random.default_rng(2), rows, 30)
    assert len({one.member for one in some}) == 30
    assert all(one.is_grown for one in some[:20]) and not any(one.is_grown for one in some[20:])
    again = raw_mistakes(np.random.default_rng(2), rows, 100)
    assert sorted(Counter(one.member for one in again).values()) == [2] * 20 + [3] * 20
    assert [one.member for one in again[:30]] == [one.member for one in some]
    other = raw_mistakes(np.random.default_rng(3), rows, 30)
    assert [one.member for one in other] != [one.member for one in some]


def test_every_model_is_judged_by_every_test_and_the_chosen_one_is_kept(corrected_once: Path) -> None:
    found = run(corrected_once)
    assert found.before is not None and found.corrected == [0] and found.chosen == [1.0]
    tests = {*names.TESTS, names.CHOOSE, names.CHECKED}
    tests |= {scenario_test(name, 0) for name in (names.FRESH, names.DECIDING)}
    assert all(set(one.right) == tests for one in (found.before, *found.tuned))
    assert [(one.kind, one.weight) for one in found.tuned] == [
        ("sweep", 0.0), ("sweep", 1.0), ("ordinary", 1.0), ("raw", 1.0)
    ]  # fmt: skip
    assert found.others == [BEFORE, ZERO, names.ORDINARY, names.RAW]
    with opened(corrected_once, query(**SMALL)) as folder:
        weights = folder.require("correct") / "model-0.safetensors"
    assert load_percept(weights).percept is not None and read_card(weights)["lambda"] == 1.0


def test_nothing_is_claimed_of_six_held_out_scenes_and_one_step(corrected_once: Path) -> None:
    found = run(corrected_once)
    assert all(len(found.claim(against, test).rows) == 1 for against in found.others for test in names.TESTS)
    assert not found.is_mended and list(corrected(found))[-1].startswith("Not claimed to be mended")


def test_the_report_has_the_verdicts_and_every_model(corrected_once: Path) -> None:
    with opened(corrected_once, query(**SMALL)) as folder:
        document = write_scene_report(folder)
    page = (corrected_once / "report.html").read_text()
    assert document["is_mended"] is False and document["halved"] == []
    assert page.count("<figure>") >= 1 and "data:image/png" in page and "mistakes without clusters" in page


def test_it_resumes_between_models_to_the_same_bytes(corrected_once: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut"

    def stop(what: str, done: int, total: int) -> None:
        if what == "models tuned" and done == 2:
            raise KeyboardInterrupt

    with opened(path, query(**SMALL)) as folder, loaded(path, is_planted=False) as given:
        for step in (identify_scenes, distill_scenes, label_scenes):
            step(folder, given, silent)
        with pytest.raises(KeyboardInterrupt):
            correct_scenes(folder, given, stop)
    run(path)
    mine, whole = tree(path), tree(corrected_once)
    assert {k: v for k, v in mine.items() if k.startswith("correct/")} == {
        k: v for k, v in whole.items() if k.startswith("correct/")
    }


def test_a_device_that_is_not_there_is_refused_before_anything_is_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: it was refused by the first model, after all test scenes had been rendered."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    path = tmp_path / "cuda"
    wanted = query(**SMALL, correct={"device": "cuda"})
    told: list[str] = []
    with opened(path, wanted) as folder, loaded(path, is_planted=False) as given:
        for step in (identify_scenes, distill_scenes, label_scenes):
            step(folder, given, silent)
        with pytest.raises(InputError, match="no CUDA device"):
            correct_scenes(folder, given, lambda what, done, total: told.append(what))
    assert told == [] and not (path / "correct").exists()


def test_a_correction_on_another_device_is_another_correction(corrected_once: Path) -> None:
    other = query(**SMALL, correct={"device": "auto"})
    with opened(corrected_once, other) as folder:
        assert folder.is_done("label") and not folder.is_done("correct")


def result(gain: int, lost: float, *, seeds: int = 2) -> SceneCorrectResult:
    """A correction whose chosen models have 100 of 200 objects right, and `gain` more than every other model."""
    rows = []
    for seed in range(seeds):
        for against in (BEFORE, ZERO, *names.CONTROLS):
            for test in (*names.TESTS, scenario_test(names.DECIDING, 4)):
                chosen, other = np.zeros(PAIRS, np.bool_), np.zeros(PAIRS, np.bool_)
                chosen[:100], other[: 100 - gain] = True, True
                if test == names.ANSWERS:
                    other[: 100 + round(lost * PAIRS)] = True
                rows.append(compared(seed, against, test, (chosen, other), range(PAIRS)))
    before = Tuned(seed=0, kind=BEFORE, weight=0.0, right=dict.fromkeys(names.TESTS, (100 - gain, PAIRS)))
    sweep = [
        Tuned(seed=seed, kind=names.SWEEP, weight=1.0, right=dict.fromkeys(names.TESTS, (100, PAIRS)))
        for seed in range(seeds)
    ]
    return SceneCorrectResult(corrected=[4], before=before, tuned=sweep, chosen=[1.0] * seeds, compared=rows)


def test_mended_takes_a_clear_gain_on_every_test_and_hardly_any_loss() -> None:
    assert result(40, 0.0).is_mended
    assert not result(3, 0.0).is_mended  # no interval is clear of 0
    assert not result(40, 0.01).is_mended  # one point of the answers about ordinary scenes is lost
    unchosen = result(40, 0.0, seeds=1).model_copy(update={"chosen": [1.0, None]})
    assert result(40, 0.0, seeds=1).is_mended and not unchosen.is_mended


def test_halved_takes_half_of_the_mistakes_and_an_interval_clear_of_no_change() -> None:
    assert result(100, 0.0).halved() == [4]  # 200 wrong before, 100 after
    assert result(90, 0.0).halved() == []  # 190 before, 100 after: clear, and not half
    assert result(100, 0.0, seeds=1).model_copy(update={"chosen": [1.0, None]}).halved() == []


def test_scenes_from_one_prior_scene_do_not_make_a_gain_clear() -> None:
    chosen, other = np.ones(40, np.bool_), np.zeros(40, np.bool_)
    other[20:] = True  # better in the first half alone
    apart = compared(0, BEFORE, names.FRESH, (chosen, other), range(40))
    together = compared(0, BEFORE, names.FRESH, (chosen, other), [0] * 20 + [1] * 20)
    assert apart.low > 0 and together.low < 0 and together.clusters == 2
