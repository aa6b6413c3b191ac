"""Resolves a query's question: its program, and the answers that it can have."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trex.foundation.errors import InputError, unknown
from trex.query.schema import Query, TargetSection
from trex.scenes.questions.english import parse, phrase
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import Program, possible_answers
from trex.scenes.vocabulary import CLEVR, Vocabulary


@dataclass(frozen=True)
class ResolvedQuestion:
    """The question as text and program, the answers that the target names, and all possible answers."""

    text: str
    program: Program
    answers: tuple[str, ...]
    possible: tuple[str, ...]


def resolve_question(query: Query, vocabulary: Vocabulary) -> ResolvedQuestion:
    """The question and answers of a query; InputError if one cannot be parsed or is not possible."""
    program = _program(query, vocabulary)
    text = query.question or phrase(program, vocabulary)
    possible = possible_answers(program, CLEVR)  # CLEVR models cannot answer introduced shapes
    check_answers(query, text, possible)
    return ResolvedQuestion(text, program, query.answer, possible)


def named_answers(query: Query) -> tuple[str, ...]:
    """The answers that a query's target names; none for a uniform target."""
    return query.answer or tuple(answer for answer, p in query.target.probabilities.items() if p > 0)


def check_answers(query: Query, text: str, possible: tuple[str, ...]) -> None:
    """Raise InputError if a target names too few or too many answers, or one that the question cannot have."""
    _check_count(query)
    for answer in query.answer:
        _check_answer("answer", answer, text, possible)
    _check_probabilities(query.target, text, possible)
    if query.wrong and not named_answers(query):
        raise InputError(
            f"wrong = true needs answers that can be wrong, and target {query.target.kind!r} names none"
        )


def _program(query: Query, vocabulary: Vocabulary) -> Program:
    if query.program:
        return program_from_json([step.model_dump(mode="json") for step in query.program], vocabulary)
    if not query.question.strip():
        raise InputError('the query has no question; write e.g. question = "How many cubes are there?"')
    return parse(query.question, vocabulary)


def _check_count(query: Query) -> None:
    low, high = query.target.declared.n_answers
    given = len(query.answer)
    if not low <= given <= high:
        raise InputError(f"target {query.target.kind!r} {_needed(query.target, low, high, given)}")
    if len(set(query.answer)) < given:
        raise InputError(f"answer = {list(query.answer)} has a duplicate")


def _needed(target: TargetSection, low: int, high: int, given: int) -> str:
    """The number of answers that a target names, what the query has instead, and what to write."""
    if high == 0:
        instead = " and set target.probabilities" if target.declared.takes_probabilities else ""
        return f"takes no answer, but the query has {given}; remove answer{instead}"
    expected = f"{low} to {high}" if low < high else "one" if low == 1 else f"{low}"
    noun = "answer" if high == 1 else "answers"
    example = '"1"' if high == 1 else '["1", "2"]'
    return f"needs {expected} {noun}, but the query has {given or 'none'}; write e.g. answer = {example}"


def _check_answer(kind: str, answer: str, text: str, possible: tuple[str, ...]) -> None:
    if answer not in possible:
        raise unknown(kind, answer, possible, f"These are the answers that {text!r} can have.")


def _check_probabilities(target: TargetSection, text: str, possible: tuple[str, ...]) -> None:
    if not target.declared.takes_probabilities:
        if target.probabilities:
            raise InputError(f"[target] probabilities apply to kind 'probabilities', not to {target.kind!r}")
        return
    for answer, share in target.probabilities.items():
        _check_answer("target.probabilities answer", answer, text, possible)
        if not 0 <= share <= 1:
            raise InputError(f"target.probabilities.{answer} = {share} is not a probability (0 to 1)")
    total = sum(target.probabilities.values())
    if not math.isclose(total, 1.0, abs_tol=1e-6):
        raise InputError(
            f"target.probabilities sum to {total:g} instead of 1; answers that are not listed count as 0"
        )
