"""Replicas of a peer's batches: confirmed from the disk, discarded when told to, orphans when the peer is gone."""

from __future__ import annotations

from rookery.brokers.batches import Accepted, Discard, ReplicasHeld, Replicate, Replicated, batch_of
from rookery.brokers.configuration import BrokerDurability

from .alone import alone, sent, writes

OWNER = 2
BATCH = batch_of(7, 0, [{"x": 0.5, "y": 0.5}])


def test_a_replica_is_confirmed_when_it_is_on_the_disk() -> None:
    broker = alone()
    broker.receive(Replicate(((5, BATCH),)), OWNER, 1)
    effects = broker.effects()
    (write,) = writes(effects)
    assert write.entries == ((OWNER, 5, BATCH),)
    assert not sent(effects)
    broker.completed(write, None, 2)
    assert sent(broker.effects()) == [(OWNER, Replicated((5,)))]


def test_what_comes_again_is_written_once_and_confirmed_again() -> None:
    """An owner that has no answer yet sends it again: that makes no work for who is behind."""
    broker = alone()
    broker.receive(Replicate(((5, BATCH),)), OWNER, 1)
    (write,) = writes(broker.effects())
    broker.receive(Replicate(((5, BATCH),)), OWNER, 2)
    assert not broker.effects()
    broker.completed(write, None, 3)
    assert sent(broker.effects()) == [(OWNER, Replicated((5,)))]
    broker.receive(Replicate(((5, BATCH), (6, BATCH))), OWNER, 4)
    effects = broker.effects()
    assert sent(effects) == [(OWNER, Replicated((5,)))]
    assert [again.entries for again in writes(effects)] == [((OWNER, 6, BATCH),)]


def test_a_replica_that_the_disk_did_not_take_is_tried_again_at_a_beat() -> None:
    broker = alone()
    broker.receive(Replicate(((5, BATCH),)), OWNER, 1)
    (write,) = writes(broker.effects())
    broker.completed(write, "the disk is full", 2)
    assert not broker.effects()
    beat = broker.timer()
    assert beat is not None
    broker.wake(beat)
    effects = broker.effects()
    assert [again.entries for again in writes(effects)] == [write.entries]
    assert (OWNER, ReplicasHeld((5,))) in sent(effects)


def test_a_discarded_replica_is_done_with() -> None:
    broker = alone()
    broker.receive(Replicate(((5, BATCH), (6, BATCH))), OWNER, 1)
    broker.effects()
    broker.receive(Discard((5, 99)), OWNER, 2)
    (write,) = writes(broker.effects())
    assert write.done == ((OWNER, 5),)
    assert broker.replicas.batches == {OWNER: {6: BATCH}}


def test_discarded_and_replicated_in_one_buffer_it_stays() -> None:
    broker = alone()
    broker.receive(Replicate(((5, BATCH),)), OWNER, 1)
    broker.effects()
    broker.receive_many((Discard((5,)), Replicate(((5, BATCH),))), OWNER, 2)
    (write,) = writes(broker.effects())
    assert (write.entries, write.done) == (((OWNER, 5, BATCH),), ())


def test_what_a_dead_peer_owned_goes_to_the_present_owner_and_is_done_with() -> None:
    broker = alone(durability=BrokerDurability.ONE_DISK)
    broker.receive(Replicate(((5, BATCH),)), OWNER, 1)
    broker.effects()
    broker.lose(OWNER, 2)
    (write,) = writes(broker.effects())  # nobody wants the event, so its owner, this broker, accepts it at once
    assert write.done == ((OWNER, 5),)
    assert not broker.replicas.batches
    assert not broker.replicas.orphans
    assert broker.counters["matched"] == 1


def test_a_replica_whose_owner_was_thought_dead_is_kept_for_it() -> None:
    """It was sent on meanwhile: that it is safe elsewhere does not end what its owner counts on here."""
    broker = alone()
    broker.receive(Replicate(((5, BATCH),)), OWNER, 1)
    broker.effects()
    broker.lose(OWNER, 2)
    assert list(broker.replicas.orphans) == [(OWNER, 5)]
    broker.receive(Replicate(((5, BATCH),)), OWNER, 3)
    broker.receive(Accepted(BATCH.publisher, BATCH.first), 3, 4)
    assert not broker.replicas.orphans
    assert broker.replicas.batches == {OWNER: {5: BATCH}}
    assert not any(write.done for write in writes(broker.effects()))


def test_orphans_are_sent_as_links_have_room() -> None:
    broker = alone()
    broker.receive(
        Replicate(tuple((number, batch_of(7, number, [{"x": 0.5, "y": 0.5}])) for number in range(9))), OWNER, 1
    )
    (write,) = writes(broker.effects())
    broker.completed(write, None, 2)
    broker.unsent = broker.configuration.memory
    broker.lose(OWNER, 3)
    assert len(broker.replicas.orphans) == 9
    assert len(broker.replicas._sent) == 1, "one always goes"
    broker.unsent = 0
    beat = broker.timer()
    assert beat is not None
    broker.wake(beat)
    assert len(broker.replicas._sent) == 9
