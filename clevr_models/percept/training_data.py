"""Pictures, objects and questions of a data set in CLEVR's folder layout, as arrays; and their augmentation.

Augmentation mirrors pictures and changes brightness and noise, but not the truth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from trex.clevr_models.interface.question import ATTRIBUTE_VALUES
from trex.clevr_models.percept.network import GRID, INPUT_SIZE, STRIDE
from trex.foundation.errors import InputError
from trex.foundation.files import open_regular
from trex.foundation.images import read_png
from trex.foundation.json_fields import finite, listed, mapping, text, whole
from trex.scenes.clevr_format.json_files import read_items
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.questions.answers import answer_of
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import Program
from trex.scenes.scene import Scene
from trex.scenes.validity import BEHIND, RIGHT

MAX_SCENE_OBJECTS = 10
SCENE_WIDTH = 480  # pixels that pixel_coords refer to
Record = Mapping[str, object]


class Scenes(NamedTuple):
    """N scenes: pictures (N, 160, 240, 3) uint8, and their objects, padded to 10."""

    indices: NDArray[np.int64]  # (N,) CLEVR's image_index
    pictures: NDArray[np.uint8]  # (N, 160, 240, 3)
    numbers: NDArray[np.int64]  # (N,) objects in each
    cells: NDArray[np.int64]  # (N, 10, 2) row, column of each object's center in the network's grid
    attributes: NDArray[np.int64]  # (N, 10, 4) shape, size, color, material
    positions: NDArray[np.float32]  # (N, 10, 2) along right and behind

    def take(self, rows: NDArray[np.int64]) -> Scenes:
        """The scenes `rows`."""
        indices, pictures, numbers, cells, attributes, positions = self
        return Scenes(
            indices[rows], pictures[rows], numbers[rows], cells[rows], attributes[rows], positions[rows]
        )


class QuestionRecord(NamedTuple):
    """A question about one picture, with its true answer."""

    image_index: int
    program: Program
    answer: str


def load_scenes(dataset: Path, split: str, limit: int | None = None) -> Scenes:
    """The first `limit` scenes of a split with their pictures, in index order; more may still be rendered."""
    records = _scene_records(dataset, split)[:limit]
    if not records:
        raise InputError(f"{dataset} has no scenes of split {split!r}; render some: trex render dataset")
    folder = dataset / "images" / split
    with _explained(f"{dataset}: a scene of split {split!r}"):
        indices = [whole(record["image_index"], "image_index") for record in records]
        labels = _labels(records)
    with ThreadPoolExecutor(2) as pool:
        paths = [folder / f"CLEVR_{split}_{index:06d}.png" for index in indices]
        pictures = np.empty((len(paths), *INPUT_SIZE, 3), np.uint8)
        for row, picture in enumerate(pool.map(lambda path: _fitted(read_png(path)), paths)):
            pictures[row] = picture
    return Scenes(np.array(indices), pictures, *labels)


def labelled(scenes: Sequence[Scene], pictures: Sequence[NDArray[np.uint8]]) -> Scenes:
    """Rendered scenes as training data, numbered from 0; pictures as `load_scenes` would read them."""
    labels = _labels([to_clevr(scene) for scene in scenes])
    shown = np.stack([_fitted(picture) for picture in pictures])
    return Scenes(np.arange(len(scenes)), shown, *labels)


def _scene_records(dataset: Path, split: str) -> list[Record]:
    whole, growing = dataset / "scenes" / f"CLEVR_{split}_scenes.json", dataset / "scenes" / f"{split}.jsonl"
    if whole.exists():
        return _records(whole, "scenes")
    if not growing.exists():
        raise InputError(f"neither {whole} nor {growing} exists; give the folder of a CLEVR data set")
    return _records(growing, "scenes")


def _records(path: Path, key: str) -> list[Record]:
    return [mapping(item, f"{path}, {key} {n}") for n, item in enumerate(read_items(path, key))]


def _fitted(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture in the network's size."""
    rgb = Image.fromarray(pixels)
    height, width = INPUT_SIZE
    if rgb.size != (width, height):
        rgb = rgb.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(rgb)


def _labels(
    records: list[Record],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    count = np.zeros(len(records), np.int64)
    cells = np.full((len(records), MAX_SCENE_OBJECTS, 2), -1000, np.int64)
    attributes = np.zeros((len(records), MAX_SCENE_OBJECTS, len(ATTRIBUTE_VALUES)), np.int64)
    positions = np.zeros((len(records), MAX_SCENE_OBJECTS, 2), np.float32)
    for row, record in enumerate(records):
        objects = [mapping(item, "an object") for item in listed(record["objects"], "objects")]
        count[row] = len(objects)
        for slot, item in enumerate(objects[:MAX_SCENE_OBJECTS]):
            cells[row, slot] = _cell(item)
            attributes[row, slot] = [v.index(text(item[a], a)) for a, v in ATTRIBUTE_VALUES.items()]
            place = np.array(listed(item["3d_coords"], "3d_coords")[:2], np.float64)
            positions[row, slot] = (place @ RIGHT, place @ BEHIND)
    return count, cells, attributes, positions


def _cell(item: Record) -> tuple[int, int]:
    across, down = (finite(n, "pixel_coords") for n in listed(item["pixel_coords"], "pixel_coords")[:2])
    pixels_a_cell = SCENE_WIDTH / INPUT_SIZE[1] * STRIDE
    row, column = int(down / pixels_a_cell), int(across / pixels_a_cell)
    return min(max(row, 0), GRID[0] - 1), min(max(column, 0), GRID[1] - 1)


def to_pixels(pictures: NDArray[np.uint8], device: torch.device | None = None) -> Tensor:
    """(B, 160, 240, 3) uint8 as (B, 3, 160, 240) float32 in [0, 1] on the device, channels last in memory."""
    return torch.from_numpy(pictures).to(device).permute(0, 3, 1, 2).float() / 255.0


def load_questions(dataset: Path, split: str) -> tuple[QuestionRecord, ...]:
    """All questions of a split."""
    path = dataset / "questions" / f"CLEVR_{split}_questions.json"
    if not path.exists():
        raise InputError(f"{path} does not exist; make the questions first: trex render dataset")
    with _explained(f"{path}: a question"):
        return tuple(_question_record(q) for q in _records(path, "questions"))


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Translate the errors of a malformed record into ours."""
    try:
        yield
    except (InputError, KeyError, TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{where} does not have CLEVR's format ({type(error).__name__}: {error}); render it again"
        ) from error


def _question_record(record: Record) -> QuestionRecord:
    program = program_from_json(record["program"])
    return QuestionRecord(whole(record["image_index"], "image_index"), program, answer_of(record["answer"]))


def kept_out(count: int) -> NDArray[np.bool_]:
    """(N,) whether a training scene is held out for calibration: every 25th."""
    return np.equal(np.arange(count) % 25, 24)


def data_hash(dataset: Path) -> str:
    """sha256 over the names and contents of all scenes, questions and pictures, in order of name."""
    digest = hashlib.sha256()
    for path in _files(dataset):
        digest.update(path.relative_to(dataset).as_posix().encode() + b"\0")
        with open_regular(path) as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _files(dataset: Path) -> Iterator[Path]:
    for folder, pattern in (("images", "*/*.png"), ("questions", "*.json"), ("scenes", "*_scenes.json")):
        yield from sorted((dataset / folder).glob(pattern))


MIRRORED = 0.5  # share of pictures
BRIGHTNESS = 0.1  # a factor within 1 - .1 and 1 + .1
NOISE = 0.02  # largest standard deviation of the noise; hides the difference between few and many samples


def mirror(scenes: Scenes, rng: np.random.Generator) -> Scenes:
    """Half of the scenes mirrored: left and right change places, as CLEVR's camera looks along its "behind".

    Nothing else of the truth changes (the lights do: they are not symmetric).
    """
    turned = rng.random(len(scenes.numbers)) < MIRRORED
    pictures, cells, positions = scenes.pictures.copy(), scenes.cells.copy(), scenes.positions.copy()
    pictures[turned] = pictures[turned, :, ::-1]
    cells[turned, :, 1] = GRID[1] - 1 - cells[turned, :, 1]
    positions[turned, :, 0] *= -1.0
    return scenes._replace(pictures=pictures, cells=cells, positions=positions)


def disturb(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """(B, 3, H, W) with a brightness and an amount of noise of its own for each picture; on the generator's device."""
    batch, device = (len(pixels), 1, 1, 1), generator.device
    factor = 1.0 + BRIGHTNESS * (2.0 * torch.rand(batch, generator=generator, device=device) - 1.0)
    amount = NOISE * torch.rand(batch, generator=generator, device=device)
    noise = torch.randn(pixels.shape, generator=generator, device=device).to(
        memory_format=torch.channels_last
    )
    return (pixels * factor + noise * amount).clamp(0.0, 1.0)
