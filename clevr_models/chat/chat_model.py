"""`openai:MODEL` as a CLEVR model, and whether its server's samples differ with the seed, as shares of them need.

Some servers never sample (`transformers serve`), or from a distribution that their own settings cut to the likeliest
tokens (llama.cpp, vLLM with a model's `generation_config`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.adapters.callable_model import AskedAnswerer, probe_pictures
from trex.clevr_models.chat.answerer import ChatAnswerer, LogProbsRefusedError
from trex.clevr_models.chat.endpoint import PREFIX, read_key, resolved_endpoint
from trex.clevr_models.chat.fields import Fields, LearntFields, further
from trex.clevr_models.chat.prompted_model import PromptedModel, checked_prompt
from trex.clevr_models.chat.reply import NoLogProbsError
from trex.clevr_models.chat.sender import RequestLimitError, Sender
from trex.clevr_models.chat.spellings import spelled
from trex.clevr_models.chat.store import default_store, place_key
from trex.clevr_models.chat.token_mass import LABELS, UNSEEN
from trex.clevr_models.interface.answers import UNPARSED
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError

CHANCE = 1e-3  # of equal samples, below which the server is taken not to sample
LEAST = 8  # samples of random words that are compared at most
FEWEST = 4  # samples for each picture, from which shares are relied on
# Any model varies here.
OPEN = "Write a few random words. They need not have anything to do with the picture."
WITHOUT_CUT = "[model] extra = { top_k = 0, min_p = 0 } for llama.cpp, { top_k = -1, min_p = 0 } for vLLM"
ELSEWHERE = "serve the model with vLLM or llama.cpp, or load it with hf:"


def check_samples(answerer: ChatAnswerer, pictures: NDArray[np.float32], question: Question) -> None:
    """ModelError if all samples of each picture are equal, although the model is not that sure."""
    replies = answerer.replies(pictures, question, is_counted=False)
    n = answerer.samples
    if n < 2 or any(len({output.text for output in row}) > 1 for row in replies):
        return
    shares = _most_likely(answerer, pictures, question, [row[0].text for row in replies])
    if shares is None:
        if n >= FEWEST and not varies(answerer, pictures, question):
            raise ModelError(
                f"{answerer.sender.url} gives the same reply whatever the seed, even when asked for random words: it "
                f"does not sample, so shares of samples mean nothing; {ELSEWHERE}"
            )
    elif n * math.fsum(map(math.log, shares)) < math.log(CHANCE):
        raise ModelError(
            f"{answerer.sender.url} gives the same reply to all {n} seeds, although the model gives it a probability "
            f"of {min(shares):.2f} at most: it samples from a part of the distribution, or not at all. Set samples = "
            f"0, as it gives log probabilities, or let it sample from all of it: {WITHOUT_CUT}"
        )


def advised(
    error: NoLogProbsError, answerer: ChatAnswerer, pictures: NDArray[np.float32], question: Question
) -> NoLogProbsError:
    """The error with the advice to set samples, if that works: if the server's replies differ with the seed."""
    try:
        if varies(answerer, pictures, question):
            return error
    except ModelError:
        return error
    why = str(error).rpartition("; ")[0]
    return NoLogProbsError(
        f"{why}, and the same reply whatever the seed, so [model] samples cannot replace them; {ELSEWHERE}"
    )


def varies(answerer: ChatAnswerer, pictures: NDArray[np.float32], question: Question) -> bool:
    """Whether two seeds give different replies where any model varies."""
    for samples in (2, LEAST):
        replies = answerer.beside(samples, OPEN).replies(pictures, question)
        if any(len({output.text for output in row}) > 1 for row in replies):
            return True
    return False


def _most_likely(
    answerer: ChatAnswerer, pictures: NDArray[np.float32], question: Question, texts: list[str]
) -> list[float] | None:
    """The largest probability that each picture's reply can have by its log probabilities; None without those."""
    try:
        rows = answerer.beside(0)(pictures, question)
    except RequestLimitError:
        raise
    except ModelError:
        return None
    found = []
    for row, text in zip(rows, texts, strict=True):
        answer = spelled(text)
        may_be = {answer or UNPARSED, UNPARSED, UNSEEN}
        found.append(min(1.0, math.fsum(row[LABELS.index(label)] for label in may_be)))
    return found


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
        is_cut = any(output.lacks_answer for row in replies for output in row)
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
    learnt = LearntFields(store.read(key, Fields), lambda fields: store.write(key, fields))
    answerer = replace(answerer, learnt=learnt)
    return ChatModel(spec, answerer, "", is_estimate=bool(answerer.samples))
