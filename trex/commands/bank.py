"""Scenes that are rendered once and shared by queries and models."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell import complete
from trex.commands.shell.options import LOOKS, Processes, RenderDevice, Settings, refuse
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result
from trex.foundation.words import counted

if TYPE_CHECKING:
    from trex.bank.bank import Bank
    from trex.bank.disk import StoredBank

bank_app = typer.Typer(
    no_args_is_help=True,
    help="Scenes that are rendered once and shared by queries and models (docs/BANK.md).",
)
Folder = Annotated[
    Path | None,
    typer.Option(help="The folder of the banks; TREX_BANK, or banks in the user's cache if not given."),
]
SHORT = 8  # hex digits of a bank's name on the terminal


@bank_app.command()
def render(
    world: Annotated[
        Path,
        typer.Argument(
            metavar="WORLD",
            help="A query, for the scenes of its world, or clevr for CLEVR's own.",
            autocompletion=complete.queries,
        ),
    ],
    scenes: Annotated[int, typer.Option(metavar="N", help="How many scenes the bank is to have.")],
    look: Annotated[str, typer.Option(metavar="PRESET", help=f"{LOOKS}.")] = "sketch",
    seed: Annotated[int, typer.Option(help="The bank's seed, not that of a search.")] = 0,
    settings: Settings = None,
    device: RenderDevice = "auto",
    processes: Processes = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Render the first N scenes of a world's bank; existing ones are checked. Ctrl-C keeps everything."""
    from trex.bank.bank import bank_of, check_number
    from trex.bank.named import bank_world
    from trex.query.schema import RenderSection

    check_number(scenes)
    prior = bank_world(world, settings or [])
    section = RenderSection(preset=look, device=device, processes=processes)
    kept = "every scene that was rendered is kept"
    with display_until_stopped(kept) as display, bank_of(prior, section, folder, seed=seed) as bank:
        bank.render(scenes, lambda done, total: display.show("scenes in the bank", done, total))
        document = _rendered(bank)
    print_result(document, _rendered_words(document), as_json)


@bank_app.command("list")
def list_banks(folder: Folder = None, as_json: AsJson = False) -> None:
    """Show the banks, the most recently used last."""
    from trex.bank.disk import bank_root, max_bytes, stored_banks
    from trex.commands.shell.user_cache import size_words

    root = folder or bank_root()
    banks, most = stored_banks(root), max_bytes()
    if not as_json:
        for one in banks:
            if one.why:
                note(f"note: {one.why}")
    total = size_words(sum(one.size for one in banks))
    said = f"{root}: {counted(len(banks), 'bank')}, {total} of at most {size_words(most)} (TREX_BANK_MAX)"
    document = {"folder": str(root), "max_bytes": most, "banks": [_fields(one) for one in banks]}
    print_result(document, "\n".join([*map(_line, banks), said]), as_json)


@bank_app.command()
def prune(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BANK...",
            help="As `trex bank list` shows; a unique prefix is enough.",
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
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Delete banks, the least recently used first; without options, down to the limit (TREX_BANK_MAX, 20G).

    A bank that a running program uses is left alone. A deleted one can be rendered again, to the same scenes.
    """
    from trex.bank.disk import Due, bank_root, max_bytes, prune_banks, select, stored_banks
    from trex.commands.shell.user_cache import parse_age_s
    from trex.render.cache_bound import parse_size

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
    done = prune_banks(root, Due(chosen, everything, before, most))
    parts = {"deleted": done.gone, "left": done.left, "in_use": done.busy}
    document = {what: [_fields(one) for one in banks] for what, banks in parts.items()}
    lines = [f"in use, not deleted: {_line(one)}" for one in done.busy]
    lines.append(f"{root}: deleted {_sum(done.gone)}; {_sum((*done.left, *done.busy))} left")
    print_result({"folder": str(root), **document}, "\n".join(lines), as_json)


def _rendered(bank: Bank) -> dict[str, object]:
    index = bank.index
    return {
        "bank": index.key,
        "path": str(bank.path),
        "world": index.world.words,
        "seed": index.seed,
        "look": index.look,
        "scenes": bank.count(),
        "rendered_now": bank.rendered_now,
    }


def _rendered_words(told: dict[str, object]) -> str:
    return (
        f"bank {str(told['bank'])[:SHORT]}: {counted(int(str(told['scenes'])), 'scene')} at {told['look']}, "
        f"{told['rendered_now']} of them rendered now; "
        f"world: {told['world']}; seed {told['seed']}\nfolder: {told['path']}"
    )


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


COMMAND = bank_app
