"""Field types of pydantic models that several files share, and what is wrong with a value in words."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails


def _log_or_minus_infinity(value: object) -> object:
    return -math.inf if value is None else value


def plain(text: str) -> str:
    """The text; ValueError if a terminal would not show it as it is."""
    if not text.isprintable():
        raise ValueError("it contains unprintable characters; remove them")
    return text


Plain = Annotated[str, AfterValidator(plain)]


Hash = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")]


Number = Annotated[float, Field(allow_inf_nan=False)]


LogProb = Annotated[
    float, Field(le=1e-6), BeforeValidator(_log_or_minus_infinity)
]  # null is -inf, as in draws.jsonl


WORDS = {"path_type": "it must be a path", "extra_forbidden": "this key is not known"}  # for pydantic's own


class Problem(NamedTuple):
    """What is wrong with a value: its dotted key ("search.seed"; "" for the whole), and why, in lower case."""

    key: str
    message: str


def problem_in(detail: ErrorDetails) -> Problem:
    message = WORDS.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    return Problem(".".join(map(str, detail["loc"])), message[:1].lower() + message[1:])


def first_problem(error: ValidationError) -> Problem:
    """The first of a validation's errors, which is the one to mend first."""
    return problem_in(error.errors(include_url=False)[0])
