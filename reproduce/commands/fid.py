"""`fid`: the Frechet distance between a decoder's pictures and a data set's, by a classifier or by Inception."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell.result import AsJson, note, print_result


def fid(
    decoder: Annotated[str, typer.Argument(help="A decoder by name or path, e.g. mnist-gan.")],
    features: Annotated[
        str, typer.Option(help="A classifier of the same data set, or Inception's weights (.pth).")
    ],
    data: Annotated[
        Path | None, typer.Option(help="The folder of the data set, as in trex models train.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Measure a decoder's FID on its test split; the card of weights that are not shipped keeps it."""
    import json

    from reproduce.fid.features import load_fid_features, measure
    from trex.mnist_models.load import SHIPPED, weights_path

    weights = weights_path(decoder)
    found = measure(decoder, load_fid_features(features), data, device, is_kept=weights.parent != SHIPPED)
    if weights.parent != SHIPPED:
        note(f"added to the card of {weights}")
    print_result(found, json.dumps(found, indent=1), as_json)
