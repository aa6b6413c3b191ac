"""Render presets: size, sampling and denoising."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trex.foundation.errors import unknown

Denoise = Literal["high", "fast"]


@dataclass(frozen=True, slots=True)
class Preset:
    """Settings of a render: size in pixels, samples per pixel, OpenImageDenoise quality or none, light bounces.

    A persistent preset keeps Cycles' data between scenes; the published generator (clevr-dataset-gen) did not.
    """

    name: str
    width: int
    height: int
    samples: int
    denoise: Denoise | None
    max_bounces: int = 4  # looks equal to 12; 2 or fewer darkens
    persistent: bool = True


# From the most expensive to the cheapest; docs/reference/presets.md says what each is for.
# clevr: clevr-dataset-gen's 512 samples and its base scene's 12 bounces, at the released pictures' size.
_ALL = (
    Preset("clevr", 480, 320, 512, None, max_bounces=12),
    Preset("reference", 480, 320, 16, "high"),
    Preset("sharp", 480, 320, 4, "fast"),
    Preset("coarse", 480, 320, 1, "fast"),
    Preset("fast", 240, 160, 4, "fast"),
    Preset("sketch", 240, 160, 1, "fast"),
    Preset("draft", 120, 80, 2, "fast"),
)
PRESETS = {preset.name: preset for preset in _ALL}
ANALYTIC, ANALYTIC_SIZE = "analytic", (240, 160)  # shaded without Blender (trex.render.analytic)
# To be timed with one process for each picture.
PUBLISHED = Preset("published", 480, 320, 512, None, max_bounces=12, persistent=False)


def preset_named(preset: str | Preset) -> Preset:
    """The preset of this name (a Preset is returned unchanged); InputError lists the names."""
    if isinstance(preset, Preset):
        return preset
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    return PRESETS[preset]
