"""The options of the trials: each verb's model is the only place of their names, defaults, bounds and help."""

from __future__ import annotations

from typing import Annotated

from trex.foundation.options import Option, Options
from trex.query.verb_options import LOOKS, Device


class ConfirmOptions(Options):
    """Which hits of each run to render again, and how."""

    preset: Annotated[str, Option(f"The preset to render at: {LOOKS}.")] = "clevr"
    top: Annotated[int, Option("Number of hits of each run, most confident first.", low=1)] = 20
    device: Device = "auto"
