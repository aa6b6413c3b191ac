"""The shipped repairs: valid, with models of one data set."""

from __future__ import annotations

import pytest

from trex.repair.settings import REPAIRS, chosen_table, repair_path, repair_query


@pytest.mark.parametrize("path", sorted(REPAIRS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_repair_is_valid_and_of_one_data_set(path: object) -> None:
    text, table = chosen_table(repair_path(str(path)), ())
    query = repair_query(table, str(path))
    kind = query.generator.name.split("-")[0]
    assert text and query.model.name.split("-")[0] == ("shipped" if kind == "clevr" else kind)
    assert 0.0 in query.correct.lambdas and query.correct.seeds >= 3
