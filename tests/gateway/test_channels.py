"""Channels: which writers are one, which offers are none, and what a proxy holds."""

from __future__ import annotations

import pytest

from rookery.gateway.channels import BACKLOG_BYTES, KEPT, MOST_PARTITIONS, Channel, Proxy, channel_of, channel_of_offer
from rookery.gateway.messages import Forwarded, Offer
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import WRITER_KEYED, WRITER_KEYLESS, Guid
from rookery.rtps.qos import Durability, QualityOfService, Reliability, require_supported

CHANNEL = Channel("quotes", "Quote", True, True, True, ("p",), 10)


def announced(qos: QualityOfService, kind: int = WRITER_KEYLESS) -> EndpointAnnouncement:
    return EndpointAnnouncement(Guid(bytes(12), 0x100 | kind), "quotes", "Quote", qos)


def test_a_channel_is_offered_as_it_is() -> None:
    assert channel_of_offer(CHANNEL.offer(7)) == CHANNEL
    assert CHANNEL.offer(7).channel == 7


def test_writers_that_share_what_decides_a_match_are_one_channel() -> None:
    reliable = QualityOfService(reliability=Reliability.RELIABLE, history_depth=3)
    assert channel_of(announced(reliable)) == channel_of(announced(reliable))
    assert channel_of(announced(reliable)) != channel_of(announced(reliable, WRITER_KEYED))
    assert channel_of(announced(reliable)) != channel_of(announced(QualityOfService(history_depth=3)))


def test_a_durable_writer_that_is_best_effort_crosses_as_a_volatile_one() -> None:
    strange = QualityOfService(reliability=Reliability.BEST_EFFORT, durability=Durability.TRANSIENT_LOCAL)
    channel = channel_of(announced(strange))
    assert (channel.reliable, channel.transient_local) == (False, False)
    require_supported(channel.quality(depth=None))  # a tap or proxy may be made of it


@pytest.mark.parametrize(
    "offer",
    [
        Offer(1, "", "Quote", False, True, False, [], None),
        Offer(1, "quotes", "", False, True, False, [], None),
        Offer(1, "quotes", "Quote", False, True, False, [], 0),
        Offer(1, "q" * 1_025, "Quote", False, True, False, [], None),
        Offer(1, "quotes", "Quote", False, True, False, ["p"] * (MOST_PARTITIONS + 1), None),
    ],
)
def test_an_offer_that_no_writer_can_be_like_is_none(offer: Offer) -> None:
    assert channel_of_offer(offer) is None


@pytest.mark.parametrize(
    ("keyed", "durable", "depth", "kept"),
    [
        (False, False, 5, 0),
        (False, True, 5, 5),
        (False, True, None, KEPT),
        (True, True, 5, KEPT),
        (False, True, 9_999, KEPT),
    ],
)
def test_what_is_kept_for_late_ones(keyed: bool, durable: bool, depth: int | None, kept: int) -> None:
    assert Channel("quotes", "Quote", keyed, True, durable, (), depth).kept == kept


def test_a_proxy_holds_one_sample_of_any_size_and_no_more_than_there_is_room_for() -> None:
    proxy = Proxy(CHANNEL, 1)
    large = Forwarded(1, b"writer", 1, 0, b"", bytes(BACKLOG_BYTES + 1))
    assert proxy.hold(large)
    assert not proxy.hold(large)
    proxy.forget()
    assert proxy.hold(large)
