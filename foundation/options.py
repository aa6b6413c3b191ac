"""The options of a verb, each declared once: Python's keywords and the command line both come from its model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, Self, get_origin

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, ValidationInfo, field_validator

from trex.foundation.errors import InputError, unknown
from trex.foundation.fields import problem_in
from trex.foundation.files import from_home
from trex.foundation.json_fields import short


@dataclass(frozen=True)
class Option:
    """What a field has besides its type and default: `Annotated[int, Option("Questions about each scene.", low=1)]`.

    `low` and `high` are inclusive. `flags` replace "--FIELD" on the command line; an argument is given by its place
    there, and to Python as the first. `complete` names a function of `trex.commands.shell.complete`. `example` is a
    value for Python's documentation, unless the help has one.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    low: float | None = None
    high: float | None = None
    complete: str = ""
    envvar: str | None = None
    is_argument: bool = False
    example: object = None

    def check(self, value: object) -> None:
        """ValueError for a number outside the bounds."""
        low, high = self.low, self.high
        if not isinstance(value, int | float) or (low is None and high is None):
            return
        if not (low is None or value >= low) or not (high is None or value <= high):
            bounds = [f"{bound:,}" for bound in (low, high) if bound is not None]
            raise ValueError(f"give {' to '.join(bounds)}{' or more' if high is None else ''}")


class Key(NamedTuple):
    """A key of a query as a keyword of Python: its dotted name, type and default, what it sets, and a value."""

    dotted: str
    type: Any
    default: object
    words: str
    example: object


class Options(BaseModel):
    """A verb's checked options, frozen; every field is annotated with an `Option`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    _is_typed: bool = PrivateAttr(False)

    @classmethod
    def checked(cls, given: Mapping[str, object], *, is_typed: bool = False) -> Self:
        """The options; InputError names the first that is unknown, missing or wrong, as it was written.

        `is_typed`: on the command line, where a field is called "--held-out".
        """
        try:
            return cls.model_validate(given, context={"is_typed": is_typed})
        except ValidationError as error:
            raise cls._refusal(error, given, is_typed) from error

    @classmethod
    def declared(cls, name: str) -> Option:
        """What the field has besides its type and default."""
        return next(each for each in cls.model_fields[name].metadata if isinstance(each, Option))

    @classmethod
    def spelled(cls, name: str, value: object, *, is_typed: bool) -> str:
        """A field as its user writes it: "--no-large" and "RUN" on the command line, "large=False" in Python."""
        if not is_typed:
            return f"{name}={value!r}" if isinstance(value, bool) else name
        option, flag = cls.declared(name), name.replace("_", "-")
        if option.is_argument:
            return (option.metavar or name.upper()).strip("[].")
        on, _, off = (option.flags[0] if option.flags else f"--{flag}").partition("/")
        return off if value is False and off else on

    def changed(self, **changes: object) -> Self:
        """The options with other values, which are not checked again."""
        return self.model_copy(update=changes)

    def is_given(self, name: str) -> bool:
        """Whether the caller gave this option, even with its default value."""
        return name in self.model_fields_set

    def refuse(self, names: Sequence[str], why: str) -> None:
        """InputError if any of these options was given, whatever its value; `why` ends the message."""
        given = [self.written(name) for name in names if self.is_given(name)]
        if given:
            raise InputError(f"{' and '.join(given)} {'does' if len(given) == 1 else 'do'} not apply: {why}")

    def written(self, name: str, value: object = None) -> str:
        """A field as the caller of this verb writes it, with this value or its own."""
        value = getattr(self, name) if value is None else value
        return self.spelled(name, value, is_typed=self._is_typed)

    @property
    def is_typed(self) -> bool:
        """Whether they come from the command line."""
        return self._is_typed

    def model_post_init(self, context: Any) -> None:
        """Remember where the options come from."""
        self._is_typed = bool(context and context["is_typed"])

    @field_validator("*", mode="before")
    @classmethod
    def _as_several(cls, value: object, info: ValidationInfo) -> object:
        """One word or path for a field that takes several; a run of Python as its folder.

        ValueError for a blank text or path, such as "$MODEL" without such a variable.
        """
        if isinstance(value, str | Path) and not str(value).strip():
            raise ValueError("it is empty; give a value, or leave the option out for the default")
        takes_several = get_origin(cls.model_fields[info.field_name or ""].annotation) is tuple
        if takes_several and isinstance(value, list | tuple):
            return tuple(map(_as_path, value))
        return (_as_path(value),) if takes_several and isinstance(value, str | PathLike) else _as_path(value)

    @field_validator("*", mode="after")
    @classmethod
    def _in_bounds(cls, value: object, info: ValidationInfo) -> object:
        if info.field_name is not None:
            cls.declared(info.field_name).check(value)
        if isinstance(value, tuple):
            return tuple(from_home(each) if isinstance(each, Path) else each for each in value)
        return from_home(value) if isinstance(value, Path) else value

    @classmethod
    def _refusal(cls, error: ValidationError, given: Mapping[str, object], is_typed: bool) -> InputError:
        detail = error.errors(include_url=False)[0]
        if isinstance(cause := detail.get("ctx", {}).get("error"), InputError):
            return cause
        key, message = problem_in(detail)
        name = key.partition(".")[0]
        if detail["type"] == "extra_forbidden":
            return unknown("keyword", name, cls.model_fields)
        if detail["type"] == "missing":
            return InputError(f"{name} is missing; give it")
        if not name:
            return InputError(message)
        written = cls.spelled(name, None, is_typed=is_typed)
        return InputError(f"{written} {short(given.get(name))}: {message}")


def _as_path(value: object) -> object:
    return Path(fspath(value)) if isinstance(value, PathLike) else value
