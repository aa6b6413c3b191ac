"""`trex repair`: Defuse on digits, step by step in a resumable folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.cli.command import WHY, Command
from trex.cli.result import AsJson, tell_result
from trex.foundation.errors import STOPPED

if TYPE_CHECKING:
    from trex.repair.folder import RepairFolder
    from trex.repair.loaded import Loaded, Progress

repair_app = typer.Typer(
    no_args_is_help=True,
    help="Cluster a digit model's mistakes, label the clusters, correct the model, and test whether that helped.",
)
RUNS = Path("runs/repair")
Data = Annotated[
    Path | None,
    typer.Option(help="The folder of the idx files; else $TREX_DIGITS, else the cache, else fetched."),
]
Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder that `trex repair identify` names first.")
]


@repair_app.command()
def identify(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="A TOML file, or the name of a shipped repair such as mnist."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to; runs/repair/NAME if not given.")
    ] = None,
    data: Data = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override a key, e.g. identify.noise=printed. Repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Grow mistakes by perturbing the codes of labelled pictures."""
    from trex.repair.folder import create
    from trex.repair.identify import RESULT, IdentifyResult, identify
    from trex.repair.loaded import load
    from trex.repair.records import read_record
    from trex.repair.settings import chosen_text, repair_path
    from trex.repair.words import identify_words

    path = repair_path(query)
    text, wanted = chosen_text(path, settings or [])
    place = out or RUNS / path.stem
    typer.echo(f"writing to {place}", err=True)
    loaded = load(wanted, data)
    with create(place, text, wanted, loaded.sources) as folder, _progress(place) as progress:
        identify(folder, loaded, progress)
        result = read_record(IdentifyResult, folder.require("identify") / RESULT)
    tell_result({"folder": str(place), **result.model_dump()}, identify_words(result, place), as_json)


@repair_app.command()
def distill(folder: Folder, data: Data = None, as_json: AsJson = False) -> None:
    """Cluster the codes of the mistakes: a Gaussian mixture with a Dirichlet-process prior."""
    from trex.repair.distill import RESULT, DistillResult, distill
    from trex.repair.records import read_record
    from trex.repair.words import distill_words

    with _step(folder, data, distill) as opened:
        result = read_record(DistillResult, opened.require("distill") / RESULT)
    tell_result({"folder": str(folder), **result.model_dump()}, distill_words(result, folder), as_json)


@repair_app.command()
def label(
    ctx: typer.Context,
    folder: Folder,
    voters: Annotated[
        str | None, typer.Option(help="committee: five networks that are trained here vote.")
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(help="Votes of people: a CSV file with the columns picture, annotator, label."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Leave out this annotator. Repeatable.")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Label the components by votes; without --voters or --votes only write the pictures to vote on."""
    from trex.cli.options import refuse
    from trex.foundation.errors import unknown
    from trex.repair.label import RESULT, LabelResult, label_by_committee, label_by_file
    from trex.repair.pictures import draw_pictures
    from trex.repair.records import read_record
    from trex.repair.words import label_words, vote_words

    if voters is not None:
        refuse(ctx, ["votes"], "--voters takes a committee's votes; drop one of the two")
        if voters != "committee":
            raise unknown("kind of voters", voters, ["committee"], "People vote by --votes FILE.")
    if votes is None:
        refuse(ctx, ["without"], "only annotators of a file (--votes) can be left out")

    def run(opened: RepairFolder, loaded: Loaded, progress: Progress) -> None:
        if votes is not None:
            label_by_file(opened, loaded, votes, tuple(without or ()))
        elif voters is not None:
            label_by_committee(opened, loaded, progress)
        else:
            draw_pictures(opened, loaded)

    with _step(folder, data, run) as opened:
        if voters is None and votes is None:
            place = opened.require("pictures")
            tell_result({"pictures": str(place)}, vote_words(place, folder), as_json)
            return
        result = read_record(LabelResult, opened.require("label") / RESULT)
    tell_result({"folder": str(folder), **result.model_dump()}, label_words(result, folder), as_json)


@repair_app.command()
def correct(folder: Folder, data: Data = None, as_json: AsJson = False) -> None:
    """Fine-tune the model on the scenarios, with every control, and judge all of it by four tests."""
    from trex.repair.correction.correct import RESULT, correct
    from trex.repair.correction.results import CorrectResult
    from trex.repair.records import read_record
    from trex.repair.words import correct_words

    with _step(folder, data, correct) as opened:
        result = read_record(CorrectResult, opened.require("correct") / RESULT)
    tell_result({"folder": str(folder), **result.model_dump()}, correct_words(result, folder), as_json)


@repair_app.command()
def report(folder: Folder, as_json: AsJson = False) -> None:
    """Write one page and one JSON file of all finished steps, and say what they show."""
    from trex.repair.folder import open_repair
    from trex.repair.page.report import DOCUMENT, PAGE, write_report

    with open_repair(folder) as opened:
        document = write_report(opened)
    sentences = document["sentences"]
    words = "\n".join(map(str, sentences)) if isinstance(sentences, list) else ""
    files = f"page: {folder / PAGE}\nJSON: {folder / DOCUMENT}"
    tell_result({"page": str(folder / PAGE), **document}, f"{words}\n{files}", as_json)


def _step(
    place: Path, data: Path | None, run: Callable[[RepairFolder, Loaded, Progress], None]
) -> RepairFolder:
    """Carry out a step of the repair in this folder; returns it, still open."""
    from trex.repair.folder import open_repair
    from trex.repair.loaded import check_sources, load

    folder = open_repair(place)
    typer.echo(f"writing to {place}", err=True)
    try:
        loaded = load(folder.query, data)
        check_sources(loaded, folder.sources, place)
        with _progress(place) as progress:
            run(folder, loaded, progress)
    except BaseException:
        folder.close()
        raise
    return folder


@contextmanager
def _progress(place: Path) -> Iterator[Progress]:
    """The display of a step; Ctrl-C keeps what is done."""
    from trex.pages.display import Display

    try:
        with Display() as display:
            yield display.show
    except KeyboardInterrupt:
        typer.echo(f"stopped; {place} keeps what is done, the same command resumes", err=True)
        raise typer.Exit(STOPPED) from None


COMMAND = Command("repair", repair_app, WHY, 150)
