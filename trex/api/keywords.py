"""The keywords of `trex.find` and `trex.check`: each is a key of a query file, under the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict, TypeVar

Answer = str | int | bool  # 1 is the answer "1", True the answer "yes"
Function = TypeVar("Function", bound=Callable[..., object])

KEYS: Mapping[str, str] = {
    **{name: name for name in ("question", "program", "answer", "wrong")},
    "target": "target.kind",
    **{name: f"target.{name}" for name in ("width", "threshold", "share", "probabilities")},
    "target_options": "target.options",
    "generator": "generator.name",
    **{name: f"generator.{name}" for name in ("without", "classes")},
    **{name: f"scene.{name}" for name in ("objects", "revoke", "introduce")},
    "model": "model.name",
    **{
        name: f"model.{name}"
        for name in (
            "endpoint", "prompt", "samples", "max_requests", "concurrency", "trust_remote_code", "extra"
        )
    },
    **{name: f"render.{name}" for name in ("preset", "noise", "fresh", "device", "processes")},
    **{
        name: f"search.{name}"
        for name in (
            "seed", "bank", "bank_seed", "prior_scenes", "further", "chains", "steps", "warmup", "kernel", "inner",
            "scale", "max_depth", "stop_when_found", "control",
        )
    },
    "kernel_options": "search.options",
}  # fmt: skip


class Keywords(TypedDict, total=False):
    """Types of the keywords; docs/QUERIES.md has their meaning, bounds and defaults."""

    question: str
    program: Sequence[Mapping[str, object]]
    answer: Answer | Sequence[Answer]
    wrong: bool
    target: str
    width: float
    threshold: float
    share: float
    probabilities: Mapping[str, float]
    target_options: Mapping[str, object]
    generator: str
    without: str | Sequence[str]
    classes: str | Sequence[str]
    objects: int | tuple[int, int]
    revoke: str | Sequence[str]
    introduce: str | Sequence[str]
    model: object
    endpoint: str
    prompt: str
    samples: int
    max_requests: int
    concurrency: int
    trust_remote_code: bool
    extra: Mapping[str, object]
    preset: str
    noise: int
    fresh: int
    device: str
    processes: int
    seed: int
    bank: int
    bank_seed: int
    prior_scenes: int
    further: int
    chains: int
    steps: int
    warmup: int
    kernel: str
    inner: int
    scale: float
    max_depth: int
    stop_when_found: int
    control: bool
    kernel_options: Mapping[str, object]
    set: Mapping[str, object]


def with_keywords(function: Function) -> Function:
    """The function with its keywords in its signature, so that `help` and a notebook's Tab list them."""
    signature = inspect.signature(function)
    known = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in Keywords.__annotations__.items()
    ]
    vars(function)["__signature__"] = signature.replace(parameters=[*known, *named])
    return function
