"""'ask:package.module:answerer': a user's callable from pictures and a question to probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.specs.adapter import Adapter
from trex.clevr_models.specs.factory import is_named
from trex.foundation.errors import InputError

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel

PREFIX = "ask:"


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.callable_model import TAKES, AdaptedModel
    from trex.clevr_models.adapters.named_object import import_factory

    if not is_named(spec.removeprefix(PREFIX)):
        raise InputError(f"model {spec!r} is not known; it may be {ADAPTER.words}")
    module, _, attribute = spec.removeprefix(PREFIX).partition(":")
    found = import_factory(module, attribute)
    if isinstance(found, type):
        raise InputError(f"{module}:{attribute} is a class; name an instance, or a function")
    return AdaptedModel(spec, found, spec, takes=TAKES)


ADAPTER = Adapter("ask", lambda spec: spec.startswith(PREFIX), _load, "'ask:package.module:answerer'", 70)
