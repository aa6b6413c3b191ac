"""The reply of a chat-completions server, checked: what a model said about one picture, or a named error.

Fields: https://platform.openai.com/docs/api-reference/chat/object. Fields that are not needed are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trex.clevr_models.chat.cost import Cost
from trex.clevr_models.chat.endpoint import KEY
from trex.clevr_models.chat.errors import (
    EchoedKeyError,
    MalformedReplyError,
    NoLogProbsError,
    NotJsonError,
    RefusalError,
)
from trex.foundation.errors import ModelError
from trex.foundation.fields import first_problem
from trex.foundation.parse import parse_json

LONGEST_TOKEN, LONGEST_TEXT, MAX_TOKENS, MAX_ALTERNATIVES = 200, 10_000, 64, 100
ROUNDING = 1e-3  # by which a log probability may exceed 0
Text = Annotated[str, Field(max_length=LONGEST_TOKEN)]
LogProb = Annotated[float, Field(le=ROUNDING, allow_inf_nan=False)]


class Lenient(BaseModel):
    """Typed strictly; ignores fields that it does not name."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Alternative(Lenient):
    """A token and its natural log probability."""

    token: Text
    logprob: LogProb


class Token(Alternative):
    """A token of the reply, with the likeliest tokens at its place."""

    top_logprobs: Annotated[list[Alternative], Field(max_length=MAX_ALTERNATIVES)] = Field(
        default_factory=list
    )


class LogProbs(Lenient):
    """The tokens of a reply."""

    content: Annotated[list[Token], Field(max_length=MAX_TOKENS)] | None = None


class Message(Lenient):
    """What the model said, or its refusal."""

    content: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = None
    refusal: str | None = None


class Choice(Lenient):
    """One completion."""

    message: Message
    finish_reason: str | None = None
    logprobs: LogProbs | None = None


class Usage(Lenient):
    """What a reply cost, in tokens; pictures and prompt count as input."""

    prompt_tokens: Annotated[int, Field(ge=0)]
    completion_tokens: Annotated[int, Field(ge=0)]


class Costly(Lenient):
    """A reply that states what it cost."""

    usage: Usage


class Completion(Lenient):
    """A whole reply."""

    choices: Annotated[list[Choice], Field(min_length=1, max_length=1)]


class Said(Lenient):
    """What a model said about one picture: its text, and its tokens if they were asked for."""

    text: Annotated[str, Field(max_length=LONGEST_TEXT)]
    tokens: Annotated[list[Token], Field(max_length=MAX_TOKENS)] | None = None

    def texts(self) -> Iterator[str]:
        """All texts in it: the reply, its tokens put together, and each alternative after the tokens before it."""
        yield self.text
        before = ""
        for token in self.tokens or ():
            yield from (before + other.token for other in token.top_logprobs)
            before += token.token
        yield before


def read_reply(url: str, data: bytes, *, wants_tokens: bool, key: str = "") -> Said:
    """What the model said; NotJsonError, MalformedReplyError, RefusalError or NoLogProbsError otherwise.

    EchoedKeyError if what would be stored of it repeats `key`. The rest of the reply may: it is forgotten.
    """
    choice = _completion(url, data).choices[0]
    said = Said(
        text=choice.message.content or "", tokens=choice.logprobs.content if choice.logprobs else None
    )
    if key and any(key in text for text in said.texts()):
        raise EchoedKeyError(
            f"{url} repeats {KEY} in its reply, which would be stored; do not trust this server"
        )
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise RefusalError(
            f"{url}: the model refuses to answer about a picture; change [model] prompt, or take another model"
        )
    if wants_tokens and said.tokens is None:
        raise NoLogProbsError(
            f"{url} returns no log probabilities; set [model] samples, e.g. --set model.samples=20, to estimate "
            "probabilities from samples"
        )
    return said if wants_tokens else Said(text=said.text)


def reply_cost(data: bytes) -> Cost:
    """The cost of a reply by its field `usage`; without tokens if the server does not state them."""
    try:
        usage = Costly.model_validate(parse_json(data, "the reply", error=ModelError)).usage
    except (ModelError, ValidationError):
        return Cost(replies=1, uncounted=1)
    return Cost(replies=1, input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens)


def _completion(url: str, data: bytes) -> Completion:
    if not data.lstrip().startswith(b"{"):
        page = ", but a web page" if data.lstrip().startswith(b"<") else ""
        raise NotJsonError(
            f"{url} replied with no JSON object{page}; is this the address of the API? It often ends with /v1"
        )
    try:
        return Completion.model_validate(parse_json(data, "the reply", error=ModelError))
    except ModelError as error:
        raise MalformedReplyError(f"{url} must reply with a chat completion: {error}") from None
    except ValidationError as error:  # the message names the field, not its value
        key, message = first_problem(error)
        raise MalformedReplyError(f"{url} must reply with a chat completion: {key}: {message}") from None
