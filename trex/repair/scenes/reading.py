"""What a model misreads of each object in a picture, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from trex.clevr_models.interface.question import ATTRIBUTE_VALUES
from trex.clevr_models.percept.calibrate import match
from trex.clevr_models.percept.evaluate import PRESENT
from trex.clevr_models.percept.model import Percept
from trex.clevr_models.percept.training_data import labelled
from trex.inference.scoring import images
from trex.render.picture import Picture
from trex.scenes.scene import Scene

RIGHT, MISSED = "", "missed"
Seen = tuple[str, ...]  # of each object: RIGHT, MISSED, or what it is taken for, such as "shape cube"


def read(percept: Percept, scenes: Sequence[Scene], pictures: Sequence[Picture]) -> list[Seen]:
    """For each picture what becomes of its objects in the model's object table, in the scene's order.

    Each true object has the peak that `match` gives it. One without a peak of better than even odds is missed; else the
    first wrong attribute counts.
    """
    return [_seen(percept, scene, picture) for scene, picture in zip(scenes, pictures, strict=True)]


def _seen(percept: Percept, scene: Scene, picture: Picture) -> Seen:
    """One picture at a time, so that no result depends on another picture."""
    truth = labelled([scene], [picture.pixels])
    with torch.inference_mode():
        pixels = torch.from_numpy(images([picture])).permute(0, 3, 1, 2)
        evidence = percept.evidence(pixels)
        table = percept.calibration(evidence)
    peaks = {int(item): peak for peak, item in enumerate(match(evidence, truth)[0]) if item >= 0}
    presence = table.presence[0].numpy()
    values = {name: np.asarray(table.attribute(name)[0]).argmax(axis=1) for name in ATTRIBUTE_VALUES}
    seen = []
    for index in range(len(scene.objects)):
        peak = peaks.get(index)
        if peak is None or presence[peak] <= PRESENT:
            seen.append(MISSED)
            continue
        wrong = (
            f"{name} {ATTRIBUTE_VALUES[name][values[name][peak]]}"
            for slot, name in enumerate(ATTRIBUTE_VALUES)
            if values[name][peak] != truth.attributes[0, index, slot]
        )
        seen.append(next(wrong, RIGHT))
    return tuple(seen)
