"""Let people label pictures: of a repair, or the mistakes of a baseline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import model_validator

from trex.commands.shell.result import Printed, note
from trex.commands.verb import Session, Verb
from trex.foundation.options import Option, Options
from trex.foundation.words import counted, quoted
from trex.query.verb_options import Port, Token

if TYPE_CHECKING:
    from trex.labelling.pages import Address
    from trex.labelling.survey import Shown
    from trex.trials.baseline.files import StoredBaseline


class LabelOptions(Options):
    """Whose pictures people label, and whether their page is served, exported, or its votes are added."""

    folder: Annotated[
        Path,
        Option(
            "A repair, or a baseline: --out of `trex baseline`, or test-set in an experiment's folder.",
            metavar="FOLDER",
            is_argument=True,
        ),
    ]
    serve: Annotated[bool, Option("Serve the page on which people label, on this machine.", ("--serve",))] = (
        False
    )
    port: Port = None
    token: Token = None
    export: Annotated[
        Path | None, Option("Write the page on which people label as one HTML file.", metavar="PAGE")
    ] = None
    votes: Annotated[
        Path | None,
        Option("Add the marks of a baseline from a CSV file with the columns picture, annotator, label."),
    ] = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if self.serve:
            self.refuse(["export", "votes"], "--serve only collects votes; count them afterwards")
        else:
            is_typed = self.token != os.environ.get(
                "TREX_TOKEN"
            )  # who has set that for all pages gave no option
            self.refuse(["port", "token"] if is_typed else ["port"], "only the served page (--serve) has it")
        if self.export is not None:
            self.refuse(["votes"], "--export only writes the page; add its votes afterwards")
        return self


def label(options: LabelOptions, session: Session) -> Printed:
    """Let people label the pictures of a repair, or mark a baseline's mistakes as wrong labels or real mistakes.

    Without options, say how many votes there are; a baseline is then counted with and without wrong labels.
    """
    from trex.labelling.pages import check_page_path, check_serving
    from trex.labelling.polls import is_repair

    if options.export is not None:
        check_page_path(options.export)
    address = check_serving(options.port, options.token) if options.serve else None
    kind = _of_repair if is_repair(options.folder) else _of_baseline
    return kind(options, address)


def _of_repair(options: LabelOptions, address: Address | None) -> Printed:
    from trex.labelling.pages import serve, votes_words
    from trex.labelling.polls import read_shown
    from trex.labelling.votes import stored_tally
    from trex.repair.folder import open_repair

    folder = options.folder
    count = f"trex repair label {quoted(folder)} --votes FILE.csv"
    options.refuse(["votes"], f"the votes of a repair are counted with: {count}")
    with open_repair(folder) as opened:
        shown = read_shown(opened)
        if options.export is not None:
            return _exported(options.export, shown, count)
        if address is not None:
            cast = serve(folder, shown, address, note)
        else:
            cast = {name: len(each) for name, each in stored_tally(folder, shown).votes.items()}
    document = {"folder": str(folder), "votes": cast, "pictures": len(shown.pictures)}
    return Printed(document, votes_words(cast, shown, folder))


def _of_baseline(options: LabelOptions, address: Address | None) -> Printed:
    from trex.labelling.pages import serve
    from trex.labelling.polls import marking, read_marking, take_votes, write_marks
    from trex.trials.baseline.files import summary_json

    folder = options.folder
    if options.export is not None:
        return _exported(
            options.export, read_marking(folder).shown, f"trex label {quoted(folder)} --votes FILE.csv"
        )
    with marking(folder) as found:
        if address is not None:
            serve(found.place, found.shown, address, note)
        if options.votes is not None:
            new = take_votes(found, options.votes)
            note(f"{counted(new, 'new mark')} from {options.votes}")
        done = write_marks(found)
    return Printed({"folder": str(folder), **summary_json(done.baselines, done.problems)}, _words(done))


def _exported(page: Path, shown: Shown, then: str) -> Printed:
    from trex.labelling.pages import write_page

    write_page(page, shown)
    return Printed({"page": str(page)}, f"page: {page}\nits answers are downloaded as CSV; then: {then}")


def _words(done: StoredBaseline) -> str:
    """A line for each query with mistakes, one for all queries, and how to go on."""
    from trex.trials.baseline.baseline import count_marks
    from trex.trials.baseline.page import PAGE, mark_words

    with_mistakes = [each for each in done.baselines if each.mistakes.count]
    lines = [
        f"{each.query}: {each.question} Hit: {each.wanted}\n  {mark_words(each)}" for each in with_mistakes
    ]
    if len(with_mistakes) > 1:
        marks = [row.mark for each in with_mistakes for row in each.seen if row.is_mistake]
        lines.append(f"all queries: of {counted(len(marks), 'true mistake')}, {count_marks(marks).words}")
    lines += [f"mark: trex label {quoted(done.folder)} --serve", f"page: {done.folder / PAGE}"]
    return "\n".join(lines)


VERB = Verb(LabelOptions, label, kept="every vote is kept")
