"""Common options, and errors for options that would be ignored: which one, and why it does not apply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from trex.commands.shell import complete
from trex.commands.verb import typer_declaration
from trex.foundation.errors import InputError
from trex.query import verb_options
from trex.query.shipped import query_path

if TYPE_CHECKING:
    from trex.clevr_models.interface.options import ModelOptions

TYPED = "COMMANDLINE"  # not a default, and not a variable of the environment


def refuse(ctx: typer.Context, names: Sequence[str], why: str) -> None:
    """InputError if the command line gives one of these parameters, whatever its value; `why` ends the message."""
    given = [name for name in names if is_given(ctx, name)]
    if given:
        verb = "does" if len(given) == 1 else "do"
        raise InputError(f"{' and '.join(_typed(ctx, name) for name in given)} {verb} not apply: {why}")


def is_given(ctx: typer.Context, name: str) -> bool:
    """Whether the command line gives the parameter, even with its default value."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == TYPED


def _typed(ctx: typer.Context, name: str) -> str:
    """The parameter as a user types it: "--no-edits", "RUN"."""
    one = next(parameter for parameter in ctx.command.params if parameter.name == name)
    if one.param_type_name == "argument":
        return (one.metavar or name.upper()).strip("[].")
    is_off = ctx.params[name] is False and one.secondary_opts
    return max(one.secondary_opts if is_off else one.opts, key=len)


def declared(annotation: object) -> Any:
    """The option of a verb's field, for a command that checks its bounds itself."""
    option = get_args(annotation)[1]
    declaration = typer_declaration(option)
    declaration.min, declaration.max = option.low, option.high
    return declaration


QueryFile = Annotated[
    Path,
    typer.Argument(
        metavar="QUERY",
        help="A TOML file, or the name of a shipped query such as demo.",
        callback=query_path,
        autocompletion=complete.queries,
    ),
]

QueryOrQuestion = Annotated[
    str,
    typer.Argument(
        metavar="QUERY",
        help="A TOML file, the name of a shipped query, or a question in quotes.",
        autocompletion=complete.queries,
    ),
]

RunPath = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="A run folder, which `trex find` prints first.", autocompletion=complete.runs
    ),
]

Settings = Annotated[list[str] | None, declared(verb_options.Settings)]

RenderDevice = Annotated[str, declared(verb_options.Device)]
Trust = Annotated[bool, declared(verb_options.TrustRun)]
TrustQuery = Annotated[bool, declared(verb_options.TrustQuery)]

Processes = Annotated[int | None, declared(verb_options.Processes)]

ModelName = Annotated[str | None, declared(verb_options.QueryModel)]

Large = Annotated[
    bool,
    typer.Option(
        "--large/--no-large",
        help="Render the 8 most confident scenes again, large, for the page: about 5 seconds of CPU time each.",
    ),
]

Log = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TRACKER", help="Log the run with mlflow or wandb, or an installed one. Repeatable."
    ),
]


MODEL_KEY, ENDPOINT_KEY, CODE_KEY = "model.name", "model.endpoint", "model.trust_remote_code"
REQUESTS_KEY = "model.max_requests"

Endpoint = Annotated[str | None, declared(verb_options.Endpoint)]

TrustRemoteCode = Annotated[bool, declared(verb_options.TrustRemoteCode)]

MaxRequests = Annotated[int | None, declared(verb_options.MaxRequests)]


def model_options(endpoint: str | None, max_requests: int | None, trusts_remote_code: bool) -> ModelOptions:
    """What --endpoint, --max-requests and --trust-remote-code say of a model that no query describes."""
    from trex.clevr_models.interface.options import ModelOptions

    _refuse_empty("--endpoint", endpoint)
    return ModelOptions(
        endpoint=endpoint or "", max_requests=max_requests, trust_remote_code=trusts_remote_code
    )


def overrides(
    model: str | None,
    settings: list[str] | None,
    endpoint: str | None = None,
    max_requests: int | None = None,
    trusts_remote_code: bool = False,
) -> list[str]:
    """The options about the model and --set as one list, the former quoted for TOML.

    InputError for a repeated key, and for an empty model or endpoint.
    """
    import json

    _refuse_empty("--model", model)
    _refuse_empty("--endpoint", endpoint)
    options = [
        (MODEL_KEY, f"--model {model}", model),
        (ENDPOINT_KEY, f"--endpoint {endpoint}", endpoint),
        (REQUESTS_KEY, f"--max-requests {max_requests}", max_requests),
        (CODE_KEY, "--trust-remote-code", trusts_remote_code or None),
    ]
    given = {key: typed for key, typed, value in options if value is not None}
    for setting in settings or []:
        key = setting.partition("=")[0].replace(" ", "")
        if key in given:
            raise InputError(
                f"{given[key]} does not apply: --set {setting} sets {key} too; give only one of them"
            )
        given[key] = f"--set {setting}"
    return [
        *(settings or []),
        *(f"{key}={json.dumps(value)}" for key, _, value in options if value is not None),
    ]


def _refuse_empty(option: str, value: str | None) -> None:
    """InputError for an option whose value is blank, such as "$MODEL" without such a variable."""
    if value is not None and not value.strip():
        raise InputError(
            f"{option} {value!r} is empty; give a value, or leave the option out for the default"
        )
