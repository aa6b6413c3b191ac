"""Asks a chat server about pictures: what is not in the cache, a bounded number of requests at a time."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.adapters.http_model import png_base64
from trex.clevr_models.chat import sampled, token_mass
from trex.clevr_models.chat.cost import Cost
from trex.clevr_models.chat.errors import AbandonedError
from trex.clevr_models.chat.prompt import filled
from trex.clevr_models.chat.reply import Said, read_reply
from trex.clevr_models.chat.request import request_body
from trex.clevr_models.chat.sender import Sender
from trex.clevr_models.chat.store import ReplyStore, reply_key
from trex.clevr_models.interface.question import Question

Floats = NDArray[np.float64]
Ask = Callable[[threading.Event], Said]
METHOD = 2  # changes whenever the way from replies to probabilities does


@dataclass(frozen=True)
class ChatAnswerer:
    """An `Answerer` behind a server; with `samples` = 0 it reads log probabilities."""

    model: str
    template: str
    samples: int
    concurrency: int
    sender: Sender
    store: ReplyStore

    @property
    def labels(self) -> tuple[str, ...]:
        """The 28 answers, "<unparsed>", and for log probabilities "<unseen>"."""
        return sampled.LABELS if self.samples else token_mass.LABELS

    @property
    def identity(self) -> str:
        """Where the model is, how it is asked, and a hash of the model's name and the prompt."""
        how = f"sampled, {self.samples}" if self.samples else "log probabilities"
        asked = json.dumps([METHOD, self.model, self.template]).encode()
        return f"{self.sender.endpoint} {how} {hashlib.sha256(asked).hexdigest()[:16]}"

    def prompt(self, question: Question) -> str:
        """The text for a question."""
        return filled(self.template, question)

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, H, W, 3) in [0, 1] -> (B, K) in the order of `labels`; ModelError if the server fails."""
        place = (self.sender.endpoint, self.model, self.prompt(question))
        numbers: Sequence[int | None] = range(self.samples) if self.samples else [None]
        keys = [[reply_key(place, picture, number) for number in numbers] for picture in pictures]
        known: dict[str, Said] = {}
        missing: dict[str, Ask] = {}
        for picture, row in zip(pictures, keys, strict=True):
            for key in row:
                found = self.store.read(key)
                if found is not None:
                    known[key] = found
                else:
                    missing[key] = partial(self._ask, place[2], picture, key)
        self.sender.meter.add(Cost(stored=len(known)))
        known |= self._ask_all(missing)
        return np.stack([self._row([known[key] for key in row]) for row in keys])

    def _row(self, replies: Sequence[Said]) -> Floats:
        if self.samples:
            return sampled.answer_shares([said.text for said in replies])
        return token_mass.answer_masses(replies[0].tokens or [])

    def _ask_all(self, missing: Mapping[str, Ask]) -> dict[str, Said]:
        """The replies by key, each stored as it comes; after the first error sends nothing new and raises it."""
        if not missing:
            return {}
        stop = threading.Event()
        with ThreadPoolExecutor(self.concurrency) as threads:
            futures = {key: threads.submit(ask, stop) for key, ask in missing.items()}
            try:
                wait(futures.values(), return_when=FIRST_EXCEPTION)
            finally:
                stop.set()
                threads.shutdown(wait=True, cancel_futures=True)
        failed = [error for one in futures.values() if not one.cancelled() and (error := one.exception())]
        for error in sorted(failed, key=lambda error: isinstance(error, AbandonedError)):
            raise error
        return {key: one.result() for key, one in futures.items()}

    def _ask(self, prompt: str, picture: NDArray[np.float32], key: str, stop: threading.Event) -> Said:
        # Below 2^31, and another one for each picture and sample.
        seed = int(key[:8], 16) >> 1 if self.samples else None
        data = self.sender.send(request_body(self.model, prompt, png_base64(picture), seed), stop)
        said = read_reply(self.sender.url, data, wants_tokens=not self.samples, key=self.sender.key)
        if said.tokens is not None:
            token_mass.answer_masses(said.tokens)  # refuses what must not be stored
        self.store.write(key, said)
        return said
