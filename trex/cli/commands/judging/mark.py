"""`trex mark`: people say which of a baseline's mistakes are pictures with a wrong label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.cli.command import WHY, Command
from trex.cli.options import Port, Token, refuse
from trex.cli.result import AsJson, note, print_result

if TYPE_CHECKING:
    from trex.baseline.stored import StoredBaseline


def mark(
    ctx: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="The folder of a baseline: --out of `trex baseline`, or test-set in an experiment's folder.",
        ),
    ],
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on which people mark, on this machine.")
    ] = False,
    port: Port = None,
    token: Token = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="PAGE", help="Write the page on which people mark as one HTML file."),
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(help="Add marks from a CSV file with the columns picture, annotator, label."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Mark a baseline's mistakes as wrong labels or real mistakes, and count them with and without wrong labels."""
    from trex.baseline.json_file import summary_json
    from trex.foundation.words import counted
    from trex.labelling.marking import marking, take_votes, write_marks

    if serve:
        refuse(ctx, ["export", "votes"], "--serve only collects marks, and counts them at the end")
    else:
        refuse(ctx, ["port", "token"], "only the served page (--serve) has it")
    if export is not None:
        refuse(ctx, ["votes"], "--export only writes the page; add its marks afterwards")
        _export(folder, export, as_json)
        return
    address = None
    if serve:
        from trex.labelling.marking import SERVE
        from trex.labelling.serving import check_serving

        address = check_serving(SERVE, port, token)
    with marking(folder) as found:
        if address is not None:
            from trex.cli.repairing.labelling import serve_shown

            serve_shown(found.place, found.shown, address)
        if votes is not None:
            new = take_votes(found, votes)
            note(f"{counted(new, 'new mark')} from {votes}")
        done = write_marks(found)
    print_result(
        {"folder": str(folder), **summary_json(done.baselines, done.problems)}, _words(done), as_json
    )


def _export(folder: Path, page: Path, as_json: bool) -> None:
    from trex.labelling.export import check_page_path, write_page
    from trex.labelling.marking import read_marking

    check_page_path(page)
    write_page(page, read_marking(folder).shown)
    words = f"page: {page}\nits answers are downloaded as CSV; then: trex mark {folder} --votes FILE.csv"
    print_result({"page": str(page)}, words, as_json)


def _words(done: StoredBaseline) -> str:
    """A line for each query with mistakes, one for all queries, and how to go on."""
    from trex.baseline.marks import count_marks
    from trex.baseline.page import PAGE
    from trex.baseline.words import mark_words

    with_mistakes = [one for one in done.baselines if one.mistakes.count]
    lines = [f"{one.query}: {one.question} {one.target}\n  {mark_words(one)}" for one in with_mistakes]
    if len(with_mistakes) > 1:
        marks = [row.mark for one in with_mistakes for row in one.seen if row.is_mistake]
        lines.append(f"all queries: of {len(marks)} true mistakes, {count_marks(marks).words}")
    lines += [f"mark: trex mark {done.folder} --serve", f"page: {done.folder / PAGE}"]
    return "\n".join(lines)


COMMAND = Command("mark", mark, WHY, 135)
