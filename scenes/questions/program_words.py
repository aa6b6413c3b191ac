"""A program for people: one line for each step."""

from __future__ import annotations

from trex.scenes.questions.programs import Program, Step


def program_lines(program: Program) -> list[str]:
    """Each step with its number: "3  filter_shape cube of 2"."""
    width = len(str(len(program) - 1))
    return [f"{at:{width}}  {_call(step)}" for at, step in enumerate(program)]


def _call(step: Step) -> str:
    inputs = " and ".join(map(str, step.inputs))
    return " ".join([step.function, *step.value_inputs, *(["of", inputs] if inputs else [])])
