"""Typeset digits: the same on every call, labelled by the digit in the middle, in faces that differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reproduce.datasets import typeset as typeset_module
from reproduce.datasets.domains import optdigits
from reproduce.datasets.typeset import FACES, FAMILIES, Recipe, face_path, font, make, typeset
from trex.foundation.errors import InputError

PLAIN = Recipe(size_px=(24, 24), turn_deg=0.0, shear=0.0, shift_px=0.0, blur_px=0.0, noise=0.0, beside=0.0)


def test_every_face_draws_ten_digits_that_differ() -> None:
    """Control: Computer Modern's largest symbols, which matplotlib has too, have no digits."""
    assert len(FACES) == 21 and len(FAMILIES) == 5
    assert len({drawn(face)[0] for face in FACES}) == 21  # no face stands twice under another name
    assert all(len(set(drawn(face))) == 10 for face in FACES)
    assert len(set(drawn("STIXSizOneSymReg"))) < 10


def drawn(face: str) -> list[bytes]:
    return [
        bytes(font(face, 24).getmask(digit)) + repr(font(face, 24).getbbox(digit)).encode()
        for digit in "0123456789"
    ]


def test_a_face_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="font Helvetica is not in the installed matplotlib"):
        face_path("Helvetica")


def test_pictures_are_the_same_on_every_call_and_short_sets_begin_long_ones() -> None:
    images, labels = make("train", 30)
    again, more = make("train", 20), make("test", 30)[0]
    assert np.array_equal(images[:20], again[0]) and np.array_equal(labels[:20], again[1])
    assert not np.array_equal(images, more)
    assert images.shape == (30, 28, 28) and images.dtype == np.uint8


def test_classes_are_balanced_and_ink_is_darker_or_lighter_than_the_ground() -> None:
    images, labels = make("train", 2000, PLAIN)
    assert np.bincount(labels).tolist() == [200] * 10
    sign = np.sign(inked(images))
    assert 600 < int((sign > 0).sum()) < 1400  # of 2,000; either alone would be a domain of one contrast


def test_the_label_is_the_digit_in_the_middle() -> None:
    """The nearest of 1,500 plain pictures shows the same digit. Control: with labels one further it does not."""
    images, labels = make("train", 2000, PLAIN)
    masks = np.abs(images - np.median(images, axis=(1, 2), keepdims=True)).reshape(len(images), -1)
    masks /= np.linalg.norm(masks, axis=1, keepdims=True) + 1e-9
    nearest = (masks[1500:] @ masks[:1500].T).argmax(axis=1)
    found = labels[:1500][nearest]
    assert (found == labels[1500:]).mean() > 0.7  # chance is .1
    assert (found == (labels[1500:] + 1) % 10).mean() < 0.2


def inked(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """How much lighter the most different pixel of the middle is than the median of the picture (N,)."""
    away = images[:, 8:20, 8:20].reshape(len(images), -1) - np.median(images, axis=(1, 2))[:, None]
    return np.take_along_axis(away, np.abs(away).argmax(axis=1)[:, None], axis=1)[:, 0]


def test_a_split_is_made_once_and_read_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path))
    first = typeset("test", 12)
    with monkeypatch.context() as patch:
        patch.setattr(typeset_module, "make", None)
        again = typeset("test", 12)
    assert again.sha256 == first.sha256 and np.array_equal(again.images, first.images)
    assert typeset("test", 12, PLAIN).sha256 != first.sha256  # another recipe has a place of its own
    with pytest.raises(InputError, match="split 'val'"):
        typeset("val")


def test_optdigits_are_framed_and_their_splits_share_no_picture() -> None:
    train, test = optdigits("train"), optdigits("test")
    assert (len(train.images), len(test.images)) == (1198, 599)
    assert train.images.shape[1:] == (28, 28) and train.images.max() == 255
    assert not train.images[:, :4].any() and not train.images[:, :, 24:].any()
    assert not {image.tobytes() for image in train.images} & {image.tobytes() for image in test.images}
    assert min(np.bincount(test.labels, minlength=10)) > 40
    with pytest.raises(InputError, match="split 'val'"):
        optdigits("val")
