"""The faults of a chat-completions server, by name. None of them repeats the reply, which may hold anything."""

from __future__ import annotations

from trex.foundation.errors import ModelError


class NotJsonError(ModelError):
    """The reply is no JSON object: a web page, text, nothing."""


class MalformedReplyError(ModelError):
    """The reply is JSON, and not a chat completion."""


class RefusalError(ModelError):
    """The server or its model refuses to answer about a picture."""


class NoLogProbsError(ModelError):
    """The reply has no log probabilities."""


class NotProbabilitiesError(ModelError):
    """The probabilities of alternative tokens add up to more than 1."""


class EchoedKeyError(ModelError):
    """The reply repeats the key."""


class AbandonedError(ModelError):
    """The request was given up because another one has failed for good; never the error to report."""


class RequestLimitError(ModelError):
    """`[model] max_requests` requests were sent."""
