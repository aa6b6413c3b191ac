"""A split of German traffic signs from a folder that has the packed file or the official archives."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trex.foundation.errors import InputError
from trex.mnist_models.data.labelled import DATA_VARIABLE, DataSet, data_hash, named_folder
from trex.mnist_models.data.signs.archives import (
    TEST_PICTURES,
    TEST_TABLE,
    TRAINING,
    read_test,
    read_training,
)
from trex.mnist_models.data.signs.frames import Frames
from trex.mnist_models.data.signs.names import NAMES
from trex.mnist_models.data.signs.packed import read_packed
from trex.mnist_models.data.tracks import track_groups

NAME = "signs"
PACKED = {"train": "gtsrb32_train_every3rd.npz", "test": "gtsrb32_test.npz"}
PLACES = ("", "GTSRB", "gtsrb")
FIX = f"name the folder of the traffic signs with --data or {DATA_VARIABLE}"


def load_signs(split: str, folder: Path | None = None) -> DataSet:
    """A split in 32x32 pixels and color; the training split has its tracks as groups.

    InputError for any fault in the files, or if there are none.
    """
    frames = _frames(split, folder or named_folder())
    groups = None if frames.track is None else track_groups(frames.labels, frames.track)
    digest = data_hash(frames.images, frames.labels)
    if groups is not None:
        digest = hashlib.sha256(digest.encode() + groups.tobytes()).hexdigest()
    return DataSet(NAME, split, frames.images, frames.labels, NAMES, digest, groups)


def _frames(split: str, folder: Path | None) -> Frames:
    if folder is None:
        raise InputError(f"traffic signs are neither shipped nor fetched; {FIX}")
    for place in (folder / inner for inner in PLACES):
        if (place / PACKED[split]).is_file():
            return read_packed(place / PACKED[split], has_tracks=split == "train")
        if split == "train":
            for name in TRAINING:
                if (place / name).is_file():
                    return read_training(place / name)
        elif (place / TEST_PICTURES).is_file() and (place / TEST_TABLE).is_file():
            return read_test(place / TEST_PICTURES, place / TEST_TABLE)
    wanted = " or ".join(TRAINING) if split == "train" else f"{TEST_PICTURES} with {TEST_TABLE}"
    raise InputError(f"{folder} has neither {PACKED[split]} nor {wanted}, nor a folder GTSRB with it; {FIX}")
