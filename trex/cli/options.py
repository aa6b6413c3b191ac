"""An option that would be ignored is an error: which one was given, and why it does not apply."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from trex.foundation.errors import InputError

TYPED = "COMMANDLINE"  # not a default, and not a variable of the environment


def refuse(ctx: typer.Context, names: Sequence[str], why: str) -> None:
    """InputError if the command line gives one of these parameters, whatever its value; `why` ends the message."""
    given = [name for name in names if is_given(ctx, name)]
    if given:
        verb = "does" if len(given) == 1 else "do"
        raise InputError(f"{' and '.join(_typed(ctx, name) for name in given)} {verb} not apply: {why}")


def is_given(ctx: typer.Context, name: str) -> bool:
    """Whether the command line itself gives the parameter, be it with its default value."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == TYPED


def _typed(ctx: typer.Context, name: str) -> str:
    """The parameter as a user types it: "--no-edits", "RUN"."""
    one = next(parameter for parameter in ctx.command.params if parameter.name == name)
    if one.param_type_name == "argument":
        return (one.metavar or name.upper()).strip("[].")
    is_off = ctx.params[name] is False and one.secondary_opts
    return max(one.secondary_opts if is_off else one.opts, key=len)
