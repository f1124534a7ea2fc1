"""What a flip of one claim cannot say: chance is no contradiction, and right times of another thing are no proof."""

from __future__ import annotations

import pytest
from tests.papers.flips.seed_000 import stated_delay
from tests.papers.test_flips import judged, rows_of

from rookery.papers.claims import chosen
from rookery.papers.verdicts import Verdict


def test_one_rare_counter_is_chance() -> None:
    """A bound of one in a thousand that one of 800 filters meets is not refuted by it."""
    rare = [dict(row) for row in rows_of("seed-000/counter-bound")]
    one = next(row for row in rare if (row["m"], row["k"], row["j"]) == (1010, 7, 8))
    assert one["tight_bound"] < 0.002
    one["share"] = max(one["share"], 1 / one["filters"])
    assert judged("seed-000/counter-bound", rare) is Verdict.REPRODUCED


@pytest.mark.parametrize("change", [{"levels": 9}, {"missed": 1}], ids=["other levels", "a topic is missed"])
def test_the_stated_delays_of_another_tree_are_no_proof(change: dict[str, int]) -> None:
    rows = [{**row, **stated_delay(row)} for row in rows_of("seed-000/delay-layers")]
    assert judged("seed-000/delay-layers", rows) is Verdict.REPRODUCED
    other = [{**row, **change} if row["protocol"] == "HBF_ADA" else row for row in rows]
    assert judged("seed-000/delay-layers", other) is Verdict.CONTRADICTED


def test_the_experiments_of_seed_000_have_its_ten_nodes() -> None:
    """Nine nodes with five applications each, and the one that joins; each of the nine sends 100 times."""
    delay, load = (claim.experiment for claim in chosen([f"seed-000/{name}" for name in ("delay-layers", "load-flat")]))
    assert all((one["senders"], one["applications"], one["sends"]) == (9, 5, 100) for one in delay.full.configurations)
    assert all((one["peers"], one["applications"]) == (9, 5) for one in load.full.configurations)
    assert {row["live_gone"] for row in rows_of("seed-000/deletion")} == {3 * 5}
