"""List, fetch, convert, verify and train models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell.options import Endpoint, MaxRequests, TrustRemoteCode, model_options, refuse
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, print_result
from trex.commands.training import train_app
from trex.foundation.errors import OURS, InputError, unknown
from trex.foundation.percent import percent, percent_interval

if TYPE_CHECKING:
    from trex.trials.accuracy import AccuracyCheck, AccuracyShare

    Measured = tuple[str, str, AccuracyShare]  # source, type, accuracy

models_app = typer.Typer(no_args_is_help=True, help="List, fetch, convert, verify and train models.")
FETCHED = ("relation-network", "iep", "resnet101")
MIB = 1 << 20


@models_app.command("list")
def models_list(as_json: AsJson = False) -> None:
    """List the available models and those that can be fetched."""
    from trex.clevr_models.fetch import list_models
    from trex.clevr_models.iep.fetch import list_iep
    from trex.clevr_models.specs.adapter import forms

    found = [*list_models(), *list_iep()]
    lines = [f"{name}  {path if is_there else _how_to_fetch(name)}" for name, path, is_there in found]
    words = "\n".join(["shipped", *lines, f"Forms of --model: {forms()}."])
    models = [{"name": name, "path": str(path), "is_there": is_there} for name, path, is_there in found]
    print_result([{"name": "shipped", "path": None, "is_there": True}, *models], words, as_json)


def _how_to_fetch(name: str) -> str:
    return f"not fetched; run trex models fetch {name.partition(':')[0]}"


@models_app.command("fetch")
def models_fetch(
    name: Annotated[str, typer.Argument(help="relation-network, iep or resnet101.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="The published file, or a folder that contains it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a published model from its own address, or take it from files; checked by sha256.

    An interrupted download resumes.
    """
    from trex.clevr_models.fetch import fetch_relation_network
    from trex.clevr_models.iep.fetch import fetch_iep, fetch_resnet
    from trex.pages.display import Display

    if source is not None and not source.exists():
        raise InputError(f"--from {source} does not exist; give the published file, or a folder with it")
    if name not in FETCHED:
        raise unknown("model", name, FETCHED)
    with Display() as display:

        def mebibytes(step: str, done: int, total: int | None, /, *facts: str) -> None:
            display.show(f"MiB of {name}", done // MIB, total // MIB if total else None)

        if name == "relation-network":
            paths = fetch_relation_network(source, progress=display.show)
        else:
            paths = (
                fetch_iep(source, progress=mebibytes)
                if name == "iep"
                else [fetch_resnet(source, progress=mebibytes)]
            )
    made = [str(path) for path in paths]
    print_result({"weights": made}, "\n".join(made), as_json)


@models_app.command("convert")
def models_convert(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint of a released CLEVR model, .pt.")],
    out: Annotated[Path, typer.Argument(help="The .safetensors to write; its card comes beside it.")],
    as_json: AsJson = False,
) -> None:
    """Convert a program generator, execution engine or baseline of 2017 to safetensors with a card."""
    from trex.clevr_models.iep.checkpoint import convert

    kind = convert(checkpoint, out)
    print_result({"kind": kind, "weights": str(out)}, f"{kind}: {out}", as_json)


@models_app.command("verify")
def models_verify(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(help="A model that `trex models list` names; with --dataset, any --model.")
    ],
    dataset: Annotated[
        Path | None,
        typer.Option(help="Measure its accuracy on this folder in CLEVR's layout."),
    ] = None,
    endpoint: Endpoint = None,
    max_requests: MaxRequests = None,
    trust_remote_code: TrustRemoteCode = False,
    split: Annotated[
        list[str] | None, typer.Option(help="With --dataset: only this split, e.g. val. Repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="With --dataset: use only this many pictures.")] = None,
    phrased: Annotated[
        bool,
        typer.Option(
            "--phrased",
            help="With --dataset: also use one question of every zero-hop and one-hop family per scene.",
        ),
    ] = False,
    published: Annotated[
        float | None, typer.Option(help="With --dataset: the published accuracy, e.g. 0.936.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a model's weights against the sha256 on its card; with --dataset, its accuracy against the published one.

    The result is stored with the sha256 of the weights and appears in the reports of runs with exactly these
    weights. Exits with 1 if the accuracy check fails.
    """
    name = "relation-network:ir" if name == "relation-network" else name
    if dataset is None:
        why = "only a measurement on pictures uses it; add --dataset DIR"
        refuse(
            ctx,
            ("endpoint", "max_requests", "trust_remote_code", "split", "limit", "phrased", "published"),
            why,
        )
        good = _check_weights(name)
        print_result({"model": name, "good": good}, f"{name}: {good}", as_json)
        return
    from trex.datasets.clevr_questions import QuestionOptions
    from trex.trials.accuracy import FAILED
    from trex.trials.verify import verify
    from trex.worlds.world import open_model

    with display_until_stopped("every answer is kept") as display:
        options = QuestionOptions(tuple(split or ()), limit, phrased)
        model = open_model(name, model_options(endpoint, max_requests, trust_remote_code))
        check = verify(model, dataset, options, display.show, published)
    print_result({**asdict(check), "outcome": check.outcome}, _text(check), as_json)
    if check.outcome == FAILED:
        raise typer.Exit(OURS)


def _check_weights(name: str) -> str:
    """ "good" with the path of a fetched file; InputError if the weights do not match the card."""
    from trex.clevr_models.catalog import load_model
    from trex.clevr_models.fetch import NAMES, verify_model
    from trex.clevr_models.iep.fetch import RESNET, list_iep, load_resnet
    from trex.clevr_models.interface.prefixes import IEP

    if name == RESNET:
        load_resnet()
    elif name == "shipped" or name.startswith(IEP):
        load_model(name)
    elif name in NAMES:
        return f"good ({verify_model(name)})"
    else:
        known = ["shipped", *NAMES, *(iep for iep, *_ in list_iep())]
        raise unknown("model", name, known, "With --dataset, any --model can be verified.")
    return "good"


def _text(check: AccuracyCheck) -> str:
    from trex.pages.table import Column, Table

    columns: tuple[Column[Measured], ...] = (
        Column("questions", lambda row: row[0]),
        Column("type", lambda row: row[1]),
        Column("right", lambda row: f"{row[2].right} of {row[2].of}", is_number=True),
        Column("accuracy", lambda row: percent(row[2].value), is_number=True),
        Column("95%", lambda row: percent_interval(row[2].low, row[2].high), is_number=True),
    )
    sources = (("official", check.official), *check.others.items())
    rows = [(source, kind, share) for source, shares in sources for kind, share in shares.items()]
    lines = [f"{check.model}, weights {check.weights.rpartition(' ')[2]}, on {check.dataset}"]
    lines += Table("", columns, rows).text("  ")
    if check.unread:
        lines.append(
            f"{check.unread} questions have a word that is not in the model's vocabulary; they count as wrong."
        )
    lines += (f"note: {note}" for note in check.notes)
    return "\n".join([*lines, *check.sentences()])


models_app.add_typer(train_app, name="train")

COMMAND = models_app
