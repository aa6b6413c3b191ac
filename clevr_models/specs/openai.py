"""'openai:MODEL': a model behind a server that speaks OpenAI's chat-completions protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.chat.endpoint import is_served
from trex.clevr_models.specs.adapter import Adapter

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel
    from trex.clevr_models.interface.options import ModelOptions


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.chat.chat_model import load_chat

    return load_chat(spec)


def _configure(spec: str, threads: int, options: ModelOptions) -> ClevrModel:
    from trex.clevr_models.chat.chat_model import load_chat

    return load_chat(spec, options)


def _sends(spec: str) -> str:
    return f"sends pictures, and OPENAI_API_KEY if it is set, for model {spec!r}"


ADAPTER = Adapter(
    name="openai",
    fits=is_served,
    load=_load,
    words="'openai:MODEL' on a chat server",
    order=50,
    trust=_sends,
    options=("endpoint", "prompt", "samples", "max_requests", "concurrency", "extra"),
    configure=_configure,
)
