"""Identify, distill, label and correct a model's failures, and prove that it helps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from trex.commands.repairing.step import progress_of, step
from trex.commands.shell.options import Processes, refuse
from trex.commands.shell.result import AsJson, print_result
from trex.commands.shell.trust import TrustQuery, trust_queries
from trex.foundation.errors import InputError
from trex.query.shipped import query_path

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
VOTING = ("voters", "votes", "without")
SCENES = "for rendered scenes the truth is known, so a repair on them takes no data and no votes"
RENDERED = "only a repair on rendered scenes renders anything"
Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder that `trex repair identify` names first.")
]


@repair_app.command()
def identify(
    ctx: typer.Context,
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
    from trex.api.models.given import REPAIRS
    from trex.api.models.repair import begun
    from trex.commands.repairing.scene_steps import identify_scenes_step
    from trex.repair.identify import RESULT, IdentifyResult
    from trex.repair.records import read_record
    from trex.repair.scenes.settings import is_of_scenes
    from trex.repair.settings import chosen_table, repair_path
    from trex.repair.words import identify_words

    path = repair_path(query)
    text, table = chosen_table(path, settings or [])
    if is_of_scenes(table):
        refuse(ctx, ["data"], SCENES)
        identify_scenes_step(out or REPAIRS / path.stem, text, table, processes, as_json)
        return
    refuse(ctx, ["processes"], RENDERED)
    with begun(query, settings or [], out, data, progress_of) as folder:
        place = folder.path
        result = read_record(IdentifyResult, folder.require("identify") / RESULT)
    print_result({"folder": str(place), **result.model_dump()}, identify_words(result, place), as_json)


@repair_app.command()
def distill(
    ctx: typer.Context,
    folder: Folder,
    data: Data = None,
    processes: Processes = None,
    as_json: AsJson = False,
) -> None:
    """Cluster the codes of the mistakes: a Gaussian mixture with a Dirichlet-process prior."""
    from trex.commands.repairing.scene_steps import distill_scenes_step

    if _is_of_scenes(ctx, folder):
        distill_scenes_step(folder, processes, as_json)
        return
    from trex.repair.distill import RESULT, DistillResult, distill
    from trex.repair.records import read_record
    from trex.repair.words import distill_words

    with step(folder, data, distill) as opened:
        result = read_record(DistillResult, opened.require("distill") / RESULT)
    print_result({"folder": str(folder), **result.model_dump()}, distill_words(result, folder), as_json)


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
    from trex.commands.repairing.scene_steps import label_scenes_step
    from trex.repair.votes_file import PEOPLE, check_voters

    if voters is not None:
        refuse(ctx, ["votes"], "--voters says whose votes are taken; drop one of the two")
        check_voters(voters)
    if not votes and voters != PEOPLE:
        refuse(
            ctx,
            ["without"],
            "only annotators of a file (--votes) or of the page (--voters people) can be left out",
        )
    if _is_of_scenes(ctx, folder, VOTING):
        label_scenes_step(folder, processes, as_json)
        return
    from trex.api.models.repair import label_step
    from trex.repair.label import RESULT, LabelResult
    from trex.repair.records import read_record
    from trex.repair.words import label_words, vote_words

    with step(folder, data, label_step(voters, tuple(votes or ()), tuple(without or ()))) as opened:
        if voters is None and not votes:
            place = opened.require("pictures")
            print_result({"pictures": str(place)}, vote_words(place, folder), as_json)
            return
        result = read_record(LabelResult, opened.require("label") / RESULT)
    print_result({"folder": str(folder), **result.model_dump()}, label_words(result, folder), as_json)


@repair_app.command()
def correct(
    ctx: typer.Context,
    folder: Folder,
    data: Data = None,
    processes: Processes = None,
    as_json: AsJson = False,
) -> None:
    """Fine-tune the model on the scenarios, with every control, judge all of it by four tests, and measure novelty."""
    from trex.commands.repairing.scene_steps import correct_scenes_step

    if _is_of_scenes(ctx, folder):
        correct_scenes_step(folder, processes, as_json)
        return
    from trex.repair.novelty import correct_and_compare
    from trex.repair.page.results import read_results
    from trex.repair.words import correct_words, novelty_words

    with step(folder, data, correct_and_compare) as opened:
        results = read_results(opened)
    result, novelty = results.correct, results.novelty
    assert result is not None and novelty is not None
    document = {"folder": str(folder), **result.model_dump(), "novelty": novelty.model_dump()}
    print_result(document, f"{novelty_words(novelty)}\n{correct_words(result, folder)}", as_json)


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
    from trex.commands.repairing.scene_steps import is_scene_folder, prove_scenes_step

    if not is_scene_folder(folder):
        raise InputError(f"{folder} is no repair on rendered scenes; only those are proved by a new search")
    if not query:
        refuse(ctx, ["settings", "seed", "trust"], "only a search (--query) has it")
    if trust:
        trust_queries(map(query_path, query or []), settings or [])
    prove_scenes_step(folder, dataset, query or [], settings or [], seed or [], as_json)


@repair_app.command()
def report(folder: Folder, as_json: AsJson = False) -> None:
    """Write one page and one JSON file of all finished steps, and say what they show."""
    from trex.commands.repairing.scene_steps import is_scene_folder, report_scenes_step

    if is_scene_folder(folder):
        report_scenes_step(folder, as_json)
        return
    from trex.repair.folder import open_repair
    from trex.repair.page.report import DOCUMENT, PAGE, write_report

    with open_repair(folder) as opened:
        document = write_report(opened)
    sentences = document["sentences"]
    words = "\n".join(map(str, sentences)) if isinstance(sentences, list) else ""
    files = f"page: {folder / PAGE}\nJSON: {folder / DOCUMENT}"
    print_result({"page": str(folder / PAGE), **document}, f"{words}\n{files}", as_json)


def _is_of_scenes(ctx: typer.Context, folder: Path, also: Sequence[str] = ()) -> bool:
    """Whether a repair is one on rendered scenes; InputError for options that its kind does not take."""
    from trex.commands.repairing.scene_steps import is_scene_folder

    if is_scene_folder(folder):
        refuse(ctx, ["data", *also], SCENES)
        return True
    refuse(ctx, ["processes"], RENDERED)
    return False


COMMAND = repair_app
