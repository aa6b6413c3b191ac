"""Probabilities of answers from the log probabilities of a reply's tokens.

A reply at temperature 0 shows one path through the tokens, and at each place the likeliest alternatives. Along the
path, probabilities multiply (the chain rule). Where an alternative leaves the path, what would follow is unknown: its
probability goes to the answer that it spells or that alone begins so (`begun`), otherwise to UNPARSED. What the
server's list of alternatives cuts off goes to UNSEEN. A reply "1" goes there too if the server does not list the token
that ends it, as "10" may have been almost as likely. So an answer's probability is too low by UNPARSED and UNSEEN
together at most; it is too high only by replies that would go on after an alternative in a way that changes the answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.chat.reply import Alternative, Token
from trex.clevr_models.chat.spellings import ENDS, Span, begun, may_become_another, spelled
from trex.clevr_models.interface.answers import ANSWERS, UNPARSED
from trex.foundation.errors import ModelError

UNSEEN = "<unseen>"
LABELS = (*ANSWERS, UNPARSED, UNSEEN)
TOLERANCE = 0.01  # of a sum of probabilities; servers round log probabilities


def answer_masses(tokens: Sequence[Token], span: Span | None = None) -> NDArray[np.float64]:
    """Probabilities (30,) in the order of LABELS, which add up to 1.

    `span` are the tokens that spell the reply, where its text says so; otherwise the names of tokens tell which one
    ends it. ModelError if the alternatives at a place add up to more than 1.
    """
    begin, end = span or _named_span(tokens)
    ends = {tokens[end].token} - {token.token for token in tokens[begin:end]} if end < len(tokens) else set()
    masses = dict.fromkeys(LABELS, 0.0)
    path, text = 1.0, ""
    for place, token in enumerate(tokens[: end + 1]):
        others = _others(token)
        chosen = _probability(token)
        total = chosen + math.fsum(map(_probability, others))
        if total > 1 + TOLERANCE:
            raise ModelError(
                f"the probabilities of the tokens at one place add up to {total:.4g}; they must not exceed 1"
            )
        masses[UNSEEN] += path * max(0.0, 1.0 - total)
        for other in others:
            label = UNPARSED if place < begin else _off_path(text, other.token, ends)
            masses[label] += path * _probability(other)
        path *= chosen
        text += token.token if begin <= place < end else ""
    answer = spelled(text) or UNPARSED
    is_open = end == len(tokens) and answer != UNPARSED and may_become_another(text)
    masses[UNSEEN if is_open else answer] += path
    found = np.array([masses[label] for label in LABELS])
    shares: NDArray[np.float64] = found / found.sum()  # only rounding: each place adds up to 1
    return shares


def _named_span(tokens: Sequence[Token]) -> Span:
    ends = (place for place, token in enumerate(tokens) if ENDS.fullmatch(token.token))
    return Span(0, next(ends, len(tokens)))


def _off_path(text: str, token: str, ends: Set[str]) -> str:
    """The label for an alternative after this text."""
    is_end = token in ends or ENDS.fullmatch(token)
    return (spelled(text) if is_end else begun(text + token)) or UNPARSED


def _others(token: Token) -> list[Alternative]:
    """The alternatives without the token itself, which a server lists, or not if it is not among the likeliest."""
    same = [i for i, other in enumerate(token.top_logprobs) if other.token == token.token]
    nearest = min(same, key=lambda i: abs(token.top_logprobs[i].logprob - token.logprob), default=None)
    return [other for i, other in enumerate(token.top_logprobs) if i != nearest]


def _probability(alternative: Alternative) -> float:
    return math.exp(min(alternative.logprob, 0.0))


SAMPLED_LABELS = (*ANSWERS, UNPARSED)


def answer_shares(replies: Sequence[str]) -> NDArray[np.float64]:
    """Probabilities (29,) in the order of SAMPLED_LABELS from n replies: (count + 1/29) / (n + 1).

    The posterior mean under Perks' prior, a Dirichlet distribution whose 29 parameters add up to 1 (Perks 1947, J.
    Inst. Actuaries 73): one sample's weight in all, so that n equal samples never count as certainty.
    """
    counts = Counter(spelled(reply) or UNPARSED for reply in replies)
    found = np.array([counts[label] for label in SAMPLED_LABELS], np.float64)
    shares: NDArray[np.float64] = (found + 1 / len(SAMPLED_LABELS)) / (len(replies) + 1)
    return shares
