"""Slices: a turn of the loop handles so many items and so many bytes, in order."""

from __future__ import annotations

import asyncio

from rookery.live.slices import MOST_BYTES, Slices


def turns(*added: list[bytes], size: int = 4) -> list[list[bytes]]:
    """Return what was handled in each turn."""
    handled: list[list[bytes]] = []

    async def scenario() -> None:
        slices: Slices[bytes] = Slices(handled.append, payload=bytes, size=size)
        for items in added:
            slices.add(items)
        assert len(slices) == sum(map(len, added)) - len(handled[0])
        while slices:
            await asyncio.sleep(0)
        assert not slices.size_bytes

    asyncio.run(scenario())
    return handled


def test_a_few_small_items_are_handled_at_once() -> None:
    assert turns([b"1", b"2"]) == [[b"1", b"2"]]


def test_many_are_handled_in_turns_and_in_order() -> None:
    items = [bytes([number]) for number in range(10)]
    assert turns(items[:6], items[6:]) == [items[:4], items[4:8], items[8:]]


def test_large_ones_are_handled_in_more_turns() -> None:
    """A batch of a thousand events is one message, and a turn of a hundred of them would last for seconds."""
    half = bytes(MOST_BYTES // 2 + 1)
    assert turns([half] * 4 + [b"1"]) == [[half] * 2, [half] * 2, [b"1"]]
