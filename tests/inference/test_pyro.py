"""The sampler inside `pyro.infer.MCMC`: the same draws from the same seed."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from pyro.infer import MCMC

from trex.inference.chains import rounds, start
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.metropolis import Metropolis
from trex.inference.pyro_kernel import PyroKernel
from trex.inference.scoring import Scorer
from trex.inference.targets import high_confidence
from trex.inference.toy import PixelClassifier, PixelRenderer, SquarePrior
from trex.inference.types import Floats

torch.set_num_threads(1)
Z0 = np.array([0.2, 0.7])
TARGET = high_confidence(PixelClassifier().labels, "red", width=0.2)
KERNEL = Metropolis(SquarePrior(), GaussianWalk(0.3), Scorer(PixelRenderer(), PixelClassifier()), TARGET)


def decode(encoded: torch.Tensor) -> Floats:
    values: Floats = encoded.numpy().copy()
    return values


def pyro_kernel(seed: int) -> PyroKernel[Floats]:
    return PyroKernel(KERNEL, Z0, torch.from_numpy, decode, seed)


def by_pyro(kernel: PyroKernel[Floats]) -> Floats:
    """(chains, draws, 2)."""
    mcmc = MCMC(kernel, num_samples=40, warmup_steps=10, disable_progbar=True)
    mcmc.run()
    found: Floats = mcmc.get_samples(group_by_chain=True)["z"].numpy()
    return found


def by_ourselves(seed: int, n_chains: int) -> Floats:
    begin = start(seed, [KERNEL.init(Z0)] * n_chains)
    draws = [[d.z for d in one.draws] for one in rounds(KERNEL, begin, 50, n_warmup=10)]
    found: Floats = np.array(draws)[10:].transpose(1, 0, 2)
    return found


def test_pyro_gives_the_same_draws_from_the_same_seed() -> None:
    found = by_pyro(pyro_kernel(4))
    assert np.array_equal(found, by_ourselves(4, 1))
    assert not np.array_equal(found, by_ourselves(5, 1))  # negative control
    assert len(np.unique(found[0, :, 0])) > 5


def test_the_chains_that_pyro_runs_in_turn_are_ours_too() -> None:
    kernel = pyro_kernel(4)
    first, second = by_pyro(kernel), by_pyro(kernel)  # what its sequential sampler does for two chains
    assert np.array_equal(np.concatenate([first, second]), by_ourselves(4, 2))


def test_the_chains_that_pyro_runs_in_processes_are_ours_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyro gives each process a copy of the kernel and the seed (its own + c); here, without a process."""
    torch.manual_seed(2**32 - 2)
    kernel = pyro_kernel(4)
    found = []
    for chain in range(2):
        torch.manual_seed((2**32 - 2 + chain) % (2**32 - 1))
        with monkeypatch.context() as patch:
            patch.setattr("multiprocessing.parent_process", lambda: "some process")
            found.append(by_pyro(copy.copy(kernel)))
    assert np.array_equal(np.concatenate(found), by_ourselves(4, 2))
    assert not np.array_equal(found[0], found[1])


def test_acceptance_is_reported_and_states_are_not_rendered_twice() -> None:
    kernel = pyro_kernel(1)
    by_pyro(kernel)
    assert 0.0 < kernel.diagnostics()["acceptance rate"] < 1.0
    assert kernel.logging()["acc. rate"] == f"{kernel.acceptance_rate:.3f}"

    class Counting(PixelRenderer):
        count = 0

        def render(self, zs):  # type: ignore[no-untyped-def]
            Counting.count += len(zs)
            return super().render(zs)

    of = Metropolis(KERNEL.prior, KERNEL.proposal, Scorer(Counting(), PixelClassifier()), TARGET)
    by_pyro(PyroKernel(of, Z0, torch.from_numpy, decode, 1))
    assert Counting.count <= 51  # one for the start, one at most for each of 50 steps
