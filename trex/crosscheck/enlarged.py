"""The enlarged view of a hit: the same scene at another look, and the model's answer there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.crosscheck.confirmation import Confirmation, Confirmed
from trex.crosscheck.confirmation_page import look_id
from trex.foundation.percent import percent
from trex.render.picture import Bytes
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture


@dataclass(frozen=True)
class EnlargedLook:
    """One hit at a larger preset."""

    preset: str
    size: tuple[int, int]  # width and height in pixels
    scene: Confirmed

    @property
    def id(self) -> str:
        """The HTML id of its picture, so that the page embeds it only once."""
        return look_id(self.scene)

    @property
    def words(self) -> str:
        """The caption of the enlarged picture."""
        after, (width, height) = self.scene.after, self.size
        sure = percent(float(np.exp(max(after.log_probs))))
        return (
            f"The same scene at another look, preset {self.preset}, {width}×{height}. There the model says "
            f"{after.answer} ({sure}), confidence in the target {percent(after.confidence)}; "
            f"the scene {self.scene.verdict}."
        )

    def read(self, folder: RunFolder) -> tuple[Bytes, Bytes]:
        """Its pixels and mask; RunError if they are missing or damaged."""
        return read_picture(folder, self.scene.after.picture, self.size)


def larger_looks(confirmations: Sequence[Confirmation], size: tuple[int, int]) -> dict[str, EnlargedLook]:
    """For each hit's picture, a look larger than `size`; CLEVR's own preset if there are several."""
    larger = [one for one in confirmations if one.size[0] > size[0]]
    return {
        scene.before.picture: EnlargedLook(one.preset, one.size, scene)
        for one in sorted(larger, key=lambda one: one.preset == "clevr")
        for scene in one.scenes
    }
