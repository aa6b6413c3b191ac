"""Made pictures in the form of the traffic signs' files: none of them shows a sign."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

PACKED = {"train": "gtsrb32_train_every3rd.npz", "test": "gtsrb32_test.npz"}
TRAINING = "GTSRB_Final_Training_Images.zip"
HEAD = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId\n"
CLASSES, TRACKS, FRAMES = 4, 5, 3  # tracks of each class, and frames of each track
Arrays = dict[str, NDArray[np.generic]]


def made_arrays(has_tracks: bool = True, tracks: int = TRACKS, seed: int = 1) -> Arrays:
    """Class k is a bright bar in rows 7 k to 7 k + 4, in the color of its track, under noise of its frame."""
    rng = np.random.default_rng(seed)
    labels, track, frame = (
        array.ravel().astype(np.int64)
        for array in np.meshgrid(np.arange(CLASSES), np.arange(tracks), np.arange(FRAMES), indexing="ij")
    )
    images = rng.integers(0, 30, (len(labels), 32, 32, 3)).astype(np.uint8)
    colors = rng.integers(120, 256, (CLASSES, tracks, 3)).astype(np.uint8)
    for image, label, number in zip(images, labels, track, strict=True):
        image[2 + 7 * label : 6 + 7 * label, 2:30] = colors[label, number]
    boxes = np.tile(np.array([40, 42, 5, 6, 35, 36], np.int16), (len(labels), 1))
    found: Arrays = {"images": images, "labels": labels.astype(np.uint8), "orig_wh_roi": boxes}
    if has_tracks:
        found |= {"track": track.astype(np.int16), "frame": frame.astype(np.uint8)}
    return found


def write_packed(folder: Path, split: str = "train", **changes: object) -> Path:
    """A split's npz file in this folder; a change of None leaves an array out."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = made_arrays(split == "train", seed=1 if split == "train" else 2) | changes
    np.savez_compressed(folder / PACKED[split], **{k: v for k, v in arrays.items() if v is not None})
    return folder / PACKED[split]


def write_signs(folder: Path) -> Path:
    """FOLDER/GTSRB with both splits; gives FOLDER."""
    write_packed(folder / "GTSRB")
    write_packed(folder / "GTSRB", "test")
    return folder


def ppm(picture: NDArray[np.uint8]) -> bytes:
    data = io.BytesIO()
    Image.fromarray(picture).save(data, format="PPM")
    return data.getvalue()


def line(name: str, width: int, height: int, label: int) -> str:
    return f"{name};{width};{height};5;6;{width - 5};{height - 6};{label}\n"


def write_zip(path: Path, members: dict[str, bytes | str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def training_members(side: int = 32) -> dict[str, bytes | str]:
    """The official training archive's members: two classes, two tracks each, two frames each."""
    rng, members = np.random.default_rng(3), {}
    for label in (0, 7):
        place, table = f"GTSRB/Final_Training/Images/{label:05}", HEAD
        for track in range(2):
            for frame in range(2):
                name = f"{track:05}_{frame:05}.ppm"
                picture = rng.integers(0, 256, (side + 2, side, 3)).astype(np.uint8)
                members[f"{place}/{name}"] = ppm(picture)
                table += line(name, side, side + 2, label)
        members[f"{place}/GT-{label:05}.csv"] = table
    return members
