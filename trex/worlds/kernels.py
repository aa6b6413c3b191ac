"""The values of [search] kernel: a proposal for Metropolis, or a sampler of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from pydantic import BaseModel, ValidationError

from trex.foundation.errors import InputError
from trex.foundation.extensions import LIVE, declared
from trex.foundation.fields import first_problem
from trex.inference.chains import Checkpoint, rounds
from trex.inference.leading_target import LeadingTarget
from trex.inference.surrogate import Surrogate
from trex.inference.targets import GaussianTarget
from trex.inference.targets.kind import NoOptions
from trex.inference.types import Prior, Proposal
from trex.query.schema import Query, SearchSection
from trex.scenes.prior import ScenePrior
from trex.worlds.costs import inner_steps
from trex.worlds.latents import Latent
from trex.worlds.looks import DECIDING, ladder
from trex.worlds.world import OpenWorld

AUTO, SURROGATE = "auto", "surrogate"
BANK, FRESH = 1000, 8  # the defaults where pictures cost seconds
LEAST_SAMPLE = 12  # of a bank: a Poisson sample of that mean size is empty with a chance of at most e^-12
WARMUP_SHARE = 0.2  # of a chain's steps, by default: it has left its start by then, as a rule
Form = Literal["scene", "vector"]
DEFAULTS: dict[Form, str] = {"scene": "block", "vector": "gaussian"}


@dataclass(frozen=True)
class ProposalKind:
    """A proposal for latents of one form, for `trex.find(proposal=...)` or as `PROPOSAL` of a module.

    Parameters
    ----------
    name : str
        What `[search] kernel` says.
    form : "scene", "vector" or None
        What it moves; None for latents of any form.
    make : callable
        From the prior and the section [search] to the `Proposal`. The keys of [search] are attributes, as
        `search.scale`.
    options : class of a pydantic model, default one without keys
        The keys that [search] options may have. Example: options=Options.
    check : callable, default no check
        Raises InputError if the proposal cannot reach every latent of a query's world. Example: check=check.
    code : str, default ""
        A hash of its code, which a resumed run must have too. Empty means that it is not compared. Example:
        code="5f1c0a".

    Examples
    --------
    With a `Walk` that has `propose` and `log_q`::

        PROPOSAL = ProposalKind("walk", "vector", lambda prior, search: Walk(search.scale))
    """

    name: str
    form: Form | None
    make: Callable[[Prior[Latent], SearchSection], Proposal[Latent]]
    options: type[BaseModel] = NoOptions
    check: Callable[[Query], None] = lambda query: None
    code: str = ""


class Sampler(Protocol):
    """Steps several chains together."""

    def __call__(
        self, target: GaussianTarget, begin: Checkpoint[Latent], n_rounds: int
    ) -> Iterator[Checkpoint[Latent]]:
        """Yields rounds from the checkpoint up to index n_rounds - 1."""
        ...


@dataclass(frozen=True)
class SamplerKind:
    """A sampler for latents of some forms, for `trex.find(kernel=...)` or as `SAMPLER` of a module.

    Parameters
    ----------
    name : str
        What `[search] kernel` says.
    forms : tuple of "scene" and "vector"
        What it moves.
    make : callable
        From an `OpenWorld` and the section [search] to a function of the target, a checkpoint and the number of rounds
        that yields what `rounds` yields.
    check : callable, default no check
        Raises InputError if the sampler cannot run this section [search]. Example: check=check.
    needs_gradients : bool, default False
        Whether it uses `world.differentiable`. Worlds without gradients are refused then.
    is_joint : bool, default True
        Whether its chains depend on each other. If not, a farm steps each chain on its own.
    has_whole_warmup : bool, default True
        Whether its warmup must run without a break, as one task of a farm.
    warmup_share : float, default 0.2
        Share of the steps, 0 to 1, that are warmup if a query does not say. Chains have left their start by then, as a
        rule. Example: warmup_share=0.5.
    starts_at_prior : bool, default False
        Whether chains start at draws of the prior as they come. Otherwise they start near the target.
    options : class of a pydantic model, default one without keys
        The keys that [search] options may have. Example: options=Options.

    Examples
    --------
    With the `make` of the example in CONTRIBUTING.md::

        SAMPLER = SamplerKind("independence", ("scene", "vector"), make, is_joint=False, has_whole_warmup=False)
        trex.find(question="How many cubes are there?", answer="1", kernel=SAMPLER)
    """

    name: str
    forms: tuple[Form, ...]
    make: Callable[[OpenWorld, SearchSection], Sampler]
    check: Callable[[SearchSection], None] = lambda search: None
    needs_gradients: bool = False
    is_joint: bool = True
    has_whole_warmup: bool = True
    warmup_share: float = WARMUP_SHARE
    starts_at_prior: bool = False
    options: type[BaseModel] = NoOptions


def proposals() -> Mapping[str, ProposalKind]:
    """The proposals by name."""
    return declared("trex.worlds.proposals", "PROPOSAL", ProposalKind)


def samplers() -> Mapping[str, SamplerKind]:
    """The samplers by name."""
    return declared("trex.worlds.samplers", "SAMPLER", SamplerKind)


def kernel_names(form: Form) -> tuple[str, ...]:
    """The kernels that can move latents of this form, the default first."""
    moves = [kind.name for kind in proposals().values() if kind.form in (form, None)]
    own = [kind.name for kind in samplers().values() if form in kind.forms]
    return tuple(dict.fromkeys((DEFAULTS[form], *moves, *own)))


def check_search(query: Query, form: Form, has_noise: bool = False) -> Query:
    """The query with kernel, warmup, bank and fresh draws resolved; InputError if it cannot be searched.

    `has_noise`: whether pictures are rendered with noise, for which a bank and fresh draws are made by default.
    """
    query = _with_defaults(query, form, has_noise)
    search, names = query.search, kernel_names(form)
    if search.steps and search.prior_scenes < search.chains:
        raise InputError(
            f"search.prior_scenes = {search.prior_scenes}: {search.chains} chains need at least as many prior scenes "
            "to start from; raise prior_scenes or lower chains"
        )
    if search.warmup is not None and 0 < search.steps <= search.warmup:
        raise InputError(
            f"search.warmup = {search.warmup} uses up all of search.steps = {search.steps}; raise steps "
            "or lower warmup"
        )
    if search.kernel.startswith(LIVE) and search.kernel not in names:
        raise InputError(
            f"search.kernel = {search.kernel!r} is an object of a Python session, which a run folder cannot store; "
            "give it again: trex.open_run(folder, proposal=...)"
        )
    if search.kernel not in (AUTO, *names):
        raise InputError(
            f"search.kernel = {search.kernel!r} cannot sample generator {query.generator.name!r}; use "
            f"{' or '.join(name for name in names if not name.startswith(LIVE))}"
        )
    kernel = search.kernel
    looks = ladder(query.render)
    if looks and search.prior_scenes < min(LEAST_SAMPLE, search.bank or 0):
        raise InputError(
            f"search.prior_scenes = {search.prior_scenes}: the random sample of a bank of {search.bank:,} needs at "
            f"least {LEAST_SAMPLE}, or the whole bank; raise prior_scenes, or set search.bank = 0"
        )
    if kernel == AUTO:
        kernel = SURROGATE if search.bank and looks else names[0]
    if kernel == SURROGATE and not (search.bank and looks):
        why = (
            f"a cheaper preset leads it, and render.preset = {query.render.preset!r} has none; use 'reference'"
            if search.bank
            else "a bank's scenes choose the preset that leads it; set search.bank"
        )
        raise InputError(f"search.kernel = 'surrogate': {why}, or kernel 'block'")
    resolved = search.model_copy(update={"kernel": kernel, "warmup": _warmup(search, kernel)})
    _check_options(resolved)
    if kernel in samplers():
        samplers()[kernel].check(resolved)
    else:
        proposals()[kernel].check(query)
    return query.model_copy(update={"search": resolved})


def _warmup(search: SearchSection, kernel: str) -> int:
    """The steps of warmup: those of the query, or the kernel's share of all steps."""
    if search.warmup is not None:
        return search.warmup
    share = samplers()[kernel].warmup_share if kernel in samplers() else WARMUP_SHARE
    return int(share * search.steps)


def _with_defaults(query: Query, form: Form, has_noise: bool) -> Query:
    """The query with the defaults of its world for `bank` and `fresh`."""
    search, render = query.search, query.render
    if form == "vector" and search.bank:
        raise InputError(
            f"search.bank = {search.bank}: a bank holds rendered scenes, but generator {query.generator.name!r} has "
            "no scenes; set it to 0"
        )
    if search.bank and ladder(render) and search.bank < search.prior_scenes:
        raise InputError(
            f"search.prior_scenes = {search.prior_scenes} cannot be chosen from a bank of search.bank = {search.bank}; "
            "raise bank or lower prior_scenes"
        )
    if search.spread and (form == "vector" or search.bank == 0):
        raise InputError(
            f"search.spread = {search.spread}: the spread sample is chosen from a bank, which this search does not "
            "have; set it to 0"
        )
    bank = search.bank if search.bank is not None else max(BANK, search.prior_scenes) if has_noise else 0
    if search.spread and search.spread > bank:
        raise InputError(
            f"search.spread = {search.spread} cannot be chosen from a bank of search.bank = {bank}; raise bank or "
            "lower spread"
        )
    if bank:
        render = render.model_copy(update={"looks": ladder(render)})
    if bank and not ladder(render):
        search = search.model_copy(update={"prior_scenes": bank})
    if render.fresh is None and form == "scene":  # a world of vectors has no [render]
        render = render.model_copy(update={"fresh": FRESH if has_noise else 0})
    return query.model_copy(update={"search": search.model_copy(update={"bank": bank}), "render": render})


def check_gradients(query: Query, form: Form, has_gradients: bool, is_standard_normal: bool = False) -> None:
    """Raise InputError if the kernel, already resolved, needs gradients and the query's world has none.

    A world gives those of the target; the prior's are those of N(0, I), so any other prior is refused.
    """
    kernel, world = query.search.kernel, query.generator.name
    if kernel not in samplers() or not samplers()[kernel].needs_gradients:
        return
    if not has_gradients:
        raise InputError(
            f"search.kernel = {kernel!r} needs gradients, which {world!r} does not have; use {DEFAULTS[form]!r}"
        )
    if not is_standard_normal:
        raise InputError(
            f"search.kernel = {kernel!r} needs the prior N(0, I), and that of {world!r} is another; make it a "
            f"trex.mnist_models.latent.StandardNormal, or use {DEFAULTS[form]!r}"
        )


def scene_prior(prior: Prior[Latent]) -> ScenePrior:
    """The prior of a world of scenes, which alone is given to a proposal of this form."""
    assert isinstance(prior, ScenePrior), "a proposal for scenes is made of a prior of scenes"
    return prior


def make_proposal(prior: Prior[Latent], search: SearchSection, form: Form) -> Proposal[Latent]:
    """The proposal that [search] names, or the form's default if it names a sampler."""
    name = search.kernel if search.kernel in proposals() else DEFAULTS[form]
    return proposals()[name].make(prior, search)


def make_sampler(world: OpenWorld) -> Sampler | None:
    """The sampler that [search] names, or None if it names a proposal, which Metropolis then uses."""
    search = world.plan.query.search
    sampler = samplers().get(search.kernel)
    return None if sampler is None else sampler.make(world, search)


def chain_rounds(
    world: OpenWorld,
    target: GaussianTarget,
    begin: Checkpoint[Latent],
    n_rounds: int,
    lead: str = DECIDING,
) -> Iterator[Checkpoint[Latent]]:
    """Step all chains up to index n_rounds - 1, toward the query's own target or a control's.

    `lead` is the look that leads the kernel "surrogate".
    """
    sampler = make_sampler(world)
    if sampler is not None:
        return sampler(target, begin, n_rounds)
    deciding = world.kernel(target)
    if lead == DECIDING:
        return rounds(deciding, begin, n_rounds)
    leading = replace(deciding, scorer=world.scorer_at(lead), target=LeadingTarget(target))
    return rounds(Surrogate(deciding, leading, inner_steps(world.plan.query, lead)), begin, n_rounds)


def _check_options(search: SearchSection) -> None:
    options = (proposals().get(search.kernel) or samplers()[search.kernel]).options
    try:
        options.model_validate(search.options)
    except ValidationError as error:
        key, message = first_problem(error)
        raise InputError(f"search.options.{key} of kernel {search.kernel!r}: {message}") from error
