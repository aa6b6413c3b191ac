"""The user's folders: of this program, and of packages that write below the home folder when they are imported.

A container often runs as a user without a home, or with one that cannot be written (`docker run --user 12345`). Then
a private folder of this user among the temporary files stands in for it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from trex.foundation.errors import InputError

CACHE, STATE, CONFIG = "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"
# https://specifications.freedesktop.org/basedir-spec/latest/
DEFAULTS = {CACHE: ".cache", STATE: ".local/state", CONFIG: ".config"}
OURS = "bayes-trex"
# Folders in the cache whose content is still read if nothing can be added to it, and the variables that name them.
READ = {"TREX_CACHE": OURS, "HF_HOME": "huggingface", "TORCH_HOME": "torch"}


def user_folder(variable: str) -> Path:
    """The user's folder of this kind, such as `~/.cache` for XDG_CACHE_HOME; one in the stand-in if it is not writable.

    A relative path in the variable is ignored, as the specification says. InputError if there is no stand-in either.
    """
    named = _named(variable)
    return named if named is not None and can_hold_files(named) else stand_in() / DEFAULTS[variable]


def own_folder(variable: str) -> Path:
    """This program's folder in `user_folder`; one that is there already is used even if it is not writable."""
    named = _named(variable)
    if named is not None and os.path.isdir(named / OURS):
        return named / OURS
    return user_folder(variable) / OURS


def is_replaced() -> bool:
    """Whether the stand-in is used for the user's cache."""
    return stand_in() in user_folder(CACHE).parents


def can_hold_files(folder: Path) -> bool:
    """Whether files can be written into a folder, or it can be made."""
    # Unlike Path.exists, it says False of what lies below a folder that may not be entered.
    there = next(path for path in (folder, *folder.absolute().parents) if os.path.exists(path))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return False
    return shutil.disk_usage(there).total > 0  # 0 in /proc and its like, whatever its permissions


def prepare_packages() -> None:
    """Point packages that write below the home folder to the stand-in, if they could not; otherwise do nothing.

    ArviZ 0.23 raises at its import if it cannot write, matplotlib warns, and others ask the system for a home and a
    name. Call it before such packages are imported. Child processes inherit the variables.
    """
    with suppress(InputError, OSError):  # without any place to write, what needs one says so
        _replace_home()
        before, now, config = _named(CACHE), user_folder(CACHE), user_folder(CONFIG)
        if before != now:
            _keep_read(before)
            os.environ[CACHE] = str(now)
            os.environ.setdefault("HF_MODULES_CACHE", str(now / "huggingface" / "modules"))
        if config != _named(CONFIG):
            os.environ.setdefault("MPLCONFIGDIR", str(config / "matplotlib"))


def stand_in() -> Path:
    """A folder that only this user can write, in the temporary one; InputError if there cannot be one."""
    try:
        folder = Path(tempfile.gettempdir()) / f"{OURS}-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise InputError(
            f"neither the home folder nor the temporary one can be written ({error}); set HOME or TMPDIR to a "
            "writable folder"
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise InputError(
            f"{folder} is not a folder of this user alone; delete it, or set HOME to a writable folder"
        )
    return folder


def _replace_home() -> None:
    """Give a user without a home, or without a name, those that packages ask for."""
    if _home() is None:
        os.environ["HOME"] = str(stand_in())
    if not any(os.environ.get(name) for name in ("LOGNAME", "USER", "LNAME", "USERNAME")) and not _has_name():
        os.environ["LOGNAME"] = f"user-{os.geteuid()}"


def _keep_read(cache: Path | None) -> None:
    """Name what a cache that cannot be written holds already; it is read there."""
    for variable, name in READ.items():
        if cache is not None and not os.environ.get(variable) and os.path.isdir(cache / name):
            os.environ[variable] = str(cache / name)


def _named(variable: str) -> Path | None:
    """The folder that the environment names, or the default; None without a home."""
    given = os.environ.get(variable, "")
    if os.path.isabs(given):
        return Path(given)
    home = _home()
    return home / DEFAULTS[variable] if home else None


def _home() -> Path | None:
    home = os.path.expanduser("~")
    return Path(home) if os.path.isabs(home) else None


def _has_name() -> bool:
    import pwd

    try:
        return bool(pwd.getpwuid(os.getuid()).pw_name)
    except KeyError:
        return False
