"""Which offers meet which requests, policy by policy, and what may be asked for here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import UnsupportedPolicyError
from rookery.rtps.qos import (
    XCDR1,
    XCDR2,
    DestinationOrder,
    Durability,
    Liveliness,
    Ownership,
    Presentation,
    QualityOfService,
    Reliability,
    incompatible_policies,
    require_supported,
)

PLAIN = QualityOfService()


@pytest.mark.parametrize(
    ("policy", "weak", "strong"),
    [
        ("reliability", Reliability.BEST_EFFORT, Reliability.RELIABLE),
        ("durability", Durability.VOLATILE, Durability.TRANSIENT_LOCAL),
        ("durability", Durability.TRANSIENT_LOCAL, Durability.PERSISTENT),
        ("deadline", 2_000_000, 1_000_000),
        ("liveliness", Liveliness.AUTOMATIC, Liveliness.MANUAL_BY_TOPIC),
        ("liveliness_lease", 2_000_000, 1_000_000),
        ("latency_budget", 1_000, 0),
        ("destination_order", DestinationOrder.BY_RECEPTION, DestinationOrder.BY_SOURCE),
        ("presentation", Presentation.INSTANCE, Presentation.GROUP),
        ("coherent_access", False, True),
        ("ordered_access", False, True),
    ],
)
def test_an_offer_must_be_at_least_the_request(policy: str, weak: object, strong: object) -> None:
    low, high = replace(PLAIN, **{policy: weak}), replace(PLAIN, **{policy: strong})  # type: ignore[arg-type]
    reported = {
        "liveliness_lease": "liveliness",
        "coherent_access": "presentation",
        "ordered_access": "presentation",
    }.get(policy, policy)
    assert incompatible_policies(offered=low, requested=high) == (reported,)
    for offered, requested in ((high, low), (low, low), (high, high)):
        assert incompatible_policies(offered=offered, requested=requested) == ()


def test_ownership_must_be_the_same() -> None:
    exclusive = replace(PLAIN, ownership=Ownership.EXCLUSIVE)
    assert incompatible_policies(offered=exclusive, requested=PLAIN) == ("ownership",)
    assert incompatible_policies(offered=PLAIN, requested=exclusive) == ("ownership",)
    assert incompatible_policies(offered=exclusive, requested=exclusive) == ()


def test_the_writers_first_representation_must_be_readable() -> None:
    both, new = replace(PLAIN, representations=(XCDR1, XCDR2)), replace(PLAIN, representations=(XCDR2,))
    assert incompatible_policies(offered=PLAIN, requested=both) == ()
    assert incompatible_policies(offered=new, requested=both) == ()
    assert incompatible_policies(offered=new, requested=PLAIN) == ("data_representation",)
    assert incompatible_policies(offered=PLAIN, requested=new) == ("data_representation",)


@pytest.mark.parametrize(
    ("left", "right", "meet"),
    [
        ((), (), True),
        ((), ("",), True),
        ((), ("a",), False),
        (("a", "b"), ("b", "c"), True),
        (("a",), ("b",), False),
        (("a*",), ("abc",), True),
        (("a?",), ("abc",), False),
        (("a[bc]",), ("ab",), True),
        (("a*",), ("*c",), False),
        (("a*",), ("a*",), True),
    ],
)
def test_partitions(left: tuple[str, ...], right: tuple[str, ...], meet: bool) -> None:
    for one, other in ((left, right), (right, left)):
        offered, requested = replace(PLAIN, partitions=one), replace(PLAIN, partitions=other)
        assert incompatible_policies(offered=offered, requested=requested) == (() if meet else ("partition",))


@given(
    st.sampled_from(Reliability), st.sampled_from(Reliability), st.sampled_from(Durability), st.sampled_from(Durability)
)
def test_faults_of_several_policies_are_all_named(
    offered_reliability: Reliability,
    requested_reliability: Reliability,
    offered_durability: Durability,
    requested_durability: Durability,
) -> None:
    offered = replace(PLAIN, reliability=offered_reliability, durability=offered_durability)
    requested = replace(PLAIN, reliability=requested_reliability, durability=requested_durability)
    expected = []
    if offered_reliability < requested_reliability:
        expected.append("reliability")
    if offered_durability < requested_durability:
        expected.append("durability")
    assert incompatible_policies(offered=offered, requested=requested) == tuple(expected)


@pytest.mark.parametrize(
    "qos",
    [
        PLAIN,
        replace(PLAIN, reliability=Reliability.RELIABLE, history_depth=None),
        replace(PLAIN, reliability=Reliability.RELIABLE, durability=Durability.TRANSIENT_LOCAL, history_depth=9),
        replace(PLAIN, deadline=1, partitions=("a", "b*")),
        replace(PLAIN, liveliness=Liveliness.MANUAL_BY_TOPIC, liveliness_lease=1_000),
    ],
)
def test_what_is_supported_raises_nothing(qos: QualityOfService) -> None:
    require_supported(qos)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"coherent_access": True}, "coherent_access=True is not supported; choose among deadline"),
        ({"ownership_strength": 5}, "a strength without exclusive ownership"),
        ({"ownership": Ownership.EXCLUSIVE, "ownership_strength": 1 << 31}, "of 2147483648; give a number of 32 bits"),
        ({"durability": Durability.PERSISTENT, "reliability": Reliability.RELIABLE}, "use TRANSIENT_LOCAL"),
        ({"durability": Durability.TRANSIENT_LOCAL}, "ask for both"),
        ({"liveliness_lease": 5}, "a liveliness lease of 5 microseconds; give at least 1000"),
        ({"latency_budget": -5}, "a latency budget of -5 microseconds"),
        ({"presentation": Presentation.GROUP}, "presentation"),
        ({"representations": (1,)}, "representations"),
        ({"history_depth": 0}, "keep at least the last 1"),
        ({"deadline": 0}, "at least 1"),
    ],
)
def test_what_is_not_supported_raises(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(UnsupportedPolicyError, match=reason):
        require_supported(replace(PLAIN, **changes))  # type: ignore[arg-type]
