"""Compare source and adapted digit networks where they are sure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell.result import AsJson, print_result


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
    data: Annotated[Path | None, typer.Option(help="The folder of MNIST, as in trex train.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count confident mistakes on MNIST's test set and on drawings, of networks before and after adaptation."""
    from trex.experiments.adaptation.compare import Request, compare
    from trex.experiments.adaptation.record import comparison_json
    from trex.experiments.adaptation.table import markdown
    from trex.pages.display import Display

    request = Request(
        tuple(_pair(words) for words in pairs), tuple(member or ()), generator, draws, seed, data
    )
    with Display() as display:
        found = compare(request, display.show)
    print_result(comparison_json(found), markdown(found), as_json)


def _pair(words: str) -> tuple[str, str]:
    from trex.foundation.errors import InputError

    source, _, adapted = words.partition(":")
    if not source or not adapted or ":" in adapted:
        raise InputError(f"pair {words!r} is not SOURCE:ADAPTED, e.g. typeset-source-1:typeset-mnist-adda-1")
    return source, adapted


COMMAND = overconfidence
