"""Pyro's NUTS (Hoffman and Gelman 2014, multinomial as in Betancourt 2017) for one chain, with its figures.

Pyro 1.9.2 does not expose a trajectory's figures; they are derived from the trees that it builds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from pyro.infer.mcmc.nuts import NUTS
from torch import Tensor

from trex.inference.nuts.checkpoint import NutsTuning
from trex.inference.nuts.density import PAPER, Evaluated, Point
from trex.inference.nuts.options import ACCEPT, DEPTH, DIVERGENT, ENERGY, GRADIENTS, NutsOptions
from trex.inference.types import Floats, State

SITE = "z"
PATH_DEPTH = 6  # most doublings on the path, which needs no long trajectories
Evaluate = Callable[[Point], Evaluated]


class WatchedNuts(NUTS):
    """Pyro's kernel, recording the doublings of the last trajectory and its starting energy."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.doublings: list[Any] = []  # each a tree of Pyro's, of which the figures are made
        self.energy = math.nan
        self._is_inside = False

    def _build_tree(self, *args: Any) -> Any:
        if self._is_inside:  # Pyro builds a tree of its halves
            return super()._build_tree(*args)
        self._is_inside, self.energy = True, float(args[-1])
        try:
            tree = super()._build_tree(*args)
        finally:
            self._is_inside = False
        self.doublings.append(tree)
        return tree


class NutsKernel:
    """A chain's kernel: Pyro keeps point and adaptation, `evaluate` computes the density.

    `temperature` is the paper's, except on the path into the level set (see `trex.inference.nuts.chain`).
    """

    def __init__(
        self, nuts: WatchedNuts, z: Floats, evaluate: Evaluate, n_warmup: int = 0, temperature: float = PAPER
    ) -> None:
        self._nuts, self._evaluate = nuts, evaluate
        self._temperature = temperature
        self._known: dict[bytes, Evaluated] = {}
        self._n_gradients = 0
        nuts.potential_fn = self._potential
        nuts.initial_params = {SITE: torch.from_numpy(z.astype(np.float64))}  # a copy
        nuts.setup(n_warmup)
        self._params: dict[str, Tensor] = nuts.initial_params

    @property
    def z(self) -> Floats:
        """The point (d,), a copy."""
        return _array(self._params[SITE]).copy()

    @property
    def state(self) -> State[Floats]:
        """The point with the paper's score, after a step."""
        return self._known[_array(self._params[SITE]).tobytes()].state

    @property
    def tuning(self) -> NutsTuning:
        """The present step size and mass matrix."""
        (inverse_mass,) = self._nuts.inverse_mass_matrix.values()
        return NutsTuning(float(self._nuts.step_size), tuple(inverse_mass.tolist()))

    def heat(self, temperature: float) -> None:
        """Continue at this temperature, and evaluate the point again."""
        self._temperature = temperature
        self._nuts.clear_cache()

    def step(self) -> dict[str, float]:
        """Make one draw; the figures of its trajectory, named as in `trex.inference.nuts.options`."""
        self._n_gradients, self._nuts.doublings = 0, []
        self._params = self._nuts.sample(self._params)
        kept = _array(self._params[SITE]).tobytes()
        self._known = {kept: self._known[kept]}
        return _summary(self._nuts, self._n_gradients)

    def _potential(self, params: dict[str, Tensor]) -> Tensor:
        z = _array(params[SITE])
        found = self._evaluate(Point(z.copy(), self._temperature))
        self._known[z.tobytes()] = found
        self._n_gradients += 1
        energy: Tensor = _Potential.apply(params[SITE], found)
        return energy


class _Potential(torch.autograd.Function):
    """A potential energy whose value and gradient are computed elsewhere."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, found: Evaluated) -> Tensor:
        ctx.gradient = torch.from_numpy(-found.gradient)
        return torch.tensor(-found.log_density, dtype=torch.float64)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        return upstream * ctx.gradient, None


def tuned(tuning: NutsTuning, z: Floats, evaluate: Evaluate, options: NutsOptions) -> NutsKernel:
    """A kernel that adapts nothing: it alone makes the draws after warmup, in one session or resumed."""
    nuts = WatchedNuts(
        potential_fn=_unset,
        step_size=tuning.step_size,
        adapt_step_size=False,
        adapt_mass_matrix=False,
        max_tree_depth=options.max_depth,
    )
    kernel = NutsKernel(nuts, z, evaluate)
    nuts.mass_matrix_adapter.inverse_mass_matrix = {
        (SITE,): torch.tensor(tuning.inverse_mass, dtype=torch.float64)
    }
    return kernel


def adapting(
    z: Floats, evaluate: Evaluate, n_warmup: int, options: NutsOptions, temperature: float | None = None
) -> NutsKernel:
    """A kernel that tunes step size and mass matrix in n_warmup steps; on the path (a temperature) only step size."""
    is_path = temperature is not None
    nuts = WatchedNuts(
        potential_fn=_unset,
        adapt_mass_matrix=not is_path,
        target_accept_prob=options.accept,
        max_tree_depth=min(PATH_DEPTH, options.max_depth) if is_path else options.max_depth,
    )
    return NutsKernel(nuts, z, evaluate, n_warmup, PAPER if temperature is None else temperature)


def _unset(params: dict[str, Tensor]) -> Tensor:
    raise AssertionError("the kernel sets its own potential")


def _summary(nuts: WatchedNuts, n_gradients: int) -> dict[str, float]:
    doublings = nuts.doublings
    return {
        ACCEPT: sum(float(d.sum_accept_probs) for d in doublings) / sum(d.num_proposals for d in doublings),
        DIVERGENT: any(bool(d.diverging) for d in doublings),
        DEPTH: sum(not (d.diverging or d.turning) for d in doublings),
        GRADIENTS: n_gradients,
        ENERGY: nuts.energy,
    }


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().numpy()
    return array
