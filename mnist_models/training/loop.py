"""The training loop of all models of this world: seeded, resumable after a kill at any moment, bit for bit.

All randomness of a step is a function of the seed and the step's number, so no random state is stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from trex.artifacts.checkpoint import load_checkpoint, save_checkpoint
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress, silent
from trex.mnist_models.pictures import DataSet, planes

CHECKPOINT_S = 60.0


@dataclass(frozen=True)
class Settings:
    """Everything that decides the weights. A checkpoint with other settings is rejected.

    `threads` matters only on the CPU: another number changes the order of sums.
    """

    model: str
    dataset: str
    data: str  # sha256 of the training split
    classes: tuple[str, ...]
    seed: int
    epochs: int
    batch_size: int
    device: str
    threads: int

    def n_steps(self, n_images: int) -> int:
        """The number of steps on so many pictures; an epoch's incomplete last batch is left out."""
        return n_images // self.batch_size * self.epochs


OnEpoch = Callable[[int, Mapping[str, nn.Module]], None]


class Batch(NamedTuple):
    """Pictures (B, C, H, W) in [0, 1], their labels (B,), the finished share of the training, and the step."""

    images: Tensor
    labels: Tensor
    done: float
    step: int = 0


class Training(NamedTuple):
    """A training: modules, their optimizers (under names of their own), and one step that changes them."""

    modules: Mapping[str, nn.Module]
    optimizers: Mapping[str, torch.optim.Optimizer]
    step: Callable[[Batch], dict[str, Tensor]]


def check_batch(settings: Settings, n_images: int) -> None:
    """Raise InputError if so many pictures do not fill a batch."""
    if n_images < settings.batch_size:
        raise InputError(
            f"{n_images} pictures do not fill one batch of {settings.batch_size}; use a smaller batch size"
        )


def fit(
    make: Callable[[], Training],
    data: DataSet,
    settings: Settings,
    checkpoint: Path,
    progress: Progress = silent,
    on_epoch: OnEpoch | None = None,
) -> Training:
    """The finished training, in evaluation mode; resumes from `checkpoint` if it exists.

    `make` builds modules on the device of the settings. On the CPU equal settings give equal bits; on a GPU,
    convolutions do not guarantee that. `on_epoch` takes the number of each epoch that ends, from 1, and the modules,
    which it must not change; after a kill it may be called again for an epoch that it has seen.
    """
    check_batch(settings, len(data.images))
    with _own_torch(settings):
        torch.manual_seed(settings.seed)
        training = make()
        for module in training.modules.values():
            module.train()
        parts = (training.modules, training.optimizers)
        first = load_checkpoint(checkpoint, *parts, asdict(settings), settings.n_steps(len(data.images)))
        saved = time.monotonic()
        for step, epoch, batch in _batches(data, settings, first):
            losses = training.step(batch)
            is_last = step + 1 == settings.n_steps(len(data.images))
            if on_epoch is not None and (step + 1) % (len(data.images) // settings.batch_size) == 0:
                on_epoch(epoch + 1, training.modules)  # before the checkpoint that would skip it
            if is_last or time.monotonic() - saved > CHECKPOINT_S:
                save_checkpoint(checkpoint, *parts, step + 1, asdict(settings))
                saved = time.monotonic()
            facts = [f"{name} {float(value.detach()):.4f}" for name, value in losses.items()]
            of = settings.n_steps(len(data.images))
            progress("training steps", step + 1, of, f"epoch {epoch + 1}/{settings.epochs}", *facts)
    for module in training.modules.values():
        module.eval().requires_grad_(False)
    return training


def set_rate(optimizer: torch.optim.Optimizer, rate: float, done: float) -> None:
    """Set the learning rate for this share of the training: from `rate` to 0 along half a cosine."""
    for group in optimizer.param_groups:
        group["lr"] = rate * float(0.5 * (1.0 + np.cos(np.pi * done)))


def placed(network: nn.Module, device: str) -> nn.Module:
    """The network on the device, in the fastest layout for convolutions."""
    return network.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def to_images(pictures: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], device: torch.device) -> Tensor:
    """(B, H, W) or (B, H, W, C) bytes -> (B, C, H, W) in [0, 1]."""
    return torch.from_numpy(planes(pictures).copy()).to(device).float() / 255.0


def _batches(data: DataSet, settings: Settings, first: int) -> Iterator[tuple[int, int, Batch]]:
    """(step, epoch, batch) from step `first` on; an epoch's incomplete last batch is left out."""
    size, device = settings.batch_size, torch.device(settings.device)
    per_epoch, total = len(data.images) // size, settings.n_steps(len(data.images))
    order = np.zeros(0, np.int64)
    for step in range(first, total):
        epoch, place = divmod(step, per_epoch)
        if place == 0 or step == first:
            order = np.random.default_rng((settings.seed, epoch)).permutation(len(data.images))
        rows = order[place * size : (place + 1) * size]
        labels = torch.from_numpy(data.labels[rows].astype(np.int64)).to(device)
        torch.manual_seed(_step_seed(settings.seed, step))
        yield step, epoch, Batch(to_images(data.images[rows], device), labels, step / total, step)


def _step_seed(seed: int, step: int) -> int:
    return int(np.random.SeedSequence((seed, step)).generate_state(1, np.uint64)[0]) >> 1


@contextmanager
def _own_torch(settings: Settings) -> Iterator[None]:
    """Torch's random state and threads as in the settings; restores the caller's afterwards."""
    threads = torch.get_num_threads()
    devices = [torch.cuda.current_device()] if settings.device == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.set_num_threads(settings.threads)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
