"""The routing table: who is alive, and which peers are remembered."""

from __future__ import annotations

import msgspec

from rookery.brokers.messages import BrokerHeartbeat, OwnerFound
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.routing_table import FORGOTTEN, MOST_KNOWN_PEERS
from rookery.space.zones import Cut, split

from .alone import alone
from .invariants import network

BEAT = 5_000_000


def test_a_peer_that_a_message_did_not_reach_is_dead_until_it_speaks() -> None:
    broker = alone()
    table = broker.routing_table
    assert table.alive(2)
    broker.undeliverable(BrokerHeartbeat(()), 2, 1)
    assert not table.alive(2)
    assert 2 not in table.known_peers
    broker.receive(BrokerHeartbeat(()), 2, 2)
    assert table.alive(2)
    assert list(table.known_peers) == [2]


def test_a_failed_message_is_forgiven_after_a_while() -> None:
    broker = alone()
    broker.lose(2, 1)
    broker.now = FORGOTTEN * BEAT + 2
    broker.routing_table.prune()
    assert broker.routing_table.alive(2)


def test_a_neighbor_is_dead_after_three_beats_of_silence() -> None:
    broker = alone()
    _, upper = split((), 0, 0.5)
    broker.membership.close(broker.owned[()])
    lower = (Cut(0, 0, 0.5),)
    broker.membership.open(ZoneOwnership(lower, 1, broker.id))
    broker.receive(OwnerFound(ZoneOwnership(upper, 1, 2)), 2, 1)
    table = broker.routing_table
    assert [ownership.owner for ownership in broker.owned[lower].neighbors] == [2]
    broker.now = 1 + 3 * BEAT
    assert table.alive(2)
    broker.now += 1
    assert not table.alive(2)
    assert table.silence(2) == 1
    assert table.ages(broker.owned[lower]) == ((ZoneOwnership(upper, 1, 2), 3 * BEAT + 1),)


def test_news_of_the_dead_is_not_taken_for_news() -> None:
    """At second hand a broker is as old as the news of it, so two peers cannot keep a dead one alive."""
    broker = alone()
    broker.membership.close(broker.owned[()])
    lower, upper = split((), 0, 0.5)
    owned = broker.membership.open(ZoneOwnership(lower, 1, broker.id))
    broker.now = 100 * BEAT
    broker.routing_table.learn(ZoneOwnership(upper, 1, 2), broker.now - 3 * BEAT - 1)
    assert not len(owned.neighbors)
    broker.routing_table.learn(ZoneOwnership(upper, 1, 2), broker.now - 3 * BEAT)
    assert len(owned.neighbors) == 1


def test_the_peers_met_last_are_remembered() -> None:
    table = alone().routing_table
    for peer in range(2, 2 + 2 * MOST_KNOWN_PEERS):
        table.remember(peer)
    table.remember(1)  # oneself is no peer
    assert list(table.known_peers) == list(range(2 + MOST_KNOWN_PEERS, 2 + 2 * MOST_KNOWN_PEERS))
    assert table.living() == sorted(table.known_peers)


def test_a_heartbeat_without_news_is_known_before_it_is_taken_in() -> None:
    made = network(2, dimensions=1)
    one, other = made.brokers[1], made.brokers[2]
    (zone,) = other.owned.values()
    report = other.routing_table.report(zone)
    heartbeat = BrokerHeartbeat((report,), True, 1 << 60, 7)
    table = one.routing_table
    before = one.leases._given.get(2), dict(table.heard)
    assert table.is_known(heartbeat, 2)
    assert (one.leases._given.get(2), table.heard) == before  # looking changes nothing
    changed = msgspec.structs.replace(report, stamp=report.stamp + 1)
    beaten = ZoneOwnership(zone.path, zone.ownership.epoch + 1, 2)
    for news in (
        BrokerHeartbeat((), True, 1 << 60, 7),
        BrokerHeartbeat((changed,), True, 1 << 60, 7),
        BrokerHeartbeat((msgspec.structs.replace(report, ownership=beaten),), True, 1 << 60, 7),
        BrokerHeartbeat((report,), True, 1 << 60, 7, rivals=((beaten, 0),)),
    ):
        assert not table.is_known(news, 2)
    assert not table.is_known(heartbeat, 3)
    one.receive(heartbeat, 2, one.now)
    assert one.leases._given[2] == 1 << 60


def test_what_the_former_owner_of_a_zone_has_heard_binds_the_present_one() -> None:
    """The time at which it heard a neighbor last, and granted it something; unless one has heard it since."""
    broker = alone()
    table = broker.routing_table
    broker.now = 50 * BEAT
    table.inherit(2, 2 * BEAT)
    assert table.heard[2] == 48 * BEAT
    table.inherit(2, 7 * BEAT)
    assert table.heard[2] == 48 * BEAT
    table.inherit(2, BEAT)
    assert table.heard[2] == 49 * BEAT
