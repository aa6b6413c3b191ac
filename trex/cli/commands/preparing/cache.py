"""`trex cache`: shows what is kept between commands, and prunes it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.cli.command import PARTS, Command
from trex.cli.result import AsJson
from trex.foundation.errors import InputError
from trex.foundation.words import counted

if TYPE_CHECKING:
    from trex.render.cache_folder import Amount

cache_app = typer.Typer(
    invoke_without_command=True, help="Show what is kept between commands, and delete pictures."
)


@cache_app.callback()
def cache(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the parts of the cache with their files and sizes."""
    if context.invoked_subcommand is None:
        _show_json() if as_json else _show()
    elif as_json:
        word = context.invoked_subcommand
        raise InputError(f"--json before {word} does not apply; write trex cache {word} --json")


@cache_app.command("prune")
def cache_prune(
    max_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Keep at most this much, e.g. 2G or 500M.")
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Delete pictures not used for this long, e.g. 12h, 30d or 8w."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="A folder of kept pictures, e.g. RUN/explanations/cache; by default the user's."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Delete kept pictures, the least recently used first; without options, down to the limit (TREX_CACHE_MAX, 10G).

    A deleted picture is rendered again when it is needed, to the same bytes. Commands that run meanwhile are not
    harmed.
    """
    from trex.cli.user_cache import parse_age_s, pictures_folder, prune_pictures
    from trex.render.cache_bound import max_bytes, parse_size

    used_after = None if older_than is None else time.time() - parse_age_s(older_than)
    most = max_bytes() if older_than is None else None
    most = most if max_size is None else parse_size(max_size, "--max-size")
    place = folder or pictures_folder()
    done = prune_pictures(place, most, used_after)
    if as_json:
        found = {"deleted": _fields(done.gone), "left": _fields(done.left)}
        typer.echo(json.dumps({"folder": str(place), **found}))
        return
    typer.echo(f"{place}: deleted {_words(done.gone)}; {_words(done.left)} left")


def _show() -> None:
    from trex.artifacts.cache import cache_root
    from trex.cli.user_cache import parts, size_words
    from trex.render.cache_bound import max_bytes

    typer.echo(f"{cache_root()} (TREX_CACHE names another folder)")
    for part in parts():
        typer.echo(f"  {part.files:>7,} files  {size_words(part.size):>11}  {part.path}: {part.what}")
    typer.echo(
        f"Pictures take at most {size_words(max_bytes())} (TREX_CACHE_MAX); fewer now: trex cache prune"
    )


def _show_json() -> None:
    from trex.artifacts.cache import cache_root
    from trex.cli.user_cache import parts
    from trex.render.cache_bound import max_bytes

    listed = [
        {"path": str(part.path), "what": part.what, "files": part.files, "bytes": part.size}
        for part in parts()
    ]
    typer.echo(json.dumps({"root": str(cache_root()), "parts": listed, "max_picture_bytes": max_bytes()}))


def _fields(amount: Amount) -> dict[str, int]:
    return {"pictures": amount.entries, "bytes": amount.size}


def _words(amount: Amount) -> str:
    from trex.cli.user_cache import size_words

    return f"{counted(amount.entries, 'picture')} ({size_words(amount.size)})"


COMMAND = Command("cache", cache_app, PARTS, 350)
