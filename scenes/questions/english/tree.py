"""What a question says, before it is a program: things, where they are, and what is asked about them."""

from __future__ import annotations

from dataclasses import dataclass

from trex.scenes.questions.filters import Description


@dataclass(frozen=True, slots=True)
class Things:
    """Described things, which may have to stand somewhere; as an anchor or a compared thing the only such one."""

    said: Description
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """Left of, right of, behind or in front of one thing."""

    relation: str
    anchor: Things


@dataclass(frozen=True, slots=True)
class Sharing:
    """With the same size, color, material or shape as one other thing."""

    attribute: str
    anchor: Things


@dataclass(frozen=True, slots=True)
class Both:
    """In two places at once."""

    first: Place
    second: Place


@dataclass(frozen=True, slots=True)
class Either:
    """Among the things of one description or of another."""

    first: Things
    second: Things


Place = Beside | Sharing | Both
Where = Place | Either


@dataclass(frozen=True, slots=True)
class Ask:
    """A question for "count", "exist", or an attribute of the only such thing."""

    asked: str
    things: Things


@dataclass(frozen=True, slots=True)
class Compare:
    """A question that compares two things or two numbers of things by a function such as equal_size or less_than."""

    function: str
    first: Things
    second: Things


Question = Ask | Compare
