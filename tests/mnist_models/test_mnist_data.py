"""idx files: whole ones are read, damaged ones are named; classes are kept and left out."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.references.official_clevr import data_file
from tests.serving.http_server import served_folder
from tests.worlds.mnist_worlds import N_TEST, N_TRAIN, bars, idx_bytes, write_data
from trex.foundation.errors import InputError
from trex.mnist_models import published as module
from trex.mnist_models.datasets import load_data
from trex.mnist_models.pictures import chosen_classes, data_hash, with_classes
from trex.mnist_models.published import SOURCES, File, read_idx

NAMES = SOURCES["fashion"].labels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


def images_file(folder: Path) -> Path:
    return folder / "MNIST" / "raw" / "train-images-idx3-ubyte.gz"


def test_both_splits_are_read_compressed_or_not(folder: Path, tmp_path: Path) -> None:
    train, test = load_data("mnist", "train", folder), load_data("mnist", "test", folder)
    assert train.images.shape == (N_TRAIN, 28, 28) and test.labels.shape == (N_TEST,)
    assert np.array_equal(train.images, bars(N_TRAIN, 1)[0]) and train.names == SOURCES["mnist"].labels
    plain = load_data("mnist", "train", write_data(tmp_path / "plain", packed=False))
    assert plain.sha256 == train.sha256 != test.sha256
    flipped = train.images.copy()
    flipped[3, 4, 5] ^= 1
    assert data_hash(flipped, train.labels) != train.sha256


@pytest.mark.parametrize("inner", ["MNIST/raw", "MNIST", "."])
def test_a_folder_may_be_named_at_any_depth(folder: Path, inner: str) -> None:
    assert len(load_data("mnist", "test", folder / inner).images) == N_TEST


def test_the_environment_names_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREX_DIGITS", str(folder))
    assert len(load_data("mnist", "test").images) == N_TEST
    monkeypatch.setenv("TREX_DIGITS", str(folder / "nowhere"))
    with pytest.raises(InputError, match="nowhere does not exist; set TREX_DIGITS to one"):
        load_data("mnist", "test")
    with pytest.raises(InputError, match=r"no does not exist; give one that holds the published files$"):
        load_data("mnist", "test", folder / "no")  # by --data of one command, or --dataset of another


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_files_of_the_other_data_set_are_refused(
    split: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: MNIST's folder was read as garments, whose files have the same names."""
    contents = {text: load_data("mnist", text, folder).sha256 for text in ("train", "test")}
    published = SOURCES["mnist"]._replace(contents=contents)
    monkeypatch.setattr(module, "SOURCES", {**SOURCES, "mnist": published})
    for place in (folder / "MNIST", write_data(tmp_path / "plain", packed=False) / "MNIST" / "raw"):
        with pytest.raises(InputError, match="are mnist's, not fashion's"):
            load_data("fashion", split, place)
        assert load_data("mnist", split, place).sha256 == contents[split]
    monkeypatch.undo()
    assert load_data("fashion", split, folder / "MNIST").name == "fashion"  # files that nobody published


HEAD = b"\0\0\x08\x03" + struct.pack(">3I", 2, 2, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with nothing"),
        (b"PK\x03\x04 a zip file", "not an idx file .it begins with 504b0304"),
        (b"\0\0\x0d\x03" + bytes(40), "elements of type 0x0d"),
        (b"\0\0\x08\x01" + struct.pack(">I", 8) + bytes(8), "has 1 dimensions instead of 3"),
        (b"\0\0\x08\x03\0\0\0", "ends within its header"),
        (HEAD + bytes(7), "is truncated: its header announces 8 bytes, 7 follow"),
        (HEAD + bytes(9), "is too long: its header announces 8 bytes, 9 follow"),
        (
            b"\0\0\x08\x03" + b"\xff" * 12 + bytes(8),
            "is truncated: its header announces 79228162458924105385300197375",
        ),
        (gzip.compress(HEAD + bytes(8), mtime=0)[:-9], "truncated or damaged"),
        (gzip.compress(HEAD + bytes(8), mtime=0) + b"rest", "truncated or damaged"),
        (b"\x1f\x8bnot really", "truncated or damaged"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_idx(path, 3)


def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trex.mnist_models.published.LARGEST_BYTES", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(1 << 22)))
    with pytest.raises(InputError, match="unpacks to more than"):
        read_idx(path, 3)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_idx(tmp_path / "missing", 3)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((5, 28, 28), np.uint8), np.zeros(4, np.uint8), "5 images, .* 4 labels"),
        (np.zeros((5, 32, 32), np.uint8), np.zeros(5, np.uint8), r"\(32, 32\) pixels; they must be 28x28"),
        (np.zeros((0, 28, 28), np.uint8), np.zeros(0, np.uint8), "has no images"),
        (np.zeros((2, 28, 28), np.uint8), np.array([3, 10], np.uint8), "label 10; labels are 0 to 9"),
    ],
)
def test_images_and_labels_that_do_not_fit_are_refused(
    folder: Path, images: np.ndarray, labels: np.ndarray, message: str
) -> None:
    raw = images_file(folder).parent
    images_file(folder).write_bytes(
        idx_bytes(images)
    )  # not compressed under its .gz name: read by its content
    (raw / "train-labels-idx1-ubyte.gz").write_bytes(idx_bytes(labels))
    with pytest.raises(InputError, match=message):
        load_data("mnist", "train", folder)


def test_missing_data_and_unknown_names_are_told(folder: Path) -> None:
    with pytest.raises(InputError, match=r"'minst' is not known .*did you mean 'mnist'"):
        load_data("minst", "train", folder)
    with pytest.raises(InputError, match="split 'val'"):
        load_data("mnist", "val", folder)
    images_file(folder).unlink()
    with pytest.raises(InputError, match=r"has no train-images-idx3-ubyte\.gz or train-images-idx3-ubyte in"):
        load_data("mnist", "train", folder)


def test_without_a_folder_the_published_files_are_fetched_once_and_checked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address is on this machine."""
    raw = images_file(folder).parent
    files = {
        split: tuple(File(f.name, hashlib.sha256((raw / f.name).read_bytes()).hexdigest()) for f in pair)
        for split, pair in SOURCES["mnist"].files.items()
    }
    with served_folder(raw) as address:
        published = SOURCES["mnist"]._replace(url=address, files=files)
        monkeypatch.setattr(module, "SOURCES", {"mnist": published})
        monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("TREX_DIGITS", raising=False)
        first = load_data("mnist", "train")
        assert first.sha256 == load_data("mnist", "train", folder).sha256
        monkeypatch.setattr(module, "download", None)  # a second time it is taken from the cache
        assert load_data("mnist", "train").sha256 == first.sha256
        monkeypatch.undo()
        monkeypatch.setenv("TREX_CACHE", str(tmp_path / "other"))
        monkeypatch.delenv("TREX_DIGITS", raising=False)
        monkeypatch.setattr(module, "SOURCES", {"mnist": SOURCES["mnist"]._replace(url=address)})
        with pytest.raises(InputError, match="changed or cut"):  # not published: refused, and not kept
            load_data("mnist", "train")
        assert not list((tmp_path / "other").rglob("*.gz"))


def test_classes_are_named_by_name_or_number() -> None:
    assert chosen_classes(NAMES) == tuple(range(10))
    assert chosen_classes(NAMES, only=("2", "Dress", "Boot")) == (2, 3, 9)
    assert chosen_classes(NAMES, without=("Trouser", "1")) == (0, 2, 3, 4, 5, 6, 7, 8, 9)


@pytest.mark.parametrize(
    ("only", "without", "message"),
    [
        ((), tuple("0123456789"), "all 10 classes are excluded"),
        (("10",), (), "class '10' is not known"),
        ((), ("Trousers",), "did you mean 'Trouser'"),
        (("-1",), (), "class '-1' is not known"),
        (("1",), ("2",), "not both"),
    ],
)
def test_classes_that_are_none_are_refused(
    only: tuple[str, ...], without: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        chosen_classes(NAMES, only, without)


def test_kept_classes_are_counted_anew(folder: Path) -> None:
    whole = load_data("mnist", "train", folder)
    part = with_classes(whole, (1, 3, 8))
    assert part.names == ("1", "3", "8") and set(part.labels) == {0, 1, 2} and part.sha256 == whole.sha256
    for label, number in enumerate((1, 3, 8)):
        assert np.array_equal(part.images[part.labels == label], whole.images[whole.labels == number])


@pytest.mark.parametrize(("name", "n_of_last"), [("mnist", (5949, 1009)), ("fashion", (6000, 1000))])
def test_the_published_files_are_read(name: str, n_of_last: tuple[int, int]) -> None:
    """Counts of class 9 as published."""
    folder = data_file("MNIST").parent
    for split, n, last in (("train", 60_000, n_of_last[0]), ("test", 10_000, n_of_last[1])):
        data = load_data(name, split, folder)
        assert len(data.images) == n and int((data.labels == 9).sum()) == last
        assert data.sha256 == SOURCES[name].contents[split]
        for file in SOURCES[name].files[split]:
            path = folder / SOURCES[name].folder / "raw" / file.name
            assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
