"""Absolute paths cut to their last name, in texts that leave the machine."""

from __future__ import annotations

import re

# An absolute path begins with "/" or "~/" and is not the rest of a relative one or of an address ("http://host/v1").
_BEGIN = r"(?:(?<![\w.~/\]-])|(?<=file://))(?:~\w*)?/(?!/)"
_QUOTED = re.compile(r"""(["'])[^"'\n]*\1""")
_TO_COMMA = re.compile(rf"{_BEGIN}[^,\"'\n]*[^,\"'\s]")  # in quotes a path may contain spaces
_TO_SPACE = re.compile(rf"{_BEGIN}[^\s,;\"'`<>()\[\]{{}}]+")


def without_folders(text: str) -> str:
    """The text with every absolute path cut to its last name: "hf:/home/ada/models/vilt" becomes "hf:vilt"."""
    unquoted = _QUOTED.sub(lambda quoted: _TO_COMMA.sub(_name, quoted[0]), text)
    return _TO_SPACE.sub(_name, unquoted)


def _name(path: re.Match[str]) -> str:
    return path[0].rstrip("/").rpartition("/")[2]
