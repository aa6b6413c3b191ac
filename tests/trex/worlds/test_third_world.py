"""A world of one file goes through find, resume and report, and its rate is the closed form's."""

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from tests.references.statistics import ALPHA
from tests.running.command_line import trex
from tests.running.kills import in_child, kill_midway
from tests.running.runs import draws, find, go_on, leave_draws, write_query
from tests.serving.html_page import read_page
from tests.worlds import toy_disk
from tests.worlds.toy_disk import QUERY, DiskClassifier, DiskRenderer
from trex.finding.conclude import Outcome
from trex.inference.scoring import images
from trex.inference.statistics.budget import FURTHER_LEVEL
from trex.inference.statistics.proportion import clopper_pearson
from trex.inference.statistics.verdict import MIN_ESS
from trex.inference.types import Floats
from trex.mnist_models.latent import StandardNormal
from trex.search.results import Results
from trex.search.sampling.prior_plan import SPARE
from trex.worlds.latents import identity


def search(folder: Path, *overrides: str, name: str = "run") -> Outcome:
    return find(write_query(folder, QUERY), overrides, folder / name)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return search(tmp_path_factory.mktemp("disk"))


def p_value(results: Results, share: float) -> float:
    """Two-sided, of so many hits where each draw hits with this chance."""
    how = results.how_often
    tail = min(binom.cdf(how.hits, how.n, share), binom.sf(how.hits - 1, how.n, share))
    return min(1.0, 2.0 * float(tail))


def edge(results: Results, done: Outcome) -> float:
    """The probability of "far" from which on a draw counts as a hit: the threshold, less the target's tolerance."""
    hits = [d for d in results.prior if done.manifest.target.is_hit(d.state.log_probs)]
    return min(done.manifest.target.confidence(d.state.log_probs) for d in hits)


def test_the_reported_rate_is_the_closed_form(done: Outcome) -> None:
    results = done.results
    assert results.how_often.n == 3000 and results.how_often.hits > 10
    tolerance = 2.0 * 0.02  # inference.targets: a hit is within two widths
    assert edge(results, done) >= 0.9 - tolerance - 1e-9
    exact = toy_disk.mass(0.9 - tolerance)
    assert p_value(results, exact) > ALPHA
    low, high = results.how_often.rate_interval
    assert low <= exact <= high
    assert p_value(results, 2.5 * exact) < ALPHA  # planted: a closed form that is wrong is noticed
    assert f"{results.how_often.hits} of 3000 prior draws hit" in done.report.read_text()


def test_its_chains_stay_in_the_level_set_and_its_page_says_nothing_of_truth(done: Outcome) -> None:
    found = done.results.found
    assert found and all(hit.truth is None and hit.is_wrong is None for hit in found)
    assert len({identity(hit.record.z) for hit in found}) == len(found)
    html, page = done.report.read_text(), read_page(done.report)
    assert "How far out is it?" in page.text and "dots that tests.worlds.toy_disk:disk draws" in page.text
    text = page.text.split("Distinct pictures")[1].split("Do it again")[0]
    for word in ("true answer", "wrong answers", "scene", "right answers"):
        assert word not in text.lower(), word
    assert "the answer is" not in page.text
    assert 'class="small-picture"' in html
    assert "trex export" not in page.text, "the page advises what the command refuses"


@pytest.mark.process
def test_a_killed_run_goes_on_to_the_same_bytes(done: Outcome, tmp_path: Path) -> None:
    whole, out = draws(done.folder), tmp_path / "run"
    query = write_query(tmp_path, QUERY)
    start = partial(in_child, lambda: find(query, (), out))
    kill_midway(start, out, int(0.9 * len(whole)), len(whole))
    assert draws(go_on(out).folder) == whole


@pytest.mark.slow
def test_every_command_takes_it_or_says_why_not(done: Outcome, tmp_path: Path) -> None:
    run, query = done.folder, write_query(tmp_path, QUERY)
    refused = trex("report", run)
    assert refused.exit_code == 2 and f"run: trex resume {run};" in refused.stderr
    assert trex("resume", run).exit_code == 0
    assert trex("check", query).exit_code == 0
    netcdf = trex("report", run, "--format", "netcdf", "--out", tmp_path / "draws.nc")
    assert netcdf.exit_code == 0, netcdf.output
    other = search(tmp_path, "answer=near", "search.steps=0", name="near").folder
    assert trex("report", run, other, "--out", tmp_path / "both.html").exit_code == 0
    for command in ("explain", "export", "export --format coco", "report --confirm fast"):
        refused = trex(*command.split(), run)
        assert refused.exit_code == 2, (command, refused.output)
        assert str(run) in refused.stderr and "tests.worlds.toy_disk:disk" in refused.stderr, refused.stderr
    refused = trex("baseline", query, "--rendered", "3", "--out", tmp_path / "base")
    assert refused.exit_code == 2 and "tests.worlds.toy_disk:disk" in refused.stderr


def test_the_vectors_reach_arviz(done: Outcome, tmp_path: Path) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import arviz
    assert trex("report", done.folder, "--format", "netcdf", "--out", tmp_path / "draws.nc").exit_code == 0
    data = arviz.from_netcdf(str(tmp_path / "draws.nc"))
    assert data.posterior["z"].shape == (4, 120, 2) and data.prior["z"].shape == (1, 3000, 2)


BAD = {
    "no such module": ('name = "tests.worlds.toy_disk:disk"', 'name = "no_such_disk:disk"', "no_such_disk"),
    "no such function": (
        'name = "tests.worlds.toy_disk:disk"',
        'name = "tests.worlds.toy_disk:plate"',
        "plate",
    ),
    "no kind": (
        'name = "tests.worlds.toy_disk:disk"',
        'name = "tests.worlds.toy_disk:mass"',
        "tests.worlds.toy_disk:mass",
    ),
    "no such world": ('name = "tests.worlds.toy_disk:disk"', 'name = "cifar-vae"', "mnist-vae"),
    "a question": ("answer", 'question = "How far?"\nanswer', "remove question"),
    "objects": ("[search]", "[scene]\nobjects = 3\n[search]", "[scene] belongs to"),
    "a preset": ("[search]", '[render]\npreset = "clevr"\n[search]', "[render] belongs to"),
    "CLEVR's kernel": ("[search]", '[search]\nkernel = "block"', "search.kernel = 'block'"),
    "no such answer": ('answer = "far"', 'answer = "distant"', "near, far"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_query_is_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    old, new, part = BAD[name]
    refused = trex("find", write_query(tmp_path, QUERY.replace(old, new)), "--out", tmp_path / "run")
    assert refused.exit_code == 2, refused.output
    assert part in refused.stderr and "Traceback" not in refused.stderr, refused.stderr
    assert not (tmp_path / "run").exists()


NUTS = ["search.kernel=nuts", "search.warmup=28", "search.steps=34", "search.chains=2", "search.prior_scenes=40",
        "target.width=0.2"]  # fmt: skip


@pytest.mark.slow
def test_nuts_runs_in_it_and_a_cut_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    done = search(tmp_path, *NUTS)
    whole = draws(done.folder)
    assert any(sentence.startswith("NUTS: 12 draws of 2 chains") for sentence in done.results.checks)
    assert done.results.checks[0] in done.report.read_text()
    pictures = [picture for draw in done.results.chains for picture in DiskRenderer().render([draw.z])]
    scored = DiskClassifier().log_probs(images(pictures))
    for draw, row in zip(done.results.chains, scored, strict=True):  # it weighs what the scorer scores
        assert draw.state.log_weight == pytest.approx(done.manifest.target.log_weight(row), abs=1e-3)
    lines = whole.splitlines(keepends=True)
    leave_draws(done.folder, b"".join(lines[: 40 + 2 * 31 + 1]))  # in a round after the warmup
    assert draws(go_on(done.folder).folder) == whole


@pytest.mark.slow
def test_the_depth_of_its_trajectories_is_bounded(tmp_path: Path) -> None:
    deepest = {}
    for bound in (2, 10):
        folder = search(tmp_path, *NUTS, f"search.max_depth={bound}", name=str(bound)).folder
        records = [json.loads(line) for line in draws(folder).splitlines()]
        deepest[bound] = max(row["figures"]["depth"] for row in records if row["phase"] == "chain")
    assert deepest[2] == 2 < deepest[10]


def test_nuts_needs_a_warmup_and_gradients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = write_query(tmp_path, QUERY)
    refused = trex("check", query, "--set", "search.kernel=nuts", "--set", "search.warmup=20")
    assert refused.exit_code == 2 and "warmup 20" in refused.stderr
    monkeypatch.setattr(toy_disk, "differentiable", None)
    refused = trex("check", query, "--set", "search.kernel=nuts", "--set", "search.warmup=50")
    assert refused.exit_code == 2 and "needs gradients" in refused.stderr


class Shifted(StandardNormal):
    """N((3, 3), I)."""

    def sample(self, rng: np.random.Generator) -> Floats:
        return 3.0 + super().sample(rng)

    def log_density(self, z: Floats) -> float:
        return super().log_density(z - 3.0)


def test_nuts_is_refused_unless_the_prior_is_standard_normal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: its density had the prior N(0, I) whatever the world's, so that it drew from another law."""
    monkeypatch.setattr(toy_disk, "StandardNormal", Shifted)
    query = write_query(tmp_path, QUERY)
    refused = trex("check", query, "--set", "search.kernel=nuts", "--set", "search.warmup=50")
    assert refused.exit_code == 2 and "needs the prior N(0, I)" in refused.stderr
    assert trex("check", query).exit_code == 0


COMMON = ["search.further=20000", "search.steps=2000"]


@pytest.mark.slow
def test_a_common_target_gets_as_many_further_draws_as_its_first_rate_says(tmp_path: Path) -> None:
    """The rate is that of the further draws alone; a run cut among them goes on to the same bytes."""
    done = search(tmp_path, *COMMON)
    how, target = done.results.how_often, done.manifest.target
    scored = [draw.state for draw in done.results.prior]
    hits = [target.is_hit(state.log_probs) for state in scored]
    weights = np.exp([state.log_weight - target.log_peak for state in scored])
    first, ess = sum(hits[:3000]), float(weights[:3000].sum() ** 2 / (weights[:3000] ** 2).sum())
    further = math.ceil(SPARE * MIN_ESS * max(1.0, first / ess) / (first / 3000))
    assert (how.n, how.hits) == (further, sum(hits[3000:])) and len(hits) == 3000 + further
    assert how.ess == pytest.approx(float(weights.sum() ** 2 / (weights**2).sum())) and how.ess >= MIN_ESS
    low, high = how.rate_interval
    assert (low, high) == pytest.approx(tuple(clopper_pearson(how.hits, further, FURTHER_LEVEL)))
    assert low <= toy_disk.mass(0.9 - 2.0 * 0.02) <= high
    assert done.results.ending == "CONVERGED" and not done.results.chains
    path = done.folder / "draws.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:3037]))
    (done.folder / "finished").unlink()
    assert draws(go_on(done.folder).folder) == whole


def test_a_target_whose_further_draws_exceed_the_budget_is_rare(tmp_path: Path) -> None:
    done = search(tmp_path, "search.further=1000", "search.steps=5", "search.control=false")
    assert done.results.how_often.n == 3000 and done.results.chains
    assert "It is rare: chains search for it." in done.results.how_often.sentences()
