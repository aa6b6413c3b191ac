"""Traffic signs in the npz form: made files are read as they are, damaged and foreign ones are refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from reproduce.datasets.sign_files import read_packed
from reproduce.datasets.signs import NAMES, load_signs
from tests.references.official_clevr import data_file
from tests.worlds.made_signs import (
    CLASSES,
    FRAMES,
    TRACKS,
    made_arrays,
    write_packed,
    write_signs,
)
from trex.foundation.errors import InputError
from trex.mnist_models.datasets import load_data


@pytest.mark.parametrize("inner", [".", "GTSRB", "gtsrb"])
def test_made_files_are_read_as_they_were_written(tmp_path: Path, inner: str) -> None:
    write_packed(tmp_path / inner)
    write_packed(tmp_path / inner, "test")
    train, test = (load_data("signs", split, tmp_path) for split in ("train", "test"))
    made = made_arrays()
    assert np.array_equal(train.images, made["images"]) and np.array_equal(train.labels, made["labels"])
    assert train.picture == (32, 32, 3) and train.names == NAMES and len(NAMES) == len(set(NAMES)) == 43
    assert train.groups is not None and len(set(train.groups)) == CLASSES * TRACKS
    assert np.bincount(train.groups).tolist() == [FRAMES] * (CLASSES * TRACKS)
    assert test.groups is None and train.sha256 != test.sha256


def test_the_hash_knows_pictures_labels_and_tracks(tmp_path: Path) -> None:
    whole = load_signs("train", write_packed(tmp_path / "a").parent).sha256
    assert load_signs("train", write_packed(tmp_path / "b").parent).sha256 == whole
    made = made_arrays()
    for name, change in (("images", 1), ("labels", 1), ("track", 1)):
        changed = made[name].copy()
        changed[-1] = changed[-1] + change
        assert load_signs("train", write_packed(tmp_path / name, **{name: changed}).parent).sha256 != whole


def test_without_files_it_is_said_which_to_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREX_DIGITS", raising=False)
    with pytest.raises(InputError, match="neither shipped nor fetched"):
        load_signs("train")
    with pytest.raises(InputError, match=r"gtsrb32_train_every3rd\.npz nor GTSRB_Final_Training"):
        load_signs("train", tmp_path)
    write_signs(tmp_path)
    monkeypatch.setenv("TREX_DIGITS", str(tmp_path))
    assert len(load_signs("test").images) == CLASSES * TRACKS * FRAMES


MADE = made_arrays()
N = len(MADE["labels"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": MADE["images"].astype(np.float32)}, "'images' holds float32"),
        ({"images": MADE["images"].transpose(0, 3, 1, 2)}, r"images are uint8 \(60, 3, 32, 32\)"),
        ({"images": MADE["images"][:, :28, :28]}, r"\(60, 28, 28, 3\)"),
        ({"images": MADE["images"][:0]}, r"\(0, 32, 32, 3\)"),
        ({"images": np.array(3, np.uint8)}, r"images are uint8 \(\)"),
        ({"labels": MADE["labels"][1:]}, r"labels are \(59,\); they must be \(60,\)"),
        ({"labels": np.full(N, 43, np.uint8)}, "label 43; labels are 0 to 42"),
        ({"track": None}, "no array 'track'"),
        ({"track": MADE["track"] - 1}, "track -1 is below 0"),
        ({"frame": MADE["frame"][:, None]}, r"frame are \(60, 1\)"),
        ({"orig_wh_roi": MADE["orig_wh_roi"][:, :4]}, r"orig_wh_roi are \(60, 4\)"),
        ({"orig_wh_roi": 0 * MADE["orig_wh_roi"]}, "a frame without pixels"),
        ({"labels": np.array(["1"] * N)}, "'labels' holds <U1"),
    ],
)
def test_arrays_of_another_form_are_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    path = write_packed(tmp_path, **changes)
    with pytest.raises(InputError, match=message):
        read_packed(path, has_tracks=True)


class Canary:
    """Unpickling it makes a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        return Path.mkdir, (self.place,)


def test_objects_are_refused_and_nothing_in_them_runs(tmp_path: Path) -> None:
    place = tmp_path / "ran"
    path = write_packed(tmp_path, labels=np.array([Canary(place)] * N))
    with pytest.raises(InputError, match="'labels' holds object"):
        read_packed(path, has_tracks=True)
    assert not place.exists()


def test_a_header_that_announces_more_than_there_is_takes_no_memory(tmp_path: Path) -> None:
    path = write_packed(tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (1 << 40, 32, 32, 3)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, header.getvalue() if name == "images.npy" else data)
    with pytest.raises(InputError, match="announces 3,377,699,720,527,872 bytes, 0 are there"):
        read_packed(path, has_tracks=True)


def test_a_cut_or_changed_file_is_refused(tmp_path: Path) -> None:
    path = write_packed(tmp_path)
    whole = path.read_bytes()
    for kept in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with pytest.raises(InputError, match="damaged"):
            read_packed(path, has_tracks=True)
    middle = len(whole) // 4
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
    with pytest.raises(InputError, match="damaged"):
        read_packed(path, has_tracks=True)


def test_the_real_files_are_read() -> None:
    """Counts as published: 12,630 test frames, and a third of 39,209 training frames in 1,307 tracks."""
    folder = data_file("GTSRB")
    train, test = (load_data("signs", split, folder) for split in ("train", "test"))
    assert len(train.images) == 13_070 and len(test.images) == 12_630
    assert train.groups is not None and len(set(train.groups)) == 1_307
    assert (np.bincount(train.groups) == 10).all()
    assert (np.bincount(test.labels) % 30 == 0).all() and len(np.bincount(train.labels)) == 43
