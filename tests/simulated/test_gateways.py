"""Islands in the world: sites that hear only their own participants, and gateways that are dialed again."""

from __future__ import annotations

from rookery.rtps.events import ParticipantDiscovered
from rookery.simulated.gateways import SimulatedIslands


def islands(seed: int = 1) -> SimulatedIslands:
    made = SimulatedIslands(seed=seed)
    for name in "ab":
        made.site(name)
    made.join("a", "b")
    return made


def reached(made: SimulatedIslands) -> dict[str, str]:
    return made.sites["a"].gateway.backbone.sites.next_hops


def test_datagrams_stay_at_their_site() -> None:
    made = islands()
    members = {name: made.sites[name].member() for name in "ab"}
    made.run(2)
    for name, member in members.items():
        found = [event.announcement.prefix for event in member.events if isinstance(event, ParticipantDiscovered)]
        assert found == [made.sites[name].gateway.participant.prefix]


def test_a_gateway_that_was_started_again_is_dialed_again() -> None:
    made = islands()
    made.run(2)
    assert reached(made) == {"b": "b"}
    made.sites["b"].crash()
    made.run(2)
    assert reached(made) == {}
    made.sites["b"].start()
    made.run(2)
    assert reached(made) == {"b": "b"}


def test_nobody_is_dialed_over_a_cut_nor_after_they_have_parted() -> None:
    made = islands()
    made.run(2)
    made.world.cut("a", "b", both_ways=False)
    made.run(30)
    assert reached(made) == {}
    made.world.mend("a", "b")
    made.run(2)
    assert reached(made) == {"b": "b"}
    made.part("a", "b")
    made.run(5)
    assert reached(made) == {}


def test_processes_have_clocks_of_their_own() -> None:
    made = islands()
    assert made.sites["a"].now != made.sites["b"].now
    before = made.sites["a"].now
    made.run(1)
    assert made.sites["a"].now == before + 1_000_000


def test_a_seed_is_a_history() -> None:
    sent = []
    for seed in (1, 1, 2):
        made = islands(seed)
        member = made.sites["a"].member()
        made.run(5)
        sent.append((made.frames, made.bytes_sent, made.world.messages, member.participant.prefix))
    assert sent[0] == sent[1] != sent[2]
