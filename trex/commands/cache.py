"""Show the cache and its banks of scenes, and delete from it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.cache_banks import banks, prune_banks
from trex.commands.shell.result import AsJson, print_result
from trex.foundation.errors import InputError
from trex.foundation.words import counted

if TYPE_CHECKING:
    from trex.render.cache_folder import Amount

cache_app = typer.Typer(
    invoke_without_command=True, help="Show the cache and its banks of scenes, and delete from it."
)


@cache_app.callback()
def cache(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the parts of the cache with their files and sizes."""
    if context.invoked_subcommand is None:
        _show(as_json)
    elif as_json:
        word = context.invoked_subcommand
        raise InputError(f"--json must follow {word}; write trex cache {word} --json")


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
        typer.Option(
            help="A folder of cached pictures, e.g. RUN/explanations/cache; by default the user's cache."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Delete cached pictures, the least recently used first; without options, down to the limit (TREX_CACHE_MAX, 10G).

    Deleted pictures are rendered again, to the same bytes, when they are needed; running commands continue.
    """
    from trex.artifacts.cache import pictures_folder
    from trex.commands.shell.user_cache import parse_age_s, prune_pictures
    from trex.render.cache_folder import max_bytes, parse_size

    used_after = None if older_than is None else time.time() - parse_age_s(older_than)
    most = max_bytes() if older_than is None else None
    most = most if max_size is None else parse_size(max_size, "--max-size")
    place = folder or pictures_folder()
    done = prune_pictures(place, most, used_after)
    document = {"folder": str(place), "deleted": _fields(done.gone), "left": _fields(done.left)}
    print_result(document, f"{place}: deleted {_words(done.gone)}; {_words(done.left)} left", as_json)


def _show(as_json: bool) -> None:
    from trex.artifacts.cache import cache_root
    from trex.commands.shell.user_cache import Part, parts, size_words
    from trex.pages.table import Column, Table
    from trex.render.cache_folder import max_bytes

    columns: tuple[Column[Part], ...] = (
        Column("files", lambda part: f"{part.files:,}", is_number=True),
        Column("size", lambda part: size_words(part.size), is_number=True),
        Column("folder", lambda part: str(part.path)),
        Column("content", lambda part: part.what),
    )
    found, root, most = parts(), cache_root(), max_bytes()
    listed = [
        {"path": str(one.path), "what": one.what, "files": one.files, "bytes": one.size} for one in found
    ]
    lines = [
        f"{root} (TREX_CACHE names another folder)",
        *Table("", columns, found).text("  "),
        f"Pictures take at most {size_words(most)} (TREX_CACHE_MAX); to delete some now: trex cache prune",
    ]
    print_result({"root": str(root), "parts": listed, "max_picture_bytes": most}, "\n".join(lines), as_json)


def _fields(amount: Amount) -> dict[str, int]:
    return {"pictures": amount.entries, "bytes": amount.size}


def _words(amount: Amount) -> str:
    from trex.commands.shell.user_cache import size_words

    return f"{counted(amount.entries, 'picture')} ({size_words(amount.size)})"


cache_app.command("banks")(banks)
cache_app.command("prune-banks")(prune_banks)

COMMAND = cache_app
