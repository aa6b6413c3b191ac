"""'package.module:factory': a user's torch module, made by a function of the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.specs.adapter import LAST, Adapter

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel


def is_named(spec: str) -> bool:
    """Whether a spec has the form module:attribute."""
    module, _, attribute = spec.partition(":")
    return bool(module and attribute)


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.named_object import import_factory
    from trex.clevr_models.adapters.torch_module import UserModel

    module, _, attribute = spec.partition(":")
    return UserModel(spec, import_factory(module, attribute))


ADAPTER = Adapter("factory", is_named, _load, "'package.module:factory'", LAST)
