"""`trex models`: list, fetch, convert, verify."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foundation.errors import InputError
from harness.cli_errors import OURS, STOPPED
from harness.cli_options import refuse

if TYPE_CHECKING:
    from harness.gate import Gate, Share

models_app = typer.Typer(no_args_is_help=True, help="The models at hand, and those that can be fetched.")
EVERY = 10  # pictures between two lines


@models_app.command("list")
def models_list() -> None:
    """Name the models at hand, and those that can be fetched."""
    from clevr_models.fetch import list_models
    from clevr_models.iep_fetch import list_iep

    typer.echo("shipped")
    for name, path, is_there in list_models():
        typer.echo(f"{name}  {path if is_there else 'not here; trex models fetch relation-network'}")
    for name, path, is_there in list_iep():
        typer.echo(f"{name}  {path if is_there else 'not here; trex models fetch ' + name.partition(':')[0]}")
    typer.echo("package.module:factory  any torch module of your own")


@models_app.command("fetch")
def models_fetch(
    name: Annotated[str, typer.Argument(help="relation-network, iep or resnet101.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="The published file, or a folder with them.")
    ] = None,
) -> None:
    """Fetch a published model from its own address, or take it from files; checked by sha256.

    A download that was cut off goes on where it ended.
    """
    from clevr_models.fetch import fetch_relation_network
    from clevr_models.iep_fetch import fetch_iep, fetch_resnet
    from foundation.errors import unknown
    from harness.download_progress import DownloadProgress

    if source is not None and not source.exists():
        raise InputError(f"--from {source} is not there; give the published file, or a folder with it")
    if name == "relation-network":
        paths = fetch_relation_network(source)
    elif name == "iep":
        paths = fetch_iep(source, progress=DownloadProgress())
    elif name == "resnet101":
        paths = [fetch_resnet(source, progress=DownloadProgress())]
    else:
        raise unknown("model", name, ("relation-network", "iep", "resnet101"))
    for path in paths:
        typer.echo(str(path))


@models_app.command("convert")
def models_convert(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint of a released CLEVR model, .pt.")],
    out: Annotated[Path, typer.Argument(help="The .safetensors to write; its card comes beside it.")],
) -> None:
    """Convert a program generator, execution engine or baseline of 2017 to safetensors with a card."""
    from clevr_models.iep_checkpoint import convert

    typer.echo(f"{convert(checkpoint, out)}: {out}")


@models_app.command("verify")
def models_verify(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(help="A model that `trex models list` names; with --dataset, any --model.")
    ],
    dataset: Annotated[
        Path | None,
        typer.Option(help="Measure its accuracy on this folder in CLEVR's layout: the parity gate."),
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option(help="With --dataset: only this split, e.g. val. Repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="With --dataset: the first so many pictures.")] = None,
    phrased: Annotated[
        bool,
        typer.Option(
            "--phrased",
            help="With --dataset: also ask a question of every zero-hop and one-hop family per scene.",
        ),
    ] = False,
    published: Annotated[
        float | None, typer.Option(help="With --dataset: the published accuracy, e.g. 0.936.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")] = False,
) -> None:
    """Check a model's weights against the sha256 on its card; with --dataset, its accuracy against the published one.

    The outcome is kept with the sha256 of the weights, and the reports of runs with exactly these weights tell it.
    Ends with 1 where the gate fails.
    """
    name = "relation-network:ir" if name == "relation-network" else name
    if dataset is None:
        why = "its accuracy is measured on pictures alone; these belong to --dataset DIR"
        refuse(ctx, ("split", "limit", "phrased", "published"), why)
        typer.echo(
            json.dumps({"model": name, "good": _sha256(name)}) if as_json else f"{name}: {_sha256(name)}"
        )
        return
    from harness.gate import FAILED

    gate = _measure(name, dataset, (tuple(split or ()), limit, phrased), published, is_silent=as_json)
    typer.echo(json.dumps({**asdict(gate), "outcome": gate.outcome}) if as_json else _text(gate))
    if gate.outcome == FAILED:
        raise typer.Exit(OURS)


def _sha256(name: str) -> str:
    """ "good", with the place of a fetched file; InputError where the weights are not those of the card."""
    from clevr_models.fetch import verify_model
    from clevr_models.iep_fetch import RESNET, load_resnet
    from clevr_models.iep_load import PREFIX
    from clevr_models.load import load_model

    if name == RESNET:
        load_resnet()
    elif name == "shipped" or name.startswith(PREFIX):
        load_model(name)
    else:
        return f"good ({verify_model(name)})"
    return "good"


def _measure(
    name: str,
    dataset: Path,
    options: tuple[tuple[str, ...], int | None, bool],
    published: float | None,
    *,
    is_silent: bool,
) -> Gate:
    from harness.gate_questions import Options
    from harness.gate_run import verify
    from harness.wiring import open_model

    def tell(done: int, total: int) -> None:
        if not is_silent and (done % EVERY == 0 or done == total):
            sys.stderr.write(f"{done} of {total} pictures asked\n")

    try:
        return verify(open_model(name), dataset, Options(*options), tell, published)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; what was answered is kept, the same command goes on\n")
        raise typer.Exit(STOPPED) from None


def _text(gate: Gate) -> str:
    lines = [f"{gate.model}, weights {gate.weights.rpartition(' ')[2]}, on {gate.dataset}"]
    for source, shares in (("official", gate.official), *gate.others.items()):
        lines += [_row(source, kind, share) for kind, share in shares.items()]
    if gate.unread:
        lines.append(
            f"{gate.unread} questions hold a word that the model does not know; they count as wrong."
        )
    if gate.skipped:
        lines.append(f"{gate.skipped} questions have no answer, or no picture here, and were not asked.")
    return "\n".join([*lines, *gate.sentences()])


def _row(source: str, kind: str, share: Share) -> str:
    interval = f"{share.low:6.1%} to {share.high:6.1%}"
    return f"  {source:10} {kind:20} {share.right:6} of {share.of:6} {share.value:6.1%}  ({interval})"
