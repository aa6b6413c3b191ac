"""The keywords of `trex.find` and `trex.check`: each is a key of a query file, under the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from trex.query.schema import Query

Function = TypeVar("Function", bound=Callable[..., object])
NAMES = ("kind", "name")  # the key of a section that is called as the section is
OPTIONS = {"target": "target_options", "search": "kernel_options"}


def _keys() -> dict[str, tuple[str, Any]]:
    """The dotted key and the type of each keyword."""
    found: dict[str, tuple[str, Any]] = {}
    for section, whole in Query.model_fields.items():
        if not (isinstance(whole.annotation, type) and issubclass(whole.annotation, BaseModel)):
            found[section] = section, whole.annotation
            continue
        for key, info in whole.annotation.model_fields.items():
            keyword = OPTIONS[section] if key == "options" else section if key in NAMES else key
            found[keyword] = f"{section}.{key}", info.annotation
    return found


TYPES = {keyword: annotation for keyword, (_, annotation) in _keys().items()} | {"model": object}
KEYS: Mapping[str, str] = {keyword: key for keyword, (key, _) in _keys().items()}


def with_keywords(function: Function) -> Function:
    """The function with its keywords in its signature, so that `help` and a notebook's Tab list them."""
    signature = inspect.signature(function)
    known = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in (TYPES | {"set": Mapping[str, object]}).items()
    ]
    vars(function)["__signature__"] = signature.replace(parameters=[*known, *named])
    return function
