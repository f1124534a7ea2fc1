"""Hypothesis strategies: what gateways say to each other, right and nearly right."""

from __future__ import annotations

from hypothesis import strategies as st

from rookery.gateway.messages import (
    Acknowledgment,
    Envelope,
    Forwarded,
    Greeting,
    Offer,
    Ready,
    Recipient,
    SiteState,
    Want,
    Withdraw,
    encode,
)

__all__ = ["BODIES", "DEPTHS", "FRAMES", "MESSAGES", "NUMBERS", "TEXTS"]

NAMES = st.sampled_from(["a", "b", "c", "d", "", "x" * 300])
NUMBERS = st.integers(0, 6) | st.integers(0, (1 << 63) - 1)
BYTES = st.binary(max_size=40)
TEXTS = st.text(max_size=8)
TOPICS = st.just("quotes") | TEXTS
TYPES = st.just("Quote") | TEXTS
DEPTHS = st.none() | st.integers(-3, 5) | NUMBERS
BODIES = st.one_of(
    st.builds(Offer, NUMBERS, TOPICS, TYPES, *[st.booleans()] * 3, st.lists(TEXTS, max_size=2), DEPTHS),
    st.builds(Withdraw, NUMBERS),
    st.builds(Want, NUMBERS, st.booleans(), st.lists(TEXTS, max_size=2), st.just({}), NUMBERS),
    st.builds(Forwarded, NUMBERS, BYTES, NUMBERS, st.integers(-3, 9), BYTES, BYTES),
    st.builds(Ready, NUMBERS, NUMBERS),
)
MESSAGES = st.one_of(
    st.builds(Greeting, NAMES, NUMBERS),
    st.builds(SiteState, NAMES, NUMBERS, NUMBERS, st.lists(NAMES, max_size=5), BYTES | st.just(b"")),
    st.builds(
        Envelope,
        NAMES,
        NUMBERS,
        st.lists(st.builds(Recipient, NAMES, NUMBERS, NUMBERS, st.just(5) | NUMBERS), max_size=3),
        BODIES.map(encode),
    ),
    st.builds(Acknowledgment, NAMES, NAMES, NUMBERS, NUMBERS, NUMBERS),
)
FRAMES = MESSAGES.map(encode) | st.binary(max_size=30)
