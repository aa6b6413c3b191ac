"""The page of the publication: what agrees by the stated rule, what is missing, and that its list fits the tree."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reproduce import HERE
from reproduce.experiments.experiment import run_experiment
from reproduce.experiments.experiment_file import cells, experiment_path, read_experiment
from reproduce.experiments.page import write_page
from reproduce.experiments.record import RECORD, CellRecord, OutcomeRecord, read_outcome
from reproduce.paper.agreement import agrees, compared
from reproduce.paper.paper import _details as details
from reproduce.paper.paper import command_of, compare_all, markdown, summary
from reproduce.paper.paper_file import PAPER, Item, Paper, read_paper
from tests.reproduce.command_line import reproduce
from tests.running.command_line import refused
from tests.running.runs import write_query
from trex.foundation.errors import InputError, RunError
from trex.search.progress import Silent
from trex.worlds.costs import CPU_S

DOCS = HERE / "docs"
CELL = CellRecord(
    "one", ("1",), (0.95,), (0.02,), (0.94,), (0.03,), True, "FOUND", 3, 60, 0.01, 0.14, 5.0, 2, 1, 80
)
RECORDED = OutcomeRecord(
    "counts", "Counts", "nobody", ("fake",), ("fake",), 1, 1, "python -m reproduce experiment counts", (CELL,)
)
BY_HAND = 'item = "T"\nwhat = "x"\nverdict = "agrees"\ncommand = "c"\npage = "p"'
ITEM = Item(item="Table 1", what="counts", experiment="counts")


@pytest.mark.parametrize(
    ("mean", "deviation", "published_sd", "is_right"),
    [
        (0.94, 0.03, (0.02,), True),
        (0.92, 0.03, (0.02,), True),  # a deviation of ours
        (0.92, 0.01, (0.02,), False),  # planted: more than either
        (0.92, 0.01, (), False),
        (0.945, 0.01, (), True),
    ],
)
def test_a_mean_agrees_within_the_larger_deviation(
    mean: float, deviation: float, published_sd: tuple[float, ...], is_right: bool
) -> None:
    cell = replace(CELL, means=(mean,), deviations=(deviation,), published_sd=published_sd)
    assert agrees(cell) is is_right
    row = compared(ITEM, replace(RECORDED, cells=(cell,)), "")
    assert row.verdict == ("agrees" if is_right else "differs")
    assert ("not one" in row.why) is not is_right


@pytest.mark.parametrize(
    "change", [{"effective_size": 1.0, "deviations": (0.0,)}, {"caveat": "taken by other weights"}]
)
def test_a_mean_of_a_few_draws_is_not_compared(change: dict[str, object]) -> None:
    """Planted bug: one draw has a deviation of 0, so that having no data made the rule stricter: "differs"."""
    cell = replace(CELL, means=(0.998,), deviations=(0.01,), published=(0.943,), effective_size=50.0)
    assert compared(ITEM, replace(RECORDED, cells=(cell,)), "").verdict == "differs"
    doubted = replace(cell, **change)  # type: ignore[arg-type]
    row = compared(ITEM, replace(RECORDED, cells=(doubted,)), "")
    assert row.verdict == "incomplete" and "not compared: one (" in row.why
    both = compared(ITEM, replace(RECORDED, cells=(doubted, replace(cell, name="two"))), "")
    assert both.verdict == "differs" and "0 of 1 means agree; not two" in both.why


def test_what_was_not_found_differs_and_gives_its_bound() -> None:
    lost = replace(CELL, is_found=False, means=(), deviations=(), hits=0, low=0.0, high=0.012)
    row = compared(ITEM, replace(RECORDED, cells=(lost,)), "")
    assert row.verdict == "differs" and "not found (below 1.20% of the prior, 95%)" in row.here


@pytest.mark.parametrize(
    ("found", "published", "verdict"),
    [(1, 1, "agrees"), (0, 1, "differs"), (2, 1, "agrees"), (0, 0, "agrees"), (1, 0, "differs")],
)
def test_a_count_agrees_if_nothing_published_is_missing(found: int, published: int, verdict: str) -> None:
    cells_ = tuple(replace(CELL, name=str(k), is_found=k < found) for k in range(2))
    row = compared(
        ITEM.model_copy(update={"compare": "found"}),
        replace(RECORDED, cells=cells_, found_published=published),
        "",
    )
    assert row.verdict == verdict and row.here.startswith(f"{found} of 2 found")


def test_values_without_published_ones_are_not_compared() -> None:
    """Planted bug: none of no means disagrees, which once read "agrees"."""
    cell = replace(CELL, published=(), published_sd=())
    row = compared(ITEM.model_copy(update={"why": "another source"}), replace(RECORDED, cells=(cell,)), "")
    assert (row.verdict, row.why, row.here) == ("not comparable", "another source", "one 0.940 ± 0.030")


def detailed(cell: CellRecord) -> str:
    """The page below the table, of one item that asks for the details of a record with this cell."""
    item = ITEM.model_copy(update={"details": True})
    record = replace(RECORDED, looks=("reference",), cells=(cell,))
    return details([replace(compared(item, record, ""), record=record)])


def test_details_say_rate_ending_families_and_cost_of_each_cell() -> None:
    page = detailed(replace(CELL, cheap=1200, cpu_s=900.0))
    assert (
        "| one | 0.950 ± 0.020 | 0.940 ± 0.030 | FOUND | 3 of 60 | 1.00% to 14.00% | 2 | 1 | 80 | 1,200 | 0.25 |"
        in page
    )
    assert "80 renders in all" in page


def test_a_record_without_its_cheap_renders_says_only_what_the_others_cost() -> None:
    hours = 80 * CPU_S["reference"] / 3600
    assert f"| 80 | – | over {hours:.2f} |" in detailed(CELL)


def test_details_of_what_was_not_hit_are_a_bound() -> None:
    lost = replace(CELL, is_found=False, means=(), deviations=(), hits=0, low=0.0, high=0.012, distinct=0)
    assert "| – | FOUND | 0 of 60 | below 1.20% | 0 |" in detailed(lost)


def test_no_details_without_an_item_that_asks() -> None:
    assert details([replace(compared(ITEM, RECORDED, ""), record=RECORDED)]) == ""


def test_cells_that_were_not_run_are_counted() -> None:
    row = compared(ITEM, replace(RECORDED, planned=3), "")
    assert "2 cells not run" in row.why


@pytest.mark.parametrize(("mean", "verdict"), [(0.95, "incomplete"), (0.5, "differs")])
def test_means_of_some_cells_do_not_make_a_row_agree(mean: float, verdict: str) -> None:
    cell = replace(CELL, means=(mean,))
    assert compared(ITEM, replace(RECORDED, cells=(cell,), planned=3), "").verdict == verdict


@pytest.mark.parametrize(
    ("found", "published", "verdict"),
    [(1, 1, "agrees"), (0, 1, "incomplete"), (0, 0, "incomplete"), (1, 0, "differs")],
)
def test_counts_of_some_cells_decide_only_what_the_others_cannot_change(
    found: int, published: int, verdict: str
) -> None:
    record = replace(
        RECORDED, planned=3, found_published=published, cells=(replace(CELL, is_found=bool(found)),)
    )
    row = compared(ITEM.model_copy(update={"compare": "found"}), record, "")
    assert row.verdict == verdict and "2 cells not run" in row.why


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of one cell, carried out."""
    place = tmp_path_factory.mktemp("paper")
    write_query(place)
    (place / "counts.toml").write_text(
        'title = "Counts"\nsource = "nobody"\nquery = "query.toml"\n'
        'cells = [{ name = "one", set = { "answer" = "1", "search.steps" = 0 }, published = 0.95 }]\n'
    )
    options = ("search.prior_scenes=60",)
    name = str(place / "counts.toml")
    outcome = run_experiment(
        name, (), options, place / "counts", lambda _: Silent(), lambda *_: None, lambda _: None
    )
    write_page(outcome, options)
    return place


def test_an_outcome_is_read_back_whole_and_a_damaged_one_is_named(outputs: Path, tmp_path: Path) -> None:
    found = read_outcome(outputs / "counts")
    assert found is not None and found.models == ("fake",) and found.planned == 1
    (cell,) = found.cells
    assert cell.is_found and cell.draws == 60 and cell.low < cell.hits / 60 < cell.high
    assert cell.means and "search.prior_scenes=60" in found.command
    assert cell.cheap == 0 and cell.cpu_s is None  # a fake picture's cost is documented nowhere
    broken = json.loads((outputs / "counts" / RECORD).read_text())
    del broken["cells"][0]["means"]
    (tmp_path / RECORD).write_text(json.dumps(broken))
    with pytest.raises(RunError, match="is damaged"):
        read_outcome(tmp_path)
    assert read_outcome(tmp_path / "nowhere") is None


def test_only_what_is_missing_is_run(outputs: Path) -> None:
    other = ITEM.model_copy(update={"output": "counts-again", "set": ("search.seed=5",)})
    paper, ran = Paper(title="P", items=(ITEM, other)), []
    rows = compare_all(paper, outputs, lambda item, folder: ran.append((item.folder, folder)))
    assert ran == [("counts-again", outputs / "counts-again")]
    assert rows[0].verdict in ("agrees", "differs") and rows[1].verdict == "absent"
    assert (
        rows[1].command
        == "python -m reproduce experiment counts --out runs/experiments/counts-again --set search.seed=5"
    )
    page = markdown(paper, rows, "python -m reproduce paper", outputs / "PAPER.md")
    assert "Of 2 tables and figures: " in page and page.count("\n| **Table 1**: counts |") == 2
    assert "1 absent" in summary(rows)


def test_the_list_names_experiments_cells_and_pages_that_exist() -> None:
    listed = read_paper()
    assert len({(item.item, item.folder) for item in listed.items}) == len(listed.items)
    for item in listed.items:
        if item.experiment:
            known = cells(read_experiment(experiment_path(item.experiment)))
            assert set(item.cells) <= {cell.name for cell in known}, item.item
            assert item.compare != "means" or item.why or any(cell.section.published for cell in known)
            if item.compare == "found":
                assert read_experiment(experiment_path(item.experiment)).found_published is not None
            assert command_of(item).startswith("python -m reproduce experiment ")
        if item.page:
            assert (DOCS / item.page).is_file(), item.item


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('item = "T"\nwhat = "x"', "give an experiment, or a verdict"),
        ('item = "T"\nwhat = "x"\nverdict = "differs"\ncommand = "c"\npage = "p"', "say why"),
        ('item = "T"\nwhat = "x"\nverdict = "agrees"', "give the command and the page"),
        ('item = "T"\nwhat = "x"\nexperiment = "e"\nstrange = 1', "strange"),
        (f"{BY_HAND}\ndetails = true", "details are those of an experiment"),
        ('item = "T"\nwhat = "x"\nexperiment = "e"\npublished_value = 0.5', "with compare = accuracy"),
        ('item = "T"\nwhat = "x"\nexperiment = "e"\ncompare = "accuracy"', "give published_value"),
    ],
)
def test_a_row_that_rests_on_nothing_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "paper.toml"
    path.write_text(f'title = "P"\n[[items]]\n{text}\n')
    with pytest.raises(InputError, match=message):
        read_paper(path)


def test_a_mistyped_folder_of_outputs_is_refused_and_not_created(tmp_path: Path) -> None:
    refused(reproduce("paper", "--outputs", tmp_path / "nosuch"), "nosuch is not a folder", "--run")
    assert not (tmp_path / "nosuch").exists()


def test_the_command_writes_the_page_and_names_a_damaged_record(tmp_path: Path) -> None:
    done = reproduce("paper", "--outputs", tmp_path / "none", "--out", tmp_path / "PAPER.md")
    assert done.exit_code == 0 and "absent" in done.stdout
    assert (tmp_path / "PAPER.md").read_text().startswith(f"# {read_paper(PAPER).title}\n")
    (tmp_path / "none" / "mnist-graded").mkdir(parents=True)
    (tmp_path / "none" / "mnist-graded" / RECORD).write_text("{")
    refused(
        reproduce("paper", "--outputs", tmp_path / "none"),
        "experiment.json is damaged",
        "python -m reproduce experiment",
    )
