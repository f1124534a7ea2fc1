"""The world: what is sent arrives in order, once, after its time; or comes back, and every fault does what it says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.machine.scripted import Scripted

from rookery.machine import ClientId, Close, Compute, Effect, Emit, Multicast, Send, Write
from rookery.machine.log import RecordLog
from rookery.rtps.locators import Address
from rookery.simulated.disks import WRITE_TIME, SimulatedDisk
from rookery.simulated.links import LinkConditions
from rookery.simulated.world import Process, World

SECOND = 1_000_000


def a_log(disk: SimulatedDisk) -> RecordLog[str]:
    return RecordLog(disk, encode=str.encode, decode=lambda data: bytes(data).decode())


class Stage:
    """A world of scripted machines: numbers are brokers, `ClientId` clients."""

    def __init__(self, *nodes: int | ClientId, seed: int = 1, **conditions: Any) -> None:
        self.world = World(seed=seed, conditions=LinkConditions(**conditions))
        self.machines: dict[Any, Scripted] = {}
        self.told: list[Any] = []
        for node in nodes:
            self.start(node)

    def start(self, node: int | ClientId) -> Process:
        self.machines[node] = Scripted()
        disk = SimulatedDisk()
        return self.world.start(node, self.machines[node], self.told.append, disk=disk, log=a_log(disk))

    def do(self, node: int | ClientId, *effects: Effect) -> None:
        self.machines[node].todo += effects
        self.world.perform(self.world.processes[node])

    def heard(self, node: int | ClientId, kind: str) -> list[Any]:
        return [note[1] for note in self.machines[node].heard if note[0] == kind]


def test_messages_arrive_in_order_after_their_latency() -> None:
    stage = Stage(1, 2, latency=lambda one, other: 1_000 * one, client_latency=7)
    stage.do(1, Send(2, "a"), Send(2, "b"))
    stage.do(2, Send(1, "c"))
    stage.world.run(SECOND)
    assert stage.machines[2].heard == [("message", "a", 1, 1_000), ("message", "b", 1, 1_000)]
    assert stage.machines[1].heard == [("message", "c", 2, 2_000)]
    assert stage.world.messages == 3


@pytest.mark.parametrize("seed", range(5))
def test_a_lost_packet_holds_up_what_follows_and_loses_nothing(seed: int) -> None:
    stage = Stage(1, 2, seed=seed, loss=0.3)
    for number in range(50):
        stage.do(1, Send(2, number))
        stage.world.run(10_000)
    until = stage.world.links.held_up_until()
    stage.world.run(100 * SECOND)
    assert stage.heard(2, "message") == list(range(50))
    assert max(note[3] for note in stage.machines[2].heard) == until > 500_000


def test_what_is_sent_to_the_dead_comes_back() -> None:
    stage = Stage(1, 2, latency=1_000, refusal=5_000)
    stage.world.end(2)
    stage.do(1, Send(2, "a"), Send(3, "b"))
    stage.world.run(SECOND)
    assert stage.machines[1].heard == [("undeliverable", "a", 2, 6_000), ("undeliverable", "b", 3, 6_000)]


def test_timers_wake_at_their_time_and_a_later_one_replaces_an_earlier() -> None:
    stage = Stage(1)
    stage.machines[1].alarm = 5_000
    stage.do(1)
    stage.machines[1].alarm = 9_000
    stage.do(1)
    stage.world.run(SECOND)
    assert stage.machines[1].heard == [("woken", 9_000)]


def test_a_disk_outlives_its_process_takes_its_time_and_may_be_full() -> None:
    stage = Stage(1)
    stage.do(1, Write(1, ((7, 1, "a"), (7, 2, "b")), ()))
    stage.world.run(WRITE_TIME)
    assert stage.machines[1].heard == [("completed", 1, None, WRITE_TIME)]
    stage.do(1, Write(2, ((7, 3, "c"),), ((7, 1),)))
    disk = stage.world.end(1)
    stage.world.run(SECOND)  # it died while it wrote
    assert a_log(disk).entries() == [(7, 1, "a"), (7, 2, "b")]
    stage.start(2)
    stage.world.processes[2].disk.fill()
    stage.do(2, Write(1, ((7, 4, "d"),), ()), Write(None, (), ((7, 9),)))
    stage.world.run(SECOND)
    full = "the broker's disk did not take it: No space left on device"
    assert [note[:3] for note in stage.machines[2].heard] == [("completed", 1, full), ("completed", None, full)]


@pytest.mark.parametrize("seed", range(8))
def test_a_task_takes_as_long_as_the_seed_says_and_nothing_waits_for_it(seed: int) -> None:
    stage = Stage(1, 2, seed=seed)
    stage.world.compute_time = SECOND
    done: list[int] = []
    compute = Compute(lambda: done.append(stage.world.now))
    stage.do(1, compute, Send(2, "a"))
    stage.world.run(2 * SECOND)
    assert [note[:2] for note in stage.machines[2].heard] == [("message", "a")]
    ((kind, effect, _, when),) = stage.machines[1].heard
    assert (kind, effect) == ("completed", compute)
    assert 0 <= when <= SECOND
    assert done in ([0], [when])


def test_tasks_are_done_at_the_beginning_and_at_the_end_of_their_time() -> None:
    places = set()
    for seed in range(20):
        stage = Stage(1, seed=seed)
        stage.world.compute_time = SECOND
        done: list[int] = []
        stage.do(1, Compute(lambda done=done, stage=stage: done.append(stage.world.now)))  # type: ignore[misc]
        stage.world.run(2 * SECOND)
        ((_, _, _, when),) = stage.machines[1].heard
        places.add(("begin", "end")[done == [when]])
    assert places == {"begin", "end"}


def test_nobody_hears_of_the_task_of_one_that_crashed() -> None:
    stage = Stage(1, 2)
    stage.world.compute_time = SECOND
    stage.do(1, Compute(int))
    stage.world.end(1)
    stage.world.run(2 * SECOND)
    assert stage.machines[1].heard == []


def test_a_paused_process_hears_everything_later_and_in_order() -> None:
    stage = Stage(1, 2)
    stage.world.pause(2)
    stage.machines[2].alarm = 10
    stage.do(2)
    stage.do(1, Send(2, "a"))
    stage.world.run(SECOND)
    stage.do(1, Send(2, "b"))
    stage.world.run(SECOND)
    assert stage.machines[2].heard == []
    stage.world.resume(2)
    assert [note[0] for note in stage.machines[2].heard] == ["woken", "message", "message"]
    assert stage.heard(2, "message") == ["a", "b"]


def test_a_short_cut_delays_and_a_long_one_ends_the_connection() -> None:
    stage = Stage(1, 2, silence=10 * SECOND)
    stage.world.cut(1, 2, both_ways=False)
    stage.do(1, Send(2, "a"))
    stage.do(2, Send(1, "b"))
    stage.world.run(SECOND)
    assert (stage.heard(1, "message"), stage.heard(2, "message")) == (["b"], [])
    stage.do(1, Send(2, "c"))
    stage.world.run(SECOND)
    stage.world.mend(1, 2)
    assert stage.heard(2, "message") == ["a", "c"]
    stage.world.cut(1, 2)
    stage.do(1, Send(2, "d"))
    stage.world.run(11 * SECOND)
    assert stage.heard(1, "undeliverable") == ["d"]
    stage.do(2, Send(1, "e"))
    stage.world.run(SECOND)
    assert stage.heard(2, "undeliverable") == ["e"]
    stage.world.mend(1, 2)
    stage.do(1, Send(2, "f"))
    stage.world.run(SECOND)
    assert stage.heard(2, "message") == ["a", "c", "f"]


def connected() -> Stage:
    stage = Stage(1, ClientId(1), refusal=3_000, client_latency=100)
    stage.do(ClientId(1), Send(1, "hello"))
    stage.world.run(1_000)
    assert stage.heard(1, "message") == ["hello"]
    return stage


def test_a_client_has_a_number_of_its_own_kind_and_is_spoken_to_only_while_connected() -> None:
    stage = connected()
    stage.do(1, Send(ClientId(1), "welcome"))
    stage.world.run(1_000)
    assert stage.heard(ClientId(1), "message") == ["welcome"]
    stage.do(1, Close(ClientId(1), "enough"), Send(ClientId(1), "late"))
    stage.world.run(1_000)
    assert stage.heard(ClientId(1), "lost") == [1]
    stage.do(1, Send(ClientId(1), "nobody"))
    stage.world.run(1_000)
    assert "nobody" not in stage.heard(ClientId(1), "message")


def test_both_ends_learn_of_a_broken_connection_and_what_was_on_its_way_is_gone() -> None:
    stage = connected()
    stage.do(ClientId(1), Send(1, "on its way"))
    stage.world.disconnect(ClientId(1))
    stage.world.run(1_000)
    assert stage.heard(1, "message") == ["hello"]
    assert (stage.heard(1, "lost"), stage.heard(ClientId(1), "lost")) == ([ClientId(1)], [1])


def test_the_survivor_learns_of_a_death_unless_there_is_a_new_connection() -> None:
    stage = connected()
    stage.world.end(ClientId(1))
    stage.world.run(10_000)
    assert stage.heard(1, "lost") == [ClientId(1)]
    again = connected()
    again.world.end(ClientId(1))
    again.start(ClientId(1))
    again.do(ClientId(1), Send(1, "back"))
    again.world.run(10_000)
    assert again.heard(1, "lost") == []
    dead = connected()
    dead.world.end(1)
    dead.world.run(10_000)
    assert dead.heard(ClientId(1), "lost") == [1]


def test_a_client_does_not_dial_anew_before_it_knows_that_its_connection_is_dead() -> None:
    """Who has come back at that address does not know it: what it says into the dead connection reaches nobody."""
    stage = connected()
    stage.world.end(1)
    stage.start(2)
    stage.world.rename(1, 2)
    stage.do(ClientId(1), Send(1, "still there?"))
    stage.world.run(2_000)
    assert not stage.machines[2].heard
    stage.world.run(2_000)
    assert stage.heard(ClientId(1), "lost") == [1]
    stage.do(ClientId(1), Send(1, "again"))
    stage.world.run(1_000)
    assert stage.machines[2].heard[0][:2] == ("message", "again")


def test_a_client_reaches_who_listens_at_an_address_by_the_number_that_it_knows() -> None:
    stage = connected()
    stage.world.end(1)
    stage.world.run(10_000)
    stage.start(2)
    stage.world.rename(1, 2)
    stage.do(ClientId(1), Send(1, "again"))
    stage.world.run(1_000)
    stage.do(2, Send(ClientId(1), "yes"))
    stage.world.run(1_000)
    assert stage.machines[2].heard[0][:2] == ("message", "again")
    assert stage.machines[ClientId(1)].heard[-1][:3] == ("message", "yes", 1)


def test_events_reach_the_program() -> None:
    stage = Stage(1)
    stage.do(1, Emit("something"))
    assert stage.told == ["something"]


def test_datagrams_are_lost_doubled_and_overtaken_and_nobody_is_told() -> None:
    stage = Stage(1, 2, datagrams=True, latency=1_000, jitter=5_000, loss=0.3, duplication=0.3, seed=3)
    stage.do(1, *(Send(2, number) for number in range(200)))
    stage.do(1, Send(9, "to nobody"))
    stage.world.run(SECOND)
    arrived = stage.heard(2, "message")
    assert 0 < len(set(arrived)) < 200
    assert len(arrived) > len(set(arrived))
    assert arrived != sorted(arrived)
    assert {now for _, _, _, now in stage.machines[2].heard} <= set(range(1_000, 6_001))
    assert stage.machines[1].heard == []


def test_a_datagram_into_a_cut_is_gone() -> None:
    stage = Stage(1, 2, datagrams=True)
    stage.world.cut(1, 2, both_ways=False)
    stage.do(1, Send(2, "lost"))
    stage.do(2, Send(1, "heard"))
    stage.world.run(60 * SECOND)
    stage.world.mend(1, 2)
    stage.do(1, Send(2, "after"))
    stage.world.run(SECOND)
    assert (stage.heard(1, "message"), stage.heard(2, "message")) == (["heard"], ["after"])


def test_an_address_and_a_group_are_reached_by_datagrams_beside_streams() -> None:
    stage = Stage(1, 2, 3)
    one, two, group = Address("127.0.0.1", 1), Address("127.0.0.1", 2), Address("239.255.0.1", 7400)
    stage.world.bind(1, one)
    stage.world.bind(2, two)
    for node in (1, 2):
        stage.world.join_group(group, node)
    stage.do(1, Send(two, "to an address"), Send(group, "to all"), Send(3, "on a stream"))
    stage.world.run(SECOND)
    assert [note[1:3] for note in stage.machines[2].heard] == [("to an address", one), (Multicast("to all"), one)]
    assert stage.heard(1, "message") == [Multicast("to all")]
    assert [note[1:3] for note in stage.machines[3].heard] == [("on a stream", 1)]
    stage.world.end(2)
    stage.do(1, Send(two, "too late"), Send(group, "too late"))
    stage.world.run(SECOND)
    assert stage.heard(1, "undeliverable") == []


def test_a_stream_that_breaks_repeats_its_last_messages_in_order() -> None:
    stage = Stage(1, 2, duplication=0.2, loss=0.1, jitter=2_000, seed=5)
    stage.do(1, *(Send(2, number) for number in range(100)))
    stage.world.run(600 * SECOND)
    arrived = stage.heard(2, "message")
    assert len(arrived) > 100
    assert list(dict.fromkeys(arrived)) == list(range(100))  # the first of each are in order, and none is missing
    again = [place for place in range(1, len(arrived)) if arrived[place] <= arrived[place - 1]]
    assert again, "some were repeated"


def test_each_process_has_clocks_of_its_own() -> None:
    stage = Stage(1)
    machine = stage.machines[2] = Scripted()
    stage.world.start(2, machine, stage.told.append, clock=5 * SECOND)
    machine.alarm = 5 * SECOND + 300
    stage.do(2, Send(1, "hello"))
    stage.do(1, Send(2, "you"))
    stage.world.run(SECOND)
    assert machine.heard == [("woken", 5 * SECOND + 300), ("message", "you", 1, 5 * SECOND + 1_000)]
    assert stage.machines[1].heard == [("message", "hello", 2, 1_000)]
    assert (stage.world.time(1), stage.world.time(2)) == (SECOND, 6 * SECOND)
    stage.world.step_clock(2, -3600 * SECOND)
    assert (stage.world.wall_time(2), stage.world.time(2)) == (-3599 * SECOND, 6 * SECOND)
