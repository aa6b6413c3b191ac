"""The options of `trex models train clevr`, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from trex.foundation.options import Option, Options

MOST = (1 << 31) - 1


class TrainOptions(Options):
    """The rendered scenes to learn from, the folder to write to, and how to train."""

    dataset: Annotated[Path, Option("A folder that `trex render dataset` has made.")]
    out: Annotated[Path, Option("The folder to write to; existing content is kept and resumed.")]
    seed: Annotated[int, Option("Seed of the weights and of the order of the data.", low=0, high=MOST)] = 1
    epochs: Annotated[int, Option("Passes over the data.", low=1, high=MOST)] = 8
    device: Annotated[str, Option("auto, cpu or cuda.")] = "auto"
    batch_size: Annotated[int, Option("Pictures per step.", low=1, high=MOST)] = 32
    limit: Annotated[
        int | None, Option("Use only this many training scenes, the first ones.", low=1, high=MOST)
    ] = None
    start: Annotated[Path | None, Option("Initial weights.")] = None
