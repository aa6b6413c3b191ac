"""The options of `trex models train vae | gan | beta-vae | classifier`, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from trex.foundation.options import Option, Options


def _items(given: object) -> object:
    """The items of lists: "0, 1,3" gives ("0", "1", "3")."""
    texts = (given,) if isinstance(given, str) else given
    if not isinstance(texts, list | tuple):
        return texts
    return tuple(item for text in texts for part in str(text).split(",") if (item := part.strip()))


Seed = Annotated[int, Option("Seed of the training.", low=0, high=(1 << 63) - 1)]
BatchSize = Annotated[int, Option("Pictures per step.", low=2, high=(1 << 31) - 1)]
Device = Annotated[str, Option("auto, cpu or cuda.")]
Threads = Annotated[int, Option("Torch's threads on the CPU.", low=1, high=1024)]
Out = Annotated[
    Path | None,
    Option("The folder to write to, by default in the cache; resumes a training found there."),
]


class Plan(Options):
    """What to train of any kind. Classes are given by names or numbers."""

    dataset: Annotated[str, Option("mnist or fashion.")]
    data: Annotated[
        Path | None, Option("The folder of its files; by default $TREX_DIGITS, the cache, or a download.")
    ] = None
    out: Out = None
    without: Annotated[
        tuple[str, ...], BeforeValidator(_items), Option("Classes to exclude, e.g. 3 or Trouser,Bag.")
    ] = ()
    classes: Annotated[
        tuple[str, ...], BeforeValidator(_items), Option("Only these classes, e.g. 0,1,3,6,9.")
    ] = ()
    seed: Seed = 1
    epochs: Annotated[
        int | None, Option("Passes over the data; the default depends on the kind.", low=1, high=100_000)
    ] = None
    batch_size: BatchSize = 128
    device: Device = "auto"
    threads: Threads = 1


class BetaVaePlan(Plan):
    """What to train of the generator of Defuse; None takes the number that is published for the data set."""

    latent: Annotated[
        int | None, Option("Length of the code; by default as published.", low=1, high=1000)
    ] = None
    beta: Annotated[float | None, Option("Weight of the KL; by default 4.", low=0, high=1_000_000)] = None
    anneal: Annotated[
        int | None,
        Option(
            "Steps over which that weight grows from 0; by default as published.", low=1, high=(1 << 31) - 1
        ),
    ] = None


class ClassifierPlan(Plan):
    """What to train of a classifier."""

    network: Annotated[
        str | None,
        Option(
            "classifier, lenet, ambiguous (appendix H), resnet18, or resnet18-16 with a quarter of its channels; by "
            "default classifier, of pictures in color resnet18."
        ),
    ] = None
