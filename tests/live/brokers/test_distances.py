"""Live brokers in network namespaces that are far apart: they find their coordinates, and say how good these are."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tests.live.distant_sites import DistantSites, why_not_distant

from rookery.papers.seed_003.latencies import latency_matrix

from .far_fleet import FarFleet

pytestmark = pytest.mark.skipif(bool(why_not_distant()), reason=why_not_distant() or "it is allowed")
#: Ends a hang.
MOST_SECONDS = 3_000


def settled(fleet: FarFleet, count: int) -> list[dict[str, object]]:
    """Wait until every broker has coordinates, an error and a stretch; return what each says of the network."""
    until = time.monotonic() + MOST_SECONDS
    while time.monotonic() < until:
        told = [fleet.told(site)["network"] for site in range(count)]
        if all(one["coordinates"] and one["error"] is not None and one["stretch"] is not None for one in told):
            return told
        time.sleep(1)
    raise AssertionError("some broker found no coordinates")


@pytest.mark.timeout(4 * MOST_SECONDS)
def test_brokers_that_are_far_apart_find_their_coordinates(tmp_path: Path) -> None:
    times = latency_matrix("made", 9)
    assert times is not None
    with DistantSites(times) as sites, FarFleet(sites, tmp_path, beat=1.0, refresh=10.0) as fleet:
        told = settled(fleet, len(times))
        site_of = {f"{sites.address(site)}:7400": site for site in range(len(times))}
        for site, one in enumerate(told):
            assert one["proximity"] == "coordinates"
            assert len(one["landmarks"]) >= 8  # type: ignore[arg-type]
            assert one["round_trips"]
            for address, measured in one["round_trips"].items():  # type: ignore[attr-defined]
                assert measured >= times[site, site_of[address]], "no packet is faster than the relay lets it be"
        at = np.array([one["coordinates"] for one in told])
        predicted = np.linalg.norm(at[:, None] - at[None, :], axis=2)
        apart = np.triu_indices(len(times), k=1)
        assert np.corrcoef(predicted[apart], times[apart])[0, 1] > 0.7
