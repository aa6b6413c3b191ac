"""Which tests run nightly, what every test may ask for, and how hypothesis looks for examples: always alike."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SLOW = (HealthCheck.too_slow,)  # says how busy the machine is, not whether the code is right
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=SLOW)
settings.register_profile("new", deadline=None, suppress_health_check=SLOW)  # --hypothesis-profile new
settings.load_profile("same")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Nightly tests run only if a -m expression names them, those of `reproduce` too; Blender is a process.

    A test is as slow as what it is set up by.
    """
    skip = pytest.mark.skip(reason="nightly: pytest -m nightly, or make test-all")
    is_asked_for = "nightly" in config.getoption("-m")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent / "reproduce"):
            item.add_marker(pytest.mark.nightly)
        if "nightly" in item.keywords and not is_asked_for:
            item.add_marker(skip)
        if "blender" in item.keywords:
            item.add_marker(pytest.mark.process)
        if "slow" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


def pytest_make_parametrize_id(config: pytest.Config, val: object) -> str | None:
    """Bytes are named by their length: a compressed file holds its time, and no two workers would collect alike."""
    return f"{len(val)}-bytes" if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def slow() -> None:
    """For a fixture that takes more than 2 s: marks each test that uses it as slow."""


@pytest.fixture(autouse=True, scope="session")
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither records of the runs that tests make nor their banks go to the home of whoever runs the tests.

    The query files that tests write are the user's own. All workers share one bank, so that its scenes are drawn once.
    """
    base = tmp_path_factory.getbasetemp()
    banks = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "banks"
    banks.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("TREX_TRUST", str(base))
        patch.setenv("TREX_BANK", str(banks))
        yield


@pytest.fixture
def no_reports() -> Iterator[None]:
    """For tests of draws and results: reports take longer than the searches on the fake world."""
    from tests.running.runs import without_reports

    with without_reports():
        yield


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Torch on one thread: sums come out alike on every machine, and threads do not stall each other on a busy one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traffic signs among the data sets: pictures in color, whose frames belong to tracks and classes to groups."""
    from reproduce.datasets.signs import SIGNS
    from trex.mnist_models.datasets import DATASETS

    monkeypatch.setitem(DATASETS, "signs", SIGNS)


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts: a shell's `&`, and a pytest that has workers, have it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
