"""The shipped CLEVR model: a small network finds the objects, and the question's program runs on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from trex.artifacts.weights import expand, load_into, read_safetensors
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import BoundModule
from trex.clevr_models.interface.question import Question, check_readable
from trex.clevr_models.percept.network import (
    INPUT_SIZE,
    Calibration,
    Evidence,
    ObjectTable,
    PerceptNetwork,
    find_peaks,
)
from trex.clevr_models.percept.soft_program import answer_log_probs
from trex.foundation.errors import InputError
from trex.scenes.questions.programs import Program

SHIPPED = Path(__file__).parent.parent / "weights" / "percept.safetensors"


class Percept(nn.Module):
    """Pictures to object tables: the network and its calibration."""

    def __init__(self) -> None:
        super().__init__()
        self.network = PerceptNetwork()
        self.calibration = Calibration()

    def forward(self, images: Tensor) -> ObjectTable:
        """The object table of images (B, 3, H, W) in [0, 1]; other sizes than 240x160 are resized."""
        table: ObjectTable = self.calibration(self.evidence(images))
        return table

    def evidence(self, images: Tensor) -> Evidence:
        if images.shape[2:] != INPUT_SIZE:
            images = functional.interpolate(
                images, INPUT_SIZE, mode="bilinear", antialias=True, align_corners=False
            )
        return find_peaks(self.network(images.contiguous(memory_format=torch.channels_last)))


class PerceptAnswers(nn.Module):
    """Images (B, 3, H, W) in [0, 1] to natural logs (B, 28), float64, differentiable: one question."""

    fingerprint_name = "percept"  # wherever the weights lie

    def __init__(self, percept: Percept, program: Program) -> None:
        super().__init__()
        self.percept = percept
        self.program = program

    def forward(self, images: Tensor) -> Tensor:
        """(B, 28) log probabilities of ANSWERS."""
        return answer_log_probs(self.percept(images).double(), self.program)


@dataclass(frozen=True)
class PerceptModel:
    """A model of this network, not bound to a question yet, under the name that the user gave."""

    percept: Percept
    name: str = "shipped"
    reads_words: ClassVar[bool] = False

    def bind(self, question: Question) -> BoundModule:
        """The model with a question; InputError if its program is invalid."""
        check_readable(question.program)
        return BoundModule(PerceptAnswers(self.percept, question.program), ANSWERS)

    def perceive(self, images: NDArray[np.float32]) -> ObjectTable:
        """The object table (float64) of images (B, H, W, 3) in [0, 1]: one for any number of questions."""
        if images.ndim != 4 or images.shape[3] != 3 or not len(images):
            raise InputError(f"pictures are {images.shape}; the model takes at least one, (B, H, W, 3)")
        pixels = torch.from_numpy(np.ascontiguousarray(images, np.float32)).permute(0, 3, 1, 2)
        with torch.no_grad():  # one at a time, so that no table depends on another picture
            found: list[ObjectTable] = [self.percept(pixels[i : i + 1]) for i in range(len(pixels))]
        return ObjectTable(
            *(torch.cat(fields) for fields in zip(*(table.double() for table in found), strict=True))
        )

    def answer(self, table: ObjectTable, program: Program) -> NDArray[np.float64]:
        """(B, 28) natural logs for a table of `perceive`; InputError if the program is invalid."""
        check_readable(program)
        with torch.no_grad():
            found: NDArray[np.float64] = answer_log_probs(table, program).numpy()
        return found

    def ask(self, image: NDArray[np.float32], questions: Sequence[Question]) -> NDArray[np.float64]:
        """(Q, 28) natural logs for Q questions about a picture (H, W, 3), whose objects are found once."""
        table = self.perceive(image[None])
        return np.concatenate([self.answer(table, question.program) for question in questions])


def load_shipped() -> PerceptModel:
    """The model in this package; InputError if its weights are missing or do not match the card."""
    return load_percept(SHIPPED, "shipped")


def load_percept(weights: Path, name: str = "") -> PerceptModel:
    """The model of a safetensors file with its card (.json) beside it; InputError if they do not match.

    Its name is that of the file unless another is given.
    """
    percept = Percept()
    load_into(percept, expand(read_safetensors(weights)), weights)
    channels_last(percept)
    return PerceptModel(percept.eval().requires_grad_(False), name or str(weights))


def channels_last(module: nn.Module) -> None:
    """Lay out the convolutions' weights for the CPU's fast kernels."""
    for parameter in module.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
