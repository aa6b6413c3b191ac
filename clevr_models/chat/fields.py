"""The request body of a chat completion about one picture, and which of its fields a server takes.

That is learnt from the reasons that it gives for refusing one. Fields:
https://platform.openai.com/docs/api-reference/chat/create (model, messages, temperature, top_p, max_tokens, logprobs,
top_logprobs, seed). The picture comes before the text, as in the prompts of `trex.clevr_models.huggingface`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from trex.clevr_models.adapters.http_exchange import StatusError
from trex.foundation.errors import InputError, ModelError
from trex.foundation.json_fields import Json
from trex.foundation.parse import parse_json

TOP = 20  # the most alternatives that the protocol gives for a token
MAX_TOKENS, MOST_TOKENS = 8, 64  # of a reply: what is asked for, and what a server may insist on
LENGTH, NEW_LENGTH = "max_tokens", "max_completion_tokens"
TOPS, LOG_PROBS = "top_logprobs", "logprobs"
FIRST_TOP = 5  # what servers that list fewer alternatives mostly list
OPTIONAL = ("top_p", "seed", "temperature")  # in the order in which they go, if a reason names several
GIVEN = ("model", "messages")
REFUSING = (400, 403, 422, 501)  # statuses of a request that the server understands and does not take
# As servers write them: "top_logprobs", "topLogprobs", "top logprobs", "'logprobs' or 'top_logprobs'".
PATTERNS = {
    TOPS: r"top[\s_-]?(?:log[\s_-]?probs?|n[\s_-]?tokens)",  # the second is TGI's name inside
    LOG_PROBS: r"(?<!top)(?<!top[\s_-])log[\s_-]?prob(?:s|abilities|ability)?",
    LENGTH: r"max[\s_-]?tokens",
    NEW_LENGTH: r"max[\s_-]?completion[\s_-]?tokens",
    "top_p": r"top[\s_-]?p",
    "seed": r"seed",
    "temperature": r"temperature",
}


class Fields(BaseModel):
    """How requests to a server are written; the default is as OpenAI publishes them.

    `length`: the field that bounds the reply, at `tokens` tokens. `top`: how many alternatives are asked for, 0 for
    none. `left_out`: fields of `OPTIONAL` that the server does not take.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    length: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    tokens: Annotated[int, Field(ge=MAX_TOKENS, le=MOST_TOKENS)] = MAX_TOKENS
    top: Annotated[int, Field(ge=0, le=TOP)] = TOP
    left_out: tuple[Literal["top_p", "seed", "temperature"], ...] = ()

    @property
    def said(self) -> str:
        """What of it may change answers; "" if nothing is left out."""
        parts = [f"{self.tokens} tokens"] if self.tokens != MAX_TOKENS else []
        parts += [f"{TOPS} {self.top}" if self.top else f"no {TOPS}"] if self.top != TOP else []
        return ", ".join([*parts, *(f"no {name}" for name in sorted(self.left_out))])

    def of(self, seed: int | None) -> dict[str, object]:
        """The fields of a request for log probabilities, or of one for a sample with this seed."""
        found: dict[str, object] = {self.length: self.tokens, "top_p": 1}
        if seed is None:
            found |= {"temperature": 0, LOG_PROBS: True} | ({TOPS: self.top} if self.top else {})
        else:
            found |= {"temperature": 1, "seed": seed}
        return {name: value for name, value in found.items() if name not in self.left_out}

    def after(self, error: StatusError, sent: Mapping[str, object]) -> Fields | None:
        """The fields without what a server has refused of those `sent`; None if it names none that may change."""
        if error.status not in REFUSING:
            return None
        field = refused_field(error, sent)
        changed = self._changed(field, error.reason.text, has_tops=TOPS in sent)
        return self.model_copy(update=changed) if changed else None

    def _changed(self, field: str, text: str, *, has_tops: bool) -> dict[str, object]:
        if field in OPTIONAL:
            return {"left_out": (*self.left_out, field)}
        if field == LENGTH and re.search(PATTERNS[NEW_LENGTH], text, re.IGNORECASE):
            return {"length": NEW_LENGTH}
        more = [n for n in _numbers(text) if self.tokens < n <= MOST_TOKENS]
        if field in (LENGTH, NEW_LENGTH) and more:
            return {"tokens": min(more)}
        if field == LENGTH:
            return {"length": NEW_LENGTH}
        fewer = [n for n in _numbers(text) if n < self.top]
        if field == LOG_PROBS and has_tops and max(fewer, default=0) > 0:  # "at most 5 sample logprobs"
            return {"top": max(fewer)}
        if field == TOPS:
            return {"top": max(fewer, default=min(FIRST_TOP, self.top - 1))}
        return {}


def refused_field(error: StatusError, sent: Mapping[str, object]) -> str:
    """The field among those sent that a server refuses; "" if it names none of those that trex chooses."""
    apart = [name for name in sent if name in error.reason.fields and name not in GIVEN]
    places = {name: _place(name, error.reason.text) for name in apart or sent if name not in GIVEN}
    named = sorted((name for name, place in places.items() if place >= 0 or apart), key=places.__getitem__)
    if not named or named[0] not in PATTERNS:
        return ""
    if LOG_PROBS in named and named[0] in (LOG_PROBS, TOPS):  # fewer alternatives would not do
        return LOG_PROBS
    return next((name for name in OPTIONAL if name in named and named[0] in OPTIONAL), named[0])


def _place(name: str, text: str) -> int:
    """Where a text names a field; -1 if it does not."""
    pattern = PATTERNS.get(name, re.escape(name))
    found = re.search(rf"(?<![A-Za-z0-9_]){pattern}(?![A-Za-z0-9_])", text, re.IGNORECASE)
    return found.start() if found else -1


def _numbers(text: str) -> list[int]:
    """The whole numbers that stand alone in a text."""
    return [int(number) for number in re.findall(r"(?<![\w.-])[0-9]{1,4}(?![\w-]|\.[0-9])", text)]


class LearntFields:
    """The fields that one server takes; threads may share it, and `remember` is called with what is learnt.

    Once `state` has given what may change answers, for the model's identity, only the rest may still be learnt.
    """

    def __init__(
        self, fields: Fields | None = None, remember: Callable[[Fields], object] = lambda fields: None
    ) -> None:
        self._lock = threading.Lock()
        self._fields = fields or Fields()
        self._remember = remember
        self._is_stated = False

    @property
    def now(self) -> Fields:
        with self._lock:
            return self._fields

    def state(self) -> str:
        """What of the fields may change answers, from now on fixed."""
        with self._lock:
            self._is_stated = True
            return self._fields.said

    def learn(self, used: Fields, error: StatusError, sent: Mapping[str, object]) -> None:
        """Write further requests without what the server has refused; raises the error if that is not possible."""
        with self._lock:
            if self._fields != used:  # another thread has learnt it
                return
            found = used.after(error, sent)
            if found is None:
                raise error
            self._remember(found)
            if self._is_stated and found.said != used.said:
                raise ModelError(
                    f"{error}; it took this before, and without it answers may differ: start a new run, which sends "
                    "what it takes"
                )
            self._fields = found


# What [model] extra may not set: what trex sets, and what would make another kind of reply.
RESERVED = (*GIVEN, LENGTH, NEW_LENGTH, *OPTIONAL, LOG_PROBS, TOPS, "n", "stream", "stream_options")


def request_fields(model: str, prompt: str, png: str, seed: int | None, fields: Fields, extra: str) -> Json:
    """The request about one picture (PNG in base64): log probabilities, or a sample if `seed` is given.

    `extra` is a JSON object of further fields, see `further`.
    """
    content: list[Json] = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
        {"type": "text", "text": prompt},
    ]
    body: Json = {"model": model, "messages": [{"role": "user", "content": content}]}
    return {**body, **fields.of(seed), **further(extra)}


def further(extra: str) -> Mapping[str, object]:
    """The fields of [model] extra, a JSON object or ""; InputError if a request may not have one of them."""
    found = parse_json(extra, "[model] extra") if extra else {}
    if not isinstance(found, dict):
        raise InputError("[model] extra must be a table of fields, such as { top_k = 0 }")
    reserved = next((name for name in RESERVED if name in found), None)
    if reserved is not None:
        raise InputError(f"[model] extra has {reserved}, which trex sets itself; leave it out")
    return found
