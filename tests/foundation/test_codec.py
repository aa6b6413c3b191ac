"""The JSON of dataclasses: a round trip to the bit, and damage named with its place and its remedy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from trex.foundation.codec import Codec
from trex.foundation.errors import InputError, RunError
from trex.foundation.fields import Number


@dataclass(frozen=True)
class Part:
    share: Number
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Whole:
    name: str
    parts: tuple[Part, ...]
    format: Literal[1] = 1


CODEC = Codec(Whole)
WHOLE = Whole("a", (Part(0.1 + 0.2, ("x", "y")), Part(5e-324)))


def refuse_long(value: Whole) -> None:
    if len(value.parts) > 1:
        raise ValueError("it has two parts")


def test_what_is_written_is_read_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "whole.json"
    path.write_text(CODEC.text(WHOLE))
    assert CODEC.read(path, "delete it") == WHOLE
    assert json.loads(path.read_text())["parts"][0]["share"] == 0.1 + 0.2


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert CODEC.read(tmp_path / "none.json", "delete it") is None


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": 3}, "name: input should be a valid string"),
        ({"parts": [{"share": "0.5"}]}, "parts.0.share: input should be a valid number"),
        ({"parts": [{}]}, "parts.0.share: field required"),
        ({"format": 2}, "format: input should be 1"),
        ({"parts": [{"share": 1}, {"share": 2}]}, "it has two parts"),
    ],
)
def test_damage_is_named_with_its_place_and_the_remedy(change: dict[str, object], fault: str) -> None:
    text = json.dumps({"name": "a", "parts": [], "format": 1} | change)
    with pytest.raises(RunError) as caught:
        CODEC.parse(text, "whole.json", "delete it", refuse_long)
    assert str(caught.value) == f"whole.json is damaged ({fault}); delete it"


@pytest.mark.parametrize("text", ["[]", "{", "[" * 10**5, '{"name": NaN}', '{"name": 1' + "0" * 400 + "}"])
def test_a_text_that_is_no_such_json_is_one_line_of_its_error(text: str) -> None:
    with pytest.raises(InputError, match=r"^whole.json is damaged \(.+\); delete it$"):
        Codec(Whole, InputError).parse(text, "whole.json", "delete it")


def test_an_unknown_key_is_ignored() -> None:
    assert CODEC.parse('{"name": "a", "parts": [], "more": 1}', "whole.json", "delete it") == Whole("a", ())


def test_a_link_below_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(CODEC.text(WHOLE))
    (tmp_path / "whole.json").symlink_to(tmp_path / "real.json")
    with pytest.raises(RunError, match=r"symbolic link.*; delete it"):
        CODEC.read(tmp_path / "whole.json", "delete it", inside=tmp_path)
