"""Render scenes to pictures and masks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell.options import LOOKS, Processes, RenderDevice, is_given, refuse
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, print_result


class Form(StrEnum):
    """What is written of a scene."""

    PNG = "png"
    BLEND = "blend"


DRAWN = ("prior", "seed", "objects")


def render(
    ctx: typer.Context,
    scenes: Annotated[
        Path | None, typer.Argument(metavar="SCENES", help="A CLEVR scenes file, or the JSON of one scene.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write pictures and masks to.")] = Path("pictures"),
    prior: Annotated[int, typer.Option(help="Render this many scenes of the prior instead.")] = 0,
    seed: Annotated[int, typer.Option(help="The seed of --prior.")] = 0,
    objects: Annotated[str, typer.Option(help="Number of objects with --prior: 5, or 3-10.")] = "3-10",
    preset: Annotated[
        str,
        typer.Option(help=f"{LOOKS}; with --parity by default clevr, reference and fast."),
    ] = "fast",
    device: RenderDevice = "auto",
    processes: Processes = None,
    introduce: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CARD", help="The card of a shape of your own that SCENES contains. Repeatable."
        ),
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="png: a picture and a mask; blend: a file to open in Blender.")
    ] = Form.PNG,
    parity: Annotated[
        Path | None,
        typer.Option(help="Re-render the official scenes in this folder; write the page of pairs."),
    ] = None,
    compare_assets: Annotated[
        Path | None, typer.Option(help="Render 12 scenes with the published assets in this folder too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Render scenes: a PNG and a mask (0 background, i + 1 object i) for each; or write them as .blend files."""
    _refuse_ignored(ctx, parity is not None, compare_assets is not None, scenes is not None)
    if parity is not None:
        _compare_official(parity, out, (preset,) if is_given(ctx, "preset") else None, as_json)
        return
    if compare_assets is not None:
        _compare_assets(compare_assets, out, as_json)
        return
    from trex.commands.data import object_range
    from trex.datasets.render_files import Source, blend_files, everything, render_files

    if form is Form.BLEND:
        refuse(ctx, ("processes",), "a .blend file is written by one process; drop it")
    vocabulary = everything(introduce or ())
    named = Source(scenes, prior, seed, object_range(objects), vocabulary).scenes()
    if form is Form.BLEND:
        done = blend_files(named, out, preset, device, vocabulary)
        _write(done, len(named), "scenes written", "blend_files", as_json)
    else:
        done = render_files(named, out, preset, device, processes, vocabulary)
        _write(done, len(named), "scenes rendered", "pictures", as_json)


def _compare_official(scenes: Path, out: Path, chosen: Sequence[str] | None, as_json: bool) -> None:
    from trex.parity.parity import PRESETS, write_parity_page

    presets = chosen or PRESETS
    check_presets(presets)
    with display_until_stopped("every picture that was rendered is kept") as display:
        page = write_parity_page(scenes, out, presets=presets, on_progress=display.show)
    print_result({"page": str(page)}, f"page: {page}", as_json)


def _compare_assets(published: Path, out: Path, as_json: bool) -> None:
    from trex.pages.display import Display
    from trex.parity.asset_parity import N_SCENES, PRESET
    from trex.parity.asset_parity_page import compare

    with Display() as display:
        display.say(f"rendering {N_SCENES} scenes with both sets of assets at preset {PRESET}")
        compare(published, out)
    page = out / "index.html"
    print_result({"page": str(page)}, f"page: {page}", as_json)


def _write(done: Iterable[Path], total: int, what: str, files: str, as_json: bool) -> None:
    """Write the files that `done` yields, show progress and print their paths."""
    from trex.pages.display import Display

    paths: list[str] = []
    with Display() as display:
        display.show(what, 0, total)
        for path in done:
            paths.append(str(path))
            display.show(what, len(paths), total)
    print_result({files: paths}, "\n".join(paths), as_json)


def check_presets(names: Sequence[str]) -> None:
    """Raise InputError for an unknown preset, before anything is read."""
    from trex.render.presets import preset_named

    for name in names:
        preset_named(name)


def _refuse_ignored(ctx: typer.Context, is_parity: bool, is_assets: bool, is_file: bool) -> None:
    """Raise InputError for an option that belongs to another of the four modes."""
    if is_parity:
        why = "--parity renders the official scenes of its folder; drop it, or drop --parity"
        refuse(ctx, ("scenes", *DRAWN, "device", "processes", "introduce", "form", "compare_assets"), why)
    elif is_assets:
        why = "--compare-assets renders 12 scenes of its own at preset reference; drop it, or drop --compare-assets"
        refuse(ctx, ("scenes", *DRAWN, "preset", "device", "processes", "introduce", "form"), why)
    elif is_file:
        refuse(
            ctx,
            DRAWN,
            "it applies to scenes drawn from the prior, not to the file SCENES; drop one of the two",
        )
    else:
        refuse(
            ctx, ("introduce",), "scenes of the prior have CLEVR's own shapes; give a file SCENES, or drop it"
        )
        only = "it applies to the scenes that --prior N draws; add --prior, or drop it"
        if not is_given(ctx, "prior"):
            refuse(ctx, ("seed", "objects"), only)


COMMAND = render
