"""List, fetch, convert, verify and train models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer
from pydantic import model_validator

from trex.commands.shell.result import Printed
from trex.commands.training import TRAIN
from trex.commands.verb import Session, Verb, failed
from trex.foundation.errors import InputError, unknown
from trex.foundation.options import Option, Options
from trex.foundation.words import percent, percent_span
from trex.query.verb_options import Endpoint, MaxRequests, TrustRemoteCode, about_model

if TYPE_CHECKING:
    from trex.trials.accuracy import AccuracyCheck, AccuracyShare

    Measured = tuple[str, str, AccuracyShare]  # source, type, accuracy

FETCHED = ("relation-network", "iep", "resnet101")
MIB = 1 << 20


def models_list(options: Options, session: Session) -> Printed:
    """List the available models and those that can be fetched."""
    from trex.clevr_models.fetch import list_models
    from trex.clevr_models.iep.fetch import list_iep
    from trex.clevr_models.specs.adapter import forms

    found = [*list_models(), *list_iep()]
    lines = [f"{name}  {path if is_there else _how_to_fetch(name)}" for name, path, is_there in found]
    words = "\n".join(["shipped", *lines, f"Forms of --model: {forms()}."])
    models = [{"name": name, "path": str(path), "is_there": is_there} for name, path, is_there in found]
    return Printed([{"name": "shipped", "path": None, "is_there": True}, *models], words)


def _how_to_fetch(name: str) -> str:
    return f"not fetched; run trex models fetch {name.partition(':')[0]}"


class FetchOptions(Options):
    """A published model, and its file if it is on this machine."""

    name: Annotated[str, Option("relation-network, iep or resnet101.", is_argument=True)]
    source: Annotated[
        Path | None, Option("The published file, or a folder that contains it.", ("--from",))
    ] = None


def models_fetch(options: FetchOptions, session: Session) -> Printed:
    """Fetch a published model from its own address, or take it from files; checked by sha256.

    An interrupted download resumes.
    """
    from trex.clevr_models.fetch import fetch_relation_network
    from trex.clevr_models.iep.fetch import fetch_iep, fetch_resnet

    name, source = options.name, options.source
    if source is not None and not source.exists():
        raise InputError(f"--from {source} does not exist; give the published file, or a folder with it")
    if name not in FETCHED:
        raise unknown("model", name, FETCHED)

    def mebibytes(step: str, done: int, total: int | None, /, *facts: str) -> None:
        session.display.show(f"MiB of {name}", done // MIB, total // MIB if total else None)

    if name == "relation-network":
        paths = fetch_relation_network(source, progress=session.display.show)
    elif name == "iep":
        paths = fetch_iep(source, progress=mebibytes)
    else:
        paths = [fetch_resnet(source, progress=mebibytes)]
    weights = [str(path) for path in paths]
    return Printed({"weights": weights}, "\n".join(weights))


class ConvertOptions(Options):
    """A released checkpoint, and where its weights go."""

    checkpoint: Annotated[Path, Option("A checkpoint of a released CLEVR model, .pt.", is_argument=True)]
    out: Annotated[Path, Option("The .safetensors to write; its card comes beside it.", is_argument=True)]


def models_convert(options: ConvertOptions, session: Session) -> Printed:
    """Convert a program generator, execution engine or baseline of 2017 to safetensors with a card."""
    from trex.clevr_models.iep.checkpoint import convert

    kind = convert(options.checkpoint, options.out)
    return Printed({"kind": kind, "weights": str(options.out)}, f"{kind}: {options.out}")


class VerifyOptions(Options):
    """A model, and the pictures on which its accuracy is measured."""

    name: Annotated[
        str,
        Option("A model that `trex models list` names; with --dataset, any --model.", is_argument=True),
    ]
    dataset: Annotated[Path | None, Option("Measure its accuracy on this folder in CLEVR's layout.")] = None
    endpoint: Endpoint = None
    max_requests: MaxRequests = None
    trust_remote_code: TrustRemoteCode = False
    splits: Annotated[
        tuple[str, ...], Option("With --dataset: only this split, e.g. val. Repeatable.", ("--split",))
    ] = ()
    limit: Annotated[int | None, Option("With --dataset: use only this many pictures.")] = None
    phrased: Annotated[
        bool,
        Option(
            "With --dataset: also use one question of every zero-hop and one-hop family per scene.",
            ("--phrased",),
        ),
    ] = False
    published: Annotated[float | None, Option("With --dataset: the published accuracy, e.g. 0.936.")] = None

    @model_validator(mode="after")
    def _measures_on_pictures(self) -> Self:
        if self.dataset is None:
            others = [name for name in type(self).model_fields if name not in ("name", "dataset")]
            self.refuse(others, "only a measurement on pictures uses it; add --dataset DIR")
        return self


@dataclass(frozen=True)
class Verified(Printed):
    """A verified model; `fault` says that its accuracy is too low, "" if it is not."""

    fault: str = ""


def models_verify(options: VerifyOptions, session: Session) -> Verified:
    """Check a model's weights against the sha256 on its card; with --dataset, its accuracy against the published one.

    The result is stored with the sha256 of the weights and appears in the reports of runs with exactly these
    weights. Exits with 1 if the accuracy check fails.
    """
    name = "relation-network:ir" if options.name == "relation-network" else options.name
    if options.dataset is None:
        good = _check_weights(name)
        return Verified({"model": name, "good": good}, f"{name}: {good}")
    from trex.datasets.clevr_questions import QuestionOptions
    from trex.trials.accuracy import FAILED
    from trex.trials.verify import verify
    from trex.worlds.world import open_model

    questions = QuestionOptions(options.splits, options.limit, options.phrased)
    model = open_model(name, about_model(options))
    check = verify(model, options.dataset, questions, session.display.show, options.published)
    fault = "the accuracy check failed" if check.outcome == FAILED else ""
    return Verified({**asdict(check), "outcome": check.outcome}, _text(check), fault=fault)


def _check_weights(name: str) -> str:
    """ "good" with the path of a fetched file; InputError if the weights do not match the card."""
    from trex.clevr_models.catalog import load_model
    from trex.clevr_models.fetch import NAMES, verify_model
    from trex.clevr_models.iep.fetch import RESNET, list_iep, load_resnet
    from trex.clevr_models.interface.options import IEP

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
        Column("95% CI", lambda row: percent_span(row[2].low, row[2].high), is_number=True),
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


COMMAND = typer.Typer(no_args_is_help=True, help=__doc__)


def _add(name: str, options: type[Options], do: Callable[..., Printed], kept: str) -> None:
    COMMAND.command(name)(Verb(options, do, kept).command())


_add("list", Options, models_list, "")
_add("fetch", FetchOptions, models_fetch, "what was downloaded is kept")
_add("convert", ConvertOptions, models_convert, "nothing was written")
COMMAND.command("verify")(
    Verb(
        VerifyOptions, models_verify, "every answer is kept", after=lambda _, done: failed(done.fault)
    ).command()
)
COMMAND.add_typer(TRAIN, name="train")
