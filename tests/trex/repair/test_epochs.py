"""Which epoch's weights are kept, and the halves of the test split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trex.repair.test_correct import corrected, labelled_folder
from tests.worlds.repair_toy import PLANTED, Draw, Planted, data_of, toy, toy_folder, toy_query, tree
from trex.artifacts.card import read_card
from trex.mnist_models.training.classifiers import Extra, fine_tune_training
from trex.mnist_models.training.loop import Settings, fit
from trex.repair.decoders.bench import Epochs, Set, bench_of
from trex.repair.decoders.loaded import Loaded, answers, pictures_of, validation_rows
from trex.repair.results import (
    FIRST_HALF,
    SECOND_HALF,
    SWEEP,
    TEST,
    TRAINING,
    VALIDATION,
    CorrectResult,
)

HALVES_ROW = "  halves of the test split, as published"
NEAR = PLANTED + 0.1 * np.random.default_rng(3).standard_normal(
    (40, 2)
)  # right pictures that a height of 20 misreads


def judged_the_other_way() -> Loaded:
    """The toy whose validation pictures call every planted picture left: each step of a mending costs accuracy."""
    loaded = toy()
    _, judging = validation_rows(toy_query(), loaded.train)
    z = loaded.generator.encode(loaded.train.images[judging].astype(np.float32) / np.float32(255)).mean
    labels = loaded.train.labels.copy()
    labels[judging] = np.where(np.linalg.norm(z - PLANTED, axis=1) < 1.5, 0, labels[judging])
    return replace(loaded, train=replace(loaded.train, labels=labels))


def only_sweep(found: CorrectResult, weight: float) -> tuple[int | None, dict[str, tuple[int, int]]]:
    (model,) = found.of(SWEEP, weight)
    return model.epoch, model.right


@pytest.mark.slow
def test_the_best_epoch_has_the_weights_of_a_training_that_ends_there(tmp_path: Path) -> None:
    loaded = judged_the_other_way()
    path = labelled_folder(tmp_path / "r", toy())

    def tuned(**keys: object) -> CorrectResult:
        return corrected(path, loaded, correct={"seeds": 1, "epochs": 4, "loss": 1.0, "rate": 0.4, **keys})

    after = [only_sweep(tuned(epochs=epoch), 1.0) for epoch in (1, 2, 3, 4)]
    assert [epoch for epoch, _ in after] == [1, 2, 3, 4]
    right = [counts[VALIDATION][0] for _, counts in after]
    assert right[0] > right[-1], "the last epoch is not the best here"
    best = tuned(epoch="best")
    assert only_sweep(best, 1.0) == after[int(np.argmax(right))]
    card = read_card(path / "correct" / "model-0.safetensors")
    assert card["epoch"] == 1 + int(np.argmax(right))
    assert best.epoch_words.endswith(f"best on validation pictures, of 4, by seed: {card['epoch']}.")
    assert any("best on validation pictures" in sentence for sentence in best.sentences)
    by_training = [counts[TRAINING][0] for _, counts in after]
    printed = only_sweep(tuned(epoch="best", select="printed"), 1.0)
    assert printed == after[int(np.argmax(by_training))] and printed[0] != card["epoch"]
    last = tuned()
    assert only_sweep(last, 1.0) == after[-1] and last.epoch_words == "Weights of the last of 4 epochs."
    assert not any("weights of" in sentence.lower() and "epoch" in sentence for sentence in last.sentences)


def job(stem: Path, on_epoch: object, truth: int = 1) -> Epochs:
    """Five epochs that mend the planted model, judged by pictures near PLANTED with this label."""
    stem.parent.mkdir(exist_ok=True)
    shown = Draw()(torch.from_numpy(NEAR).float())
    data = data_of(NEAR, "train")
    keeps = Epochs(Set(shown.numpy()[:, 0], np.full(len(NEAR), truth)), stem)
    settings = Settings("m", "toy", "d", data.names, 1, 5, 10, "cpu", 1)
    extra = Extra(shown, torch.ones(len(NEAR), dtype=torch.long), 1.0)

    def told(epoch: int, modules: object) -> None:
        keeps.keep(epoch, modules)  # type: ignore[arg-type]
        if callable(on_epoch):
            on_epoch(epoch)

    fit(
        lambda: fine_tune_training(Planted(20.0), extra, 1.0),
        data,
        settings,
        stem.with_suffix(".ckpt"),
        on_epoch=told,
    )
    return keeps


def heights(keeps: Epochs) -> list[float]:
    found = []
    for epoch in range(1, 6):
        network = Planted(0.0)
        keeps.load(network, epoch)
        found.append(float(network.height.detach()))
    return found


def test_the_first_of_equally_good_epochs_is_kept_and_a_kill_changes_nothing(tmp_path: Path) -> None:
    whole = job(tmp_path / "whole" / "m", None)
    falling = heights(whole)
    assert falling == sorted(falling, reverse=True) and len(set(falling)) == 5 and falling[0] < 20.0
    right = []
    for height in falling:
        answers = Planted(height)(Draw()(torch.from_numpy(NEAR).float())).argmax(dim=1)
        right.append(float((answers == 1).sum()))
    assert whole.best(5) == 1 + right.index(max(right)) and right[0] < max(right)
    assert (
        job(tmp_path / "other" / "m", None, truth=0).best(5) == 1
    )  # judged the other way, the first is best

    def stop(epoch: int) -> None:
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job(tmp_path / "cut" / "m", stop)
    job(tmp_path / "cut" / "m", None)
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")


def test_halves_of_the_test_split_stand_in_a_second_row_of_data_published_by_halves(tmp_path: Path) -> None:
    path = labelled_folder(tmp_path / "r", toy())
    quick: dict[str, object] = {"correct": {"seeds": 1, "epochs": 1}}
    whole = corrected(path, toy(), **quick)
    assert whole.before is not None and not {FIRST_HALF, SECOND_HALF} & set(whole.before.right)
    assert HALVES_ROW not in [name for name, _ in whole.table()]
    loaded = replace(toy(), test=replace(toy().test, name="signs"))
    with toy_folder(path, toy(), toy_query(**quick)) as folder:
        half = bench_of(folder, loaded, ()).half()
        assert half.sum() == 250 and 0 < half[:250].sum() < 250  # at random, not the first rows
        assert (half == bench_of(folder, loaded, ()).half()).all() and not bench_of(
            folder, toy(), ()
        ).half().any()
    labels = loaded.test.labels.copy()
    labels[np.flatnonzero(half)[:40]] ^= 1  # so that the halves differ
    loaded = replace(loaded, test=replace(loaded.test, labels=labels))
    right = answers(loaded.model.module, pictures_of(loaded.test, np.arange(500))) == labels
    found = corrected(path, loaded, correct={"seeds": 1, "epochs": 1, "rate": 0.5})
    assert found.before is not None and right[half].sum() != right[~half].sum()
    assert found.before.right[FIRST_HALF] == (right[half].sum(), 250)
    assert found.before.right[SECOND_HALF] == (right[~half].sum(), 250)
    for model in found.tuned:
        first, second, test = (model.right[name] for name in (FIRST_HALF, SECOND_HALF, TEST))
        assert (first[0] + second[0], first[1], second[1]) == (test[0], 250, 250)
    rows = found.table()
    assert [name for name, _ in rows[1::2]] == [HALVES_ROW] * (len(rows) // 2)
    cells = dict(zip(found.columns, rows[1][1], strict=True))
    right_of = found.before.accuracy
    assert cells[TEST].startswith(f"{100 * right_of(SECOND_HALF).value:.1f}")
    assert cells[VALIDATION].startswith(f"{100 * right_of(FIRST_HALF).value:.1f}")
    assert {cells[name] for name in found.columns if name not in (TEST, VALIDATION)} == {""}
