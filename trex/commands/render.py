"""Render scenes to pictures and masks."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell.options import LOOKS, Processes, RenderDevice, is_given, refuse
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
    preset: Annotated[str, typer.Option(help=f"{LOOKS}.")] = "fast",
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
    as_json: AsJson = False,
) -> None:
    """Render scenes: a PNG and a mask (0 background, i + 1 object i) for each; or write them as .blend files."""
    _refuse_ignored(ctx, scenes is not None)
    from trex.commands.data import object_range
    from trex.datasets.render_files import SceneSource, blend_files, everything, render_files

    if form is Form.BLEND:
        refuse(ctx, ("processes",), "a .blend file is written by one process; drop it")
    vocabulary = everything(introduce or ())
    named = SceneSource(scenes, prior, seed, object_range(objects), vocabulary).scenes()
    if form is Form.BLEND:
        done = blend_files(named, out, preset, device, vocabulary)
        _write(done, len(named), "scenes written", "blend_files", as_json)
    else:
        done = render_files(named, out, preset, device, processes, vocabulary)
        _write(done, len(named), "scenes rendered", "pictures", as_json)


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


def _refuse_ignored(ctx: typer.Context, is_file: bool) -> None:
    """Raise InputError for an option of the prior's scenes beside a file of scenes, and the other way around."""
    if is_file:
        refuse(
            ctx,
            DRAWN,
            "it applies to scenes drawn from the prior, not to the file SCENES; drop one of the two",
        )
        return
    refuse(ctx, ("introduce",), "scenes of the prior have CLEVR's own shapes; give a file SCENES, or drop it")
    if not is_given(ctx, "prior"):
        refuse(
            ctx, ("seed", "objects"), "it applies to the scenes that --prior N draws; add --prior, or drop it"
        )


COMMAND = render
