"""What `[model]` of a query may choose besides the model's name, and how names of some kinds begin."""

from __future__ import annotations

from dataclasses import dataclass, fields

CONCURRENCY = 4  # requests at a time


@dataclass(frozen=True)
class ModelOptions:
    """`[model]` of a query without the name; "" takes the default. An adapter declares which of these it reads.

    `samples`: 0 reads log probabilities, n counts n samples at temperature 1. `max_requests` bounds what one opened
    model sends, repeated tries included; None for no bound. `trust_remote_code` lets code in the model's folder run.
    `extra` is a JSON object of further fields for each request to a chat server.
    """

    endpoint: str = ""
    prompt: str = ""
    samples: int = 0
    max_requests: int | None = None
    concurrency: int = CONCURRENCY
    trust_remote_code: bool = False
    extra: str = ""

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the options that are not at their defaults."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) != field.default)


PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")  # how files end that may run code when read
# How a spec begins, for the forms that other files know, too.
HF = "hf:"
IEP = "iep:"
ONNX = "onnx:"
