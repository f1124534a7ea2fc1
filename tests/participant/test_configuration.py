"""What a participant cannot be set up with is refused before its first datagram."""

from __future__ import annotations

import pytest

from rookery.errors import TopicError
from rookery.participant import ParticipantConfiguration, multicast_address, new_prefix
from rookery.rtps import Address
from rookery.rtps.identity import VENDOR


def test_configurations_that_cannot_be() -> None:
    for prefix in (bytes(12), b"short"):
        with pytest.raises(TopicError, match="12 octets"):
            ParticipantConfiguration(prefix=prefix, unicast=Address("127.0.0.1", 1))
    with pytest.raises(TopicError, match="0 to 232"):
        multicast_address(-1)
    assert multicast_address(232) == Address("239.255.0.1", 65_400)
    with pytest.raises(TopicError, match="at least 16"):
        ParticipantConfiguration(prefix=b"p" * 12, unicast=Address("127.0.0.1", 1), pre_shared_key=b"too short")
    with pytest.raises(TopicError, match="user data of 1025 bytes; give at most 1024"):
        ParticipantConfiguration(prefix=b"p" * 12, unicast=Address("127.0.0.1", 1), user_data=bytes(1_025))


def test_a_prefix_begins_with_the_vendor_and_is_as_random_as_it_was_given() -> None:
    assert new_prefix(bytes(range(10))) == VENDOR + bytes(range(10))
    assert "secret" not in repr(
        ParticipantConfiguration(
            prefix=b"p" * 12, unicast=Address("127.0.0.1", 1), pre_shared_key=b"secret of 16 bytes"
        )
    )
