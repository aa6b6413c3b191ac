"""One hit in the Python API."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trex.commands.results.html import hit_html
from trex.foundation.errors import RunError
from trex.inference.types import Floats
from trex.report.gallery import origin
from trex.runs.manifest import Manifest
from trex.runs.picture_files import StoredPicture, read_stored
from trex.scenes.scene import Scene
from trex.search.hit import Hit as Found
from trex.worlds.latents import SCENES, VECTORS, form_of

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, repr=False)
class Hit:
    """A hit: its picture, the model's answers, and the truth.

    Picture and mask are read from the run folder on each access; RunError if they are missing or were changed.
    """

    run: Path
    manifest: Manifest
    found: Found

    @property
    def answer(self) -> str:
        """The model's most probable answer."""
        return self.found.answer

    @property
    def truth(self) -> str | None:
        """The true answer; None if it is unknown, as for pictures that a decoder draws."""
        return self.found.truth

    @property
    def is_wrong(self) -> bool | None:
        """Whether the model's answer is wrong, None if that is unknown."""
        return self.found.is_wrong

    @property
    def confidence(self) -> float:
        """The target's own number, 0 to 1: P(answer) for one answer, the least probability for answers alike (1/k at
        best), 1 minus the distance for given probabilities.
        """
        return self.found.confidence

    @property
    def probabilities(self) -> dict[str, float]:
        """The model's probability for each of its K answers, most probable first; they sum to 1."""
        return dict(self.found.answers)

    @property
    def words(self) -> str:
        """The latent in words: "Rendered scene with 5 objects: small red metal cylinder, ..."."""
        return self.manifest.world.words(self.found.record.z)

    @property
    def origin(self) -> str:
        """The draw it comes from: "chain 2, step 17"."""
        return origin(self.found, self.manifest.world.noun)

    @property
    def scene(self) -> Scene | None:
        """The scene, None in a world whose latents are vectors."""
        z = self.found.record.z
        return z if form_of(z) is SCENES else None

    @property
    def vector(self) -> Floats | None:
        """The latent (d,), float64, in standard deviations of the prior; None in a world of scenes."""
        z = self.found.record.z
        return z if form_of(z) is VECTORS else None

    @property
    def picture(self) -> Image:
        """The picture as the model received it: RGB, or gray ("L") for digits."""
        from PIL import Image

        pixels = self._picture_files().pixels
        return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)

    @property
    def mask(self) -> NDArray[np.uint8] | None:
        """(H, W): 0 background, i + 1 object i of `scene`; None in a world without objects."""
        return self._picture_files().mask

    def __repr__(self) -> str:
        truth = "" if self.truth is None else f", truth {self.truth!r}"
        return f"Hit(answer {self.answer!r}{truth}, confidence {self.confidence:.3f}, {self.origin})"

    def _repr_html_(self) -> str:
        """The picture with its answers, for notebooks; only text if the picture is not stored."""
        try:
            pixels = self._picture_files().pixels
        except RunError:
            pixels = None
        return hit_html(self.found, self.words, self.origin, pixels)

    def _picture_files(self) -> StoredPicture:
        name = self.found.record.picture
        if not name:
            raise RunError(f"{self.run} did not store the picture of {self.origin}")
        return read_stored(self.run, name)
