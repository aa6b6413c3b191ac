"""`trex train adda`: a classifier of one domain, and its adaptation to another without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.commands.digits import BatchSize, Device, Out, Seed, Threads
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result

Data = Annotated[
    Path | None,
    typer.Option(
        help="The folder with the files of MNIST, SVHN or USPS; by default $TREX_DIGITS, or MNIST is fetched."
    ),
]


def adda(
    source: Annotated[
        str, typer.Option(help="The labelled domain: typeset, optdigits, mnist, svhn or usps.")
    ],
    target: Annotated[str, typer.Option(help="The domain whose labels are not used.")] = "mnist",
    data: Data = None,
    out: Out = None,
    seed: Seed = 1,
    source_steps: Annotated[int, typer.Option(help="Steps of the source network.")] = 10_000,
    steps: Annotated[int, typer.Option(help="Steps of the adaptation.")] = 10_000,
    batch_size: BatchSize = 128,
    adversary_at: Annotated[
        str, typer.Option(help="What the adversary sees: logits (published code) or features.")
    ] = "logits",
    domain_labels: Annotated[
        str, typer.Option(help="true, or shuffled: a control in which nothing can be learned.")
    ] = "true",
    device: Device = "auto",
    threads: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Train a source network and adapt it (ADDA); after a kill, the same command resumes."""
    import json

    from trex.artifacts.card import read_card
    from trex.mnist_models.adaptation.settings import AdaptationPlan
    from trex.mnist_models.adaptation.train import train_pair
    from trex.mnist_models.load import trained_models
    from trex.mnist_models.training.loop import Status

    folder = out or trained_models()
    plan = AdaptationPlan(
        source,
        target,
        seed,
        source_steps,
        steps,
        batch_size,
        adversary_at,
        domain_labels,
        device,
        threads,
        data,
    )
    note(f"writing to {folder}")
    with display_until_stopped("the training up to its last checkpoint is kept") as display:

        def on_progress(status: Status) -> None:
            losses = [f"{name} {value:.4f}" for name, value in status.losses.items()]
            display.show("training steps", status.step, status.total, *losses)

        pair = train_pair(plan, folder, on_progress)
    trained = {"source": pair.source, "adapted": pair.adapted}
    document: dict[str, object] = {
        name: {"weights": str(path), "figures": read_card(path)["figures"]} for name, path in trained.items()
    }
    words = [json.dumps(document, indent=1), *(f"weights: {path}" for path in trained.values())]
    print_result(document, "\n".join(words), as_json)
