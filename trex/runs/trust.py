"""Run folders that this user has made or trusted: records outside of them, beyond the reach of a packed folder.

Only a run whose query names code, or an address that receives pictures, needs one. A folder's record is named after
the folder's real path and holds what the query names: a folder that was moved, replaced or unpacked from an archive
has no matching record, and its code runs only after `--trust`.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from trex.clevr_models.specs.adapter import adapter_of
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import read_text, write_atomic
from trex.foundation.home import STATE, own_folder
from trex.foundation.parse import parse_json
from trex.query.schema import Query
from trex.worlds.registry import is_shipped

LIMIT = 1 << 16


def named_code(query: Query) -> tuple[str, ...]:
    """The code that running this query would load and the addresses it would send to, in words.

    Empty if everything comes with trex.
    """
    found = []
    if not is_shipped(query.generator.name):
        found.append(f"runs the code of generator {query.generator.name!r}")
    model = query.model.name
    adapter = adapter_of(model)  # None: no adapter would load it, so it cannot run
    warning = adapter.trust(model) if adapter else None
    if warning and query.model.endpoint:
        warning = f"{warning} to {query.model.endpoint!r}"
    if warning and query.model.trust_remote_code:
        warning = f"{warning} and runs the code among them"
    return (*found, *([warning] if warning else []))


def record_made_here(run: Path, query: Query) -> None:
    """Record that this user has made this run folder; does nothing if the home folder is not writable."""
    with suppress(OSError, RunError):
        _write_record(run, query)


def trust(run: Path, query: Query) -> None:
    """Record that this user trusts what this run folder names; RunError if that cannot be recorded."""
    try:
        _write_record(run, query)
    except OSError as error:
        raise RunError(
            f"cannot record that {run} is trusted ({error}); set {STATE} to a writable folder"
        ) from error


def check_made_here(run: Path, query: Query) -> None:
    """Raise InputError unless this user has made or trusted the folder, or it names no code and no address."""
    named = named_code(query)
    if not named or _recorded(run) == list(named):
        return
    raise InputError(
        f"{run} comes from elsewhere, and using it {' and '.join(named)}; "
        "if you trust its author, repeat the command with --trust"
    )


def _write_record(run: Path, query: Query) -> None:
    named = named_code(query)
    if not named:
        return
    path = _record(run)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"folder": os.path.realpath(run), "named": named})
    write_atomic(path, text.encode(), is_precious=False)


def _recorded(run: Path) -> object:
    path = _record(run)
    try:
        found = parse_json(read_text(path, limit=LIMIT, follow_links=False), str(path))
    except InputError:
        return None
    return found.get("named") if isinstance(found, dict) else None


def _record(run: Path) -> Path:
    name = hashlib.sha256(os.path.realpath(run).encode(errors="surrogateescape")).hexdigest()[:32]
    return own_folder(STATE) / "runs" / f"{name}.json"
