"""`trex render`: scenes to pictures and masks, and pages that compare our pictures with published ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def render(
    scenes: Annotated[
        Path | None, typer.Argument(metavar="SCENES", help="A CLEVR scenes file, or the JSON of one scene.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write pictures and masks to.")] = Path("pictures"),
    prior: Annotated[int, typer.Option(help="Render so many scenes of the prior instead.")] = 0,
    seed: Annotated[int, typer.Option(help="The seed of --prior.")] = 0,
    objects: Annotated[str, typer.Option(help="How many objects --prior has: 5, or 3-10.")] = "3-10",
    preset: Annotated[str, typer.Option(help="clevr, reference, fast or draft.")] = "fast",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, optix, hip, oneapi or metal.")] = "auto",
    processes: Annotated[
        int | None, typer.Option(help="Blender processes; one a core, up to 4, if not given.")
    ] = None,
    parity: Annotated[
        Path | None,
        typer.Option(help="Re-render the official scenes in this folder; write the page of pairs."),
    ] = None,
    compare_assets: Annotated[
        Path | None, typer.Option(help="Render 12 scenes with the published assets in this folder too.")
    ] = None,
) -> None:
    """Render scenes: a PNG and a mask (0 background, i + 1 object i) for each."""
    if parity is not None:
        from harness.parity import write_parity_page

        typer.echo(f"page: {write_parity_page(parity, out)}")
    elif compare_assets is not None:
        from harness.asset_parity import compare

        compare(compare_assets, out)
        typer.echo(f"page: {out / 'index.html'}")
    else:
        from harness.cli_data import object_range
        from harness.render_files import Source, render_files

        source = Source(scenes, prior, seed, object_range(objects))
        for path in render_files(source, out, preset, device, processes):
            typer.echo(str(path))
