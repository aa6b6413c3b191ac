"""Which of CLEVR's 90 families a program belongs to, by its form, the program without the words of descriptions.

And a program for people.
"""

from __future__ import annotations

from functools import lru_cache

from trex.scenes.questions.families import FAMILIES, Family
from trex.scenes.questions.programs import Program, Step, check_program
from trex.scenes.scene import ATTRIBUTES

_SCENE, _SOME = "scene()", "some-"
_SIDES = ("first_related", "second_related")
_HOPS = {"zero_hop": 0, "one_hop": 1, "two_hop": 2, "three_hop": 3}


def family_of(program: Program) -> Family | None:
    """The family whose questions have the form of this program; None if there is none."""
    check_program(program)
    return _by_form().get(_form(program, len(program) - 1))


def _form(program: Program, at: int) -> str:
    """The calls that lead to a step: "count(relate(unique(scene())))".

    Filters are left out, except in two kinds of family: what is said of all things that are "either ... or ..." (by
    attribute), and whether anything is said of those counted that share an attribute.
    """
    step = program[at]
    before = [_form(program, earlier) for earlier in step.inputs]
    if step.function == "unique":
        return f"unique({before[0].removeprefix(_SOME)})"
    if not step.function.startswith("filter_"):
        return f"{step.function}({','.join(before)})"
    if "union" in before[0].partition("(")[0]:
        return f"{step.function}-{before[0]}"
    return f"{_SOME}{before[0]}" if before[0].startswith("same_") else before[0]


@lru_cache(maxsize=1)
def _by_form() -> dict[str, Family]:
    return {_form_of(family): family for family in FAMILIES}


def _form_of(family: Family) -> str:
    """The form of a family's programs, by the parts of its name."""
    what, _, related = family.name.removeprefix(f"{family.kind}/").partition("/")
    sides = [_beside(_SCENE) if related in (side, "both_related") else _SCENE for side in _SIDES]
    match family.kind:
        case "compare_integer":
            return f"{what}({','.join(f'count({side})' for side in sides)})"
        case "comparison":
            return f"equal_{what}({','.join(_query(what, side) for side in sides)})"
        case "single_and":
            return _query(what, f"intersect({','.join([_beside(_SCENE)] * 2)})")
        case "single_or":
            filtered = what.removeprefix("count").replace("_", "filter_")
            return f"count({filtered and filtered + '-'}union({','.join(sides)}))"
        case "same_relate":
            return _sharing(what, related)
    return _query(what, _chain(_HOPS[family.kind]))


def _query(wanted: str, things: str) -> str:
    return f"query_{wanted}(unique({things}))" if wanted in ATTRIBUTES else f"{wanted}({things})"


def _beside(anchor: str) -> str:
    return f"relate(unique({anchor}))"


def _chain(hops: int) -> str:
    return _beside(_chain(hops - 1)) if hops else _SCENE


def _sharing(same: str, wanted: str) -> str:
    """CLEVR counts all things that share an attribute in one family, and those that are described in another."""
    all_of_them = f"{same}(unique({_SCENE}))"
    if wanted in ATTRIBUTES or wanted.endswith("_all"):
        return _query(wanted.removesuffix("_all"), all_of_them)
    return _query(wanted, f"{_SOME}{all_of_them}")


def program_lines(program: Program) -> list[str]:
    """Each step with its number: "3  filter_shape cube of 2"."""
    width = len(str(len(program) - 1))
    return [f"{at:{width}}  {_call(step)}" for at, step in enumerate(program)]


def _call(step: Step) -> str:
    inputs = " and ".join(map(str, step.inputs))
    return " ".join([step.function, *step.value_inputs, *(["of", inputs] if inputs else [])])
