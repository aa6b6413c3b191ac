"""Let people label pictures: of a repair, or the mistakes of a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell.options import Port, Token, refuse
from trex.commands.shell.result import AsJson, note, print_result

if TYPE_CHECKING:
    from trex.trials.baseline.files import StoredBaseline


def label(
    ctx: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help=(
                "A repair, or a baseline: --out of `trex baseline`, or test-set in an experiment's folder."
            ),
        ),
    ],
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on which people label, on this machine.")
    ] = False,
    port: Port = None,
    token: Token = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="PAGE", help="Write the page on which people label as one HTML file."),
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(
            help="Add the marks of a baseline from a CSV file with the columns picture, annotator, label."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let people label the pictures of a repair, or mark a baseline's mistakes as wrong labels or real mistakes.

    Without options, say how many votes there are; a baseline is then counted with and without wrong labels.
    """
    from trex.labelling.pages import check_page_path, check_serving, votes_words, write_page
    from trex.labelling.pages import serve as serve_page
    from trex.labelling.polls import is_repair, marking, read_marking, read_shown, take_votes, write_marks
    from trex.labelling.votes import stored_tally
    from trex.repair.folder import open_repair

    if serve:
        refuse(ctx, ["export", "votes"], "--serve only collects votes; count them afterwards")
    else:
        refuse(ctx, ["port", "token"], "only the served page (--serve) has it")
    if export is not None:
        refuse(ctx, ["votes"], "--export only writes the page; add its votes afterwards")
        check_page_path(export)
    address = check_serving(port, token) if serve else None
    if is_repair(folder):
        count = f"trex repair label {folder} --votes FILE.csv"
        refuse(ctx, ["votes"], f"the votes of a repair are counted with: {count}")
        with open_repair(folder) as opened:
            shown = read_shown(opened)
            if export is not None:
                write_page(export, shown)
                _print_export(export, count, as_json)
                return
            if address is not None:
                cast = serve_page(folder, shown, address, note)
            else:
                cast = {name: len(each) for name, each in stored_tally(folder, shown).votes.items()}
        document = {"folder": str(folder), "votes": cast, "pictures": len(shown.pictures)}
        print_result(document, votes_words(cast, shown, folder), as_json)
        return
    if export is not None:
        write_page(export, read_marking(folder).shown)
        _print_export(export, f"trex label {folder} --votes FILE.csv", as_json)
        return
    from trex.foundation.words import counted
    from trex.trials.baseline.files import summary_json

    with marking(folder) as found:
        if address is not None:
            serve_page(found.place, found.shown, address, note)
        if votes is not None:
            new = take_votes(found, votes)
            note(f"{counted(new, 'new mark')} from {votes}")
        done = write_marks(found)
    print_result(
        {"folder": str(folder), **summary_json(done.baselines, done.problems)}, _marks_words(done), as_json
    )


def _print_export(page: Path, then: str, as_json: bool) -> None:
    print_result(
        {"page": str(page)}, f"page: {page}\nits answers are downloaded as CSV; then: {then}", as_json
    )


def _marks_words(done: StoredBaseline) -> str:
    """A line for each query with mistakes, one for all queries, and how to go on."""
    from trex.trials.baseline.baseline import count_marks
    from trex.trials.baseline.page import PAGE, mark_words

    with_mistakes = [each for each in done.baselines if each.mistakes.count]
    lines = [f"{each.query}: {each.question} {each.target}\n  {mark_words(each)}" for each in with_mistakes]
    if len(with_mistakes) > 1:
        marks = [row.mark for each in with_mistakes for row in each.seen if row.is_mistake]
        lines.append(f"all queries: of {len(marks)} true mistakes, {count_marks(marks).words}")
    lines += [f"mark: trex label {done.folder} --serve", f"page: {done.folder / PAGE}"]
    return "\n".join(lines)


COMMAND = label
