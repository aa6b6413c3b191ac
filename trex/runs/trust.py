"""Run folders and query files that this user has made or trusted: records outside of them, beyond their reach.

Only a query that names code, or an address that receives pictures, needs one. The record of a run folder or a query
file is named after its real path and holds what it names: one that was moved, replaced or unpacked from an archive, or
that now names something else, has no matching record, and its code runs only after `--trust`. What the user names
beside a query file, on the command line or as a keyword, is the user's own and needs none; nor does a query file in a
folder of TREX_TRUST.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from trex.clevr_models.specs.adapter import adapter_of
from trex.foundation.errors import InputError, RunError
from trex.foundation.extensions import LIVE
from trex.foundation.files import read_text, write_atomic
from trex.foundation.home import STATE, own_folder
from trex.foundation.parse import parse_json
from trex.query import toml_file
from trex.query.code import code_of
from trex.query.schema import Query
from trex.worlds.code import load_code
from trex.worlds.registry import is_shipped, make_plan
from trex.worlds.world import Plan

OWN_FOLDERS = "TREX_TRUST"  # folders in or below which every query file is the user's own
LIMIT = 1 << 16


GENERATOR, MODEL, ENDPOINT, REMOTE_CODE = (
    "generator.name",
    "model.name",
    "model.endpoint",
    "model.trust_remote_code",
)


def named_code(query: Query, overrides: Sequence[str] = ()) -> tuple[str, ...]:
    """The code that running this query would load and the addresses it would send to, in words.

    Empty if everything comes with trex, or is named by these overrides ("key=value") of the user's own.
    """
    found = []
    world = query.generator.name
    is_code = not is_shipped(world) and not world.startswith(LIVE)  # an object is given by the user
    if is_code and not _gives(overrides, GENERATOR):
        found.append(f"runs the code of generator {world!r}")
    found += [
        f"runs the code of {key} = {name!r}" for key, name in code_of(query) if not _gives(overrides, key)
    ]
    model = query.model.name
    endpoint = "" if _gives(overrides, ENDPOINT) else query.model.endpoint
    has_code = query.model.trust_remote_code and not _gives(overrides, REMOTE_CODE)
    is_own = _gives(overrides, MODEL) and not endpoint and not has_code
    adapter = None if is_own else adapter_of(model)  # None also if no adapter would load it: it cannot run
    warning = adapter.trust(model) if adapter else None
    if warning and endpoint:
        warning = f"{warning} to {endpoint!r}"
    if warning and has_code:
        warning = f"{warning} and runs the code among them"
    return (*found, *([warning] if warning else []))


def _gives(overrides: Sequence[str], key: str) -> bool:
    """Whether one of the overrides sets this key, itself or with its whole section."""
    given = {override.partition("=")[0].replace(" ", "") for override in overrides}
    return bool(given & {key, key.partition(".")[0]})


def record_made_here(path: Path, query: Query) -> None:
    """Record that this user has made this run folder or query file; does nothing if the home is not writable."""
    with suppress(OSError, RunError):
        _write_record(path, named_code(query))


def trust(run: Path, query: Query) -> None:
    """Record that this user trusts what this run folder names; RunError if that cannot be recorded."""
    _trust(run, named_code(query))


def trust_query(path: Path, queries: Iterable[Query], overrides: Sequence[str] = ()) -> None:
    """Record that this user trusts what a query file names, in each of these forms; RunError if that fails."""
    named = [words for query in queries for words in named_code(query, overrides)]
    _trust(path, tuple(dict.fromkeys([*_recorded(path), *named])) if named else ())


def check_made_here(run: Path, query: Query) -> None:
    """Raise InputError unless this user has made or trusted the folder, or it names no code and no address."""
    _check(run, named_code(query), "comes from elsewhere", "repeat the command with --trust")


def check_query(path: Path, query: Query, overrides: Sequence[str] = ()) -> None:
    """Raise InputError unless this user has trusted what the query file names beside these overrides, if anything.

    All that it names is trusted in the folders of TREX_TRUST.
    """
    named = named_code(query, overrides)
    if named and not _is_in_own_folder(path):
        _check(path, named, "is a new query file", "repeat the command with --trust (in Python: trust=True)")


def trusted_plan(path: Path, overrides: Sequence[str], own: Sequence[str]) -> Plan:
    """The plan for a query file, see `trex.worlds.registry`; of the overrides, `own` are the user's.

    InputError before anything that the file or the other overrides name is loaded, unless this user has trusted it.
    """
    query = toml_file.parse_query(toml_file.read_text(path), str(path), overrides)
    check_query(path, query, own)
    load_code(query)
    return make_plan(query, path.parent, str(path))


def _is_in_own_folder(path: Path) -> bool:
    folders = [folder for folder in os.environ.get(OWN_FOLDERS, "").split(os.pathsep) if folder]
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(os.path.expanduser(folder))) for folder in folders)


def _check(place: Path, named: Sequence[str], why: str, remedy: str) -> None:
    if named and not set(named) <= set(_recorded(place)):
        raise InputError(
            f"{place} {why}, and using it {' and '.join(named)}; if you trust its author, {remedy}"
        )


def _trust(place: Path, named: Sequence[str]) -> None:
    try:
        _write_record(place, named)
    except OSError as error:
        raise RunError(
            f"cannot record that {place} is trusted ({error}); set {STATE} to a writable folder"
        ) from error


def _write_record(place: Path, named: Sequence[str]) -> None:
    if not named:
        return
    path = _record(place)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"folder": os.path.realpath(place), "named": list(named)})
    write_atomic(path, text.encode(), is_precious=False)


def _recorded(place: Path) -> tuple[str, ...]:
    """What this user has trusted a folder or a file to name; nothing if the record is missing or damaged."""
    path = _record(place)
    try:
        found = parse_json(read_text(path, limit=LIMIT, follow_links=False), str(path))
    except InputError:
        return ()
    named = found.get("named") if isinstance(found, dict) else None
    return tuple(map(str, named)) if isinstance(named, list) else ()


def _record(place: Path) -> Path:
    name = hashlib.sha256(os.path.realpath(place).encode(errors="surrogateescape")).hexdigest()[:32]
    return own_folder(STATE) / "runs" / f"{name}.json"
