"""What the modules of a package declare is found, in packages below it too; nothing lists them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from trex.foundation.errors import InputError
from trex.foundation.extensions import declared

KIND = "from tests.foundation.test_extensions import Kind\n"


@dataclass(frozen=True)
class Kind:
    """What the modules below declare."""

    name: str


def kinds(
    place: Path, package: str, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Kind]:
    """What a package of these files declares; a file declares kinds by their names."""
    for name, words in {"__init__.py": "", **files}.items():
        path = place / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        each = ", ".join(f"Kind({kind!r})" for kind in words.split())
        path.write_text(f"{KIND}KIND = ({each},)\n" if words else "")
    monkeypatch.syspath_prepend(str(place))
    return declared(package, "KIND", Kind)


def test_modules_are_found_at_once_and_in_rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "flat.py": "one two",
        "nothing.py": "",
        "room/__init__.py": "",
        "room/inner.py": "three",
        "room/deeper/__init__.py": "",
        "room/deeper/most.py": "four",
        "_private.py": "never",
        "whole/__init__.py": "five",
        "whole/part.py": "of five",
    }
    assert list(kinds(tmp_path, "kinds_in_rooms", files, monkeypatch)) == [
        "one",
        "two",
        "four",
        "three",
        "five",
    ]


def test_a_name_that_two_rooms_declare_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a/__init__.py": "", "a/x.py": "same", "b/__init__.py": "", "b/x.py": "same"}
    with pytest.raises(
        InputError, match=r"kinds_declared_twice\.b\.x declares kind 'same', which already exists"
    ):
        kinds(tmp_path, "kinds_declared_twice", files, monkeypatch)
