"""Files of SVHN and USPS: made ones are read as published, and whatever else bears their names is refused."""

from __future__ import annotations

import gzip
import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from reproduce.datasets.domains import load_domain, usps
from reproduce.datasets.mat_file import read_mat
from reproduce.datasets.svhn import svhn
from trex.foundation.errors import InputError
from trex.mnist_models.datasets import load_data

N = 12


def pictures(n: int = N) -> np.ndarray:
    """(32, 32, 3, n): the first is red, the second white, the third black; the others noise."""
    array = np.random.default_rng(0).integers(0, 256, (32, 32, 3, n)).astype(np.uint8)
    array[..., :3] = 0
    array[:, :, 0, 0] = 255
    array[..., 1] = 255
    return array


def labels(n: int = N) -> np.ndarray:
    return (np.arange(n) % 10 + 1).astype(np.uint8)[:, None]


def write(folder: Path, is_packed: bool = True, **changes: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    variables = {"X": pictures(), "y": labels()} | changes
    path = folder / "train_32x32.mat"
    savemat(
        path,
        {name: variable for name, variable in variables.items() if variable is not None},
        do_compression=is_packed,
    )
    return path


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("inner", [".", "SVHN"])
def test_a_made_file_is_read_in_gray_with_ten_as_zero(tmp_path: Path, is_packed: bool, inner: str) -> None:
    write(tmp_path / inner, is_packed)
    data = load_domain("svhn", "train", tmp_path)
    assert data.images.shape == (N, 28, 28) and data.images.dtype == np.uint8
    assert data.labels.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2]
    assert set(data.images[0].ravel()) == {76}  # .2989 of 255
    assert set(data.images[1].ravel()) == {255} and set(data.images[2].ravel()) == {0}
    assert data.names == tuple("0123456789")


def test_rows_stay_rows_and_a_picture_stays_its_own(tmp_path: Path) -> None:
    """A white upper half stays one; a reader that exchanges axes would show a left half, or mix pictures."""
    array = pictures()
    array[..., 5] = 0
    array[:16, :, :, 5] = 255
    write(tmp_path, X=array)
    image = svhn("train", tmp_path).images[5]
    assert image[:13].min() == 255 and image[15:].max() == 0


def test_the_environment_names_the_folder_and_without_one_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREX_DIGITS", raising=False)
    with pytest.raises(InputError, match="neither shipped nor fetched"):
        svhn("train")
    with pytest.raises(InputError, match=r"has no train_32x32\.mat"):
        svhn("train", tmp_path)
    write(tmp_path)
    monkeypatch.setenv("TREX_DIGITS", str(tmp_path))
    assert len(svhn("train").images) == N
    with pytest.raises(InputError, match=r"has no test_32x32\.mat"):
        svhn("test")
    with pytest.raises(InputError, match="split 'extra'"):
        svhn("extra")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": pictures().astype(np.float64)}, r"X is float64 .*; it must be uint8"),
        ({"X": pictures().transpose(3, 0, 1, 2)}, r"X is uint8 \(12, 32, 32, 3\)"),
        ({"X": pictures()[:28, :28]}, r"X is uint8 \(28, 28, 3, 12\)"),
        ({"y": labels(11)}, r"y is uint8 \(11, 1\); it must hold numbers, \(12, 1\)"),
        ({"y": labels() - 1}, "label 0; labels are 1 to 10"),
        ({"y": labels() + 1}, "label 11"),
        ({"y": labels() + 0.5}, "label 1.5"),
        ({"y": labels().astype(float) * np.nan}, "label nan"),
        ({"y": None}, r"has no variable y \(it has X\)"),
        ({"X": None, "y": None, "z": 1.0}, "has no variable X"),
        ({"y": np.array([[1, "two"]] * N, dtype=object)}, "y is of class cell; only numbers are read"),
        ({"y": {"a": 1}}, "y is of class struct"),
        ({"y": "1234"}, "y is of class char"),
    ],
)
def test_another_content_is_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    write(tmp_path, **changes)
    with pytest.raises(InputError, match=message):
        svhn("train", tmp_path)


class _Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return open, ("executed", "w")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no MATLAB file of format 5"),
        (pickle.dumps(_Runs()), "no MATLAB file of format 5"),
        (b"PK\x03\x04" + bytes(200), "no MATLAB file of format 5"),
        (b"\x89HDF\r\n\x1a\n" + bytes(600), "format 7.3; save it with -v7"),
        (b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + bytes(600), "format 7.3"),
        (
            bytes(124) + b"\0\1IM" + struct.pack("<II", 14, 1 << 30),
            "is cut: an element of 1,073,741,824 bytes",
        ),
        (bytes(124) + b"\0\1IM" + struct.pack("<II", 99, 8) + bytes(8), "an element of type 99"),
        (bytes(124) + b"\0\1IM" + struct.pack("<II", 15, 8) + bytes(8), "damaged"),
    ],
)
def test_another_format_is_refused_and_nothing_in_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train_32x32.mat").write_bytes(content)
    with pytest.raises(InputError, match=message):
        svhn("train", tmp_path)
    assert not (tmp_path / "executed").exists()


def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    """It would be 64 MiB, of which no more than the limit is unpacked."""
    packed = zlib.compress(bytes(1 << 26))
    path = tmp_path / "bomb.mat"
    path.write_bytes(bytes(124) + b"\0\1IM" + struct.pack("<II", 15, len(packed)) + packed)
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        read_mat(path, ("X",), limit=1 << 20)


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_cut_or_changed_file_is_an_input_error_or_read(tmp_path: Path, is_packed: bool) -> None:
    path = write(tmp_path, is_packed)
    whole = path.read_bytes()
    for kept in [*range(0, len(whole), len(whole) // 40), len(whole) - 1]:
        path.write_bytes(whole[:kept])
        with pytest.raises(InputError):
            svhn("train", tmp_path)
    rng = np.random.default_rng(1)
    refused = 0
    for place in rng.integers(128, len(whole) if is_packed else 400, 150):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            svhn("train", tmp_path)
        except InputError:
            refused += 1
    assert refused > 10


def test_in_color_nothing_is_converted(tmp_path: Path) -> None:
    write(tmp_path)
    data = load_data("svhn", "train", tmp_path)
    assert data.picture == (32, 32, 3) and data.groups is None
    assert np.array_equal(data.images, pictures().transpose(3, 0, 1, 2))
    assert data.labels.tolist() == load_domain("svhn", "train", tmp_path).labels.tolist()


GROUND, INK = ["-1.000"] * 256, ["1.000"] * 256
UPPER = INK[:128] + GROUND[128:]


def text(*rows: tuple[object, list[str]]) -> bytes:
    return "".join(f"{digit} {' '.join(values)} \n" for digit, values in rows).encode()


WHOLE = text(("6.0000", GROUND), ("0", INK), (3, UPPER))


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_made_file_is_read_and_enlarged(tmp_path: Path, is_packed: bool) -> None:
    (tmp_path / "USPS").mkdir()
    name = "zip.test.gz" if is_packed else "zip.test"
    (tmp_path / "USPS" / name).write_bytes(gzip.compress(WHOLE) if is_packed else WHOLE)
    data = load_domain("usps", "test", tmp_path)
    assert data.images.shape == (3, 28, 28) and data.labels.tolist() == [6, 0, 3]
    assert data.images[0].max() == 0 and data.images[1].min() == 255
    assert data.images[2][:13].min() == 255 and data.images[2][15:].max() == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"is a table \(0"),
        (b"\x80\x04cposix\nsystem\n", "something other than rows of numbers"),
        (WHOLE[:-40], "something other than rows of numbers"),
        (text((1, GROUND[:255])), r"is a table \(1, 256\)"),
        (text((10, GROUND)), "a label that is no digit"),
        (text((1.5, GROUND)), "a label that is no digit"),
        (text((1, ["2", *GROUND[1:]])), "outside of -1 to 1"),
        (text((1, ["nan", *GROUND[1:]])), "outside of -1 to 1"),
        (gzip.compress(WHOLE)[:-12], "truncated or damaged"),
    ],
)
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_another_content_of_usps_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "zip.train").write_bytes(content)
    with pytest.raises(InputError, match=message):
        usps("train", tmp_path)


def test_a_missing_folder_or_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREX_DIGITS", raising=False)
    with pytest.raises(InputError, match="neither shipped nor fetched"):
        usps("train")
    with pytest.raises(InputError, match=r"has no zip\.train or zip\.train\.gz"):
        usps("train", tmp_path)
    with pytest.raises(InputError, match="split 'val'"):
        usps("val", tmp_path)
