"""A cache of the tests' own, with the models that `python -m reproduce` puts there."""

from collections.abc import Iterator

import pytest

from reproduce.adaptation.train import offer_weights


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREX_CACHE", str(tmp_path_factory.mktemp("cache")))
        offer_weights()
        yield
