"""Prefix programs carried out on a scene straight from their tokens, by sets of objects: written apart from both
our executor and the conversion, to judge them."""

from __future__ import annotations

from collections.abc import Iterator

from trex.scenes.graph import related
from trex.scenes.scene import Scene

Value = set[int] | int | bool | str


class NoAnswer(Exception):
    """unique of none or several."""


def prefix_answer(text: str, scene: Scene, swapped: bool = False) -> str:
    """The answer; `swapped` is a planted bug that takes the second argument for the first."""
    value = _value(iter(text.split()), scene, swapped)
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _value(tokens: Iterator[str], scene: Scene, swapped: bool) -> Value:
    name, _, word = next(tokens).rstrip("]").partition("[")
    things, attribute = scene.objects, name.partition("_")[2]
    if name == "scene":
        return set(range(len(things)))
    a = _value(tokens, scene, swapped)
    match name.partition("_")[0]:
        case "unique":
            assert isinstance(a, set)
            if len(a) != 1:
                raise NoAnswer
            return a.pop()
        case "count":
            return len(a)  # type: ignore[arg-type]
        case "exist":
            return bool(a)
        case "filter":
            return {i for i in a if getattr(things[i], attribute) == word}  # type: ignore[union-attr]
        case "relate":
            return set(related(scene)[word][a])  # type: ignore[index]
        case "query":
            return getattr(things[a], attribute)  # type: ignore[index,no-any-return]
        case "same":
            mine = getattr(things[a], attribute)  # type: ignore[index]
            return {i for i, thing in enumerate(things) if i != a and getattr(thing, attribute) == mine}
    b = _value(tokens, scene, swapped)
    a, b = (b, a) if swapped else (a, b)
    match name.partition("_")[0]:
        case "equal":
            return a == b
        case "less":
            return a < b  # type: ignore[operator]
        case "greater":
            return a > b  # type: ignore[operator]
        case "union":
            return a | b  # type: ignore[operator]
        case "intersect":
            return a & b  # type: ignore[operator]
    raise AssertionError(name)
