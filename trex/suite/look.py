"""The look of a run, and `last_run.json`: where the model of the last run at each look failed.

A look is the suite's stored pictures, or its scenes rendered again at a preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.foundation.files import write_atomic
from trex.foundation.words import counted
from trex.render.presets import preset_named
from trex.scenes.noise import seeded_draws
from trex.scenes.scene import Scene
from trex.worlds.world import size_without_blender

LAST_RUN = "last_run.json"
REMEDY = "restore it from its repository, or delete it to start over"


@dataclass(frozen=True)
class SuiteLook:
    """The stored pictures if `preset` is None; otherwise every scene, rendered at the preset.

    With `fresh`, a scene is rendered under that many noise seeds, which follow from its own and from `seed`, and the
    mean probabilities are judged; with 0 it is rendered once, under its own seed. InputError for an unknown preset.
    """

    preset: str | None = None
    fresh: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.preset is not None and size_without_blender(self.preset) is None:
            preset_named(self.preset)

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
        fresh = f" with {counted(self.fresh, 'new noise seed')} (seed {self.seed})" if self.fresh else ""
        return f"rendered at preset {self.preset}{fresh}"

    def draws(self, scene: Scene) -> tuple[Scene, ...]:
        """The scenes to render for a scene: itself, or its copies under fresh noise seeds."""
        return seeded_draws(scene, self.fresh, self.seed) if self.fresh else (scene,)


STORED = SuiteLook()


@dataclass(frozen=True)
class LastRun:
    """The model with the fingerprint of its weights, and whether it failed on each scene, by its name in the suite."""

    model: str
    failed: Mapping[str, bool]
    weights: str = ""


@dataclass(frozen=True)
class LastRuns:
    """The last run of each look, by the look's name."""

    looks: Mapping[str, LastRun]
    format: Literal[1] = 1


CODEC = Codec(LastRuns, InputError)


def read_last_run(suite: Path, look: SuiteLook = STORED) -> LastRun | None:
    """The last run at this look, None before the first; InputError if the file is damaged. Follows no link."""
    return _runs(suite).looks.get(look.name)


def write_last_run(suite: Path, run: LastRun, look: SuiteLook = STORED) -> None:
    """Replace the last run of this look, atomically; those of other looks stay."""
    runs = LastRuns({**_runs(suite).looks, look.name: run})
    write_atomic(suite / LAST_RUN, CODEC.text(runs).encode())


def _runs(suite: Path) -> LastRuns:
    return CODEC.read(suite / LAST_RUN, REMEDY, inside=suite) or LastRuns({})
