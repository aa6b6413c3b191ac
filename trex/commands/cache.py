"""Show the cache and its banks of scenes, and delete from it."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.artifacts.cache import PICTURES, cache_root, pictures_folder
from trex.commands.shell.result import AsJson, Printed, note, print_result
from trex.commands.verb import Session, verb_of
from trex.foundation.errors import InputError, RunError
from trex.foundation.options import Option
from trex.foundation.words import counted

if TYPE_CHECKING:
    from trex.bank.disk import StoredBank
    from trex.render.cache_folder import Amount

COMMAND = typer.Typer(invoke_without_command=True, help=__doc__)
BankFolder = Annotated[
    Path | None,
    Option(
        "The folder of the banks; TREX_BANK, or banks in the user's cache if not given.",
        ("--bank",),
        example="banks",
    ),
]
SHORT = 8  # hex digits of a bank's name on the terminal
PARTS = (
    (PICTURES, "pictures rendered by trex baseline --rendered and trex suite run --render"),
    (Path("baselines") / "drawn", "the scenes of these pictures"),
    (Path("banks"), "scenes rendered by trex render bank; see trex cache banks"),
    (Path("models"), "models fetched by trex models fetch"),
    (Path("digits"), "digits and garments: pictures and trained models"),
    (Path("replies"), "replies of openai: models; deleted ones are asked for again"),
    (Path("gates"), "accuracies measured by trex models verify"),
)
AGE = re.compile(r"(\d{1,6})\s*([hdw])", re.ASCII | re.IGNORECASE)
HOURS = {"h": 1, "d": 24, "w": 7 * 24}


@COMMAND.callback()
def cache(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the parts of the cache with their files and sizes."""
    if context.invoked_subcommand is None:
        _show(as_json)
    elif as_json:
        word = context.invoked_subcommand
        raise InputError(f"--json must follow {word}; write trex cache {word} --json")


def prune(
    session: Session,
    max_size: Annotated[
        str | None, Option("Keep at most this much, e.g. 2G or 500M.", metavar="SIZE")
    ] = None,
    older_than: Annotated[
        str | None, Option("Delete pictures not used for this long, e.g. 12h, 30d or 8w.", metavar="AGE")
    ] = None,
    folder: Annotated[
        Path | None,
        Option("A folder of cached pictures, e.g. RUN/explanations/cache; by default the user's cache."),
    ] = None,
) -> Printed:
    """Delete cached pictures, the least recently used first; without options, down to the limit (TREX_CACHE_MAX, 10G).

    Deleted pictures are rendered again, to the same bytes, when they are needed; running commands continue.
    """
    from trex.render import cache_folder
    from trex.render.cache_folder import max_bytes, parse_size

    used_after = None if older_than is None else time.time() - parse_age_s(older_than)
    most = max_bytes() if older_than is None else None
    most = most if max_size is None else parse_size(max_size, "--max-size")
    place = folder or pictures_folder()
    if place != pictures_folder() and not place.is_dir():
        raise InputError(
            f"{place} is not a folder; give a folder of cached pictures, such as RUN/explanations/cache"
        )
    try:
        done = cache_folder.prune(place, most, used_after)
    except OSError as error:
        raise RunError(f"cannot delete pictures in {place}: {error.strerror}") from error
    document = {"folder": str(place), "deleted": _fields(done.gone), "left": _fields(done.left)}
    return Printed(document, f"{place}: deleted {_words(done.gone)}; {_words(done.left)} left")


def banks(session: Session, folder: BankFolder = None) -> Printed:
    """Show the banks, the most recently used last."""
    from trex.bank.disk import bank_root, max_bytes, stored_banks

    root = folder or bank_root()
    found, most = stored_banks(root), max_bytes()
    for bank in found:
        if bank.why:
            note(f"note: {bank.why}")
    total = size_words(sum(bank.size for bank in found))
    summary = f"{root}: {counted(len(found), 'bank')}, {total} of at most {size_words(most)} (TREX_BANK_MAX)"
    document = {"folder": str(root), "max_bytes": most, "banks": [_bank_fields(bank) for bank in found]}
    return Printed(document, "\n".join([*map(_line, found), summary]))


def prune_banks(
    session: Session,
    names: Annotated[
        tuple[str, ...],
        Option(
            "As `trex cache banks` shows; a unique prefix is enough.", metavar="BANK...", is_argument=True
        ),
    ] = (),
    everything: Annotated[bool, Option("Every bank.", ("--all",))] = False,
    older_than: Annotated[
        str | None, Option("Banks not used for this long, e.g. 12h, 30d or 8w.", metavar="AGE")
    ] = None,
    max_size: Annotated[
        str | None, Option("Until at most this much is left, e.g. 2G or 500M.", metavar="SIZE")
    ] = None,
    folder: BankFolder = None,
) -> Printed:
    """Delete banks, the least recently used first; without options, down to the limit (TREX_BANK_MAX, 20G).

    A bank that a running program uses is left alone. A deleted one can be rendered again, to the same scenes.
    """
    from trex.bank import disk
    from trex.render.cache_folder import parse_size

    if names:
        why = "BANK names what to delete; drop one of the two"
        session.options.refuse(["everything", "older_than", "max_size"], why)
    if everything:
        session.options.refuse(["older_than", "max_size"], "--all deletes every bank; drop one of the two")
    root = folder or disk.bank_root()
    chosen = disk.select(disk.stored_banks(root), names)
    before = None if older_than is None else time.time() - parse_age_s(older_than)
    most = None if max_size is None else parse_size(max_size, "--max-size")
    if not (names or everything or older_than or max_size):
        most = disk.max_bytes()
    done = disk.prune_banks(root, disk.Due(chosen, everything, before, most))
    parts = {"deleted": done.gone, "left": done.left, "in_use": done.busy}
    document = {what: [_bank_fields(bank) for bank in banks] for what, banks in parts.items()}
    lines = [f"in use, not deleted: {_line(bank)}" for bank in done.busy]
    lines.append(f"{root}: deleted {_sum(done.gone)}; {_sum((*done.left, *done.busy))} left")
    return Printed({"folder": str(root), **document}, "\n".join(lines))


def parse_age_s(text: str) -> float:
    """Seconds in an age such as 12h, 30d or 8w."""
    found = AGE.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"--older-than {text[:40]!r} is not an age; give hours, days or weeks, e.g. 12h, 30d or 8w"
        )
    return 3600.0 * int(found[1]) * HOURS[found[2].lower()]


def size_words(size: int) -> str:
    """Bytes in the largest unit that gives at least one."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} bytes"


def _content(folder: Path) -> tuple[int, int]:
    """The number and bytes of files below a folder; follows no link."""
    files = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # deleted meanwhile
                size += os.lstat(os.path.join(place, name)).st_size
                files += 1
    return files, size


def _show(as_json: bool) -> None:
    from trex.pages.table import Column, Table
    from trex.render.cache_folder import max_bytes

    root, most = cache_root(), max_bytes()
    parts = [(root / path, what, *_content(root / path)) for path, what in PARTS]
    columns: tuple[Column[tuple[Path, str, int, int]], ...] = (
        Column("files", lambda part: f"{part[2]:,}", is_number=True),
        Column("size", lambda part: size_words(part[3]), is_number=True),
        Column("folder", lambda part: str(part[0])),
        Column("content", lambda part: part[1]),
    )
    lines = [
        f"{root} (TREX_CACHE names another folder)",
        *Table("", columns, parts).text("  "),
        f"Pictures take at most {size_words(most)} (TREX_CACHE_MAX); to delete some now: trex cache prune",
    ]
    listed = [
        {"path": str(path), "what": what, "files": files, "bytes": size} for path, what, files, size in parts
    ]
    print_result({"root": str(root), "parts": listed, "max_picture_bytes": most}, "\n".join(lines), as_json)


def _fields(amount: Amount) -> dict[str, int]:
    return {"pictures": amount.entries, "bytes": amount.size}


def _words(amount: Amount) -> str:
    return f"{counted(amount.entries, 'picture')} ({size_words(amount.size)})"


def _bank_fields(bank: StoredBank) -> dict[str, object]:
    """A bank's line of JSON; what its index says is null if that cannot be read."""
    index = bank.index
    return {
        "bank": bank.name,
        "path": str(bank.path),
        "world": index.world.words if index else None,
        "seed": index.seed if index else None,
        "preset": index.look if index else None,
        "renderer": index.renderer if index else None,
        "scenes": bank.pictures,
        "bytes": bank.size,
        "used": bank.used,
    }


def _line(bank: StoredBank) -> str:
    index = bank.index
    what = f"{index.world.words}; seed {index.seed}; preset {index.look}" if index else "no usable bank.json"
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(bank.used))
    scenes, size = counted(bank.pictures, "scene"), size_words(bank.size)
    return f"{bank.name[:SHORT]}  {scenes:>14}  {size:>10}  used {used}  {what}"


def _sum(banks: tuple[StoredBank, ...]) -> str:
    return f"{counted(len(banks), 'bank')} ({size_words(sum(bank.size for bank in banks))})"


for name, function in (("prune", prune), ("banks", banks), ("prune-banks", prune_banks)):
    COMMAND.command(name)(verb_of(function).command())
