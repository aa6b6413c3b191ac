"""Step 4: a planted failure is repaired, weight 0 repairs nothing, and a kill anywhere ends in the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trex.repair.test_label import HEAD, begun, truths, vote_lines
from tests.worlds.repair_toy import (
    PLANTED,
    Draw,
    Planted,
    label_by_committee,
    label_by_files,
    toy,
    toy_folder,
    toy_query,
    tree,
)
from trex.artifacts.weights import expand, load_into, read_safetensors
from trex.foundation.errors import InputError
from trex.foundation.progress import silent
from trex.mnist_models.load import load_classifier
from trex.mnist_models.training.classifiers import Extra, fine_tune_training
from trex.mnist_models.training.loop import Batch
from trex.repair.correct import correct
from trex.repair.decoders import label as labelling
from trex.repair.decoders.bench import bench_of
from trex.repair.decoders.identify import GROWN as GROWN_FILE
from trex.repair.decoders.identify import read_mistakes
from trex.repair.decoders.loaded import Loaded
from trex.repair.decoders.pictures import ITEMS, read_items
from trex.repair.files import Ints, Pictures
from trex.repair.results import (
    FRESH,
    GROWN,
    PLAIN,
    RAW,
    SINGLE,
    SWEEP,
    TEST,
    ZERO,
    CorrectResult,
)
from trex.repair.steps import draw


def labelled_folder(path: Path, loaded: Loaded, wrong: float = 0.0, **changes: object) -> Path:
    """A repair whose components are labelled by one annotator, who is wrong on this share of pictures."""
    with begun(path, loaded, **changes) as folder:
        items = read_items(draw(folder, loaded) / ITEMS)
        array = truths(items, loaded)
        drawn = np.flatnonzero(items.component >= 0)
        array[drawn[: round(wrong * len(drawn))]] ^= 1
        votes = path.with_suffix(".csv")
        votes.write_text(HEAD + vote_lines(items, array, "Ada"))
        label_by_files(folder, loaded, [votes], ())
    return path


def corrected(path: Path, loaded: Loaded, **changes: object) -> CorrectResult:
    """The step on these pictures, in a folder that was begun with the toy's."""
    with toy_folder(path, toy(), toy_query(**changes)) as folder:
        correct(folder, loaded, silent)
        return folder.found("correct", CorrectResult)


def without_planted_training() -> Loaded:
    """The toy with D as left and right pictures alone: only the scenario's pictures show where the model is wrong."""
    return replace(toy(), train=toy(share=0.0).train)


def test_a_planted_failure_is_repaired_and_neither_by_weight_0_nor_by_plain_decodings(tmp_path: Path) -> None:
    path = labelled_folder(tmp_path / "r", toy())
    found = corrected(path, without_planted_training())
    assert found.before is not None and found.before.accuracy(FRESH).count == 0
    assert (
        [scenario.label for scenario in found.corrected] == ["right"]
        and found.impure == ()
        and found.chosen == [1.0] * 3
    )
    claims = {(claim.against, claim.test): claim for claim in found.claims()}
    for against in ("before", ZERO, PLAIN):
        assert claims[against, FRESH].is_better and claims[against, GROWN].is_better
        assert claims[against, TEST].is_better  # a fifth of the test pictures are planted, too
    assert all(item.accuracy(FRESH).value > 0.95 for item in found.best)
    assert all(item.accuracy(FRESH).count == 0 for item in found.of(SWEEP, 0.0))  # no more than before
    # here a mistake's seed tells the truth, so the voters gain nothing over raw mistakes, and nothing is claimed
    assert not claims[RAW, FRESH].is_better and not found.is_repaired
    assert all(
        (compared.clusters is None) == (compared.test != GROWN) for compared in found.compared
    )  # copies are related
    assert not found.has_singles and not found.of(SINGLE) and len(found.of(PLAIN)) == len(found.of(RAW)) == 3
    with pytest.raises(InputError, match="'planted'"):  # the card is of a network that only this test has
        load_classifier(str(path / "correct" / "model-0.safetensors"))
    state = expand(read_safetensors(path / "correct" / "model-0.safetensors"))
    tuned = Planted(20.0)
    load_into(tuned, state, path)
    draws = torch.from_numpy(PLANTED + np.zeros((1, 2)))
    assert int(tuned(Draw()(draws.float())).argmax()) == 1


def test_controls_draw_from_the_mistakes_that_components_are_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: with `distill.of = "new"`, mistakes that need no noise were in both controls."""
    votes: list[Ints] = []

    def all_left(training: object, stacks: list[Pictures], progress: object) -> list[Ints]:
        votes[:] = [np.zeros((len(stack), 5), np.int64) for stack in stacks]
        return votes

    monkeypatch.setattr(labelling, "committee_votes", all_left)
    loaded = toy()
    changes: dict[str, object] = {"identify": {"scale": 40.0}, "distill": {"of": "new", "components": 2}}
    with begun(tmp_path / "r", loaded, **changes) as folder:
        label_by_committee(folder, loaded, silent)
        grown = read_mistakes(folder.require("identify") / GROWN_FILE)
        bench = bench_of(folder, loaded, ())
        pool = grown.codes[~grown.plain_wrong]
        assert 0 < len(pool) < len(grown.codes) and len(votes[1]) == len(pool)
        for kind in (RAW, SINGLE):
            drawn = bench.control(kind, len(pool), 0).pictures
            assert shades(drawn) == pytest.approx(shades(loaded.generator.decode(pool)), abs=1e-5)


def shades(pictures: Pictures) -> Pictures:
    """(2, n): the toy's two shades of the pictures, each in ascending order."""
    return np.sort(np.stack([pictures[:, 0, 0], pictures[:, -1, 0]]))


def test_weight_0_does_not_look_at_further_pictures_and_any_other_does() -> None:
    near = torch.from_numpy(PLANTED + np.full((8, 2), 0.3)).float()
    batch = Batch(Draw()(near), torch.ones(8, dtype=torch.long), 0.0)

    def height_after(shift: float, weight: float) -> float:
        shown = Draw()(torch.from_numpy(PLANTED + np.full((4, 2), shift)).float())
        extra = Extra(shown, torch.zeros(4, dtype=torch.long), weight)
        job = fine_tune_training(Planted(20.0), extra, 0.1)
        torch.manual_seed(3)
        for _ in range(3):
            job.step(batch)
        return float(next(iter(job.modules["model"].parameters())).detach())

    assert height_after(0.0, 0.0) == height_after(-0.6, 0.0) != 20.0
    assert height_after(0.0, 5.0) != height_after(-0.6, 5.0)


def test_an_impure_scenario_is_left_out_unless_the_query_says_otherwise(tmp_path: Path) -> None:
    path = labelled_folder(tmp_path / "r", toy(), wrong=0.3)
    found = corrected(path, toy())
    assert found.corrected == [] and found.impure == (0,) and found.before is None and not found.is_repaired
    found = corrected(path, toy(), correct={"purity": 0.5, "seeds": 1})
    assert [scenario.number for scenario in found.corrected] == [0] and found.impure == ()


def test_a_batch_larger_than_the_data_is_refused(tmp_path: Path) -> None:
    path = labelled_folder(tmp_path / "r", toy())
    with pytest.raises(InputError, match=r"correct\.batch"):
        corrected(path, toy(), correct={"batch": 441})


@pytest.mark.slow
def test_killed_anywhere_it_ends_in_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every few atomic writes the process "dies": all four steps, from nothing to the weights."""
    loaded = toy()
    keys: dict[str, object] = {"correct": {"epoch": "best"}}  # with a file for each epoch
    corrected(labelled_folder(tmp_path / "whole", loaded), loaded, **keys)
    replace, left = Path.replace, [0]

    class Killed(BaseException):
        pass

    def dying(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        done = replace(self, target)
        if left[0] == 1:
            raise Killed
        return done

    rng = np.random.default_rng(8)
    kills = 0
    while True:
        left[0] = int(rng.integers(4, 16))  # the last files of a step take up to 11 writes
        monkeypatch.setattr(Path, "replace", dying)
        try:
            corrected(labelled_folder(tmp_path / "cut", loaded), loaded, **keys)
            break
        except Killed:
            kills += 1
        finally:
            monkeypatch.setattr(Path, "replace", replace)
        assert kills < 200
    assert kills >= 10
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")
