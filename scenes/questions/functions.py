"""CLEVR's functions by name: their inputs, their output, and their words."""

from __future__ import annotations

from dataclasses import dataclass

from trex.scenes.scene import ATTRIBUTES

# Types of values between the steps of a program; an attribute's name ("color") is the type of its values.
SET, OBJECT, INTEGER, BOOL = "set of objects", "object", "integer", "yes or no"


@dataclass(frozen=True, slots=True)
class Function:
    """The signature of one function (clevr-dataset-gen, question_generation/metadata.json)."""

    name: str
    takes: tuple[str, ...]
    gives: str
    kind: str  # the computation: "filter" for "filter_color"
    word: str = ""  # the kind of its word: an attribute or "relation"; "" for none

    @property
    def attribute(self) -> str:
        """The attribute at the end of its name, "" for none."""
        return self.name.rpartition("_")[2] if self.kind in ("filter", "query", "same", "equal") else ""


def _signatures() -> tuple[Function, ...]:
    plain = (
        Function("scene", (), SET, "scene"),
        Function("unique", (SET,), OBJECT, "unique"),
        Function("relate", (OBJECT,), SET, "relate", word="relation"),
        Function("union", (SET, SET), SET, "union"),
        Function("intersect", (SET, SET), SET, "intersect"),
        Function("count", (SET,), INTEGER, "count"),
        Function("exist", (SET,), BOOL, "exist"),
        Function("equal_integer", (INTEGER, INTEGER), BOOL, "equal"),
        Function("less_than", (INTEGER, INTEGER), BOOL, "less_than"),
        Function("greater_than", (INTEGER, INTEGER), BOOL, "greater_than"),
        Function("equal_object", (OBJECT, OBJECT), BOOL, "equal"),
    )
    return plain + tuple(function for attribute in ATTRIBUTES for function in _of_attribute(attribute))


def _of_attribute(attribute: str) -> tuple[Function, ...]:
    return (
        Function(f"filter_{attribute}", (SET,), SET, "filter", word=attribute),
        Function(f"query_{attribute}", (OBJECT,), attribute, "query"),
        Function(f"same_{attribute}", (OBJECT,), SET, "same"),
        Function(f"equal_{attribute}", (attribute, attribute), BOOL, "equal"),
    )


FUNCTIONS: dict[str, Function] = {function.name: function for function in _signatures()}
ANSWER_TYPES = (INTEGER, BOOL, *ATTRIBUTES)  # valid types of a program's last step
