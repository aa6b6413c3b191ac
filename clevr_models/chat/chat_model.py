"""`openai:MODEL` as a CLEVR model."""

from __future__ import annotations

from trex.clevr_models.chat.answerer import ChatAnswerer
from trex.clevr_models.chat.endpoint import PREFIX, read_key, resolved_endpoint
from trex.clevr_models.chat.prompt import checked_prompt
from trex.clevr_models.chat.prompted_model import PromptedModel
from trex.clevr_models.chat.sender import Sender
from trex.clevr_models.chat.store import default_store
from trex.clevr_models.interface.options import ModelOptions
from trex.foundation.errors import InputError

LONGEST_NAME = 200


def load_chat(spec: str, options: ModelOptions | None = None) -> PromptedModel:
    """The model of `openai:MODEL`; InputError if the name, address, prompt or key is wrong. Sends nothing."""
    given = options or ModelOptions()
    model = spec.removeprefix(PREFIX)
    if not model or not model.isprintable() or len(model) > LONGEST_NAME:
        raise InputError(
            f"model {spec[:100]!r} names no model of a server; write openai:MODEL with the name that the server lists, "
            f"at most {LONGEST_NAME} characters"
        )
    endpoint = resolved_endpoint(given.endpoint)
    sender = Sender(endpoint, read_key(endpoint), given.max_requests)
    prompt = checked_prompt(given.prompt)
    answerer = ChatAnswerer(model, prompt, given.samples, given.concurrency, sender, default_store())
    return PromptedModel(spec, answerer, answerer.identity, is_estimate=bool(answerer.samples))
