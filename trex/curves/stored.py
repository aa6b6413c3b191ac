"""`curves/NAME.json`: the dose curves in a run's folder."""

from __future__ import annotations

import re
import shlex
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, unquote

from trex.curves.curve import Curve, CurveScene
from trex.curves.doses import QUANTITIES
from trex.curves.shown import ShownCurve
from trex.foundation.codec import Codec
from trex.foundation.extensions import LIVE
from trex.foundation.files import make_folder, write_atomic
from trex.foundation.words import quoted
from trex.runs.folder import RunFolder, is_of_own_world
from trex.scenes.vocabulary import Vocabulary

FOLDER = "curves"
LONGEST = 200  # characters of a file name that no file system refuses
HASH = re.compile(r"[0-9a-f]{64}")
CODEC: Codec[Curve] = Codec(ShownCurve)


def file_name(name: str) -> str:
    """The file of the curve of this name, which may hold any characters: none of them leads out of the folder."""
    escaped = quote(name, safe=" ")
    is_plain = len(escaped) < LONGEST and escaped.strip(".")
    return f"{escaped if is_plain else sha256(name.encode()).hexdigest()}.json"


def read_curve(folder: RunFolder, name: str) -> Curve | None:
    """The curve of this name, None if there is none; RunError if it is damaged.

    One of format 1, which does not tell what is a scene as it was found, nor starts, is none: it is to be made again.
    """
    return _read(folder, folder.path / FOLDER / file_name(name))


def read_curves(folder: RunFolder) -> list[Curve]:
    """All curves of a run, by file name; RunError names a damaged file."""
    paths = sorted((folder.path / FOLDER).glob("*.json"))
    return [found for path in paths if (found := _read(folder, path)) is not None]


def _read(folder: RunFolder, path: Path) -> Curve | None:
    def check(found: Curve) -> None:
        check_parts(found, folder.manifest.vocabulary)
        if file_name(found.name) != path.name:
            raise ValueError(f"it is curve {found.name!r:.60}")

    found = CODEC.read(path, _remedy(folder, path.stem), check, inside=folder.path)
    return None if found is None or found.format == 1 else found


def _remedy(folder: RunFolder, stem: str) -> str:
    """What measures a damaged curve again; a long name is not known, as its file is called by a hash."""
    name = folder.manifest.query.generator.name
    if not is_of_own_world(folder.manifest):
        over, _, family = stem.partition("-family-")
        options = ["--over", over, *(["--family", family] if family else [])]
    elif HASH.fullmatch(stem):
        return "delete it, then make a curve over the value with the long name again"
    elif name.startswith(LIVE):
        call = f"trex.open_run({str(folder.path)!r}, world=...).curve(over={unquote(stem)!r})"
        return f"delete it, then in Python: {call}"
    else:
        options = [f"--over={unquote(stem)}"]
    return f"delete it, then: trex curve {quoted(folder.path)} {shlex.join(options)}"


def write_curve(folder: RunFolder, curve: Curve) -> None:
    """Keep a curve in the run's folder, in place of an earlier one of its name."""
    make_folder(folder.path / FOLDER)
    write_atomic(folder.path / FOLDER / file_name(curve.name), CODEC.text(curve).encode())


def check_parts(curve: Curve, vocabulary: Vocabulary) -> None:
    """ValueError if the parts of a stored curve contradict each other, or a scene has a shape that the run lacks."""
    if not curve.doses or list(curve.doses) != sorted(set(curve.doses)):
        raise ValueError("its doses do not ascend")
    for scene in curve.scenes:
        if len(scene.points) != len(curve.doses):
            raise ValueError(f"a scene has {len(scene.points)} points for {len(curve.doses)} doses")
    if curve.range is not None:
        low, high = curve.range
        if not low <= curve.doses[0] <= curve.doses[-1] <= high or low == high:
            raise ValueError(f"its doses do not lie in its range {low:g} to {high:g}")
        return
    if curve.over not in QUANTITIES:
        raise ValueError(f"there is no quantity {curve.over!r:.40}")
    for scene in curve.scenes:
        _check_scene(scene, vocabulary)


def _check_scene(scene: CurveScene, vocabulary: Vocabulary) -> None:
    if scene.scene is None:
        raise ValueError("it lacks a scene")
    if not 0 <= scene.index < len(scene.scene.objects):
        raise ValueError(f"object {scene.index} is not in its scene")
    for item in scene.scene.objects:
        if item.shape not in vocabulary.values("shape"):
            raise ValueError(f"shape {item.shape!r:.40} is not in the run's vocabulary")
