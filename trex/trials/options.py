"""The options of the trials: each verb's model is the only place of their names, defaults, bounds and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import model_validator

from trex.foundation.errors import InputError, unknown
from trex.foundation.options import Option, Options
from trex.query.verb_options import LOOKS, Device

WORLDS = ("query", "clevr")


Top = Annotated[
    int, Option("With --confirm: number of hits of each run, most confident first.", low=1, example=5)
]


class ConfirmOptions(Options):
    """Which hits of each run to render again, and how."""

    preset: Annotated[str, Option(f"The preset to render at: {LOOKS}.", example="reference")] = "clevr"
    top: Top = 20
    device: Device = "auto"


class BaselineOptions(Options):
    """The source of a baseline: a data folder with the splits to take, or `rendered` scenes of a world."""

    dataset: Annotated[
        Path | None,
        Option(
            "A folder in CLEVR's layout, or the public generator's: images/, scenes/.", example="CLEVR_v1.0"
        ),
    ] = None
    splits: Annotated[
        tuple[str, ...], Option("Only this split of --dataset, e.g. val. Repeatable.", ("--split",))
    ] = ()
    rendered: Annotated[int | None, Option("Render this many scenes of the prior instead.", example=200)] = (
        None
    )
    world: Annotated[
        str,
        Option(
            "The scenes of --rendered: query (its own world) or clevr (as a test set's).", example="clevr"
        ),
    ] = "query"
    seed: Annotated[int, Option("The seed of --rendered.", example=1)] = 0
    cache: Annotated[
        Path | None,
        Option("The folder for rendered pictures; by default the user's cache.", example="pictures"),
    ] = None
    beside: Annotated[
        tuple[Path, ...],
        Option("A run of the same query to compare with. Repeatable.", metavar="RUN", example="runs/demo"),
    ] = ()
    all_pictures: Annotated[
        bool, Option("Show every picture on the page, not only hits.", ("--all-pictures",))
    ] = False

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if self.dataset is not None:
            why = "it applies to the scenes of --rendered N, and --dataset draws none; drop it"
            self.refuse(["world", "seed", "cache"], why)
        if (self.dataset is None) == (self.rendered is None):
            raise InputError("give either --dataset DIR, or --rendered N for N scenes of the prior")
        if self.splits and self.dataset is None:
            raise InputError("--split belongs to --dataset; rendered scenes have no splits")
        if self.world not in WORLDS:
            raise unknown("world", self.world, WORLDS)
        return self
