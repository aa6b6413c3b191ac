"""The look of a run: the suite's stored pictures, or its scenes rendered again at a preset."""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.foundation.words import counted
from trex.render.presets import preset_named
from trex.scenes.noise import seeded_draws
from trex.scenes.scene import Scene
from trex.worlds.world import FAKE_SIZES

MAX_FRESH = 64


@dataclass(frozen=True)
class Look:
    """The stored pictures if `preset` is None; otherwise every scene, rendered at the preset.

    With `fresh`, a scene is rendered under that many noise seeds, which follow from its own and from `seed`, and the
    mean probabilities are judged; with 0 it is rendered once, under its own seed. InputError for an unknown preset, or
    a number out of range.
    """

    preset: str | None = None
    fresh: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.preset is not None and self.preset not in FAKE_SIZES:
            preset_named(self.preset)
        if not 0 <= self.fresh <= MAX_FRESH:
            raise InputError(f"--fresh {self.fresh} is not possible; give a number from 0 to {MAX_FRESH}")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"--seed {self.seed} is not possible; give 0 or more, below 2^63")

    @property
    def name(self) -> str:
        """Its name in `last_run.json`: "stored", "fast", "fast fresh=4 seed=0"."""
        if self.preset is None:
            return "stored"
        return f"{self.preset} fresh={self.fresh} seed={self.seed}" if self.fresh else self.preset

    @property
    def words(self) -> str:
        """How the scenes were rendered, in words; "" for the stored pictures."""
        if self.preset is None:
            return ""
        fresh = f" under {counted(self.fresh, 'fresh noise seed')} (seed {self.seed})" if self.fresh else ""
        return f"rendered at preset {self.preset}{fresh}"

    def draws(self, scene: Scene) -> tuple[Scene, ...]:
        """The scenes to render for a scene: itself, or its copies under fresh noise seeds."""
        return seeded_draws(scene, self.fresh, self.seed) if self.fresh else (scene,)


STORED = Look()
