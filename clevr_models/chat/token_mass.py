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
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.chat.errors import NotProbabilitiesError
from trex.clevr_models.chat.reply import Alternative, Token
from trex.clevr_models.chat.spellings import begun, may_become_another, spelled
from trex.clevr_models.interface.answers import ANSWERS

UNPARSED, UNSEEN = "<unparsed>", "<unseen>"
LABELS = (*ANSWERS, UNPARSED, UNSEEN)
TOLERANCE = 0.01  # of a sum of probabilities; servers round log probabilities
ENDS = re.compile(r"|<\|[^|]*\|>|</s>|<eos>|<end_of_turn>")  # tokens that end a reply, if a server lists them


def answer_masses(tokens: Sequence[Token]) -> NDArray[np.float64]:
    """Probabilities (30,) in the order of LABELS, which add up to 1.

    NotProbabilitiesError if the alternatives at a place add up to more than 1.
    """
    masses = dict.fromkeys(LABELS, 0.0)
    path, text, has_ended = 1.0, "", False
    for token in tokens:
        others = _others(token)
        chosen = _probability(token)
        total = chosen + math.fsum(map(_probability, others))
        if total > 1 + TOLERANCE:
            raise NotProbabilitiesError(
                f"the probabilities of the tokens at one place add up to {total:.4g}; they must not exceed 1"
            )
        masses[UNSEEN] += path * max(0.0, 1.0 - total)
        for other in others:
            masses[_off_path(text, other.token)] += path * _probability(other)
        path *= chosen
        has_ended = bool(ENDS.fullmatch(token.token))
        if has_ended:
            break
        text += token.token
    answer = spelled(text) or UNPARSED
    masses[UNSEEN if answer != UNPARSED and not has_ended and may_become_another(text) else answer] += path
    found = np.array([masses[label] for label in LABELS])
    shares: NDArray[np.float64] = found / found.sum()  # only rounding: each place adds up to 1
    return shares


def _off_path(text: str, token: str) -> str:
    """The label for an alternative after this text."""
    return (spelled(text) if ENDS.fullmatch(token) else begun(text + token)) or UNPARSED


def _others(token: Token) -> list[Alternative]:
    """The alternatives without the token itself, which a server lists, or not if it is not among the likeliest."""
    same = [i for i, other in enumerate(token.top_logprobs) if other.token == token.token]
    nearest = min(same, key=lambda i: abs(token.top_logprobs[i].logprob - token.logprob), default=None)
    return [other for i, other in enumerate(token.top_logprobs) if i != nearest]


def _probability(one: Alternative) -> float:
    return math.exp(min(one.logprob, 0.0))
