"""The repairs of the publication: its numbers on MNIST, and traffic signs."""

from __future__ import annotations

import pytest

from reproduce.experiments.experiment_file import QUERIES
from trex.mnist_models.load import model_name
from trex.repair.settings import chosen_table, repair_path, repair_query

REPAIRS = QUERIES / "repair"


def test_the_repair_with_the_papers_numbers_has_them() -> None:
    """Slack et al. 2021, section 4 and appendix A: MNIST."""
    query = repair_query(chosen_table(repair_path(str(REPAIRS / "mnist-paper.toml")), ())[1], "mnist-paper")
    identify, distill, label, correct = query.identify, query.distill, query.label, query.correct
    assert (identify.noise, identify.concentration, identify.draws, identify.cap) == (
        "printed",
        50.0,
        500,
        100,
    )
    assert identify.most == 50_000 and identify.seeds + identify.validation == 60_000
    assert (distill.of, distill.components, distill.cutoff, distill.iterations) == ("all", 100, 0.01, 10_000)
    assert (label.pictures, label.tau) == (10, 0.5)
    published = [10.0**k for k in range(-10, 0)] + [1.0, 2.0, 5.0, 10.0, 20.0, 100.0, 1000.0]
    assert correct.lambdas[0] == 0.0 and correct.lambdas[1:] == pytest.approx(published, rel=1e-12)
    assert len(published) == 17
    assert (correct.epochs, correct.batch, correct.rate, correct.pictures) == (3, 256, 1e-3, 256)
    assert (correct.select, correct.epoch, correct.purity, correct.training) == ("printed", "best", 0.0, None)
    assert query.generator.name == model_name("beta-vae", "mnist", tuple(range(10)), 10)


def test_the_repair_of_signs_names_models_that_the_commands_train_and_tracks_that_are_held_out() -> None:
    query = repair_query(chosen_table(repair_path(str(REPAIRS / "signs.toml")), ())[1], "signs")
    names = {model_name(kind, "signs", tuple(range(43)), 43) for kind in ("beta-vae", "resnet18-16")}
    assert {query.generator.name, query.model.name} == names
    assert query.identify.validation <= 2610  # frames of 261 held-out tracks
    assert 0.0 in query.correct.lambdas and query.correct.seeds >= 3
