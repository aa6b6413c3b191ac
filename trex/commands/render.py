"""Render scenes, data sets of scenes and questions, and banks of scenes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.cache_banks import SHORT, BankFolder
from trex.commands.shell import complete
from trex.commands.shell.options import Processes, RenderDevice, Settings, is_given, refuse
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, print_result
from trex.foundation.words import counted
from trex.query.verb_options import LOOKS

if TYPE_CHECKING:
    from trex.bank.bank import Bank


class Form(StrEnum):
    """What is written of a scene."""

    PNG = "png"
    BLEND = "blend"


DRAWN = ("prior", "seed", "objects")
render_app = typer.Typer(
    no_args_is_help=True, help="Render scenes, data sets of scenes and questions, and banks of scenes."
)


@render_app.command()
def scenes(
    ctx: typer.Context,
    file: Annotated[
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
    _refuse_ignored(ctx, file is not None)
    from trex.datasets.render_files import SceneSource, blend_files, everything, render_files

    if form is Form.BLEND:
        refuse(ctx, ("processes",), "a .blend file is written by one process; drop it")
    vocabulary = everything(introduce or ())
    named = SceneSource(file, prior, seed, object_range(objects), vocabulary).scenes()
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


@render_app.command()
def dataset(
    out: Annotated[Path, typer.Option(help="The folder to write to; existing content is kept and resumed.")],
    scenes: Annotated[int, typer.Option(help="Number of scenes.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the scenes.")] = 0,
    split: Annotated[str, typer.Option(help="train, val, ...; each split has its own scenes.")] = "train",
    preset: Annotated[str, typer.Option(help=f"{LOOKS}.")] = "fast",
    objects: Annotated[str, typer.Option(help="Number of objects: 5, or 3-10.")] = "3-10",
    processes: Processes = None,
    device: RenderDevice = "auto",
    questions_per_scene: Annotated[int, typer.Option(help="Number of questions about each scene.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Render scenes of the prior with questions, in CLEVR's own folder layout; resumable."""
    from trex.datasets.rendered_dataset import DatasetPlan, render_dataset

    plan = DatasetPlan(scenes, seed, split, object_range(objects), preset, questions_per_scene)
    with display_until_stopped("every scene that was rendered is kept") as display:
        file = render_dataset(out, plan, device, processes, display.show)
    print_result({"scenes": str(file)}, f"scenes: {file}", as_json)


@render_app.command()
def bank(
    world: Annotated[
        Path,
        typer.Argument(
            metavar="WORLD",
            help="A query, for the scenes of its world, or clevr for CLEVR's own.",
            autocompletion=complete.queries,
        ),
    ],
    scenes: Annotated[int, typer.Option(metavar="N", help="How many scenes the bank is to have.")],
    preset: Annotated[str, typer.Option(help=f"{LOOKS}.")] = "sketch",
    seed: Annotated[int, typer.Option(help="The bank's seed, not that of a search.")] = 0,
    settings: Settings = None,
    device: RenderDevice = "auto",
    processes: Processes = None,
    bank: BankFolder = None,
    as_json: AsJson = False,
) -> None:
    """Render the first N scenes of a world's bank; existing ones are checked. Ctrl-C keeps everything."""
    from trex.bank.bank import bank_of, check_number
    from trex.bank.named import bank_world
    from trex.query.schema import RenderSection

    check_number(scenes)
    prior = bank_world(world, settings or [])
    section = RenderSection(preset=preset, device=device, processes=processes)
    kept = "every scene that was rendered is kept"
    with display_until_stopped(kept) as display, bank_of(prior, section, bank, seed=seed) as opened:
        opened.render(scenes, display.show)
        document = _rendered(opened)
    print_result(document, _rendered_words(document), as_json)


def _rendered(bank: Bank) -> dict[str, object]:
    index = bank.index
    return {
        "bank": index.key,
        "path": str(bank.path),
        "world": index.world.words,
        "seed": index.seed,
        "look": index.look,
        "scenes": bank.count(),
        "rendered_now": bank.rendered_now,
    }


def _rendered_words(told: dict[str, object]) -> str:
    return (
        f"bank {str(told['bank'])[:SHORT]}: {counted(int(str(told['scenes'])), 'scene')} at {told['look']}, "
        f"{told['rendered_now']} of them rendered now; "
        f"world: {told['world']}; seed {told['seed']}\nfolder: {told['path']}"
    )


def object_range(text: str) -> tuple[int, int]:
    """The bounds in "5" or "3-10" as numbers."""
    from trex.foundation.errors import InputError

    low, _, high = text.partition("-")
    if not all(re.fullmatch("[0-9]{1,4}", bound) for bound in (low, high or low)):
        raise InputError(f"--objects {text!r} is not a number or range; write 5 or 3-10")
    return int(low), int(high or low)


COMMAND = render_app
