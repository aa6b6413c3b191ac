"""`trex audit`: how a model fails, when nobody knows what to ask."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from trex.auditing import defaults
from trex.cli import complete
from trex.cli.command import WHY, Command
from trex.cli.options import Endpoint, MaxRequests, Processes, TrustRemoteCode, model_options
from trex.cli.progress import display_until_stopped
from trex.cli.result import AsJson, print_result


def audit(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="shipped, relation-network, iep:18k, package.module:factory …"),
    ],
    world: Annotated[
        Path,
        typer.Option(
            help="A query, for the scenes of its world, or clevr for CLEVR's own.",
            autocompletion=complete.queries,
        ),
    ] = Path(defaults.WORLD),
    budget: Annotated[
        float | None,
        typer.Option(metavar="HOURS", help="CPU hours to plan for; sets --scenes, --held-out and --tested."),
    ] = None,
    scenes: Annotated[int, typer.Option(help="Scenes that rules are made from.")] = defaults.SCENES,
    held_out: Annotated[
        int, typer.Option(help="Further scenes, on which the rules are tested.")
    ] = defaults.HELD_OUT,
    questions: Annotated[int, typer.Option(help="Questions about each scene.")] = defaults.QUESTIONS,
    look: Annotated[
        str, typer.Option(metavar="PRESET", help="The look of all scenes above.")
    ] = defaults.LOOK,
    deciding: Annotated[
        str, typer.Option(metavar="PRESET", help="The look at which failures are rendered again.")
    ] = defaults.DECIDING,
    sure: Annotated[
        float, typer.Option(help="A mistake counts as confident from this probability on.")
    ] = defaults.SURE,
    tested: Annotated[int, typer.Option(help="Most failures of a family to render again.")] = defaults.TESTED,
    probed: Annotated[
        int, typer.Option(help="New scenes made from each family's failures, in each of four ways.")
    ] = defaults.PROBED,
    fresh: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Further scenes, to measure how many of the model's confident mistakes the families hold.",
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the questions.")] = 0,
    families: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Ask only questions of this kind or family, e.g. compare_integer or zero_hop/count. Repeatable.",
        ),
    ] = None,
    weigh: Annotated[
        list[str] | None,
        typer.Option(metavar="SYMPTOM=WEIGHT", help="How harmful a symptom is, e.g. missed=3. Repeatable."),
    ] = None,
    endpoint: Endpoint = None,
    max_requests: MaxRequests = None,
    trust_remote_code: TrustRemoteCode = False,
    processes: Processes = None,
    bank_folder: Annotated[Path | None, typer.Option("--bank", help="The folder of the banks.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to; runs/audit-MODEL if not given.")
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write JUnit XML: each confirmed family is a failure."),
    ] = None,
    searched: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Search for the first N kinds of mistakes that no scene shows: some 40 CPU minutes each.",
        ),
    ] = 0,
    beside: Annotated[
        Path | None,
        typer.Option(metavar="AUDIT", help="A finished audit of another model, to compare with this one."),
    ] = None,
    join: Annotated[
        bool,
        typer.Option(
            "--join",
            help="Help the same audit, which another program leads in this folder, here or on another machine.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the failure families of a CLEVR model: what it misreads, when, how often. If stopped, it resumes."""
    from trex.api.audit_search import audit_search
    from trex.auditing.perform import AuditOptions, join_audit, perform
    from trex.auditing.plan import Sizes

    sizes = Sizes(scenes, held_out, questions, tested)
    options = AuditOptions(
        world=world, budget=budget, sizes=sizes, look=look, deciding=deciding, sure=sure, seed=seed,
        weigh=tuple(weigh or ()), families=tuple(families or ()), processes=processes, bank=bank_folder,
        out=out, junit=junit, probed=probed,
        fresh=fresh, searched=searched, beside=beside, model=model_options(endpoint, max_requests, trust_remote_code),
    )  # fmt: skip
    if join:
        with display_until_stopped("what this program did is kept") as display:
            helped = join_audit(model, options, display.show)
        print_result(asdict(helped), helped.line(), as_json)
        return
    with display_until_stopped("every answer is kept") as display:
        made = perform(model, options, display.show, audit_search(display))
    print_result({**made.document(), "page": str(made.page)}, "\n".join(made.lines()), as_json)


COMMAND = Command("audit", audit, WHY, 125)
