"""The faults of a chat-completions server, by name.

None of them repeats a reply, which may hold anything, but for the reason that the server gives for a fault, made safe
to show by `trex.clevr_models.adapters.http_reason`.
"""

from __future__ import annotations

from trex.foundation.errors import ModelError


class NotJsonError(ModelError):
    """The reply is no JSON object: a web page, text, nothing."""


class MalformedReplyError(ModelError):
    """The reply is JSON, and not a chat completion."""


class FaultyReplyError(MalformedReplyError):
    """The reply says that something failed, or holds no plain text: it is no answer."""


class RefusalError(ModelError):
    """The server or its model refuses to answer about a picture."""


class ChangedFieldsError(ModelError):
    """The server refuses a field that it took when the model's identity was stated."""


class SameSamplesError(ModelError):
    """The server gives the same reply whatever the seed, although the model is not sure of it."""


class NoLogProbsError(ModelError):
    """The reply has no log probabilities."""


class LogProbsRefusedError(NoLogProbsError):
    """The server refuses a request for log probabilities."""


class NotProbabilitiesError(ModelError):
    """The probabilities of alternative tokens add up to more than 1."""


class EchoedKeyError(ModelError):
    """The reply repeats the key."""


class RequestLimitError(ModelError):
    """`[model] max_requests` requests were sent."""
