"""Identify, distill, label and correct a model's failures, and prove that it helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell.options import Processes, TrustQuery, refuse
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result
from trex.commands.shell.trust import trust_queries
from trex.query.shipped import query_path

if TYPE_CHECKING:
    from trex.commands.results.repair import Repair
    from trex.foundation.progress import Progress
    from trex.repair.files import Found

repair_app = typer.Typer(
    no_args_is_help=True,
    help="Cluster a model's mistakes, label the clusters, correct the model, and test whether that helped.",
)
Data = Annotated[
    Path | None,
    typer.Option(
        help=(
            "The folder of the data set; by default $TREX_DIGITS. MNIST and Fashion-MNIST are otherwise taken from "
            "the cache or downloaded."
        )
    ),
]
Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder that `trex repair identify` names first.")
]
NEXT = {"identify": "distill", "distill": "label", "label": "correct", "correct": "report"}


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
    processes: Processes = None,
    as_json: AsJson = False,
) -> None:
    """Grow mistakes by perturbing the codes of labelled pictures, or rendered scenes."""
    from trex.commands.results.repair import REPAIRS, begun
    from trex.repair.settings import repair_path

    repair = _repair(out or REPAIRS / repair_path(query).stem, data, processes)
    begun(repair, query, settings or [])
    _print(repair, "identify", as_json)


@repair_app.command()
def distill(folder: Folder, data: Data = None, processes: Processes = None, as_json: AsJson = False) -> None:
    """Cluster the mistakes: a Gaussian mixture with a Dirichlet-process prior."""
    repair = _repair(folder, data, processes)
    repair.distill()
    _print(repair, "distill", as_json)


@repair_app.command()
def label(
    ctx: typer.Context,
    folder: Folder,
    voters: Annotated[
        str | None,
        typer.Option(
            help="committee: five networks that are trained here vote; people: the votes given on the served page."
        ),
    ] = None,
    votes: Annotated[
        list[Path] | None,
        typer.Option(
            help="Votes of people: a CSV file with the columns picture, annotator, label. Repeatable."
        ),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Leave out this annotator. Repeatable.")
    ] = None,
    data: Data = None,
    processes: Processes = None,
    as_json: AsJson = False,
) -> None:
    """Label the components by votes; without --voters or --votes draw the pictures that `trex label` serves or exports.

    Rendered scenes are labelled by the truth, which the renderer knows: only --processes and --json apply to them.
    """
    from trex.repair.settings import SceneQuery
    from trex.repair.votes_file import PEOPLE, check_voters

    if voters is not None:
        refuse(ctx, ["votes"], "--voters says whose votes are taken; drop one of the two")
        check_voters(voters)
    if not votes and voters != PEOPLE:
        why = "only annotators of a file (--votes) or of the page (--voters people) can be left out"
        refuse(ctx, ["without"], why)
    repair = _repair(folder, data, processes)
    if voters is None and not votes and not isinstance(repair.query, SceneQuery):
        place = repair.pictures()
        print_result({"pictures": str(place)}, _vote_words(place, folder), as_json)
        return
    repair.label(voters, votes=votes, without=without or ())
    _print(repair, "label", as_json)


@repair_app.command()
def correct(folder: Folder, data: Data = None, processes: Processes = None, as_json: AsJson = False) -> None:
    """Fine-tune the model on the scenarios, with every control, judge all of it by four tests, and measure novelty."""
    repair = _repair(folder, data, processes)
    repair.correct()
    _print(repair, "correct", as_json)


@repair_app.command()
def prove(
    ctx: typer.Context,
    folder: Folder,
    dataset: Annotated[
        Path | None,
        typer.Option(help="Official pictures with scenes or questions: a folder in CLEVR's layout."),
    ] = None,
    query: Annotated[
        list[Path] | None,
        typer.Option(help="Search with this query again, before and after the correction. Repeatable."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the queries. Repeatable."),
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(help="Search with the corrected model of this seed, instead of all. Repeatable."),
    ] = None,
    trust: TrustQuery = False,
    as_json: AsJson = False,
) -> None:
    """Measure what a correction on rendered scenes does to official pictures, and to a new search for the failures."""
    if not query:
        refuse(ctx, ["settings", "seed", "trust"], "only a search (--query) has it")
    if trust:
        trust_queries(map(query_path, query or []), settings or [])
    repair = _repair(folder)
    proof = repair.prove(dataset=dataset, queries=query or [], set=settings or [], seeds=seed or []).proof
    assert proof is not None
    words = [*proof.sentences, f"next: trex repair report {folder}"]
    print_result({"folder": str(folder), **proof.document}, "\n".join(words), as_json)


@repair_app.command()
def report(folder: Folder, as_json: AsJson = False) -> None:
    """Write one page and one JSON file of all finished steps, and say what they show."""
    from trex.repair.report import DOCUMENT, PAGE

    document = _repair(folder).document()
    sentences = document["sentences"]
    words = "\n".join(map(str, sentences)) if isinstance(sentences, list) else ""
    files = f"page: {folder / PAGE}\nJSON: {folder / DOCUMENT}"
    print_result({"page": str(folder / PAGE), **document}, f"{words}\n{files}", as_json)


def _repair(place: Path, data: Path | None = None, processes: int | None = None) -> Repair:
    from trex.commands.results.repair import Repair

    return Repair(place, data, processes, _progress_of)


@contextmanager
def _progress_of(place: Path) -> Iterator[Progress]:
    """The display of a step, which says first where it writes; a stop keeps what is done."""
    note(f"writing to {place}")
    with display_until_stopped(f"{place} keeps what is done") as display:
        yield display.show


def _print(repair: Repair, step: str, as_json: bool) -> None:
    """What a step found, and the next command."""
    results = repair.results
    found: Sequence[Found] = [results.found[name] for name in results.found if name == step]
    document: dict[str, object] = {"folder": str(repair.path), **found[0].model_dump()}
    if step == "correct" and results.novelty is not None:
        found = [results.novelty, *found]
        document["novelty"] = results.novelty.model_dump()
    words = [line for each in found for line in (*each.lines, *each.sentences)]
    print_result(document, "\n".join([*words, f"next: trex repair {NEXT[step]} {repair.path}"]), as_json)


def _vote_words(pictures: Path, place: Path) -> str:
    """How people vote on the pictures."""
    return (
        f"pictures to vote on: {pictures}/p*.png\n"
        f"people vote in a browser: trex label {place} --serve; elsewhere: --export PAGE\n"
        "votes go into a CSV file with the columns picture,annotator,label: the name of the picture without .png, the "
        'annotator\'s name, and a class or "none"\n'
        f"then: trex repair label {place} --votes FILE.csv\n"
        f"or let networks vote: trex repair label {place} --voters committee"
    )


COMMAND = repair_app
