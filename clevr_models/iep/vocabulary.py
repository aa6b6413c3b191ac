"""Words, functions and answers by number, as the models of Johnson et al. (2017, arXiv:1705.03633) were trained on.

And their programs: prefix lists of tokens ("count", "filter_color[red]", "scene").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import FUNCTION_WORDS, check_readable
from trex.foundation.errors import InputError
from trex.scenes.questions.functions import FUNCTIONS
from trex.scenes.questions.programs import Program, Step

NULL, START, END, UNKNOWN = SPECIALS = ("<NULL>", "<START>", "<END>", "<UNK>")
# All tokens of CLEVR v1.0's questions in their order by number, the specials left out; the first is the empty word
# that a double space leaves.
QUESTION_WORDS = (
    "", ";", "Are", "Do", "Does", "How", "Is", "The", "There", "What", "a", "an", "and", "another", "any", "anything",
    "are", "as", "ball", "balls", "behind", "big", "block", "blocks", "blue", "both", "brown", "color", "cube", "cubes",
    "cyan", "cylinder", "cylinders", "does", "either", "else", "equal", "fewer", "front", "gray", "greater", "green",
    "has", "have", "how", "in", "is", "it", "its", "large", "left", "less", "made", "many", "material", "matte",
    "metal", "metallic", "more", "number", "object", "objects", "of", "on", "or", "other", "purple", "red", "right",
    "rubber", "same", "shape", "shiny", "side", "size", "small", "sphere", "spheres", "than", "that", "the", "there",
    "thing", "things", "tiny", "to", "visible", "what", "yellow",
)  # fmt: skip
PROGRAM_TOKENS = tuple(
    sorted(
        f"{name}[{value}]" if value else name
        for name, words in FUNCTION_WORDS.items()
        for value in words or ("",)
    )
)
LARGEST = 20_000  # words; CLEVR-Humans needs some thousand


@dataclass(frozen=True)
class IepVocabulary:
    """Three lists of tokens, each in the order of its numbers."""

    questions: tuple[str, ...] = (*SPECIALS, *QUESTION_WORDS)
    programs: tuple[str, ...] = (*SPECIALS, *PROGRAM_TOKENS)
    answers: tuple[str, ...] = (*SPECIALS, *sorted(ANSWERS))

    def encode_question(self, text: str) -> tuple[int, ...]:
        """Numbers of a question's words between <START> and <END>; InputError names a word outside the training."""
        numbers = {word: number for number, word in enumerate(self.questions)}
        words = tokenize(text)
        unseen = [word for word in words if word not in numbers]
        if unseen:
            raise InputError(
                f"question {text!r} contains {unseen[0]!r}, which is not in the vocabulary; "
                f"it is case-sensitive and has {len(self.questions) - len(SPECIALS)} words: "
                f"{', '.join(self.questions[6:12])}, ..."
            )
        return tuple(numbers[word] for word in (START, *words, END))

    def as_json(self) -> dict[str, dict[str, int]]:
        return {
            key: {token: number for number, token in enumerate(tokens)}
            for key, tokens in zip(KEYS, (self.questions, self.programs, self.answers), strict=True)
        }


KEYS = ("question_token_to_idx", "program_token_to_idx", "answer_token_to_idx")


def tokenize(text: str) -> tuple[str, ...]:
    """A question's words: `;` and `,` are words, `?` and `.` are dropped, single spaces separate (a double one: "")."""
    for mark in ";,":
        text = text.replace(mark, f" {mark}")
    for mark in "?.":
        text = text.replace(mark, "")
    return tuple(text.split(" "))


def read_iep_vocabulary(data: object, source: str) -> IepVocabulary:
    """The vocabulary of a checkpoint or card; InputError if it is none, or its programs are not CLEVR's."""
    if not isinstance(data, Mapping):
        raise InputError(
            f"{source} contains no vocabulary: it is of type {type(data).__name__}, not {', '.join(KEYS)}"
        )
    questions, programs, answers = (_tokens(data.get(key), f"{source}, vocab {key}") for key in KEYS)
    unknown = sorted(set(programs) ^ {*SPECIALS, *PROGRAM_TOKENS})
    if unknown:
        raise InputError(
            f"{source}: program tokens are not CLEVR's: {', '.join(map(repr, unknown[:3]))} are extra or missing"
        )
    return IepVocabulary(questions, programs, answers)


def _tokens(data: object, where: str) -> tuple[str, ...]:
    if not isinstance(data, Mapping) or not 0 < len(data) <= LARGEST:
        raise InputError(f"{where} must map 1 to {LARGEST} tokens to numbers")
    if not all(type(token) is str and type(number) is int for token, number in data.items()):
        raise InputError(f"{where} must map strings to whole numbers")
    numbers: Mapping[str, int] = data
    tokens = tuple(sorted(numbers, key=numbers.__getitem__))
    if [numbers[token] for token in tokens] != list(range(len(tokens))) or tokens[
        : len(SPECIALS)
    ] != SPECIALS:
        raise InputError(f"{where} must number its tokens 0, 1, 2, ... and begin with {' '.join(SPECIALS)}")
    return tokens


SCENE = "scene"
LONGEST = 256  # tokens; CLEVR's longest program has 25


class Call(NamedTuple):
    """One token with the numbers of the calls it takes its inputs from, the first argument first."""

    token: str
    inputs: tuple[int, ...] = ()


def is_binary(token: str) -> bool:
    """Whether a token takes two inputs: equal_*, less_than, greater_than, union, intersect."""
    return token in FUNCTIONS and len(FUNCTIONS[token].takes) == 2


def calls_of(tokens: Sequence[str]) -> tuple[Call, ...]:
    """Any list of tokens as calls, inputs before their users, the last one giving the answer.

    As the released execution engines take it, whose generator may write anything: <START> is skipped; <NULL> and the
    end of the list stand for `scene`; any other token takes what its name says; what follows a whole program is
    ignored.
    """
    calls: list[Call] = []
    _read([token for token in tokens[:LONGEST] if token != START], 0, calls)
    return tuple(calls)


def _read(tokens: Sequence[str], at: int, calls: list[Call]) -> int:
    """Append the calls of the expression at `at`; where the next expression begins."""
    token = tokens[at] if at < len(tokens) else NULL
    at += 1
    inputs = []
    for _ in range(0 if token in (NULL, SCENE) else 1 + is_binary(token)):
        at = _read(tokens, at, calls)
        inputs.append(len(calls) - 1)
    calls.append(Call(SCENE if token == NULL else token, tuple(inputs)))
    return at


def to_prefix(program: Program) -> tuple[str, ...]:
    """A program's tokens, each before its inputs; InputError if it is malformed or no model supports a step."""
    check_readable(program)
    tokens: list[str] = []
    left = [len(program) - 1]
    while left:
        step = program[left.pop()]
        tokens.append(step_token(step))
        left += reversed(step.inputs)
        if len(tokens) > LONGEST:
            raise InputError(f"the program has more than {LONGEST} steps as a tree")
    return tuple(tokens)


def step_token(step: Step) -> str:
    """ "filter_color[red]", "unique"."""
    return f"{step.function}[{step.value_inputs[0]}]" if step.value_inputs else step.function
