"""A cache of the tests' own, with the models and the data sets that `python -m reproduce` offers."""

from collections.abc import Iterator

import pytest

from reproduce.adaptation.train import offer_weights
from reproduce.datasets.signs import SIGNS
from reproduce.datasets.svhn import SVHN
from trex.mnist_models.datasets import DATASETS


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREX_CACHE", str(tmp_path_factory.mktemp("cache")))
        offer_weights()
        for name, described in {"signs": SIGNS, "svhn": SVHN}.items():
            patch.setitem(DATASETS, name, described)
        yield
