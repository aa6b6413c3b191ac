"""Distances to the nearest training picture: planted copies lie at 0, and every figure is that of the whole table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.trex.repair.test_correct import labelled_folder
from tests.worlds.repair_toy import toy, toy_folder, toy_query, tree
from trex.foundation.errors import RunError
from trex.foundation.progress import silent
from trex.mnist_models.pictures import DataSet
from trex.repair.correct import correct_and_measure
from trex.repair.decoders.loaded import Loaded
from trex.repair.decoders.novelty import (
    FROM_TEST,
    GROUPS,
    MISREAD,
    PAIRS,
    PLAIN,
    REAL,
    SCENARIOS,
    SHOWN,
    NoveltyResult,
    novelty,
    read_pairs,
)
from trex.repair.report import DOCUMENT, PAGE, write_report

QUICK = {"correct": {"purity": 1.0}}  # the annotator is wrong on some pictures, so that nothing is tuned


def measured(path: Path, loaded: Loaded) -> NoveltyResult:
    with toy_folder(path, toy(), toy_query(**QUICK)) as folder:
        correct_and_measure(folder, loaded, silent)
        return folder.found("novelty", NoveltyResult)


def with_test(images: np.ndarray) -> Loaded:
    """The toy with other test pictures under the same labels."""
    loaded = toy()
    return replace(loaded, test=replace(loaded.test, images=images))


def table(data_set: DataSet, train: DataSet) -> np.ndarray:
    """The distance of each picture to its nearest training picture, by brute force."""
    rows = train.images.reshape(len(train.images), -1) / 255.0
    return np.array(
        [
            np.linalg.norm(rows - row / 255.0, axis=1).min()
            for row in data_set.images.reshape(len(data_set.images), -1)
        ]
    )


def test_every_figure_is_that_of_the_whole_table_of_distances(tmp_path: Path) -> None:
    loaded = toy()
    found = measured(labelled_folder(tmp_path / "r", loaded, wrong=0.2), loaded)
    assert [group.group for group in found.groups] == list(GROUPS) and found.training == 500
    real, whole = found.of(REAL), table(loaded.test, loaded.train)
    assert real is not None and real.pictures == 500 and real.farther == 0.5
    assert np.allclose(
        (real.lower, real.median, real.upper), np.quantile(whole, (0.25, 0.5, 0.75)), atol=1e-5
    )
    misread = found.of(MISREAD)
    assert misread is not None and 0 < misread.pictures < 150  # the planted fifth


def test_planted_copies_of_training_pictures_are_at_distance_0_and_near_copies_are_not(
    tmp_path: Path,
) -> None:
    train = toy().train
    found = measured(labelled_folder(tmp_path / "r", toy(), wrong=0.2), with_test(train.images))
    real, plain, drawn = found.of(REAL), found.of(PLAIN), found.of(SCENARIOS)
    assert real is not None and (real.copies, real.median, real.upper) == (500, 0.0, 0.0)
    assert plain is not None and plain.median < 1e-3  # read and drawn again
    assert drawn is not None and drawn.copies == 0 and drawn.farther > 0.9
    brighter = np.where(train.images < 255, train.images + 1, 254).astype(np.uint8)
    brighter[:, 0] ^= 1  # a stripe that no picture of the toy has
    near = measured(labelled_folder(tmp_path / "near", toy(), wrong=0.2), with_test(brighter)).of(REAL)
    assert near is not None and near.copies == 0 and near.lower > 0.0


def test_pictures_far_from_all_training_pictures_are_farther(tmp_path: Path) -> None:
    noise = np.random.default_rng(2).integers(0, 256, (500, 28, 28)).astype(np.uint8)
    found = measured(labelled_folder(tmp_path / "r", toy(), wrong=0.2), with_test(noise))
    grown, real = found.of(FROM_TEST), found.of(REAL)
    assert grown is not None and real is not None and grown.farther < 0.01 and real.median > 5.0


def test_the_page_shows_pairs_and_a_kill_ends_in_the_same_bytes(tmp_path: Path) -> None:
    loaded = toy()
    for name in ("whole", "cut"):
        labelled_folder(tmp_path / name, loaded, wrong=0.2)
    measured(tmp_path / "whole", loaded)

    def stop(what: str, done: int, total: int) -> None:
        if done == 3 and total == len(GROUPS):
            raise KeyboardInterrupt

    with toy_folder(tmp_path / "cut", toy(), toy_query(**QUICK)) as folder:
        with pytest.raises(RunError, match="run: trex repair correct"):
            novelty(folder, loaded, silent)
        with pytest.raises(KeyboardInterrupt):
            correct_and_measure(folder, loaded, stop)
        write_report(folder)
    assert "How new the mistakes are" not in (tmp_path / "cut" / PAGE).read_text()
    assert "“correct” is not finished" in (tmp_path / "cut" / PAGE).read_text()
    measured(tmp_path / "cut", loaded)
    for name in ("cut", "whole"):
        with toy_folder(tmp_path / name, toy(), toy_query(**QUICK)) as folder:
            pairs = read_pairs(folder.require("novelty") / PAIRS)
            write_report(folder)
    cut, whole = tree(tmp_path / "cut"), tree(tmp_path / "whole")
    assert {name: cut[name] for name in cut if name != PAGE} == {
        name: whole[name] for name in whole if name != PAGE
    }
    assert len(pairs) == SHOWN
    for shown, near, distance in pairs:
        assert np.linalg.norm(shown.astype(float) - near) == pytest.approx(distance)
    page, document = (
        (tmp_path / "cut" / PAGE).read_text(),
        json.loads((tmp_path / "cut" / DOCUMENT).read_text()),
    )
    assert "How new the mistakes are" in page and page.count("The training picture nearest to it") == SHOWN
    assert [item["group"] for item in document["novelty"]["groups"]] == list(GROUPS)
    assert any(
        item.startswith("Median distance to the nearest of 500 training pictures")
        for item in document["sentences"]
    )
