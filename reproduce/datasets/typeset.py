"""The source domain `typeset`: digits set in open type faces on made grounds, with labels.

Each picture has one digit in the middle and may have others beside it that its edge cuts off; it is shifted, turned,
sheared, blurred and noisy, darker or lighter than a ground that is two-coloured or shaded. Ganin and Lempitsky (2015,
arXiv:1409.7495) made digits of type faces as a source domain before.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from trex.artifacts.cache import cache_root
from trex.artifacts.card import write_whole
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import read_bytes
from trex.mnist_models.pictures import SIDE_PX, SPLITS, Bytes, DataSet, data_hash
from trex.mnist_models.published import UNSIGNED_BYTES, read_idx

Floats = NDArray[np.float32]

NAME = "typeset"
VERSION = 1  # of the recipe; another one makes other pictures
SIZES = {"train": 60_000, "test": 10_000}  # as MNIST
DIGITS = tuple("0123456789")
FINE = 2  # type is set at twice the resolution of the picture
CANVAS_PX = 112
BLOCK = 2000  # pictures whose grounds are made at once
# By family. The licences permit use, embedding and redistribution: DejaVu is under Bitstream Vera's and Arev's
# (LICENSE_DEJAVU), STIX under the STIX font licence (LICENSE_STIX), Computer Modern (BaKoMa) under BaKoMa's, as
# matplotlib distributes them. No font is copied; only digits drawn with them become pictures.
FAMILIES = {
    "DejaVu Sans": (
        "DejaVuSans",
        "DejaVuSans-Bold",
        "DejaVuSans-Oblique",
        "DejaVuSans-BoldOblique",
    ),
    "DejaVu Sans Mono": (
        "DejaVuSansMono",
        "DejaVuSansMono-Bold",
        "DejaVuSansMono-Oblique",
        "DejaVuSansMono-BoldOblique",
    ),
    "DejaVu Serif": (
        "DejaVuSerif",
        "DejaVuSerif-Bold",
        "DejaVuSerif-Italic",
        "DejaVuSerif-BoldItalic",
    ),
    "STIX General": ("STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta"),
    "Computer Modern": ("cmb10", "cmr10", "cmss10", "cmti10", "cmtt10"),
}
FACES = tuple(face for faces in FAMILIES.values() for face in faces)  # 21
FONT_LIMIT = 1 << 24  # bytes of a font file; the largest has 760 kB


@dataclass(frozen=True)
class Recipe:
    """Ranges of what varies; each is drawn evenly unless said otherwise. Lengths in pixels of the picture."""

    size_px: tuple[int, int] = (18, 27)  # of the type, whose digits are about .7 as high
    turn_deg: float = 12.0  # to either side
    shear: float = 0.25
    shift_px: float = 2.5
    blur_px: float = 1.0
    noise: float = 0.08  # the largest standard deviation
    contrast: float = 0.3  # least difference between ink and the mean ground
    beside: float = 0.5  # probability of a digit on either side


RECIPE = Recipe()


def typeset(split: str, n: int | None = None, recipe: Recipe = RECIPE) -> DataSet:
    """A split, "train" or "test", of n pictures (by default as many as MNIST has), from the cache if it is there.

    A shorter split is the beginning of a longer one. InputError for an unknown split or a missing font.
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    count = SIZES[split] if n is None else n
    what = f"{VERSION} {recipe} {split} {count} {fonts_hash()}"
    place = cache_root() / "digits" / "data" / NAME / hashlib.sha256(what.encode()).hexdigest()[:16]
    files = place / f"{split}-images.idx", place / f"{split}-labels.idx"
    if not all(file.is_file() for file in files):
        images, labels = make(split, count, recipe)
        write_whole(files[0], idx_bytes(images))
        write_whole(files[1], idx_bytes(labels))
    images, labels = read_idx(files[0], 3), read_idx(files[1], 1)
    return DataSet(NAME, split, images, labels, DIGITS, data_hash(images, labels))


def idx_bytes(array: Bytes) -> bytes:
    """An array of unsigned bytes as an idx file, not compressed."""
    header = bytes((0, 0, UNSIGNED_BYTES, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def make(split: str, n: int, recipe: Recipe = RECIPE) -> tuple[Bytes, Bytes]:
    """Pictures (n, 28, 28) and their labels (n,), the same on every call."""
    images, labels = np.zeros((n, SIDE_PX, SIDE_PX), np.uint8), np.zeros(n, np.uint8)
    for block in range(math.ceil(n / BLOCK)):
        rng = np.random.default_rng((VERSION, SPLITS.index(split), block))
        rows = slice(block * BLOCK, min(n, (block + 1) * BLOCK))
        drawn, digits = _block(rng, recipe)
        images[rows], labels[rows] = (part[: rows.stop - rows.start] for part in (drawn, digits))
    return images, labels


def _block(rng: np.random.Generator, recipe: Recipe) -> tuple[Bytes, Bytes]:
    """BLOCK pictures and labels."""
    labels = rng.permutation(np.arange(BLOCK) % len(DIGITS)).astype(np.uint8)
    masks = np.stack([_mask(rng, int(label), recipe) for label in labels])  # (BLOCK, 28, 28) in [0, 1]
    ground, ink = _ground(rng), _uniform(rng, 0.0, 1.0)
    mean = ground.mean(axis=(1, 2), keepdims=True)
    far = np.where(mean > 0.5, mean - recipe.contrast, mean + recipe.contrast)  # the side with more room
    ink = np.where(np.abs(ink - mean) < recipe.contrast, far, ink)
    noise = _uniform(rng, 0.0, recipe.noise) * rng.standard_normal(masks.shape, np.float32)
    pictures = ground + masks * (ink - ground) + noise
    return np.rint(255.0 * np.clip(pictures, 0.0, 1.0)).astype(np.uint8), labels


def _mask(rng: np.random.Generator, digit: int, recipe: Recipe) -> Floats:
    """Where there is ink, (28, 28) in [0, 1]."""
    face = FACES[int(rng.integers(len(FACES)))]
    type_px = FINE * int(rng.integers(recipe.size_px[0], recipe.size_px[1] + 1))
    kind = font(face, type_px)
    canvas = Image.new("L", (CANVAS_PX, CANVAS_PX))
    pen, middle = ImageDraw.Draw(canvas), CANVAS_PX // 2
    pen.text((middle, middle), DIGITS[digit], fill=255, font=kind, anchor="mm")
    step = kind.getlength("0") + FINE * rng.uniform(0.0, 2.0)
    for side in (-1, 1):
        other = DIGITS[int(rng.integers(len(DIGITS)))]
        if rng.random() < recipe.beside:
            pen.text((middle + side * step, middle), other, fill=255, font=kind, anchor="mm")
    turn = math.radians(rng.uniform(-recipe.turn_deg, recipe.turn_deg))
    shear, (dx, dy) = (
        rng.uniform(-recipe.shear, recipe.shear),
        rng.uniform(-recipe.shift_px, recipe.shift_px, 2),
    )
    moved = canvas.transform(
        (SIDE_PX, SIDE_PX), Image.Transform.AFFINE, _affine(turn, shear, dx, dy), Image.Resampling.BILINEAR
    )
    blurred = moved.filter(ImageFilter.GaussianBlur(rng.uniform(0.0, recipe.blur_px)))
    return np.asarray(blurred, np.float32) / 255.0


def _affine(turn: float, shear: float, dx: float, dy: float) -> tuple[float, ...]:
    """The map from the picture to the canvas, middle to middle: (x, y) -> (a x + b y + c, d x + e y + f)."""
    a, d = FINE * math.cos(turn), FINE * math.sin(turn)
    b, e = a * shear - d, d * shear + a
    half, middle = SIDE_PX / 2, CANVAS_PX / 2
    return (
        a,
        b,
        middle - a * (half + dx) - b * (half + dy),
        d,
        e,
        middle - d * (half + dx) - e * (half + dy),
    )


def _ground(rng: np.random.Generator) -> Floats:
    """Grounds (BLOCK, 28, 28): from one gray to another along a direction, gradually or at an edge."""
    along = _uniform(rng, 0.0, 2.0 * math.pi)
    y, x = np.mgrid[-1.0 : 1.0 : SIDE_PX * 1j, -1.0 : 1.0 : SIDE_PX * 1j]
    ramp = x * np.cos(along) + y * np.sin(along) - _uniform(rng, -0.7, 0.7)
    steep = np.where(rng.random((BLOCK, 1, 1)) < 0.5, 0.5, 20.0)
    share = np.clip(0.5 + steep * ramp, 0.0, 1.0)
    first, second = _uniform(rng, 0.0, 1.0), _uniform(rng, -0.3, 0.3)
    ground: Floats = np.clip(first + second * share, 0.0, 1.0).astype(np.float32)
    return ground


def _uniform(rng: np.random.Generator, low: float, high: float) -> Floats:
    drawn: Floats = rng.uniform(low, high, (BLOCK, 1, 1)).astype(np.float32)
    return drawn


def face_path(face: str) -> Path:
    """The file of a face in the installed matplotlib; InputError if this matplotlib does not have it."""
    import matplotlib

    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{face}.ttf"
    if not path.is_file():
        raise InputError(
            f"font {face} is not in the installed matplotlib ({path.parent}); install one that has it (3.9 to 3.11)"
        )
    return path


@cache
def font(face: str, size_px: int) -> ImageFont.FreeTypeFont:
    """The face at a size in pixels."""
    return ImageFont.truetype(str(face_path(face)), size_px, layout_engine=ImageFont.Layout.BASIC)


@cache
def fonts_hash() -> str:
    """sha256 of all faces and of the version of FreeType, which together decide the shapes that are drawn."""
    from PIL import features

    digest = hashlib.sha256(str(features.version("freetype2")).encode())
    for face in FACES:
        digest.update(read_bytes(face_path(face), limit=FONT_LIMIT))
    return digest.hexdigest()
