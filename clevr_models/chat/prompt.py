"""The text that goes to a model with each picture: a template, filled with the question and the answers."""

from __future__ import annotations

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError

QUESTION, CHOICES = "{question}", "{answers}"
DEFAULT = f"{QUESTION} Answer with exactly one of these words and nothing else: {CHOICES}."


def checked_prompt(template: str) -> str:
    """The template, DEFAULT for ""; InputError unless it holds {question} once."""
    found = template or DEFAULT
    if found.count(QUESTION) != 1:
        raise InputError(
            f"[model] prompt holds {QUESTION} {found.count(QUESTION)} times; write it once, where the question goes"
        )
    return found


def filled(template: str, question: Question) -> str:
    """The text for a question; InputError if the question has no English."""
    if not question.text.strip():
        raise InputError("this model reads English, and this query has only a program; add question")
    return template.replace(CHOICES, ", ".join(ANSWERS)).replace(QUESTION, question.text)
