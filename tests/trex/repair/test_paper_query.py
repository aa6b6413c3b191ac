"""The shipped repairs: valid, with models of one data set, and the paper's numbers where they are claimed."""

from __future__ import annotations

import pytest

from trex.mnist_models.training.plan import model_name
from trex.repair.scenes.settings import is_of_scenes, scene_query
from trex.repair.settings import REPAIRS, chosen_table, repair_path, repair_query


def test_the_repair_with_the_papers_numbers_has_them() -> None:
    """Slack et al. 2021, section 4 and appendix A: MNIST."""
    query = repair_query(chosen_table(repair_path("mnist-paper"), ())[1], "mnist-paper")
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


@pytest.mark.parametrize("path", sorted(REPAIRS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_repair_is_valid_and_of_one_data_set(path: object) -> None:
    text, table = chosen_table(repair_path(str(path)), ())
    query = scene_query(table, str(path)) if is_of_scenes(table) else repair_query(table, str(path))
    kind = query.generator.name.split("-")[0]
    assert text and query.model.name.split("-")[0] == ("shipped" if kind == "clevr" else kind)
    assert 0.0 in query.correct.lambdas and query.correct.seeds >= 3
