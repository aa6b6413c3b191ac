"""A run is a folder: the query as given, a manifest, every draw, and pictures named by content hash."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from trex.foundation.errors import InputError, RunError
from trex.foundation.files import (
    Closing,
    DiskFullError,
    behind_links,
    disk_error,
    holds_only,
    is_missing,
    make_folder,
    open_inside,
    read_text,
    refuse_links,
    scratch_folder,
    sync_folder,
    write_atomic,
)
from trex.foundation.locked_folder import closed_on_error, lock_folder
from trex.foundation.words import counted, quoted
from trex.runs.checked_lines import check_path, intact_lines, read_checked
from trex.runs.manifest import DamagedManifest, Manifest, parse_manifest, sealed
from trex.runs.own_code import load_target
from trex.runs.picture_files import PICTURES, Bytes, content_hash, mask_file, picture_file, to_png
from trex.worlds.latents import SCENES, VECTORS, Latent
from trex.worlds.registry import is_shipped
from trex.worlds.world import World

QUERY = "query.toml"
MANIFEST = "run.json"
# What folders are that others than a search have written, by a file of theirs, and what to do with them.
OTHERS = {
    "repair.json": "a repair; see it by: trex repair report {0}",
    "audit.json": "an audit; its page is {1}/report.html",
    "baseline.json": "a baseline; its page is {1}/baseline.html",
}
DRAWS = "draws.jsonl"
REPORT = "report.html"
FINDINGS = "findings.json"
FINISHED = "finished"
FREE_BYTES = 32 << 20  # the size of a typical run, pictures included


class RunInUse(RunError):
    """Another process holds the lock of the run folder."""


class RunFolder(Closing):
    """An open run folder; at most one process may write into it."""

    def __init__(self, path: Path, manifest: Manifest, lock: int | None) -> None:
        self.path = path
        self.manifest = manifest
        self._lock = lock
        self._is_read = lock is None
        self._was_finished = self._has_ended

    @property
    def draws(self) -> Path:
        """The path of `draws.jsonl`."""
        return self.path / DRAWS

    @property
    def query_text(self) -> str:
        """The text of the query as the user gave it."""
        return read_text(self.path / QUERY, error=RunError, inside=self.path)

    def save_picture(self, pixels: Bytes, mask: Bytes | None = None) -> str:
        """Save a picture (H, W, 3 or 1), and its mask (H, W) if it has one; return their content hash, its name."""
        name = content_hash(pixels, mask)
        files = [] if mask is None else [(mask_file(self.path, name), mask)]
        for path, array in (*files, (picture_file(self.path, name), pixels)):
            if not path.exists():
                write_atomic(path, to_png(array), is_precious=False)
        return name

    def picture_path(self, name: str) -> Path:
        """The path of the picture with this content hash."""
        return picture_file(self.path, name)

    @property
    def is_finished(self) -> bool:
        """Whether the search has ended; of a folder that is only read, whether it had ended when it was opened.

        A search that ends meanwhile has more draws than those that a reader has seen.
        """
        return self._was_finished if self._is_read else self._has_ended

    @property
    def _has_ended(self) -> bool:
        return (self.path / FINISHED).exists()

    def write(self, name: str, text: str) -> Path:
        """Write a file of the run atomically; return its path."""
        path = self.path / name
        write_atomic(path, text.encode())
        return path

    def close(self) -> None:
        """Release the lock, so that other processes can write into this folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def create(path: Path, query_text: str, manifest: Manifest) -> RunFolder:
    """Create a run folder under a temporary name and rename it: a kill leaves all of it or nothing."""
    check_free(path)
    manifest, place, scratch = sealed(manifest), behind_links(path), None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        scratch = scratch_folder(place)
        _fill(scratch, query_text, manifest)
        lock = lock_folder(scratch, _in_use(path))
        with closed_on_error(lock):
            _rename(scratch, place)
            sync_folder(place.parent)
    except OSError as error:
        raise disk_error(error, path) from error
    finally:
        if scratch is not None and scratch.exists():
            shutil.rmtree(scratch, ignore_errors=True)
    return RunFolder(path, manifest, lock)


def begin(path: Path, query_text: str, manifest: Manifest) -> RunFolder:
    """Begin a run in an existing folder of the queue; after a kill it is a run, or can be begun again.

    If another process has begun it meanwhile, opens it unchanged: its manifest describes its draws.
    """
    check_free(path)
    refuse_links(path)
    lock = lock_folder(path, _in_use(path))
    if is_run(path):
        os.close(lock)
        return open_run(path, for_writing=True)
    manifest = sealed(manifest)
    try:
        with closed_on_error(lock):
            _fill(path, query_text, manifest)
    except OSError as error:
        raise disk_error(error, path) from error
    return RunFolder(path, manifest, lock)


def open_run(path: Path, *, for_writing: bool, world: World[Latent] | None = None) -> RunFolder:
    """Open an existing run folder; RunError if it is none, of another version, or in use by another process.

    `world` is the run's own if its code is loaded; without it, a world of the user's own is read as recorded. Also
    raises RunError, before anything is rendered, if the folder holds a symbolic link or has lost its query.
    """
    with _draws_told(path):
        text = _manifest_text(path)
        refuse_links(path)
        load_target(path, text)
        manifest = parse_manifest(text, str(path / MANIFEST))
    if world is not None:
        manifest = manifest.read_by(world)
    if not (path / QUERY).is_file():
        raise RunError(f"{path} has no {QUERY}; copy the query there again (it was {manifest.source})")
    if not for_writing:
        return RunFolder(path, manifest, None)
    lock = lock_folder(path, _in_use(path))
    with closed_on_error(lock):
        make_folder(path)
        make_folder(path / PICTURES)
    return RunFolder(path, manifest, lock)


def check_scenes(folder: RunFolder) -> None:
    """Raise RunError if the run's world has no objects."""
    kind = folder.manifest.world
    if kind.form is not SCENES:
        raise RunError(
            f"{folder.path} is a run of {kind.name!r}, whose {kind.noun.many} have no objects; give a run of "
            "generator 'clevr', which has scenes"
        )


def is_of_own_world(manifest: Manifest) -> bool:
    """Whether a run's world is a vector world that does not ship with trex; loads no code."""
    return manifest.world.form is VECTORS and not is_shipped(manifest.query.generator.name)


def seal_in(path: Path) -> str:
    """The seal of the run in this folder, "" if it holds none."""
    return parse_manifest(_manifest_text(path), str(path / MANIFEST)).seal if is_run(path) else ""


def is_run(path: Path) -> bool:
    """Whether this folder holds a run, of any version."""
    return (path / MANIFEST).exists()


def check_out(path: Path, replaced: Collection[str] = ()) -> None:
    """Raise an error unless a new run may be written here, or the folder holds only files that are `replaced`."""
    if replaced and path.is_dir() and holds_only(path, replaced):
        return
    if is_run(path) or check_path(path / DRAWS).is_file():
        with _draws_told(path):
            parse_manifest(_manifest_text(path), str(path / MANIFEST))
        raise InputError(
            f"{path} already holds a run of another query; resume that run (trex resume {quoted(path)}) "
            "or give another folder with --out"
        )
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} exists and is not an empty folder; give another folder with --out")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InputError(f"cannot write to {parent}; give another folder with --out")
    check_free(path)


def check_free(path: Path, option: str = "--out") -> None:
    """Raise DiskFullError if the disk of this path is full, InputError if it holds no files, as /proc.

    `option` names another folder.
    """
    parent = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    disk = shutil.disk_usage(parent)
    if disk.total == 0:
        raise InputError(f"{parent} is on no disk that can hold files; give another folder with {option}")
    if disk.free < FREE_BYTES:
        raise DiskFullError(
            f"the disk of {parent} is full: {disk.free >> 20} MiB free, a run needs about {FREE_BYTES >> 20} MiB; "
            f"free some space or give another folder with {option}"
        )


def _rename(scratch: Path, path: Path) -> None:
    """Put a run in its place, where nothing or an empty folder was; RunInUse if another process has been faster."""
    try:
        scratch.rename(path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise _in_use(path) from error
        raise


def _fill(path: Path, query_text: str, manifest: Manifest) -> None:
    """Write everything that a run folder holds before its first draw; the file that makes it a run comes last."""
    (path / PICTURES).mkdir(exist_ok=True)
    write_atomic(path / QUERY, query_text.encode())
    for log in (path / DRAWS, check_path(path / DRAWS)):
        os.close(open_inside(path, [log.name], os.O_WRONLY | os.O_CREAT))
    _write_manifest(path, manifest)


def restored(path: Path, manifest: Manifest) -> bool:
    """Write a damaged or lost `run.json` anew if it was this: the checksums of the draws then begin with its seal."""
    manifest = sealed(manifest)
    is_its_own = read_checked(path / DRAWS, manifest.seal).sound > 0
    if is_its_own:
        _write_manifest(path, manifest)
    return is_its_own


@contextmanager
def _draws_told(path: Path) -> Iterator[None]:
    """Add to the error of a damaged or lost `run.json` how many draws are intact, and what writes it again."""
    try:
        yield
    except DamagedManifest as error:
        draws = intact_lines(path / DRAWS)
        if not draws:
            raise
        problem = str(error).rpartition(";")[0]
        raise DamagedManifest(
            f"{problem}; {counted(draws, 'draw is', 'draws are')} intact: repeat the command or call that began the "
            f"run, with --out {quoted(path)}; it writes {MANIFEST} again if query, model, renderer and versions are "
            "the same"
        ) from error


def _write_manifest(path: Path, manifest: Manifest) -> None:
    write_atomic(path / MANIFEST, (manifest.model_dump_json(indent=1) + "\n").encode())


def _manifest_text(path: Path) -> str:
    try:
        return read_text(path / MANIFEST, error=RunError, inside=path)
    except RunError as error:
        is_lost = is_missing(error) or isinstance(error.__cause__, UnicodeDecodeError)
        kind = DamagedManifest if is_lost else RunError
        why = _instead(path) if is_missing(error) else f"{error}; give a folder that trex find has written"
        raise kind(f"{path} is not a run folder: {why}") from error


def _instead(path: Path) -> str:
    """What a folder without a manifest is, and what to give in its place."""
    if not path.is_dir():
        return "there is no such folder; give one that trex find has written"
    for name, what in OTHERS.items():
        if (path / name).is_file() and not (path / DRAWS).exists():
            return what.format(quoted(path), path)
    runs = sorted(each.parent for each in path.glob(f"*/{MANIFEST}"))
    if runs:
        return f"it holds {counted(len(runs), 'run')}; give one, such as {quoted(runs[-1])}"
    return f"it has no {MANIFEST}; give a folder that trex find has written"


def _in_use(name: Path) -> RunInUse:
    return RunInUse(f"another process is writing to {name}; wait for it or stop it")
