"""`curves/NAME.json`: the dose curves in a run's folder."""

from __future__ import annotations

from trex.curves.curve import Curve, CurveScene
from trex.curves.doses import QUANTITIES
from trex.foundation.codec import Codec
from trex.foundation.files import make_folder, write_atomic
from trex.runs.folder import RunFolder
from trex.scenes.vocabulary import Vocabulary

FOLDER = "curves"
CODEC = Codec(Curve)


def read_curve(folder: RunFolder, name: str) -> Curve | None:
    """The curve of this name, None if there is none; RunError if it is damaged."""

    def check(found: Curve) -> None:
        check_parts(found, folder.manifest.vocabulary)
        if found.name != name:
            raise ValueError(f"it is curve {found.name!r:.60}")

    path = folder.path / FOLDER / f"{name}.json"
    remedy = f"delete it, then: trex curve {folder.path} --over {name.partition('-')[0]}"
    return CODEC.read(path, remedy, check, inside=folder.path)


def read_curves(folder: RunFolder) -> list[Curve]:
    """All curves of a run, by name; RunError names a damaged file."""
    names = sorted(path.stem for path in (folder.path / FOLDER).glob("*.json"))
    return [found for name in names if (found := read_curve(folder, name)) is not None]


def write_curve(folder: RunFolder, curve: Curve) -> None:
    """Keep a curve in the run's folder, in place of an earlier one of its name."""
    make_folder(folder.path / FOLDER)
    write_atomic(folder.path / FOLDER / f"{curve.name}.json", CODEC.text(curve).encode())


def check_parts(curve: Curve, vocabulary: Vocabulary) -> None:
    """ValueError if the parts of a stored curve contradict each other, or a scene has a shape that the run lacks."""
    if curve.over not in QUANTITIES:
        raise ValueError(f"there is no quantity {curve.over!r:.40}")
    if not curve.doses or list(curve.doses) != sorted(set(curve.doses)):
        raise ValueError("its doses do not ascend")
    for scene in curve.scenes:
        _check_scene(scene, len(curve.doses), vocabulary)


def _check_scene(scene: CurveScene, n_doses: int, vocabulary: Vocabulary) -> None:
    if len(scene.points) != n_doses:
        raise ValueError(f"a scene has {len(scene.points)} points for {n_doses} doses")
    if not 0 <= scene.index < len(scene.scene.objects):
        raise ValueError(f"object {scene.index} is not in its scene")
    for item in scene.scene.objects:
        if item.shape not in vocabulary.values("shape"):
            raise ValueError(f"shape {item.shape!r:.40} is not in the run's vocabulary")
