"""A repair is a folder: the query as given, what it was made with, and a folder for each step.

A step's folder holds `key.json` (its settings and the digest of the step before), its files, and at the end
`done.json` with the sha256 of each. A step with another key begins anew; one with the same key resumes from the parts
that are already there. Every file appears atomically, so that a kill at any moment ends in the same bytes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, JsonValue

from trex.foundation.errors import InputError, RunError
from trex.foundation.files import Closing, holds_only, make_folder, refuse_links, write_atomic
from trex.foundation.locked_folder import LOCK, closed_on_error, lock_folder
from trex.foundation.words import differing_keys, quoted
from trex.query.toml_file import parse_table
from trex.repair.files import (
    Done,
    Fields,
    Sources,
    file_sha256,
    read_fields,
    read_record,
    record_bytes,
    write_json,
    write_record,
)
from trex.repair.settings import (
    DecoderQuery,
    RepairQuery,
    SceneQuery,
    by_key,
    repair_query,
    repair_table,
)
from trex.runs.folder import RunInUse

FORMAT = 1
QUERY, MANIFEST, KEY, DONE, PARTS = (
    "repair.toml",
    "repair.json",
    "key.json",
    "done.json",
    "parts",
)
Step = Literal["identify", "distill", "pictures", "label", "correct", "novelty"]
STEPS: tuple[Step, ...] = ("identify", "distill", "pictures", "label", "correct", "novelty")
COMMANDS = {"pictures": "label", "novelty": "correct"}  # steps that a command of another name carries out


Q = TypeVar("Q", bound=RepairQuery, covariant=True)
M = TypeVar("M", bound=BaseModel)
New = TypeVar("New", bound=RepairQuery)


class RepairFolder(Closing, Generic[Q]):
    """An open folder; at most one process has it open."""

    def __init__(self, path: Path, query: Q, sources: Sources, lock: int) -> None:
        self.path, self.query, self.sources, self._lock = path, query, sources, lock

    def begin(self, step: Step, given: Fields | None = None) -> Path | None:
        """The folder of a step to carry out, whose earlier steps are finished; None if it is finished itself.

        `given`: what decides the step besides the query. Removes what belongs to other settings.
        """
        place, key = self.path / step, self._key(step, given or {})
        if read_fields(place / KEY, self._again(step)) != key:
            if place.exists():
                shutil.rmtree(place)
            place.mkdir()
            write_json(place / KEY, key)
        elif self._done(step) is not None:
            shutil.rmtree(place / PARTS, ignore_errors=True)  # left by a kill after the last file
            return None
        make_folder(place)
        make_folder(place / PARTS)
        return place

    def finish(self, step: Step, found: BaseModel | None = None) -> None:
        """Record what a step found and that it is finished, with the sha256 of its files, and delete its parts."""
        place = self.path / step
        if found is not None:
            write_record(place / record_file(step), found)
        names = sorted(
            path.relative_to(place).as_posix()
            for path in place.rglob("*")
            if path.is_file() and path.name not in (KEY, DONE) and path.relative_to(place).parts[0] != PARTS
        )
        files: dict[str, JsonValue] = {name: file_sha256(place / name) for name in names}
        key: dict[str, JsonValue] = dict(read_fields(place / KEY) or {})
        write_json(place / DONE, {"key": key, "files": files})
        shutil.rmtree(place / PARTS, ignore_errors=True)

    def require(self, step: Step) -> Path:
        """The folder of a finished step; RunError names the first one up to it that is not, and its command."""
        place, before = self.path / step, STEPS.index(step) - 1
        if self._done(step) is None:
            if before >= 0:
                self.require(STEPS[before])
            name = COMMANDS.get(step, step)
            raise RunError(f"step {name!r} of {self.path} {self.lacks(step)}; run: {self._command(step)}")
        for name, known in read_record(Done, place / DONE).files.items():
            if file_sha256(place / name) != known:
                raise RunError(f"{place / name} was changed or cut; {self._again(step)}")
        return place

    def lacks(self, step: Step) -> str:
        """Why a step is not done: "is not finished"."""
        if (self.path / step / DONE).exists():
            return "has other settings, or other steps before it, than when it was carried out"
        return "is not finished"

    def is_done(self, step: Step) -> bool:
        """Whether a step and all before it are finished with the present settings."""
        return self._done(step) is not None

    def found(self, step: Step, model: type[M]) -> M:
        """What a finished step found; RunError as of `require`."""
        return read_record(model, self.require(step) / record_file(step))

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _command(self, step: Step) -> str:
        """The command that carries out a step."""
        if step == STEPS[0]:
            return f"trex repair {step} {quoted(self.path / QUERY)} --out {quoted(self.path)}"
        return f"trex repair {COMMANDS.get(step, step)} {quoted(self.path)}"

    def _again(self, step: Step) -> str:
        """What carries out a step again whose files are damaged."""
        return f"delete {self.path / step} and run: {self._command(step)}"

    def _done(self, step: Step) -> Done | None:
        place = self.path / step
        if not (place / DONE).exists():
            return None
        done = read_record(Done, place / DONE, self._again(step))
        before = STEPS.index(step) - 1
        if before >= 0 and self._done(STEPS[before]) is None:
            return None
        given = done.key.get("given")
        return done if done.key == self._key(step, given if isinstance(given, dict) else {}) else None

    def _key(self, step: Step, given: Fields) -> dict[str, JsonValue]:
        """Everything that decides the content of a step."""
        settings: dict[str, JsonValue] = {"seed": self.query.seed}
        before = STEPS.index(step) - 1
        if before < 0:
            settings |= {"sources": self.sources.model_dump(mode="json")}
            digest = ""
        else:
            if self._done(STEPS[before]) is None:
                self.require(STEPS[before])
            digest = file_sha256(self.path / STEPS[before] / DONE)
        used = self.query.model_dump(mode="json").get(COMMANDS.get(step, step), {})
        settings |= {"section": {name: used[name] for name in _used(step, tuple(used))}}
        return {"step": step, "format": FORMAT, "settings": settings, "given": dict(given), "before": digest}


def record_file(step: Step) -> str:
    """The record of what a step found, in its folder."""
    return f"{step}.json"


def begin(text: str, sources: Sources) -> dict[str, bytes]:
    """The files, by name, of a folder in which a repair with this query has begun."""
    return {QUERY: text.encode(), MANIFEST: record_bytes(sources)}


def create(
    path: Path, text: str, query: New, sources: Sources, overrides: Sequence[str] = ()
) -> RepairFolder[New]:
    """Begin a repair, or open the one that is there: its later steps then follow the new query.

    InputError if the folder holds anything else, or a repair of other models or data, or one of which further settings
    than those of `overrides` would change: someone has edited them.
    """
    if (path / MANIFEST).exists():
        known = _sources(path)
        if known != sources:
            raise InputError(
                f"{path} holds a repair of other models or data ({known.generator}, {known.model}); "
                "choose another folder with --out"
            )
        _refuse_edited(path, text, overrides)
    elif path.exists() and not (path.is_dir() and _begun_only(path, text)):
        raise InputError(f"{path} exists and holds no repair; choose another folder with --out")
    make_folder(path)
    lock = _lock(path)
    with closed_on_error(lock):
        for name, data in begin(text, sources).items():
            write_atomic(path / name, data)
    return RepairFolder(path, query, sources, lock)


def _refuse_edited(path: Path, text: str, overrides: Sequence[str]) -> None:
    file, given = path / QUERY, {override.partition("=")[0].strip() for override in overrides}
    if not file.exists() or file.read_bytes() == text.encode():
        return
    before, now = (
        {key: value for key, value in by_key(repair_query(table, str(file))).items() if key not in given}
        for table in (repair_table(file), parse_table(text, str(file)))
    )
    if keys := differing_keys(before, now):
        raise InputError(
            f"{file} has other settings than this command gives, in {keys}; go on with those of the file: "
            f"trex repair identify {quoted(file)} --out {quoted(path)}; or delete it to take the command's"
        )


def open_repair(path: Path) -> RepairFolder[DecoderQuery | SceneQuery]:
    """The repair in a folder, with the settings that its repair.toml has now; InputError if there is none."""
    if not (path / MANIFEST).is_file():
        new = "FOLDER" if path.exists() else quoted(path)
        raise InputError(f"{path} is no repair; begin one with: trex repair identify QUERY --out {new}")
    refuse_links(path)
    query = repair_query(repair_table(path / QUERY), str(path / QUERY))
    sources = _sources(path)
    return RepairFolder(path, query, sources, _lock(path))


def _sources(path: Path) -> Sources:
    again = f"trex repair identify {quoted(path / QUERY)} --out ANOTHER_FOLDER"
    return read_record(Sources, path / MANIFEST, f"restore it from a copy, or begin anew: {again}")


def _begun_only(path: Path, text: str) -> bool:
    """Whether a folder holds nothing but what a kill at the very beginning of this query leaves."""
    if not holds_only(path, (LOCK, QUERY)):
        return False
    query = path / QUERY
    return not query.exists() or (query.is_file() and query.read_bytes() == text.encode())


def _used(step: Step, names: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of its section that a step reads: drawing pictures does not depend on how they are voted on, and
    distances do not depend on how the model is corrected.
    """
    read = {"pictures": ("pictures", "tau"), "novelty": ()}.get(step, names)
    return tuple(name for name in names if name in read)


def _lock(path: Path) -> int:
    return lock_folder(path, RunInUse(f"another process works in {path}; wait for it or stop it"))
