"""German traffic signs (Stallkamp et al. 2012): classes, and a split from the npz or the official archives in a folder.

The terms of the pictures are unsettled: nothing made from them is part of this repository. The benchmark numbers its
classes; these are the English names in common use for them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reproduce.datasets.sign_files import (
    SIDE_PX,
    TEST_PICTURES,
    TEST_TABLE,
    TRAINING,
    Frames,
    read_packed,
    read_test,
    read_training,
)
from trex.foundation.errors import InputError
from trex.mnist_models.datasets import Described
from trex.mnist_models.pictures import DataSet, data_hash
from trex.mnist_models.published import DATA_VARIABLE, named_folder

NAMES = (
    "Speed limit (20km/h)",
    "Speed limit (30km/h)",
    "Speed limit (50km/h)",
    "Speed limit (60km/h)",
    "Speed limit (70km/h)",
    "Speed limit (80km/h)",
    "End of speed limit (80km/h)",
    "Speed limit (100km/h)",
    "Speed limit (120km/h)",
    "No passing",
    "No passing for vehicles over 3.5 metric tons",
    "Right-of-way at the next intersection",
    "Priority road",
    "Yield",
    "Stop",
    "No vehicles",
    "Vehicles over 3.5 metric tons prohibited",
    "No entry",
    "General caution",
    "Dangerous curve to the left",
    "Dangerous curve to the right",
    "Double curve",
    "Bumpy road",
    "Slippery road",
    "Road narrows on the right",
    "Road work",
    "Traffic signals",
    "Pedestrians",
    "Children crossing",
    "Bicycles crossing",
    "Beware of ice/snow",
    "Wild animals crossing",
    "End of all speed and passing limits",
    "Turn right ahead",
    "Turn left ahead",
    "Ahead only",
    "Go straight or right",
    "Go straight or left",
    "Keep right",
    "Keep left",
    "Roundabout mandatory",
    "End of no passing",
    "End of no passing by vehicles over 3.5 metric tons",
)

GROUPS = (  # the benchmark's own six subsets: title, class numbers
    ("Speed limits", (0, 1, 2, 3, 4, 5, 7, 8)),
    ("Other prohibitions", (9, 10, 15, 16)),
    ("Ends of restrictions", (6, 32, 41, 42)),
    ("Mandatory", (33, 34, 35, 36, 37, 38, 39, 40)),
    ("Danger", (11, *range(18, 32))),
    ("Priority, yield, stop, no entry", (12, 13, 14, 17)),
)


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


def track_groups(labels: NDArray[np.uint8], tracks: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number (N,) for each physical sign: tracks are counted anew within every class."""
    pairs = np.stack([labels.astype(np.int64), tracks], axis=1)
    groups: NDArray[np.int64] = np.unique(pairs, axis=0, return_inverse=True)[1]
    return groups.reshape(-1).astype(np.int64)


SIGNS = Described(
    question="Which traffic sign is it?",
    things="traffic signs",
    labels=NAMES,
    picture=(SIDE_PX, SIDE_PX, 3),
    licence="unsettled: the terms of the pictures, research use",
    read=load_signs,
    groups=tuple((title, tuple(NAMES[number] for number in numbers)) for title, numbers in GROUPS),
)
