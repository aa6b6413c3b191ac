"""The reply of a chat-completions server, checked: what a model said about one picture, or a named error.

Fields: https://platform.openai.com/docs/api-reference/chat/object. Fields that are not needed are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from trex.clevr_models.adapters.http_reason import reason_of, shown
from trex.clevr_models.chat.cost import Cost
from trex.clevr_models.chat.endpoint import KEY
from trex.clevr_models.chat.spellings import Span, span_of, spelled, without_end, without_thoughts, written
from trex.foundation.errors import ModelError
from trex.foundation.fields import first_problem
from trex.foundation.parse import parse_json

LONGEST_TOKEN, LONGEST_TEXT, MAX_TOKENS, MAX_ALTERNATIVES = 200, 10_000, 64, 100
CUT = ("length", "max_tokens", "model_length")  # how a reply ends that was not ended by its model
# And how one ends that was: OpenAI's word, and those of other servers. Any other reason is a fault.
WHOLE = ("stop", "eos", "eos_token", "end_turn", "endturn", "stop_sequence", "complete")
USE_SAMPLES = (
    "set [model] samples in a query (trex find --set model.samples=20) to estimate probabilities from samples"
)
ROUNDING = 1e-3  # by which a log probability may exceed 0
Text = Annotated[str, Field(max_length=LONGEST_TOKEN)]
LogProb = Annotated[float, Field(le=ROUNDING, allow_inf_nan=False)]


class NoLogProbsError(ModelError):
    """The reply has no log probabilities."""


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

    @field_validator("top_logprobs", mode="before")
    @classmethod
    def _none_for_null(cls, value: object) -> object:
        return [] if value is None else value

    def plain(self) -> Token:
        """The token and its alternatives as they are spelled in a text."""
        others = [
            Alternative(token=written(logprob.token), logprob=logprob.logprob)
            for logprob in self.top_logprobs
        ]
        return Token(token=written(self.token), logprob=self.logprob, top_logprobs=others)


class LogProbs(Lenient):
    content: Annotated[list[Token], Field(max_length=MAX_TOKENS)] | None = None


class Message(Lenient):
    """What the model said, or its refusal, or what it does in place of an answer."""

    content: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = None
    refusal: str | None = None
    tool_calls: object = None
    function_call: object = None
    reasoning_content: object = None
    reasoning: object = None

    @property
    def has_thoughts(self) -> bool:
        """Whether the server keeps thoughts apart from the text."""
        return bool(self.reasoning_content or self.reasoning)


class Choice(Lenient):
    message: Message
    finish_reason: str | None = None
    logprobs: LogProbs | None = None
    error: object = None

    @property
    def ended(self) -> str:
        """Why the reply ends, in lower case; "" if that is not said."""
        return (self.finish_reason or "").lower()


class Usage(Lenient):
    """What a reply cost, in tokens; pictures and prompt count as input."""

    prompt_tokens: Annotated[int, Field(ge=0)]
    completion_tokens: Annotated[int, Field(ge=0)]


class Completion(Lenient):
    choices: Annotated[list[Choice], Field(min_length=1, max_length=1)]


class Said(Lenient):
    """What a model said about one picture: its text, and its tokens if they were asked for.

    `span`: which of the tokens spell the text, None if nothing is known of that. `is_cut`: the reply was ended by
    its bound on tokens.
    """

    text: Annotated[str, Field(max_length=LONGEST_TEXT)]
    tokens: Annotated[list[Token], Field(max_length=MAX_TOKENS)] | None = None
    span: Span | None = None
    is_cut: bool = False

    @property
    def lacks_answer(self) -> bool:
        return self.is_cut and spelled(self.text) is None

    def texts(self) -> Iterator[str]:
        """All texts in it: the reply, its tokens put together, and each alternative after the tokens before it."""
        yield self.text
        before = ""
        for token in self.tokens or ():
            yield from (before + other.token for other in token.top_logprobs)
            before += token.token
        yield before


def read_reply(url: str, data: bytes, *, wants_tokens: bool, key: str = "") -> Said:
    """What the model said; ModelError if the reply is none, NoLogProbsError if it lacks what is needed.

    ModelError, too, if what would be stored of it repeats `key`. The rest of the reply may: it is forgotten. No error
    repeats a reply, which may hold anything, but for the server's reason for a fault, made safe to show.
    """
    choice = _completion(url, data, key).choices[0]
    content = without_end(choice.message.content or "")
    text = without_thoughts(content)
    has_thoughts = choice.message.has_thoughts or text != content
    output = Said(
        text=text,
        tokens=choice.logprobs.content if choice.logprobs else None,
        # Some servers say "stop" of a reply whose thoughts have taken all its tokens.
        is_cut=choice.ended in CUT or (has_thoughts and not text.strip()),
    )
    if key and any(key in text for text in output.texts()):
        raise ModelError(f"{url} repeats {KEY} in its reply, which would be stored; do not trust this server")
    _check_sound(url, choice, key)
    if not wants_tokens:
        return output.model_copy(update={"tokens": None})
    if output.tokens is None or (output.text.strip() and not output.tokens):
        raise NoLogProbsError(f"{url} returns no log probabilities; {USE_SAMPLES}")
    return _aligned(url, output, has_thoughts=has_thoughts)


def _check_sound(url: str, choice: Choice, key: str) -> None:
    """ModelError if the reply did not come to its end as an answer."""
    if choice.message.refusal or choice.ended == "content_filter":
        raise ModelError(
            f"{url}: the model refuses to answer about a picture; change [model] prompt, or take another model"
        )
    if choice.error:
        raise ModelError(f"{url} replied with an error in place of an answer{_text_of(choice.error, key)}")
    if choice.message.tool_calls or choice.message.function_call:
        raise ModelError(
            f"{url}: the model calls a tool in place of an answer; switch its tools off at the server"
        )
    if choice.ended and choice.ended not in (*WHOLE, *CUT):
        raise ModelError(
            f"{url}: a reply ended with finish_reason {shown(choice.ended, key)!r} and is no answer; see the server's "
            "log, then resume"
        )


def _aligned(url: str, output: Said, *, has_thoughts: bool) -> Said:
    """The reply with its tokens as they are spelled, and which of them spell its text.

    Tokens beside an empty text are those of something else, such as thoughts, and are left out.
    """
    tokens = [token.plain() for token in output.tokens or ()]
    texts = [token.token for token in tokens]
    span = span_of(texts, output.text, is_cut=output.is_cut, has_thoughts=has_thoughts)
    if span is None and not output.text.strip():
        tokens = []
    elif span is None and (spelled(output.text) or spelled("".join(texts))):
        raise ModelError(
            f"{url}: the tokens of its log probabilities ({shown(repr(texts[:3]))}) do not spell its reply "
            f"({shown(repr(output.text[:80]))}); let the server list tokens as text, or set [model] samples, e.g. 20"
        )
    return output.model_copy(update={"tokens": tokens, "span": span})


def _text_of(fault: object, key: str) -> str:
    text = reason_of(fault, key).text
    return f": {text}" if text else ""


def reply_cost(data: bytes) -> Cost:
    """The cost of a reply by its field `usage`; without tokens if the server does not state them."""
    try:
        reply = parse_json(data, "the reply", error=ModelError)
        usage = Usage.model_validate(reply.get("usage") if isinstance(reply, dict) else None)
    except (ModelError, ValidationError):
        return Cost(replies=1, uncounted=1)
    return Cost(replies=1, input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens)


def _completion(url: str, data: bytes, key: str) -> Completion:
    begin = data.lstrip()[:6]
    if begin.startswith((b"data:", b"event:")):
        raise ModelError(
            f"{url} streams its replies, which trex does not ask for; turn that off on the server"
        )
    if not begin.startswith(b"{"):
        page = ", but a web page" if begin.startswith(b"<") else ""
        raise ModelError(
            f"{url} replied with no JSON object{page}; is this the address of the API? It often ends with /v1"
        )
    reply = parse_json(data, f"{url} must reply with a chat completion: the reply", error=ModelError)
    if isinstance(reply, dict) and (reply.get("error") or not reply.get("choices")):
        text = _text_of(reply, key)  # of FastAPI, vLLM and others, which have other names for it
        if reply.get("error") or text:
            raise ModelError(f"{url} replied with an error in place of choices{text}")
    try:
        return Completion.model_validate(reply)
    except ValidationError as error:  # the message names the field, not its value
        where, message = first_problem(error)
        raise ModelError(f"{url} must reply with a chat completion: {where}: {message}") from None
