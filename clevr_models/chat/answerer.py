"""Asks a chat server about pictures: what is not in the cache, a bounded number of requests at a time."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.adapters.http_exchange import AbandonedError, StatusError
from trex.clevr_models.adapters.http_model import png_base64
from trex.clevr_models.chat import token_mass
from trex.clevr_models.chat.cost import Cost
from trex.clevr_models.chat.fields import (
    LOG_PROBS,
    REFUSING,
    Fields,
    LearntFields,
    refused_field,
    request_fields,
)
from trex.clevr_models.chat.prompted_model import filled
from trex.clevr_models.chat.reply import USE_SAMPLES, NoLogProbsError, Said, read_reply
from trex.clevr_models.chat.sender import Sender
from trex.clevr_models.chat.store import ReplyStore, reply_key
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import ModelError
from trex.foundation.json_fields import short

Floats = NDArray[np.float64]
Ask = Callable[[threading.Event], Said]
METHOD = 3  # changes whenever the request, or the way from replies to probabilities, does


class LogProbsRefusedError(NoLogProbsError):
    """The server refuses a request for log probabilities."""


@dataclass(frozen=True)
class ChatAnswerer:
    """An `Answerer` behind a server; with `samples` = 0 it reads log probabilities.

    `extra` is a JSON object of further fields for each request, "" for none; `learnt` are the fields that the server
    takes.
    """

    model: str
    template: str
    samples: int
    concurrency: int
    sender: Sender
    store: ReplyStore
    extra: str = ""
    learnt: LearntFields = field(default_factory=LearntFields, repr=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The 28 answers, "<unparsed>", and for log probabilities "<unseen>"."""
        return token_mass.SAMPLED_LABELS if self.samples else token_mass.LABELS

    @property
    def identity(self) -> str:
        """Where the model is, how it is asked, and a hash of the model's name, the prompt and what else is sent.

        What the server refuses is part of it, and from now on fixed.
        """
        how = f"sampled, {self.samples}" if self.samples else "log probabilities"
        refused = self.learnt.state()
        data = json.dumps([METHOD, self.model, self.template, self.extra, refused]).encode()
        parts = filter(None, (how, refused, f"extra {short(self.extra)}" if self.extra else ""))
        return f"{self.sender.endpoint} {', '.join(parts)} {hashlib.sha256(data).hexdigest()[:16]}"

    @property
    def place(self) -> tuple[str, ...]:
        """Who is asked, and in which way: what the fields that the server takes depend on."""
        return (self.sender.endpoint, self.model, self.extra, "samples" if self.samples else LOG_PROBS)

    def prompt(self, question: Question) -> str:
        return filled(self.template, question)

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, H, W, 3) in [0, 1] -> (B, K) in the order of `labels`; ModelError if the server fails."""
        return np.stack([self._row(replies) for replies in self.replies(pictures, question)])

    def replies(
        self, pictures: NDArray[np.float32], question: Question, *, is_counted: bool = True
    ) -> list[list[Said]]:
        """What the model said about each picture: `samples` replies, or one with its tokens.

        With `is_counted`, replies that were at hand add to the cost that is printed.
        """
        while True:  # again if the server has refused a field meanwhile: replies to other requests are others
            before = self.learnt.now.said
            found = self._replies(pictures, self.prompt(question), is_counted=is_counted)
            if self.learnt.now.said == before:
                return found

    def beside(self, samples: int, template: str = "") -> ChatAnswerer:
        """The same server, asked in another way: with so many samples, and perhaps by another prompt."""
        return replace(
            self, samples=samples, template=template or self.template, learnt=LearntFields(self.learnt.now)
        )

    def _replies(self, pictures: NDArray[np.float32], prompt: str, *, is_counted: bool) -> list[list[Said]]:
        numbers: Sequence[int | None] = range(self.samples) if self.samples else [None]
        keys = [[self._key(prompt, picture, number) for number in numbers] for picture in pictures]
        known: dict[str, Said] = {}
        missing: dict[str, Ask] = {}
        for picture, row in zip(pictures, keys, strict=True):
            for key, number in zip(row, numbers, strict=True):
                found = self.store.read(key, Said)
                if found is not None:
                    known[key] = found
                else:
                    missing[key] = partial(self._ask, prompt, picture, number)
        self.sender.meter.add(Cost(stored=len(known) if is_counted else 0))
        known |= self._ask_all(missing)
        return [[known[key] for key in row] for row in keys]

    def _key(
        self, prompt: str, picture: NDArray[np.float32], number: int | None, refused: str | None = None
    ) -> str:
        text = self.learnt.now.said if refused is None else refused
        return reply_key((*self.place[:3], prompt, text), picture, number)

    def _row(self, replies: Sequence[Said]) -> Floats:
        if self.samples:
            return token_mass.answer_shares([reply.text for reply in replies])
        return token_mass.answer_masses(replies[0].tokens or [], replies[0].span)

    def _ask_all(self, missing: Mapping[str, Ask]) -> dict[str, Said]:
        """The replies by key, each stored as it comes; after the first error sends nothing new and raises it.

        An error, and Ctrl-C, end the requests in flight.
        """
        if not missing:
            return {}
        stop = threading.Event()
        with ThreadPoolExecutor(self.concurrency) as threads:
            try:
                futures = {key: threads.submit(ask, stop) for key, ask in missing.items()}
                wait(futures.values(), return_when=FIRST_EXCEPTION)
            finally:
                stop.set()
                threads.shutdown(wait=True, cancel_futures=True)
        failed = [
            error for future in futures.values() if not future.cancelled() and (error := future.exception())
        ]
        for error in sorted(failed, key=lambda error: isinstance(error, AbandonedError)):
            raise error
        return {key: future.result() for key, future in futures.items()}

    def _ask(
        self, prompt: str, picture: NDArray[np.float32], number: int | None, stop: threading.Event
    ) -> Said:
        """The reply to one request, written anew for as long as the server refuses a field that it can do without."""
        png = png_base64(picture)
        # Below 2^31, and another one for each picture and sample.
        seed = None if number is None else int(self._key(prompt, picture, number, "")[:8], 16) >> 1
        while True:
            fields = self.learnt.now
            request = request_fields(self.model, prompt, png, seed, fields, self.extra)
            try:
                data = self.sender.send(json.dumps(request).encode(), stop)
            except StatusError as error:
                self._learn(fields, error, request)
                continue
            output = read_reply(self.sender.url, data, wants_tokens=number is None, key=self.sender.key)
            if output.tokens is not None:
                token_mass.answer_masses(output.tokens, output.span)  # refuses what must not be stored
            self.sender.meter.add(Cost(cut=int(output.lacks_answer)))
            self.store.write(self._key(prompt, picture, number, fields.said), output)
            return output

    def _learn(self, used: Fields, error: StatusError, sent: Mapping[str, object]) -> None:
        """Leave out from now on what the server refuses; raises the error, with advice, if that is not possible."""
        try:
            self.learnt.learn(used, error, sent)
        except StatusError:
            raise self._advised(error, sent) from None

    def _advised(self, error: StatusError, sent: Mapping[str, object]) -> ModelError:
        if error.status in REFUSING and refused_field(error, sent) == LOG_PROBS:
            return LogProbsRefusedError(f"{error.advised('')}; {USE_SAMPLES}")
        if error.status not in (400, 422):
            return error
        if error.reason.text:
            return error.advised("")
        no_log_probs = ", or give no log probabilities: then set [model] samples, e.g. 20"
        return error.advised(f"; the model may not take pictures{'' if self.samples else no_log_probs}")
