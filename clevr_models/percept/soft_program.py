"""CLEVR's programs run on an uncertain object table: the probability of each of the 28 answers.

After NS-VQA (Yi et al. 2018) and Transparency by Design (Mascharka et al. 2018): the program is given, each
function works on probabilities instead of sets. A set is held as each row's probability to belong to it *if
present*; presence itself enters where objects are counted or singled out, so that no step counts it twice.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import ATTRIBUTE_VALUES, FUNCTION_WORDS
from trex.clevr_models.percept.network import ObjectTable
from trex.scenes.questions.programs import MAX_COUNT, YES_NO, Program, possible_answers

FLOOR = 1e-12  # least probability of an answer
EDGE = 1e-9  # probabilities are kept this far from 0 and 1 where odds are taken
Operation = Callable[[ObjectTable, list[Tensor], int], Tensor]  # the last: the index of the step's value


def answer_probs(table: ObjectTable, program: Program) -> Tensor:
    """(B, 28): probabilities of ANSWERS; zero for those that the question cannot have."""
    results: list[Tensor] = []
    for step in program:
        arguments = [results[source] for source in step.inputs]
        value = FUNCTION_WORDS[step.function].index(step.value_inputs[0]) if step.value_inputs else 0
        results.append(OPERATIONS[step.function](table, arguments, value))
    result, words = results[-1], possible_answers(program)
    if words == YES_NO:
        result = torch.stack((result, 1.0 - result), dim=1)
    columns = torch.tensor([ANSWERS.index(word) for word in words], device=result.device)
    return result.new_zeros(result.shape[0], len(ANSWERS)).index_add(1, columns, result)


def answer_log_probs(table: ObjectTable, program: Program) -> Tensor:
    """(B, 28) natural logs, each at least log(1e-12), summing to 1 as probabilities."""
    probs = answer_probs(table, program).clamp_min(0.0)
    probs = probs / probs.sum(dim=1, keepdim=True)
    return torch.log(probs * (1.0 - len(ANSWERS) * FLOOR) + FLOOR)


def count_distribution(chances: Tensor) -> Tensor:
    """(B, 11): the probability that 0, 1, ..., 9, at least 10 of K independent events (B, K) happen."""
    counts = functional.pad(torch.ones_like(chances[:, :1]), (0, MAX_COUNT))  # none so far
    for chance in chances.unbind(dim=1):
        happens = counts * chance[:, None]  # (B, 11)
        moved = functional.pad(happens[:, :-1], (1, 0))
        full = functional.pad(happens[:, -1:], (MAX_COUNT, 0))  # ten stay ten
        counts = counts - happens + moved + full
    return counts


def _scene(table: ObjectTable, _: list[Tensor], __: int) -> Tensor:
    return torch.ones_like(table.presence)


def _unique(table: ObjectTable, arguments: list[Tensor], _: int) -> Tensor:
    """Which row it is, if exactly one is in the set: proportional to the odds of each."""
    chances = (arguments[0] * table.presence).clamp(EDGE, 1.0 - EDGE)
    return torch.softmax(torch.logit(chances), dim=1)


def _relate(table: ObjectTable, arguments: list[Tensor], value: int) -> Tensor:
    return torch.einsum("bi,bij->bj", arguments[0], table.related[:, value])


def _union(_: ObjectTable, arguments: list[Tensor], __: int) -> Tensor:
    return 1.0 - (1.0 - arguments[0]) * (1.0 - arguments[1])


def _intersect(_: ObjectTable, arguments: list[Tensor], __: int) -> Tensor:
    return arguments[0] * arguments[1]


def _count(table: ObjectTable, arguments: list[Tensor], _: int) -> Tensor:
    return count_distribution(arguments[0] * table.presence)


def _exist(table: ObjectTable, arguments: list[Tensor], _: int) -> Tensor:
    return 1.0 - (1.0 - arguments[0] * table.presence).prod(dim=1)


def _equal(_: ObjectTable, arguments: list[Tensor], __: int) -> Tensor:
    return (arguments[0] * arguments[1]).sum(dim=1)


def _less_than(_: ObjectTable, arguments: list[Tensor], __: int) -> Tensor:
    fewer, more = arguments
    above = more.flip(1).cumsum(dim=1).flip(1) - more  # (B, 11): the chance that `more` exceeds n
    return (fewer * above).sum(dim=1)


def _greater_than(table: ObjectTable, arguments: list[Tensor], value: int) -> Tensor:
    return _less_than(table, arguments[::-1], value)


def _filter(attribute: str) -> Operation:
    return lambda table, arguments, value: arguments[0] * table.attribute(attribute)[:, :, value]


def _query(attribute: str) -> Operation:
    return lambda table, arguments, _: torch.einsum("bk,bkv->bv", arguments[0], table.attribute(attribute))


def _same(attribute: str) -> Operation:
    def same(table: ObjectTable, arguments: list[Tensor], _: int) -> Tensor:
        probs = table.attribute(attribute)  # (B, K, V)
        others = 1.0 - torch.eye(probs.shape[1], dtype=probs.dtype, device=probs.device)
        alike = torch.einsum("biv,bjv->bij", probs, probs) * others
        return torch.einsum("bi,bij->bj", arguments[0], alike)

    return same


def _operations() -> dict[str, Operation]:
    fixed: dict[str, Operation] = {
        "scene": _scene,
        "unique": _unique,
        "relate": _relate,
        "union": _union,
        "intersect": _intersect,
        "count": _count,
        "exist": _exist,
        "equal_integer": _equal,
        "less_than": _less_than,
        "greater_than": _greater_than,
    }
    for attribute in ATTRIBUTE_VALUES:
        fixed |= {f"filter_{attribute}": _filter(attribute), f"query_{attribute}": _query(attribute)}
        fixed |= {f"same_{attribute}": _same(attribute), f"equal_{attribute}": _equal}
    return fixed


OPERATIONS: dict[str, Operation] = _operations()
