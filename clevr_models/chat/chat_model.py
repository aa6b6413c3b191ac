"""`openai:MODEL` as a CLEVR model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.adapters.callable_model import AskedAnswerer, probe_pictures
from trex.clevr_models.chat.answerer import ChatAnswerer
from trex.clevr_models.chat.endpoint import PREFIX, read_key, resolved_endpoint
from trex.clevr_models.chat.errors import LogProbsRefusedError, NoLogProbsError
from trex.clevr_models.chat.fields import LearntFields
from trex.clevr_models.chat.prompt import checked_prompt
from trex.clevr_models.chat.prompted_model import PromptedModel
from trex.clevr_models.chat.request import further
from trex.clevr_models.chat.same_samples import advised, check_samples
from trex.clevr_models.chat.sender import Sender
from trex.clevr_models.chat.store import default_store, place_key
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError

LONGEST_NAME = 200


THINKS = (
    "Replies were cut at {tokens} tokens before any answer, so the model writes before it answers: switch its "
    "thinking off at the server, or for vLLM, SGLang and llama.cpp with [model] extra = {{ chat_template_kwargs = "
    "{{ enable_thinking = false }} }}"
)


@dataclass
class ChatModel(PromptedModel):
    """A model behind a chat server, which is tried when it is first bound: what it takes, and what it gives."""

    answerer: ChatAnswerer

    def bind(self, question: Question) -> AskedAnswerer:
        """As `PromptedModel.bind`; ModelError if the server gives no probabilities, or samples that do not differ."""
        if self.is_probed:
            return super().bind(question)
        try:
            return self._tried(question, probe_pictures())
        except ModelError:
            self.is_probed = False
            raise

    def _tried(self, question: Question, probes: NDArray[np.float32]) -> AskedAnswerer:
        try:
            bound = super().bind(question)
        except LogProbsRefusedError:  # by a server that reads every field: it samples if it is asked to
            raise
        except NoLogProbsError as error:
            raise advised(error, self.answerer, probes, question) from None
        if self.answerer.samples:
            check_samples(self.answerer, probes, question)
        self.identity = self.answerer.identity  # now that the server has refused what it does not take
        replies = self.answerer.replies(probes, question, is_counted=False)
        is_cut = any(said.lacks_answer for row in replies for said in row)
        thinks = THINKS.format(tokens=self.answerer.learnt.now.tokens)
        notes = tuple(f"{note}. {thinks}" if is_cut else note for note in bound.notes)
        return replace(bound, identity=self.identity, notes=notes)


def load_chat(spec: str, options: ModelOptions | None = None) -> ChatModel:
    """The model of `openai:MODEL`; InputError if the name, address, prompt, key or a field is wrong. Sends nothing."""
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
    further(given.extra)
    store = default_store()
    answerer = ChatAnswerer(model, prompt, given.samples, given.concurrency, sender, store, given.extra)
    key = place_key(answerer.place)
    learnt = LearntFields(store.read_fields(key), lambda fields: store.write_fields(key, fields))
    answerer = replace(answerer, learnt=learnt)
    return ChatModel(spec, answerer, "", is_estimate=bool(answerer.samples))
