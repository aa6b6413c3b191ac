"""The sampler as a Pyro kernel: `pyro.infer.MCMC(PyroKernel(...), num_samples, warmup_steps).run()`."""

from __future__ import annotations

import multiprocessing
from collections import OrderedDict
from collections.abc import Callable
from typing import ClassVar, Generic

import torch
from pyro.infer.mcmc.mcmc_kernel import MCMCKernel

from trex.inference.rng import CHAIN_STREAM, stream
from trex.inference.types import Kernel, State, Z

MAX_SEED = 2**32 - 1  # Pyro seeds the process of chain c with (its own seed + c) modulo this
Params = dict[str, torch.Tensor]


class PyroKernel(MCMCKernel, Generic[Z]):
    """Steps any kernel of this package; Pyro sees one tensor, `site`, written by `encode` and read by `decode`.

    `encode` and `decode` must be inverses, and `encode` must always give the same shape (pad scenes of varying
    size). Chain c makes the same draws as chain c of `trex.inference.chains` with this seed (without one: torch's
    initial seed), whether Pyro runs its chains in turn or in processes; set Pyro's seed before making the kernel.
    """

    transforms: ClassVar[
        dict[str, object]
    ] = {}  # Pyro looks here for the initial parameters, or else needs a model

    def __init__(
        self,
        kernel: Kernel[Z],
        initial: Z,
        encode: Callable[[Z], torch.Tensor],
        decode: Callable[[torch.Tensor], Z],
        seed: int | None = None,
        site: str = "z",
    ) -> None:
        self.kernel = kernel
        self.initial = initial
        self.encode = encode
        self.decode = decode
        self.site = site
        self.seed = torch.initial_seed() if seed is None else seed
        self._pyro_seed = torch.initial_seed()
        self._state: State[Z] | None = None
        self._n_setups = 0
        self._start_chain(0)

    def _start_chain(self, chain: int) -> None:
        self._rng = stream(self.seed, CHAIN_STREAM, chain)
        self._n_steps = self._n_accepted = 0

    def setup(self, warmup_steps: int, *args: object, **kwargs: object) -> None:
        """Prepare a chain; Pyro calls this at the start of each."""
        in_process = multiprocessing.parent_process() is not None
        offset = (torch.initial_seed() - self._pyro_seed) % MAX_SEED if in_process else 0
        self._start_chain(self._n_setups + offset)
        self._n_setups += 1

    @property
    def initial_params(self) -> Params:
        """The first state of the chain."""
        return {self.site: self.encode(self.initial)}

    @initial_params.setter
    def initial_params(self, params: Params) -> None:
        self.initial = self.decode(params[self.site])

    def sample(self, params: Params) -> Params:
        """One step from these params; renders them only if they differ from the current state."""
        state = self._state_of(params[self.site])
        self._state, info = self.kernel.step(self._rng, state)
        self._n_steps += 1
        self._n_accepted += info.is_accepted
        return {self.site: self.encode(self._state.z)}

    def _state_of(self, encoded: torch.Tensor) -> State[Z]:
        if self._state is not None and torch.equal(self.encode(self._state.z), encoded):
            return self._state
        return self.kernel.init(self.decode(encoded))

    def logging(self) -> OrderedDict[str, str]:
        """Values for Pyro's progress bar."""
        return OrderedDict([("acc. rate", f"{self.acceptance_rate:.3f}")])

    def diagnostics(self) -> dict[str, float]:
        """Values for `MCMC.diagnostics`."""
        return {"acceptance rate": self.acceptance_rate}

    @property
    def acceptance_rate(self) -> float:
        """The share of this chain's steps that were accepted."""
        return self._n_accepted / max(1, self._n_steps)
