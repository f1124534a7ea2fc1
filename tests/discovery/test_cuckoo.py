"""How the cuckoo summary is set, and that every announcement does its share."""

from __future__ import annotations

import pytest

from rookery.discovery.carriage import decode_summary
from rookery.discovery.cuckoo import CuckooSetting, CuckooSummary
from rookery.discovery.protocols import require_protocol, summary_of
from rookery.errors import TopicError
from rookery.filters import CuckooFilter


def keys(count: int) -> list[str]:
    return [f"W\x1ftopic{number}\x1ftype" for number in range(count)]


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("patent", CuckooSetting(buckets=8, bits=8, moves=1, reorders=False, shrinks=False)),
        ("patent,buckets=2", CuckooSetting(buckets=2, bits=8, moves=1, reorders=False, shrinks=False)),
        ("bits=9, moves=4", CuckooSetting(bits=9, moves=4)),
    ],
)
def test_a_setting_is_read(text: str, setting: CuckooSetting) -> None:
    assert CuckooSetting.parse(text) == setting


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [
        ("cuckoo:", "give patent, buckets=8, bits=12 or moves=1"),
        ("cuckoo:patents", "give patent"),
        ("cuckoo:patent=1", "give patent"),
        ("cuckoo:buckets=12", "a power of two from 2 to 65,536"),
        ("cuckoo:buckets=1", "a power of two"),
        ("cuckoo:bits=17", "8 to 16 bits"),
        ("cuckoo:moves=0", "never ends"),
        ("ribbon:patent", "only cuckoo and tree can be set"),
        ("gossip:patent", "no discovery protocol is called 'gossip'"),
    ],
)
def test_a_setting_that_is_none_is_refused_with_what_to_give(protocol: str, reason: str) -> None:
    with pytest.raises(TopicError, match=reason):
        require_protocol(protocol)


def test_the_patents_setting_sends_what_the_patents_filter_sends() -> None:
    summary, filter_ = summary_of("cuckoo:patent"), CuckooFilter.patent()
    assert summary is not None
    for epoch, key in enumerate(keys(40), start=1):
        summary.add(key)
        filter_.add(key)
        summary.settle()
        assert summary.encode(epoch=epoch, room=1_400) == filter_.announce()


def test_the_default_keeps_twelve_bits_and_the_patent_eight() -> None:
    for setting, bits in ((CuckooSetting(), 12), (CuckooSetting.patent(), 8)):
        summary = CuckooSummary(None, setting)
        summary.add("key")
        assert decode_summary(summary.encode(epoch=1, room=1_400)).tables[0].width == bits
