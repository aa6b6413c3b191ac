"""Step 2: the planted cluster is found as one component, with the mean and share that were planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.worlds.repair_toy import NOISE_SD, PLANTED, SPREAD, toy, toy_folder, toy_query, tree
from trex.foundation.errors import InputError, RunError
from trex.foundation.progress import silent
from trex.inference.repair.mixture import GaussianMixture
from trex.repair.decoders.distill import MIXTURE, read_mixture
from trex.repair.decoders.identify import GROWN, read_mistakes
from trex.repair.results import DistillResult
from trex.repair.steps import distill, identify

COLLECTED = 5.0  # standard errors: 1e-5 on two latents, with room for rounding of the pictures to bytes


def moments(mixture: GaussianMixture) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], ...]:
    """Mean (d,) and standard deviation (d,) of the whole mixture."""
    mean = mixture.weights @ mixture.means
    between = np.einsum("k,kd->d", mixture.weights, (mixture.means - mean) ** 2)
    within = mixture.weights @ np.diagonal(mixture.covariances, axis1=1, axis2=2)
    return mean, np.sqrt(between + within)


@pytest.mark.parametrize("components", [1, 10])
def test_the_planted_gaussian_is_recovered_with_its_mean_and_spread(tmp_path: Path, components: int) -> None:
    loaded = toy()
    with toy_folder(tmp_path / "r", loaded, toy_query(distill={"components": components})) as folder:
        identify(folder, loaded, silent)
        pictures = len(np.unique(read_mistakes(folder.require("identify") / GROWN).rows))
        distill(folder, loaded, silent)
        place = folder.require("distill")
        result, mixture = (
            folder.found("distill", DistillResult),
            read_mixture(place / MIXTURE),
        )
    mean, spread = moments(mixture)
    error = np.hypot(SPREAD, NOISE_SD) / np.sqrt(pictures)  # draws of one picture repeat its place
    assert np.abs(mean - PLANTED).max() < COLLECTED * error
    assert not np.abs(mean - PLANTED - 1.5 * COLLECTED * error).max() < COLLECTED * error  # a shift is caught
    assert spread == pytest.approx([np.hypot(SPREAD, NOISE_SD)] * 2, rel=COLLECTED / np.sqrt(2 * pictures))
    assert all(component.pairs == [("right", "left", component.members)] for component in result.components)
    assert all(component.plain_wrong == component.members for component in result.components)
    if components == 1:  # with more, one Gaussian may come out in pieces
        assert result.components[0].weight == 1.0 and result.components[0].members == result.mistakes
        assert result.second_kept == 1 and result.rand_index == 1.0 and result.near == 0


def test_mistakes_that_are_there_without_noise_can_be_left_out(tmp_path: Path) -> None:
    loaded = toy()
    with toy_folder(tmp_path / "r", loaded, toy_query(distill={"of": "new"})) as folder:
        identify(folder, loaded, silent)
        with pytest.raises(InputError, match="too few"):
            distill(folder, loaded, silent)


def test_it_resumes_to_the_same_bytes_and_names_the_step_that_is_missing(tmp_path: Path) -> None:
    loaded = toy()
    for name in ("whole", "cut"):
        with toy_folder(tmp_path / name, loaded) as folder:
            with pytest.raises(RunError, match="run: trex repair identify"):
                distill(folder, loaded, silent)
            identify(folder, loaded, silent)

    def stop(what: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with toy_folder(tmp_path / "cut", loaded) as folder, pytest.raises(KeyboardInterrupt):
        distill(folder, loaded, stop)
    for name in ("whole", "cut"):
        with toy_folder(tmp_path / name, loaded) as folder:
            distill(folder, loaded, silent)
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")
