"""A disk cache of pictures, keyed by everything that determines them, so that no scene is rendered twice."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import secrets
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from trex.foundation.errors import InputError, RenderError
from trex.foundation.files import is_missing, read_bytes
from trex.render.cache_folder import SCRATCH, SUFFIX, Bound, lock_scratch, mark_used
from trex.render.picture import Picture
from trex.render.renderer import SceneRenderer
from trex.scenes.scene import Scene, scene_id

log = logging.getLogger(__name__)
MAGIC = b"TREXPIC1"
SIZE = struct.Struct(
    ">II"
)  # a file: magic, sha256 of name and all that follows, width, height, deflated bytes
MAX_RAW = 1 << 28  # bytes; no file may decompress to more
CHUNK = 64  # pictures per write, so that a failure late in a long list loses little


class Counted(Protocol):
    def added(self, size: int) -> None:
        """Count the bytes of one picture; may delete others."""


def go_on(error: OSError, path: Path) -> None:
    """A picture that cannot be stored is only logged: a cache is an aid."""
    log.warning("cannot cache picture %s (%s)", path, error)


class CachedRenderer:
    """A renderer with a cache folder, keyed by sha256 of the scene's id and the inner renderer's key.

    Files are written under another name, synced and renamed. A file that is truncated, altered or misplaced fails its
    checksum and is rendered again. Several programs may use one folder at once. Its size is bounded by `bound`
    (`Bound` if None); `not_kept` is called with the error if a picture cannot be stored.
    """

    def __init__(
        self,
        inner: SceneRenderer,
        folder: Path,
        bound: Counted | None = None,
        not_kept: Callable[[OSError, Path], None] = go_on,
    ) -> None:
        self.inner, self.folder = inner, folder
        self.hits = self.misses = 0
        self.chunk = CHUNK  # a farm renders more at once
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot create the picture cache {folder} ({error.strerror or error}); make the folder above it "
                "writable, or name another (TREX_CACHE is that of the user's cache)"
            ) from error
        self._bound = Bound(folder) if bound is None else bound
        self._not_kept = not_kept

    @property
    def key(self) -> str:
        """The inner renderer's key, since the pictures are the same."""
        return self.inner.key

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        """One picture per scene, in the same order; renders only those missing from the cache, each once."""
        key = self.key
        names = [entry_name(key, scene_id(scene)) for scene in zs]
        different = dict(zip(names, zs, strict=True))
        found: dict[str, Picture | None] = {name: self._load(name, z) for name, z in different.items()}
        missing = [(name, z) for name, z in different.items() if found[name] is None]
        self.misses += len(missing)
        self.hits += len(zs) - len(missing)
        for start in range(0, len(missing), self.chunk):
            part = missing[start : start + self.chunk]
            for (name, _), picture in zip(part, self.inner.render([z for _, z in part]), strict=True):
                self._store(name, picture)
                found[name] = picture
        return [picture for picture in map(found.get, names) if picture is not None]

    def close(self) -> None:
        self.inner.close()

    def path(self, name: str) -> Path:
        return entry_path(self.folder, name)

    def _load(self, name: str, scene: Scene) -> Picture | None:
        path = self.path(name)
        try:
            data = read_bytes(path, limit=MAX_RAW, error=RenderError, inside=self.folder)
            picture = decode(data, name, scene_id(scene))
            mark_used(path)
            return picture
        except (RenderError, OSError, ValueError) as error:
            if isinstance(error, RenderError) and is_missing(error):
                return None
            log.warning("cached picture %s is not usable (%s); rendering it again", path, error)
            return None

    def _store(self, name: str, picture: Picture) -> None:
        path, data = self.path(name), encode(picture, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _refuse_link(path.parent)
            _write_atomically(path, data)
            self._bound.added(len(data))
        except OSError as error:
            self._not_kept(error, path)


def entry_name(key: str, scene: str) -> str:
    """sha256 (hex) of a scene's id and a renderer's key."""
    return hashlib.sha256(f"{scene}\n{key}".encode()).hexdigest()


def entry_path(folder: Path, name: str) -> Path:
    return folder / name[:2] / f"{name}{SUFFIX}"


def encode(picture: Picture, name: str) -> bytes:
    height, width = picture.mask.shape
    body = SIZE.pack(width, height) + zlib.compress(picture.pixels.tobytes() + picture.mask.tobytes(), 1)
    return MAGIC + _checksum(name, body) + body


def decode(data: bytes, name: str, scene: str) -> Picture:
    """The picture in a cache file's bytes; ValueError unless `encode` wrote them under `name`."""
    magic, checksum, body = data[:8], data[8:40], data[40:]
    if magic != MAGIC or _checksum(name, body) != checksum:
        raise ValueError(f"{len(data)} bytes with a wrong beginning or checksum")
    try:
        width, height = SIZE.unpack_from(body)
        raw = zlib.decompressobj().decompress(body[SIZE.size :], MAX_RAW)
    except (struct.error, zlib.error) as error:
        raise ValueError(str(error)) from error
    size = width * height
    if not 0 < size * 4 == len(raw):
        raise ValueError(f"{len(raw)} bytes are no picture of {width} x {height}")
    flat = np.frombuffer(raw, dtype=np.uint8)
    return Picture(flat[: size * 3].reshape(height, width, 3), flat[size * 3 :].reshape(height, width), scene)


def _checksum(name: str, body: bytes) -> bytes:
    return hashlib.sha256(name.encode() + body).digest()


def _refuse_link(part: Path) -> None:
    """OSError if a part of the folder is a link: what it leads to is neither counted nor bounded."""
    if part.is_symlink():
        raise OSError(errno.ELOOP, f"{part} is a symbolic link; delete it")


def _write_atomically(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{SCRATCH}{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            lock_scratch(handle)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
