"""`openai:MODEL` as a CLEVR model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trex.clevr_models.adapters.callable_model import AdaptedModel, AskedAnswerer
from trex.clevr_models.chat.answerer import ChatAnswerer
from trex.clevr_models.chat.endpoint import read_key, resolved_endpoint
from trex.clevr_models.chat.options import PREFIX
from trex.clevr_models.chat.prompt import checked_prompt, filled
from trex.clevr_models.chat.sender import Sender
from trex.clevr_models.chat.store import default_store
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError

LONGEST_NAME = 200


@dataclass
class ChatModel:
    """A model behind a chat server; asked about two probe pictures when it is first bound to a question."""

    name: str
    answerer: ChatAnswerer
    input_size: tuple[int, int] | None = None
    is_probed: bool = False

    def bind(self, question: Question) -> AskedAnswerer:
        """The model with its question; InputError if that has no English, ModelError if the server fails.

        Answers to the probe pictures identify the model only if they are no estimates from samples. Further questions
        to the same model are not tried on them: an accuracy check has thousands.
        """
        answerer = self.answerer
        if self.is_probed:
            filled(answerer.prompt, question)
            names = (self.name, answerer.identity, question.text, answerer.labels)
            return AskedAnswerer(*names, answerer, question, ())
        bound = AdaptedModel(self.name, answerer, answerer.identity).bind(question)
        self.is_probed = True
        return replace(bound, tried=()) if answerer.samples else bound


def load_chat(spec: str, options: ModelOptions | None = None) -> ChatModel:
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
    return ChatModel(spec, answerer)
