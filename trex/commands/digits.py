"""`trex models train vae | gan | beta-vae | classifier`: models for the worlds of digits and garments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result

if TYPE_CHECKING:
    from trex.mnist_models.training.plan import Plan

DatasetName = Annotated[str, typer.Option("--dataset", help="mnist or fashion.")]
Digits = Annotated[str, typer.Option("--dataset", help="mnist or fashion.")]
Data = Annotated[
    Path | None,
    typer.Option(help="The folder of its files; by default $TREX_DIGITS, the cache, or a download."),
]
Out = Annotated[
    Path | None,
    typer.Option(help="The folder to write to, by default in the cache; resumes a training found there."),
]
Without = Annotated[str, typer.Option(help="Classes to exclude, e.g. 3 or Trouser,Bag.")]
Classes = Annotated[str, typer.Option(help="Only these classes, e.g. 0,1,3,6,9.")]
Seed = Annotated[int, typer.Option(help="Seed of the training.")]
Epochs = Annotated[int | None, typer.Option(help="Passes over the data; the default depends on the kind.")]
BatchSize = Annotated[int, typer.Option(help="Pictures per step.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Threads = Annotated[int, typer.Option(help="Torch's threads on the CPU.")]


def _decoder(kind: str, words: str) -> Callable[..., None]:
    """The command that trains a decoder of this kind."""

    def train(
        dataset: Digits,
        data: Data = None,
        out: Out = None,
        without: Without = "",
        classes: Classes = "",
        seed: Seed = 1,
        epochs: Epochs = None,
        batch_size: BatchSize = 128,
        device: Device = "auto",
        threads: Threads = 1,
        as_json: AsJson = False,
    ) -> None:
        from trex.mnist_models.training.plan import Plan

        only, left_out = _items(classes), _items(without)
        plan = Plan(kind, dataset, only, left_out, seed, epochs, batch_size, device, threads, data)
        _train(plan, out, as_json)

    train.__doc__ = f"Train a {words} with 5 latents; after a kill, the same command resumes."
    return train


vae = _decoder("vae", "variational autoencoder")
gan = _decoder("gan", "generative adversarial network")


def beta_vae(
    dataset: Annotated[str, typer.Option("--dataset", help="mnist or fashion.")],
    latent: Annotated[int | None, typer.Option(help="Length of the code; by default as published.")] = None,
    beta: Annotated[float | None, typer.Option(help="Weight of the KL; by default 4.")] = None,
    anneal: Annotated[
        int | None, typer.Option(help="Steps over which that weight grows from 0; by default as published.")
    ] = None,
    data: Data = None,
    out: Out = None,
    without: Without = "",
    classes: Classes = "",
    seed: Seed = 1,
    epochs: Epochs = None,
    batch_size: BatchSize = 128,
    device: Device = "auto",
    threads: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Train the beta-VAE of Defuse, a generator for `trex repair`; after a kill, the same command resumes."""
    from trex.mnist_models.training.plan import BetaVaePlan

    only, left_out = _items(classes), _items(without)
    common = ("beta-vae", dataset, only, left_out, seed, epochs, batch_size, device, threads, data)
    _train(BetaVaePlan(*common, latent, beta, anneal), out, as_json)


def classifier(
    dataset: DatasetName,
    network: Annotated[
        str | None,
        typer.Option(
            help="classifier, lenet, ambiguous (appendix H), resnet18, or resnet18-16 with a quarter of its channels; "
            "by default classifier, of pictures in color resnet18."
        ),
    ] = None,
    data: Data = None,
    out: Out = None,
    without: Without = "",
    classes: Classes = "",
    seed: Seed = 1,
    epochs: Epochs = None,
    batch_size: BatchSize = 128,
    device: Device = "auto",
    threads: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Train a classifier; after a kill, the same command resumes."""
    from trex.foundation.errors import unknown
    from trex.mnist_models.card import CLASSIFIERS
    from trex.mnist_models.training.plan import Plan, default_network

    if network is not None and network not in CLASSIFIERS:
        raise unknown("network", network, CLASSIFIERS)
    only, left_out = _items(classes), _items(without)
    kind = network or default_network(dataset)
    plan = Plan(kind, dataset, only, left_out, seed, epochs, batch_size, device, threads, data)
    _train(plan, out, as_json)


def _items(text: str) -> tuple[str, ...]:
    """The items of a list: "0, 1,3" gives ("0", "1", "3")."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _train(plan: Plan, out: Path | None, as_json: bool) -> None:
    import json

    from trex.artifacts.card import read_card
    from trex.mnist_models.load import trained_models
    from trex.mnist_models.training.train import train

    folder = out or trained_models()
    note(f"writing to {folder}")
    with display_until_stopped("the training up to its last checkpoint is kept") as display:
        weights = train(plan, folder, display.show)
    figures = read_card(weights)["figures"]
    words = f"{json.dumps(figures, indent=1)}\nweights: {weights}"
    print_result({"weights": str(weights), "figures": figures}, words, as_json)
