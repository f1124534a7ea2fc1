"""How gateways in one domain know each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.gateway import island_parameter
from rookery.gateway.membership import ISLAND_PARAMETER
from rookery.simulated.gateways import SimulatedIslands


@given(st.text())
def test_a_parameter_is_padded_and_bounded(site: str) -> None:
    parameter = island_parameter(site)
    assert parameter.id == ISLAND_PARAMETER
    assert len(parameter.value) % 4 == 0
    assert len(parameter.value) <= 256


def test_gateways_are_told_from_plain_participants() -> None:
    world = SimulatedIslands()
    first = world.site("a")
    world.site("b", domain_id=first.domain_id)
    first.member(name="plain")
    world.run(2)
    assert len(first.gateway.participant.peers) == 2
    assert first.gateway.other_gateways == ("b",)
