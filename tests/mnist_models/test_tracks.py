"""Held-out tracks: no filmed sign on both sides, classes counted apart, a fifth of them, by seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reproduce.datasets.signs import load_signs, track_groups
from tests.references.official_clevr import data_file
from tests.worlds.made_signs import made_arrays, write_packed
from tests.worlds.mnist_worlds import write_data
from trex.foundation.errors import InputError
from trex.mnist_models.datasets import load_data
from trex.mnist_models.pictures import some_tracks, split_tracks

SIGNS = set[tuple[int, int]]


def signs_of(rows: NDArray[np.int64], arrays: dict[str, NDArray[np.generic]]) -> SIGNS:
    """The physical signs of these rows: pairs of class and track."""
    return {(int(arrays["labels"][row]), int(arrays["track"][row])) for row in rows}


def test_no_sign_is_on_both_sides_and_a_fifth_is_held_out(tmp_path: Path) -> None:
    write_packed(tmp_path)
    data, arrays = load_signs("train", tmp_path), made_arrays()
    for seed in range(20):
        split = split_tracks(data, seed)
        learned, held = signs_of(split.learning, arrays), signs_of(split.held_out, arrays)
        assert not learned & held and len(learned) == 16 and len(held) == 4
        assert sorted([*split.learning, *split.held_out]) == list(range(len(data.images)))
    rows = np.random.default_rng(0).permutation(len(data.images))  # planted: frames instead of tracks
    assert signs_of(rows[12:], arrays) & signs_of(rows[:12], arrays)


def test_a_split_is_a_function_of_its_seed(tmp_path: Path) -> None:
    write_packed(tmp_path)
    data = load_signs("train", tmp_path)
    held = [split_tracks(data, seed).held_out.tolist() for seed in (1, 1, 2)]
    assert held[0] == held[1] != held[2]


def test_tracks_of_one_number_in_two_classes_are_two_signs() -> None:
    labels, tracks = np.array([0, 0, 1, 1, 1], np.uint8), np.array([0, 1, 0, 1, 1])

    def are_signs(groups: NDArray[np.int64]) -> bool:
        pairs = set(zip(labels.tolist(), tracks.tolist(), groups.tolist(), strict=True))
        return len(pairs) == len(set(groups.tolist())) == 4

    assert are_signs(track_groups(labels, tracks))
    assert not are_signs(tracks)  # planted: a group that ignores the class


def test_some_tracks_are_whole_ones(tmp_path: Path) -> None:
    write_packed(tmp_path)
    data, arrays = load_signs("train", tmp_path), made_arrays()
    rows = split_tracks(data).held_out
    some = some_tracks(data, rows, 7, np.random.default_rng(0))
    assert len(some) == 6 and len(signs_of(some, arrays)) == 2 and set(some) <= set(rows)
    assert some_tracks(data, rows, 12, np.random.default_rng(0)).tolist() == rows.tolist()
    with pytest.raises(InputError, match="2 pictures hold no whole track of signs; take at least 3"):
        some_tracks(data, rows, 2, np.random.default_rng(0))


def test_digits_have_no_tracks(tmp_path: Path) -> None:
    data = load_data("mnist", "train", write_data(tmp_path))
    split = split_tracks(data)
    assert len(split.learning) == len(data.images) and not len(split.held_out)


@pytest.mark.usefixtures("signs")
def test_the_real_tracks_are_held_out_whole() -> None:
    data = load_data("signs", "train", data_file("GTSRB"))
    split = split_tracks(data)
    assert data.groups is not None
    assert not set(data.groups[split.learning]) & set(data.groups[split.held_out])
    assert len(set(data.groups[split.held_out])) == 261 and len(split.held_out) == 2610
