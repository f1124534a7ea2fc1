"""Addresses that are believed: of UDP, in the allowed networks, with a port that can be, each once."""

from __future__ import annotations

from ipaddress import IPv4Network

from hypothesis import given
from hypothesis import strategies as st

from rookery.rtps import locators
from rookery.rtps.limits import Counters
from rookery.rtps.locators import Address, AllowedNetworks, Locator, decode_locator
from rookery.rtps.octets import Cursor

ADDRESSES = st.builds(
    Address, st.tuples(*[st.integers(0, 255)] * 4).map(lambda part: ".".join(map(str, part))), st.integers(1, 65_535)
)


@given(ADDRESSES, st.booleans())
def test_a_locator_is_read_as_it_was_written(address: Address, little: bool) -> None:
    locator = Locator.of(address)
    encoded = locator.encode(little=little)
    assert len(encoded) == 24
    assert decode_locator(Cursor(encoded, little=little)) == locator
    everywhere = AllowedNetworks((IPv4Network("0.0.0.0/0"),))
    found = everywhere.addresses([locator, locator], at_most=5, counters=Counters())
    assert found == ((address,) if everywhere.allows(address.host) else ())


def test_what_is_not_believed_is_counted() -> None:
    counters, here = Counters(), AllowedNetworks()
    good = Address("127.0.0.1", 7_400)
    locators = [
        Locator.of(good),
        Locator.of(Address("8.8.8.8", 53)),
        Locator.of(Address("127.0.0.1", 0)),
        Locator(16, 7_400, bytes(16)),  # shared memory: not for us, and no fault
        *(Locator.of(Address("127.0.0.1", port)) for port in (1, 2, 3)),
    ]
    assert here.addresses(locators, at_most=3, counters=counters) == (
        good,
        Address("127.0.0.1", 1),
        Address("127.0.0.1", 2),
    )
    assert dict(counters) == {"locator_network": 1, "locator_port": 1, "locators": 1}


def test_a_long_list_of_a_stranger_is_not_kept() -> None:
    kept = locators._shared.cache_info().currsize
    host = Address("127.0.0.9", 7410)
    counters = Counters()
    strangers = [Locator.of(Address("10.0.0.1", port)) for port in range(1, 100)]
    assert AllowedNetworks().addresses([*strangers, Locator.of(host)], at_most=8, counters=counters) == (host,)
    assert counters["locator_network"] == 99
    assert locators._shared.cache_info().currsize == kept
    for _ in range(2):
        assert AllowedNetworks().addresses(strangers[:8], at_most=8, counters=counters) == ()
    assert counters["locator_network"] == 99 + 16
    assert locators._shared.cache_info().currsize == kept + 1
