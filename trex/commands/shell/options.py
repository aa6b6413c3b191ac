"""Common options, and errors for options that would be ignored: which one, and why it does not apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, get_args

import typer

from trex.commands.verb import typer_declaration
from trex.foundation.errors import InputError
from trex.foundation.options import Option
from trex.query import verb_options

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
    option = next(each for each in get_args(annotation) if isinstance(each, Option))
    declaration = typer_declaration(option)
    declaration.min, declaration.max = option.low, option.high
    return declaration


Settings = Annotated[list[str] | None, declared(verb_options.Settings)]

RenderDevice = Annotated[str, declared(verb_options.Device)]
Trust = Annotated[bool, declared(verb_options.TrustRun)]
TrustQuery = Annotated[bool, declared(verb_options.TrustQuery)]

Processes = Annotated[int | None, declared(verb_options.Processes)]
