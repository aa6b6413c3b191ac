"""Step 4 on drawn scenes: the models differ as they should, and the page claims no more than the controls allow."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.trex.repair.scenes.planted import SMALL, carried_out, loaded, opened, query
from tests.worlds.repair_toy import tree
from trex.artifacts.card import read_card
from trex.clevr_models.percept.model import load_percept
from trex.foundation.errors import InputError
from trex.foundation.progress import silent
from trex.repair.correct import correct
from trex.repair.report import write_report
from trex.repair.results import (
    BEFORE,
    CHECKED,
    CHOOSE,
    DECIDING,
    FRESH,
    ORDINARY,
    RAW,
    RULES,
    ZERO,
    scenario_test,
)
from trex.repair.scenes.bench import raw_mistakes
from trex.repair.scenes.identify import misread
from trex.repair.steps import distill, identify, label
from trex.scenes.prior import ScenePrior

pytestmark = pytest.mark.usefixtures("one_thread")
TESTS = RULES["scenes"].tests


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


def test_every_model_is_judged_by_every_test_and_the_chosen_one_is_kept(repaired: Path) -> None:
    found = carried_out(repaired)
    assert found.before is not None and found.chosen == [1.0]
    (scenario,) = found.corrected
    tests = {*TESTS, CHOOSE, CHECKED}
    tests |= {scenario_test(name, scenario.number) for name in (FRESH, DECIDING)}
    assert all(set(one.right) == tests for one in (found.before, *found.tuned))
    assert [(one.kind, one.weight) for one in found.tuned] == [
        ("sweep", 0.0), ("sweep", 1.0), ("ordinary", 1.0), ("raw", 1.0)
    ]  # fmt: skip
    assert found.others == [BEFORE, ZERO, ORDINARY, RAW]
    with opened(repaired, query(**SMALL)) as folder:
        weights = folder.require("correct") / "model-0.safetensors"
    assert load_percept(weights).percept is not None and read_card(weights)["lambda"] == 1.0


def test_nothing_is_claimed_of_six_held_out_scenes_and_one_step(repaired: Path) -> None:
    found = carried_out(repaired)
    assert all(len(found.claim(against, test).rows) == 1 for against in found.others for test in TESTS)
    assert not found.is_repaired and found.sentences[-1].startswith("Not claimed to be repaired")


def test_the_report_has_the_verdicts_and_every_model(repaired: Path) -> None:
    with opened(repaired, query(**SMALL)) as folder:
        document = write_report(folder)
    page = (repaired / "report.html").read_text()
    assert document["is_repaired"] is False and document["halved"] == []
    assert page.count("<figure>") >= 1 and "data:image/png" in page and "mistakes without clusters" in page


def test_it_resumes_between_models_to_the_same_bytes(repaired: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut"

    def stop(what: str, done: int, total: int) -> None:
        if what == "models tuned" and done == 2:
            raise KeyboardInterrupt

    with opened(path, query(**SMALL)) as folder, loaded(path, is_planted=False) as given:
        for step in (identify, distill, label):
            step(folder, given, silent)
        with pytest.raises(KeyboardInterrupt):
            correct(folder, given, stop)
    carried_out(path)
    mine, whole = tree(path), tree(repaired)
    assert {k: v for k, v in mine.items() if k.startswith("correct/")} == {
        k: v for k, v in whole.items() if k.startswith("correct/")
    }


@pytest.mark.slow
def test_a_device_that_is_not_there_is_refused_before_anything_is_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: it was refused by the first model, after all test scenes had been rendered."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    path = tmp_path / "cuda"
    wanted = query(**{**SMALL, "correct": {"device": "cuda"}})
    told: list[str] = []
    with opened(path, wanted) as folder, loaded(path, is_planted=False) as given:
        for step in (identify, distill, label):
            step(folder, given, silent)
        with pytest.raises(InputError, match="no CUDA device"):
            correct(folder, given, lambda what, done, total: told.append(what))
    assert told == [] and not (path / "correct").exists()


def test_a_correction_on_another_device_is_another_correction(repaired: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(repaired, tmp_path / "r"))
    other = query(**{**SMALL, "correct": {"most": 1, "device": "auto"}})
    with pytest.raises(InputError, match=r"in correct\.device.* or delete it to take the command's"):
        opened(copy, other)
    (copy / "repair.toml").unlink()
    with opened(copy, other) as folder:
        assert folder.is_done("label") and not folder.is_done("correct")
