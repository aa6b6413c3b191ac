"""Traffic signs in the npz form: made files are read as they are, damaged and foreign ones are refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from reproduce.datasets.sign_files import TEST_PICTURES, TEST_TABLE, read_packed, read_test, read_training
from reproduce.datasets.signs import NAMES, load_signs
from tests.references.official_clevr import data_file
from tests.worlds.made_signs import (
    CLASSES,
    FRAMES,
    HEAD,
    TRACKS,
    TRAINING,
    line,
    made_arrays,
    ppm,
    training_members,
    write_packed,
    write_signs,
    write_zip,
)
from trex.foundation.errors import InputError
from trex.mnist_models.datasets import load_data


@pytest.mark.parametrize("inner", [".", "GTSRB", "gtsrb"])
def test_made_files_are_read_as_they_were_written(tmp_path: Path, inner: str) -> None:
    write_packed(tmp_path / inner)
    write_packed(tmp_path / inner, "test")
    train, test = (load_data("signs", split, tmp_path) for split in ("train", "test"))
    arrays = made_arrays()
    assert np.array_equal(train.images, arrays["images"]) and np.array_equal(train.labels, arrays["labels"])
    assert train.picture == (32, 32, 3) and train.names == NAMES and len(NAMES) == len(set(NAMES)) == 43
    assert train.groups is not None and len(set(train.groups)) == CLASSES * TRACKS
    assert np.bincount(train.groups).tolist() == [FRAMES] * (CLASSES * TRACKS)
    assert test.groups is None and train.sha256 != test.sha256


def test_the_hash_knows_pictures_labels_and_tracks(tmp_path: Path) -> None:
    whole = load_signs("train", write_packed(tmp_path / "a").parent).sha256
    assert load_signs("train", write_packed(tmp_path / "b").parent).sha256 == whole
    arrays = made_arrays()
    for name, change in (("images", 1), ("labels", 1), ("track", 1)):
        changed = arrays[name].copy()
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


PLACE = "GTSRB/Final_Training/Images/00000"
FIRST = "00000_00000.ppm"


def test_a_training_archive_is_read_with_its_tracks_within_classes(tmp_path: Path) -> None:
    path = write_zip(tmp_path / TRAINING, training_members())
    frames = read_training(path)
    assert frames.images.shape == (8, 32, 32, 3) and frames.labels.tolist() == [0] * 4 + [7] * 4
    assert frames.track is not None and frames.frame is not None
    assert frames.track.tolist() == [0, 0, 1, 1] * 2 and frames.frame.tolist() == [0, 1] * 4
    assert frames.boxes[0].tolist() == [32, 34, 5, 6, 27, 28]
    data = load_signs("train", tmp_path)
    assert data.groups is not None and data.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_rows_stay_rows_and_red_stays_red(tmp_path: Path) -> None:
    """A red upper half of a wide frame; exchanged axes or channels would show it elsewhere."""
    picture = np.zeros((40, 80, 3), np.uint8)
    picture[:20, :, 0] = 255
    members = training_members() | {f"{PLACE}/{FIRST}": ppm(picture)}
    members[f"{PLACE}/GT-00000.csv"] = HEAD + line(FIRST, 80, 40, 0)
    image = read_training(write_zip(tmp_path / TRAINING, members)).images[0]
    assert (image[:14, :, 0] == 255).all() and image[18:].max() == 0 and image[:, :, 1:].max() == 0


def test_a_frame_is_resized_over_all_its_pixels(tmp_path: Path) -> None:
    """A fine checkerboard becomes gray; a reader that picks single pixels would keep black or white."""
    board = np.indices((256, 256)).sum(axis=0) % 2 * 255
    picture = np.repeat(board[:, :, None], 3, axis=2).astype(np.uint8)
    members = {f"{PLACE}/{FIRST}": ppm(picture), f"{PLACE}/GT-00000.csv": HEAD + line(FIRST, 256, 256, 0)}
    image = read_training(write_zip(tmp_path / TRAINING, members)).images[0]
    assert image.min() > 120 and image.max() < 135
    assert {int(picture[row, 0, 0]) for row in range(0, 256, 8)} != {128}  # planted: every eighth pixel


def test_test_pictures_take_their_classes_from_the_other_archive(tmp_path: Path) -> None:
    pictures = {
        f"GTSRB/Final_Test/Images/{k:05}.ppm": ppm(np.full((20, 20, 3), 40 * k, np.uint8)) for k in range(3)
    }
    hidden = {"GTSRB/Final_Test/Images/GT-final_test.test.csv": HEAD.replace(";ClassId", "")}
    write_zip(tmp_path / TEST_PICTURES, pictures | hidden)
    table = HEAD + "".join(line(f"{k:05}.ppm", 20, 20, label) for k, label in ((2, 5), (0, 41), (1, 9)))
    write_zip(tmp_path / TEST_TABLE, {"GT-final_test.csv": table})
    data = load_signs("test", tmp_path)
    assert data.labels.tolist() == [5, 41, 9] and data.images[:, 0, 0, 0].tolist() == [80, 0, 40]
    assert data.groups is None
    write_zip(tmp_path / TEST_TABLE, {"GT-a.csv": table, "GT-b.csv": table})
    with pytest.raises(InputError, match="2 tables"):
        read_test(tmp_path / TEST_PICTURES, tmp_path / TEST_TABLE)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (line("../00007/00000_00000.ppm", 32, 34, 0), "is not the name of a picture"),
        (line("/etc/passwd", 32, 34, 0), "is not the name of a picture"),
        (line("00000_00009.ppm", 32, 34, 0), "which its table names"),
        (line(FIRST, 33, 34, 0), "its table says RGB"),
        (line(FIRST, 32, 34, 43), "class 43; classes are 0 to 42"),
        (line(FIRST, 32, 34, 0) * 2, "a second time"),
        (f"{FIRST};32;34;5;6;27;28\n", "is not a name and 7 whole numbers"),
        (f"{FIRST};32;34;5;6;27;-8;0\n", "is not a name and 7 whole numbers"),
        ("", "has no picture"),
    ],
)
def test_tables_that_lie_are_refused(tmp_path: Path, table: str, message: str) -> None:
    members = {name: member for name, member in training_members().items() if "00000/" in name or not table}
    members = {name: member for name, member in members.items() if not name.endswith(".csv")}
    path = write_zip(tmp_path / "in" / TRAINING, members | {f"{PLACE}/GT-00000.csv": HEAD + table})
    with pytest.raises(InputError, match=message):
        read_training(path)
    assert [item.name for item in tmp_path.rglob("*")] == ["in", TRAINING]  # nothing was unpacked anywhere


@pytest.mark.parametrize("name", ["../../out.ppm", "/out.ppm", "GTSRB\\..\\out.ppm"])
def test_a_member_that_leaves_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    path = write_zip(tmp_path / "in" / TRAINING, training_members() | {name: b"x"})
    with pytest.raises(InputError, match="leaves the archive"):
        read_training(path)
    assert [item.name for item in tmp_path.rglob("*")] == ["in", TRAINING]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (f"{PLACE}/{FIRST}", b"P6 32 34 255\n12", "not a PPM picture, or is truncated"),
        (f"{PLACE}/{FIRST}", b"\x89PNG", "not a PPM picture"),
        # planted bug: Pillow's own error ended the command
        (f"{PLACE}/{FIRST}", b"P6 100000 100000 255\nabc", "not a PPM picture, or is truncated"),
        (f"{PLACE}/{FIRST}", b"P5 32 34 255\n" + bytes(32 * 34), "is L of"),
        (f"{PLACE}/GT-00000.csv", HEAD.replace(";", ","), "has columns"),
        (f"{PLACE}/GT-00000.csv", b"\xff\xfe", "is no text"),
    ],
)
def test_damaged_members_are_named(tmp_path: Path, name: str, data: bytes | str, message: str) -> None:
    path = write_zip(tmp_path / TRAINING, training_members() | {name: data})
    with pytest.raises(InputError, match=message):
        read_training(path)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / TRAINING
    path.write_bytes(write_zip(tmp_path / "whole.zip", training_members()).read_bytes()[:-40])
    with pytest.raises(InputError, match="damaged or not a zip"):
        read_training(path)
