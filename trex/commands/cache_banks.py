"""`trex cache banks` and `prune-banks`: scenes that are rendered once and shared by queries and models."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell.options import refuse
from trex.commands.shell.result import AsJson, note, print_result
from trex.foundation.words import counted

if TYPE_CHECKING:
    from trex.bank.disk import StoredBank

BankFolder = Annotated[
    Path | None,
    typer.Option(
        "--bank", help="The folder of the banks; TREX_BANK, or banks in the user's cache if not given."
    ),
]
SHORT = 8  # hex digits of a bank's name on the terminal


def banks(folder: BankFolder = None, as_json: AsJson = False) -> None:
    """Show the banks, the most recently used last."""
    from trex.bank.disk import bank_root, max_bytes, stored_banks
    from trex.commands.shell.user_cache import size_words

    root = folder or bank_root()
    found, most = stored_banks(root), max_bytes()
    if not as_json:
        for one in found:
            if one.why:
                note(f"note: {one.why}")
    total = size_words(sum(one.size for one in found))
    said = f"{root}: {counted(len(found), 'bank')}, {total} of at most {size_words(most)} (TREX_BANK_MAX)"
    document = {"folder": str(root), "max_bytes": most, "banks": [_fields(one) for one in found]}
    print_result(document, "\n".join([*map(_line, found), said]), as_json)


def prune_banks(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BANK...",
            help="As `trex cache banks` shows; a unique prefix is enough.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every bank.")] = False,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Banks not used for this long, e.g. 12h, 30d or 8w.")
    ] = None,
    max_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Until at most this much is left, e.g. 2G or 500M.")
    ] = None,
    folder: BankFolder = None,
    as_json: AsJson = False,
) -> None:
    """Delete banks, the least recently used first; without options, down to the limit (TREX_BANK_MAX, 20G).

    A bank that a running program uses is left alone. A deleted one can be rendered again, to the same scenes.
    """
    from trex.bank import disk
    from trex.bank.disk import Due, bank_root, max_bytes, select, stored_banks
    from trex.commands.shell.user_cache import parse_age_s
    from trex.render.cache_folder import parse_size

    if names:
        refuse(
            ctx, ["everything", "older_than", "max_size"], "BANK names what to delete; drop one of the two"
        )
    if everything:
        refuse(ctx, ["older_than", "max_size"], "--all deletes every bank; drop one of the two")
    root = folder or bank_root()
    chosen = select(stored_banks(root), names or [])
    before = None if older_than is None else time.time() - parse_age_s(older_than)
    most = None if max_size is None else parse_size(max_size, "--max-size")
    if not (names or everything or older_than or max_size):
        most = max_bytes()
    done = disk.prune_banks(root, Due(chosen, everything, before, most))
    parts = {"deleted": done.gone, "left": done.left, "in_use": done.busy}
    document = {what: [_fields(one) for one in banks] for what, banks in parts.items()}
    lines = [f"in use, not deleted: {_line(one)}" for one in done.busy]
    lines.append(f"{root}: deleted {_sum(done.gone)}; {_sum((*done.left, *done.busy))} left")
    print_result({"folder": str(root), **document}, "\n".join(lines), as_json)


def _fields(bank: StoredBank) -> dict[str, object]:
    """A bank's line of JSON; what its index says is null if that cannot be read."""
    index = bank.index
    return {
        "bank": bank.name,
        "path": str(bank.path),
        "world": index.world.words if index else None,
        "seed": index.seed if index else None,
        "look": index.look if index else None,
        "renderer": index.renderer if index else None,
        "scenes": bank.pictures,
        "bytes": bank.size,
        "used": bank.used,
    }


def _line(bank: StoredBank) -> str:
    from trex.commands.shell.user_cache import size_words

    index = bank.index
    what = f"{index.world.words}; seed {index.seed}; look {index.look}" if index else "no usable bank.json"
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(bank.used))
    scenes, size = counted(bank.pictures, "scene"), size_words(bank.size)
    return f"{bank.name[:SHORT]}  {scenes:>14}  {size:>10}  used {used}  {what}"


def _sum(banks: tuple[StoredBank, ...]) -> str:
    from trex.commands.shell.user_cache import size_words

    return f"{counted(len(banks), 'bank')} ({size_words(sum(bank.size for bank in banks))})"
