"""USPS's text files: made ones are read, others refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from reproduce.datasets.domains import load_domain
from reproduce.datasets.usps import usps
from trex.foundation.errors import InputError

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
def test_another_content_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
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
