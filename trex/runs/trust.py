"""Which run folders this user has made or trusted: a record outside of them, which nobody who packs a folder can write.

Only a run whose query names code, or an address that pictures are sent to, needs one. The record of a folder is named
after the folder's real path and holds what the query names: a folder that was moved, replaced or came in an archive has
none that fits, and its code runs only after `--trust`.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from trex.clevr_models.adapters.live import PREFIX as LIVE
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import read_text, write_atomic
from trex.foundation.parse import parse_json
from trex.query.schema import Query
from trex.worlds.registry import WORLDS

STATE = "XDG_STATE_HOME"
LIMIT = 1 << 16
ADDRESSES = ("http://", "https://")
ONNX, ASK = "onnx:", "ask:"
HARMLESS = (
    "relation-network:",
    "iep:",
    LIVE,
)  # read by us, whatever follows; or an object of the user's own session


def named_code(query: Query) -> tuple[str, ...]:
    """What carrying this query out would run or send, in words; nothing for all that comes with this program."""
    found = []
    if query.generator.name not in WORLDS:
        found.append(f"runs the code of generator {query.generator.name!r}")
    model = query.model.name
    if model.startswith(ADDRESSES):
        found.append(f"sends pictures to {model!r}")
    elif model.startswith(ONNX):
        found.append(f"loads the file of model {model!r}")
    elif ":" in model and not model.endswith(".safetensors") and not model.startswith(HARMLESS):
        found.append(f"runs the code of model {model!r}")
    return tuple(found)


def keep_record(run: Path, query: Query) -> None:
    """This user has made this run folder; a home that cannot be written to keeps no record."""
    with suppress(OSError, RunError):
        _keep(run, query)


def trust(run: Path, query: Query) -> None:
    """This user trusts what this run folder names; RunError if that cannot be recorded."""
    try:
        _keep(run, query)
    except OSError as error:
        raise RunError(
            f"cannot record that {run} is trusted ({error}); set {STATE} to a folder that can be written to"
        ) from error


def check_made_here(run: Path, query: Query) -> None:
    """InputError unless this user has made or trusted the folder, or it names nothing that would be run."""
    named = named_code(query)
    if not named or _recorded(run) == list(named):
        return
    raise InputError(
        f"{run} was not made here by you, and carrying it out {' and '.join(named)}; "
        "if you know who made it and what that does, give the command again with --trust"
    )


def _keep(run: Path, query: Query) -> None:
    named = named_code(query)
    if not named:
        return
    place = _record(run)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"folder": os.path.realpath(run), "named": named})
    write_atomic(place, text.encode(), is_precious=False)


def _recorded(run: Path) -> object:
    place = _record(run)
    try:
        found = parse_json(read_text(place, limit=LIMIT, follow_links=False), str(place))
    except InputError:
        return None
    return found.get("named") if isinstance(found, dict) else None


def _record(run: Path) -> Path:
    root = Path(os.environ.get(STATE) or Path.home() / ".local" / "state")
    name = hashlib.sha256(os.path.realpath(run).encode(errors="surrogateescape")).hexdigest()[:32]
    return root / "bayes-trex" / "runs" / f"{name}.json"
