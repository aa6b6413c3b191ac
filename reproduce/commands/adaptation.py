"""`adda` and `overconfidence`: a classifier adapted to another domain, and what that does to its confidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result
from trex.foundation.errors import InputError


def adda(
    source: Annotated[
        str, typer.Option(help="The labelled domain: typeset, optdigits, mnist, svhn or usps.")
    ],
    target: Annotated[str, typer.Option(help="The domain whose labels are not used.")] = "mnist",
    data: Annotated[
        Path | None,
        typer.Option(help="The folder of MNIST, SVHN or USPS; by default $TREX_DIGITS, or MNIST is fetched."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder to write to, by default in the cache; resumes a training found there."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the training.")] = 1,
    source_steps: Annotated[int, typer.Option(help="Steps of the source network.")] = 10_000,
    steps: Annotated[int, typer.Option(help="Steps of the adaptation.")] = 10_000,
    batch_size: Annotated[int, typer.Option(help="Pictures per step.")] = 128,
    adversary_at: Annotated[
        str, typer.Option(help="What the adversary sees: logits (published code) or features.")
    ] = "logits",
    domain_labels: Annotated[
        str, typer.Option(help="true, or shuffled: a control in which nothing can be learned.")
    ] = "true",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(help="Torch's threads on the CPU.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Train a source network and adapt it (ADDA); after a kill, the same command resumes."""
    from reproduce.adaptation.settings import AdaptationPlan
    from reproduce.adaptation.train import train_pair
    from trex.artifacts.card import read_card
    from trex.mnist_models.load import trained_models

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
        pair = train_pair(plan, folder, display.show)
    trained = {"source": pair.source, "adapted": pair.adapted}
    document: dict[str, object] = {
        name: {"weights": str(path), "figures": read_card(path)["figures"]} for name, path in trained.items()
    }
    words = [json.dumps(document, indent=1), *(f"weights: {path}" for path in trained.values())]
    print_result(document, "\n".join(words), as_json)


def overconfidence(
    pairs: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE:ADAPTED...", help="Two digit models, by name or path; one pair per training run."
        ),
    ],
    member: Annotated[
        list[str] | None,
        typer.Option(help="A network of the committee that labels drawings; none: no drawings. Repeatable."),
    ] = None,
    generator: Annotated[
        str, typer.Option(help="What draws MNIST's digits: mnist-gan, mnist-vae, ...")
    ] = "mnist-gan",
    draws: Annotated[int, typer.Option(help="Number of drawings.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the drawings.")] = 0,
    data: Annotated[Path | None, typer.Option(help="The folder of MNIST, as in trex models train.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count confident mistakes on MNIST's test set and on drawings, of networks before and after adaptation."""
    from reproduce.adaptation.compare import Request, compare
    from reproduce.adaptation.table import comparison_json, markdown
    from reproduce.adaptation.train import offer_weights
    from trex.pages.display import Display

    offer_weights()
    request = Request(tuple(map(_pair, pairs)), tuple(member or ()), generator, draws, seed, data)
    with Display() as display:
        found = compare(request, display.show)
    print_result(comparison_json(found), markdown(found), as_json)


def _pair(words: str) -> tuple[str, str]:
    source, _, adapted = words.partition(":")
    if not source or not adapted or ":" in adapted:
        raise InputError(f"pair {words!r} is not SOURCE:ADAPTED, e.g. typeset-source-1:typeset-mnist-adda-1")
    return source, adapted
