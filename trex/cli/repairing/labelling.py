"""People label pictures: the page is served here, or written as one file; for `trex repair label` and `trex mark`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trex.cli.options import refuse
from trex.cli.repairing.step import step
from trex.cli.result import note, print_result

if TYPE_CHECKING:
    from trex.labelling.serving import Address
    from trex.labelling.shown import Shown
    from trex.repair.folder import RepairFolder


def check_label_options(
    ctx: typer.Context,
    voters: str | None,
    votes: Sequence[Path] | None,
    *,
    is_served: bool,
    is_exported: bool,
) -> None:
    """InputError for options of `trex repair label` that exclude each other."""
    from trex.repair.votes_file import PEOPLE, check_voters

    if is_served:
        refuse(
            ctx,
            ["voters", "votes", "without", "export"],
            "--serve only collects votes; count them afterwards",
        )
    else:
        refuse(ctx, ["port", "token"], "only the served page (--serve) has it")
    if is_exported:
        refuse(
            ctx, ["voters", "votes", "without"], "--export only writes the page; count its votes afterwards"
        )
    if voters is not None:
        refuse(ctx, ["votes"], "--voters says whose votes are taken; drop one of the two")
        check_voters(voters)
    if not votes and voters != PEOPLE:
        refuse(
            ctx,
            ["without"],
            "only annotators of a file (--votes) or of the page (--voters people) can be left out",
        )


def serve_label_page(
    folder: Path, data: Path | None, port: int | None, token: str | None, as_json: bool
) -> None:
    """Serve the page until Ctrl-C, then say how many votes there are."""
    from trex.labelling.serving import check_serving, served_words
    from trex.labelling.shown import SERVE, read_shown

    address = check_serving(SERVE, port, token)
    with _drawn(folder, data) as opened:
        shown = read_shown(opened)
        cast = serve_shown(folder, shown, address)
    document = {"folder": str(folder), "votes": cast, "pictures": len(shown.pictures)}
    print_result(document, served_words(cast, shown, folder), as_json)


def serve_shown(folder: Path, shown: Shown, address: Address) -> dict[str, int]:
    """Serve a poll, whose votes lie in this folder, until Ctrl-C; returns how many votes of each annotator stand."""
    from trex.labelling.poll import Poll
    from trex.labelling.serving import ADDRESS, address_of, serve_poll
    from trex.labelling.vote_log import VoteLog
    from trex.monitor.serve import listen

    with listen(ADDRESS, address.port) as listening:
        poll = Poll(shown, VoteLog(folder, shown))
        note(f"labelling {folder} at {address_of(listening, address.token)} (Ctrl-C to stop)")
        return serve_poll(poll, listening, address.token)


def export_label_page(folder: Path, data: Path | None, page: Path, as_json: bool) -> None:
    """Write the page as one file."""
    from trex.labelling.export import check_page_path, write_page
    from trex.labelling.shown import read_shown

    check_page_path(page)
    with _drawn(folder, data) as opened:
        write_page(page, read_shown(opened))
    words = (
        f"page: {page}\nits answers are downloaded as CSV; then: trex repair label {folder} --votes FILE.csv"
    )
    print_result({"page": str(page)}, words, as_json)


def _drawn(folder: Path, data: Path | None) -> RepairFolder:
    """The repair, open, with its pictures drawn; models and data are loaded only if they are not."""
    from trex.api.models.repair import label_step
    from trex.repair.folder import open_repair

    opened = open_repair(folder)
    if opened.is_done("pictures"):
        return opened
    opened.close()
    return step(folder, data, label_step(None, (), ()))
