"""Adapters and the extension point that finds them: ours, and those of other distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trex.foundation.extensions import ExtensionPoint

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel
    from trex.clevr_models.interface.options import ModelOptions


def runs_code(spec: str) -> str:
    """The warning for an adapter that does not declare what it runs."""
    return f"runs the code of model {spec!r}"


def runs_nothing(spec: str) -> None:
    """None: for models whose files this project reads itself, as numbers."""


@dataclass(frozen=True)
class Adapter:
    """One form of spec, such as 'onnx:FILE.onnx', and the model that it loads.

    `fits` says whether a spec has this form, from its text alone. `load` takes the spec and a number of threads;
    InputError if there is no such model. `words` shows the form in errors. Adapters are tried by their `order`;
    that of 'package.module:factory' is last. `trust` says what a spec in a foreign run folder would run or send,
    None if nothing: an adapter that does not declare it counts as running code, for which trex requires `--trust`.
    An adapter with `options`, keys of [model] that apply to its models, is loaded by `configure` if a query is there.
    """

    name: str
    fits: Callable[[str], bool]
    load: Callable[[str, int], ClevrModel]
    words: str
    order: int = 100
    trust: Callable[[str], str | None] = runs_code
    options: tuple[str, ...] = ()
    configure: Callable[[str, int, ModelOptions], ClevrModel] | None = None

    def open(self, spec: str, threads: int, options: ModelOptions | None) -> ClevrModel:
        """The model, with a query's options if it takes any; InputError if there is no such model."""
        if self.configure is None or options is None:
            return self.load(spec, threads)
        return self.configure(spec, threads, options)


ADAPTERS = ExtensionPoint("model adapter", "trex.clevr_models.specs", "ADAPTER", "trex.adapters", Adapter)
LAST = 1000


def adapters() -> list[Adapter]:
    """Every adapter, in the order in which they are tried, without broken installed ones."""
    return sorted(ADAPTERS.sound.found.values(), key=lambda adapter: adapter.order)


def adapter_of(spec: str) -> Adapter | None:
    """The first adapter that a spec fits; None if there is none."""
    return next((adapter for adapter in adapters() if adapter.fits(spec)), None)


def misplaced_option(spec: str, options: ModelOptions) -> str:
    """What is wrong with options that models of this spec do not take, "" if they take all that are given."""
    given = options.given
    adapter = adapter_of(spec) if given else None
    strange = next((key for key in given if adapter is None or key not in adapter.options), None)
    if strange is None:
        return ""
    words = " or ".join(item.words for item in adapters() if strange in item.options)
    return f"{strange} belongs to models {words}, not to {spec!r}; leave it out"


def forms() -> str:
    """Every form of spec in words, for errors; and the faults of broken installed adapters."""
    *first, last = (adapter.words for adapter in adapters())
    return "; ".join([f"{', '.join(first)}, or {last}", *map(str, ADAPTERS.sound.problems)])
