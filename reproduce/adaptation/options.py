"""The options of `adda` and `overconfidence`, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from trex.foundation.options import Option, Options
from trex.mnist_models.training.options import BatchSize, Device, Out, Seed, Threads

MAX_STEPS = 1_000_000_000


class AdaptationPlan(Options):
    """A source network and its adaptation."""

    source: Annotated[str, Option("The labelled domain: typeset, optdigits, mnist, svhn or usps.")]
    target: Annotated[str, Option("The domain whose labels are not used.")] = "mnist"
    data: Annotated[
        Path | None,
        Option("The folder of MNIST, SVHN or USPS; by default $TREX_DIGITS, or MNIST is fetched."),
    ] = None
    out: Out = None
    seed: Seed = 1
    source_steps: Annotated[int, Option("Steps of the source network.", low=1, high=MAX_STEPS)] = 10_000
    steps: Annotated[int, Option("Steps of the adaptation.", low=1, high=MAX_STEPS)] = 10_000
    batch_size: BatchSize = 128
    adversary_at: Annotated[str, Option("What the adversary sees: logits (published code) or features.")] = (
        "logits"
    )
    domain_labels: Annotated[str, Option("true, or shuffled: a control in which nothing can be learned.")] = (
        "true"
    )
    device: Device = "auto"
    threads: Threads = 1


class CompareOptions(Options):
    """Pairs of models, one for each training run, and on what to compare them.

    Drawings of the generator with prior latents are labelled by the committee; there are none without a committee.
    """

    pairs: Annotated[
        tuple[str, ...],
        Option(
            "Two digit models, by name or path; one pair per training run.",
            metavar="SOURCE:ADAPTED...",
            is_argument=True,
        ),
    ]
    committee: Annotated[
        tuple[str, ...],
        Option(
            "A network of the committee that labels drawings; none: no drawings. Repeatable.", ("--member",)
        ),
    ] = ()
    generator: Annotated[str, Option("What draws MNIST's digits: mnist-gan, mnist-vae, ...")] = "mnist-gan"
    draws: Annotated[int, Option("Number of drawings.", low=1, high=1_000_000)] = 10_000
    seed: Annotated[int, Option("Seed of the drawings.", low=0, high=(1 << 63) - 1)] = 0
    data: Annotated[Path | None, Option("The folder of MNIST, as in trex models train.")] = None
