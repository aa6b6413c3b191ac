"""Render scenes, data sets of scenes and questions, and banks of scenes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from trex.commands.cache import SHORT, BankFolder
from trex.commands.shell.result import Printed
from trex.commands.verb import Session, verb_of
from trex.foundation.errors import InputError
from trex.foundation.options import Option, Options
from trex.foundation.words import counted
from trex.query.verb_options import LOOKS, Device, Processes, Settings

Preset = Annotated[str, Option(f"{LOOKS}.", example="fast")]


class Form(StrEnum):
    """What is written of a scene."""

    PNG = "png"
    BLEND = "blend"


def scenes(
    session: Session,
    file: Annotated[
        Path | None,
        Option("A CLEVR scenes file, or the JSON of one scene.", metavar="SCENES", is_argument=True),
    ] = None,
    out: Annotated[Path, Option("The folder to write pictures and masks to.")] = Path("pictures"),
    prior: Annotated[int, Option("Render this many scenes of the prior instead.", example=200)] = 0,
    seed: Annotated[int, Option("The seed of --prior.")] = 0,
    objects: Annotated[str, Option("Number of objects with --prior: 5, or 3-10.")] = "3-10",
    preset: Preset = "fast",
    device: Device = "auto",
    processes: Processes = None,
    introduce: Annotated[
        tuple[str, ...],
        Option("The card of a shape of your own that SCENES contains. Repeatable.", metavar="CARD"),
    ] = (),
    form: Annotated[
        Form, Option("png: a picture and a mask; blend: a file to open in Blender.", ("--format",))
    ] = Form.PNG,
) -> Printed:
    """Render scenes: a PNG and a mask (0 background, i + 1 object i) for each; or write them as .blend files."""
    _refuse_ignored(session.options, is_file=file is not None)
    from trex.datasets.render_files import blend_files, drawn_scenes, everything, read_any, render_files

    is_blend = form is Form.BLEND
    if is_blend:
        session.options.refuse(["processes"], "a .blend file is written by one process; drop it")
    vocabulary = everything(introduce)
    drawn = partial(drawn_scenes, prior, seed, object_range(objects), processes)
    names, found = drawn() if file is None else read_any(file, vocabulary)
    if not names:
        raise InputError(f"{file} holds no scene")
    if is_blend:
        done = blend_files(names, found, out, preset, device, vocabulary)
    else:
        done = render_files(names, found, out, preset, device, processes, vocabulary)
    paths = _paths(session, done, len(names), "scenes written" if is_blend else "scenes rendered")
    return Printed({"blend_files" if is_blend else "pictures": paths}, "\n".join(paths))


def _paths(session: Session, done: Iterable[Path], total: int, what: str) -> list[str]:
    """The paths of the files that `done` writes one after the other."""
    paths: list[str] = []
    session.display.show(what, 0, total)
    for path in done:
        paths.append(str(path))
        session.display.show(what, len(paths), total)
    return paths


def _refuse_ignored(options: Options, *, is_file: bool) -> None:
    """Raise InputError for an option of the prior's scenes beside a file of scenes, and the other way around."""
    if is_file:
        why = "it applies to scenes drawn from the prior, not to the file SCENES; drop one of the two"
        options.refuse(["prior", "seed", "objects"], why)
        return
    options.refuse(
        ["introduce"], "scenes of the prior have CLEVR's own shapes; give a file SCENES, or drop it"
    )
    if not options.is_given("prior"):
        why = "it applies to the scenes that --prior N draws; add --prior, or drop it"
        options.refuse(["seed", "objects"], why)


def dataset(
    session: Session,
    out: Annotated[Path, Option("The folder to write to; existing content is kept and resumed.")],
    scenes: Annotated[int, Option("Number of scenes.")] = 1000,
    seed: Annotated[int, Option("Seed of the scenes.")] = 0,
    split: Annotated[str, Option("train, val, ...; each split has its own scenes.")] = "train",
    preset: Preset = "fast",
    objects: Annotated[str, Option("Number of objects: 5, or 3-10.")] = "3-10",
    processes: Processes = None,
    device: Device = "auto",
    questions_per_scene: Annotated[int, Option("Number of questions about each scene.")] = 10,
) -> Printed:
    """Render scenes of the prior with questions, in CLEVR's own folder layout; resumable."""
    from trex.datasets.rendered_dataset import DatasetPlan, render_dataset

    plan = DatasetPlan(scenes, seed, split, object_range(objects), preset, questions_per_scene)
    file = render_dataset(out, plan, device, processes, session.display.show)
    return Printed({"scenes": str(file)}, f"scenes: {file}")


@dataclass(frozen=True)
class RenderedBank(Printed):
    """A bank with rendered scenes, and its folder."""

    value: Path


def bank(
    session: Session,
    world: Annotated[
        Path,
        Option(
            "A query, for the scenes of its world, or clevr for CLEVR's own.",
            metavar="WORLD",
            complete="queries",
            is_argument=True,
            example="demo",
        ),
    ],
    scenes: Annotated[int, Option("How many scenes the bank is to have.", metavar="N", example=1000)],
    spread: Annotated[
        int,
        Option(
            "Render only about so many of them, spread evenly: those of search.spread.",
            metavar="M",
            example=500,
        ),
    ] = 0,
    preset: Preset = "sketch",
    seed: Annotated[int, Option("The bank's seed, not that of a search.", example=1)] = 0,
    set: Settings = (),
    device: Device = "auto",
    processes: Processes = None,
    bank: BankFolder = None,
) -> RenderedBank:
    """Render the first N scenes of a world's bank, or some of them; existing ones are checked. Ctrl-C loses nothing."""
    from trex.bank.bank import bank_of, check_number
    from trex.bank.named import bank_world
    from trex.query.schema import RenderSection

    check_number(scenes)
    if not 0 <= spread <= scenes:
        raise InputError(f"--spread {spread}: of --scenes {scenes}, from 1 to {scenes} can be spread evenly")
    prior = bank_world(world, set)
    section = RenderSection(preset=preset, device=device, processes=processes)
    with bank_of(prior, section, bank, seed=seed) as opened:
        done = opened.render(scenes, session.display.show, spread=spread)
        index, count, now = opened.index, opened.count(), opened.rendered_now
        document = {
            "bank": index.key,
            "path": str(opened.path),
            "world": index.world.words,
            "seed": index.seed,
            "preset": index.look,
            "scenes": count,
            "rendered_now": now,
        } | ({"spread": done} if spread else {})
    there = f"{done} spread evenly over {scenes:,}" if spread else counted(count, "scene")
    words = (
        f"bank {index.key[:SHORT]}: {there} at {index.look}, {now} of them rendered now; "
        f"world: {index.world.words}; seed {index.seed}\nfolder: {opened.path}"
    )
    return RenderedBank(document, words, opened.path)


def object_range(text: str) -> tuple[int, int]:
    """The bounds in "5" or "3-10" as numbers."""
    low, _, high = text.partition("-")
    if not all(re.fullmatch("[0-9]{1,4}", bound) for bound in (low, high or low)):
        raise InputError(f"--objects {text!r} is not a number or range; write 5 or 3-10")
    return int(low), int(high or low)


COMMAND = typer.Typer(no_args_is_help=True, help=__doc__)
KEPT = "every scene that was rendered is kept"
for function in (scenes, dataset, bank):
    COMMAND.command(function.__name__)(verb_of(function, KEPT).command())
BANK = replace(verb_of(bank, KEPT), result=lambda printed, _: printed.value)
