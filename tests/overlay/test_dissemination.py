"""Static overlays: events reach exactly who wants them, at the stated price; what is printed loses some."""

from __future__ import annotations

import random

import pytest

from rookery import Schema, matcher
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.identity import Relation, SemanticSpace, relation
from rookery.overlay.interests import WhereInterests
from rookery.overlay.messages import CellEvent, Message
from rookery.overlay.state import Phase
from rookery.papers.seed_002.workload import StockMarket
from rookery.simulated.overlay import SimulatedOverlay
from rookery.space.grid import CategoricalAxis, Grid, NumericAxis


def static(
    count: int,
    *,
    seed: int = 0,
    alpha: float | None = None,
    configuration: OverlayConfiguration | None = None,
    hash_count: int = 4,
) -> tuple[SimulatedOverlay, StockMarket, random.Random]:
    dice = random.Random(seed)
    market = StockMarket() if alpha is None else StockMarket.pareto(alpha, random.Random(seed))
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=market.cell_count, hash_count=hash_count),
        configuration=configuration or OverlayConfiguration(heartbeat=None),
    )
    overlay.install([market.draw_interests(dice) for _ in range(count)])
    return overlay, market, dice


def delivered(overlay: SimulatedOverlay, market: StockMarket, dice: random.Random, events: int) -> tuple[int, int]:
    """Publish from anywhere; return how many deliveries were due and how many were made."""
    due = made = 0
    for _ in range(events):
        quote = market.draw_quote(dice)
        event = overlay.publish(dice.choice(overlay.ready), quote)
        overlay.settle()
        reached = set(overlay.deliveries[event])
        audience = overlay.audience(quote)
        assert reached <= audience  # I9
        due, made = due + len(audience), made + len(reached)
    assert overlay.repeated == 0  # I6
    return due, made


@pytest.mark.parametrize("alpha", [None, 1.0, 4.0])
@pytest.mark.parametrize("arc", [False, True])
def test_every_event_reaches_all_who_want_it_and_nobody_else(alpha: float | None, arc: bool) -> None:
    configuration = OverlayConfiguration(heartbeat=None, arc=arc)
    overlay, market, dice = static(200, alpha=alpha, configuration=configuration)
    due, made = delivered(overlay, market, dice, 60)
    assert due == made > 0
    if (
        arc
    ):  # one message for each peer of the audience that did not start the event, false positives of the cell included
        assert overlay.counters["duplicate"] == 0
        carried = overlay.messages["CellEvent"] + overlay.messages["RingEvent"]
        assert carried <= made + overlay.counters["false positive: cell"]
    assert overlay.counters["false positive: bloom"] == 0


class Watch:
    """Sees which events go as MULTICAST, and checks that none of them goes up."""

    def __init__(self, overlay: SimulatedOverlay) -> None:
        self.multicasts = 0
        self._peers = overlay.peers
        self._down: dict[tuple[int, int], set[int]] = {}
        overlay.on_message = self._see

    def _see(self, sender: int, receiver: int, message: Message) -> None:
        if isinstance(message, CellEvent) and message.multicast:
            self.multicasts += 1
            kind = relation(self._peers[sender].descriptor.cells, self._peers[receiver].descriptor.cells)
            came_down = self._down.setdefault(message.event_id, set())
            assert kind is Relation.COVERED or sender in came_down
            assert kind is not Relation.COVERING
            came_down.add(receiver)


def test_the_downgrade_to_multicast_loses_nothing_here_and_saves_messages() -> None:
    """Nested interests in small crowds; that nothing is lost is measured, and not proved."""
    market = StockMarket(stocks=6, buckets=1)
    sent = {False: 0, True: 0}
    multicasts = 0
    for seed in range(80):
        for downgrade in sent:
            dice = random.Random(seed)
            overlay = SimulatedOverlay(
                seed=seed,
                space=SemanticSpace(cell_count=market.cell_count),
                configuration=OverlayConfiguration(heartbeat=None, downgrade=downgrade),
            )
            overlay.install(
                [
                    market.interests((stock, 0.0, 0.5) for stock in dice.sample(range(6), dice.randrange(1, 6)))
                    for _ in range(dice.randrange(3, 12))
                ]
            )
            watch = Watch(overlay)
            for stock in range(6):
                event = overlay.publish(dice.choice(overlay.ready), (stock, 0.25))
                overlay.settle()
                assert set(overlay.deliveries[event]) == overlay.audience((stock, 0.25)), f"seed {seed}"
            sent[downgrade] += overlay.messages["CellEvent"]
            multicasts += watch.multicasts
    assert multicasts > 0
    assert sent[True] < sent[False]


def test_as_printed_events_are_lost() -> None:
    """Identity bits as the unit of coverage leave rings open; the sound reading on the same peers does not."""
    sound, market, dice = static(400, hash_count=4)
    due, made = delivered(sound, market, dice, 40)
    assert due == made
    paper, market, dice = static(400, hash_count=4, configuration=OverlayConfiguration.paper(heartbeat=None))
    due, made = delivered(paper, market, dice, 40)
    assert made < due
    mean = {
        name: sum(len(peer.state.table.chosen) for peer in overlay) / 400
        for name, overlay in (("s", sound), ("p", paper))
    }
    assert mean["p"] > mean["s"]  # and the tables are larger all the same


def test_injection_by_metric_tries_peer_after_peer() -> None:
    configuration = OverlayConfiguration(heartbeat=None, directory=False)
    overlay, market, dice = static(60, configuration=configuration)
    due, made = delivered(overlay, market, dice, 40)
    assert due == made > 0
    by_directory, market, dice = static(60)
    assert delivered(by_directory, market, dice, 40) == (due, made)
    assert by_directory.messages["Inject"] < overlay.messages["Inject"]


def test_injection_by_metric_ends_although_a_link_leads_to_a_member_of_the_own_cluster() -> None:
    """The member hands the event back to its primary, which must not send it there again."""
    overlay, market, _ = static(60, configuration=OverlayConfiguration(heartbeat=None, directory=False))
    held = set().union(*(peer.descriptor.cells for peer in overlay))
    nobodys = next(
        (stock, bucket + 0.5)
        for stock in range(market.stocks)
        for bucket in range(market.buckets)
        if market.cell((stock, bucket + 0.5)) not in held
    )
    publisher = next(peer for peer in overlay if peer.state.table.chosen)
    for node in publisher.state.table.chosen:
        member = overlay.peers[node].state
        member.phase, member.primary = Phase.MEMBER, publisher.descriptor
    overlay.publish(publisher.node, nobodys)
    overlay.run(600_000_000)
    assert overlay.messages["Inject"] <= 4 * len(overlay.peers)
    assert overlay.counters["injection given up"] == 1


def test_printed_entry_meets_hundreds_of_peers_before_it_gives_up() -> None:
    """Twice the hop limit, there and back, for an event that nobody wants; by the directory it is a look-up."""
    spent = {}
    for name, configuration in (
        ("paper", OverlayConfiguration.paper(heartbeat=None)),
        ("sound", OverlayConfiguration(heartbeat=None)),
    ):
        overlay, market, _ = static(560, configuration=configuration)
        held = set().union(*(peer.descriptor.cells for peer in overlay))
        stock, bucket = next(
            (stock, bucket)
            for stock in range(market.stocks)
            for bucket in range(market.buckets)
            if market.cell((stock, bucket + 0.5)) not in held
        )
        overlay.publish(0, (stock, bucket + 0.5))
        overlay.settle()
        spent[name] = sum(overlay.messages[kind] for kind in ("Inject", "Lookup", "LookupReply"))
    assert 512 <= spent["paper"] <= 2 * 512
    assert spent["sound"] < 30


def test_the_second_event_of_a_cell_is_injected_in_one_hop() -> None:
    overlay, market, _ = static(100)
    stock, low, high = overlay.peers[0].state.interests.boxes[0]  # type: ignore[attr-defined]
    quote = (stock, (low + high) / 2)
    publisher = next(peer.node for peer in overlay if market.cell(quote) not in peer.descriptor.cells)
    overlay.publish(publisher, quote)
    overlay.settle()
    looked_up = overlay.messages["Lookup"]
    assert overlay.messages["Inject"] == 1
    overlay.publish(publisher, quote)
    overlay.settle()
    assert (overlay.messages["Lookup"], overlay.messages["Inject"]) == (looked_up, 2)


def test_depth_grows_slowly_and_tables_stay_below_the_bound() -> None:
    depths, sizes = [], []
    for count in (64, 256, 1024):
        overlay, market, dice = static(count)
        due, made = delivered(overlay, market, dice, 60)
        assert due == made
        hops = [hop for reached in overlay.deliveries.values() for hop in reached.values()]
        depths.append(sum(hops) / len(hops))
        tables = [peer.state.table for peer in overlay if peer.state.phase is Phase.ACTIVE]
        assert all(len(table.chosen) <= 4 * len(table.own.cells) + 1 for table in tables)  # I5
        sizes.append(sum(len(table.chosen) for table in tables) / len(tables))
    assert depths[2] < depths[0] + 1.5  # sixteen times as many peers
    assert sizes[2] < 2 * sizes[1]


def test_ring_walk_and_ring_tree_reach_the_same_members() -> None:
    depths = []
    for ring_tree in (False, True):
        configuration = OverlayConfiguration(heartbeat=None, ring_tree=ring_tree)
        overlay, market, dice = static(150, alpha=4.0, configuration=configuration)
        due, made = delivered(overlay, market, dice, 30)
        assert due == made
        depths.append(max(hop for reached in overlay.deliveries.values() for hop in reached.values()))
    assert depths[1] < depths[0]


def test_where_clauses_are_interests() -> None:
    schema = Schema(symbol=str, price=float)
    grid = Grid([CategoricalAxis("symbol", ("ACME", "EMCA")), NumericAxis("price", (0.0, 10.0, 20.0, 30.0))])
    wants = [
        {"a": "symbol = 'ACME' AND price < 12"},
        {"b": "price BETWEEN 5 AND 25", "c": "symbol = 'other'"},
        {"d": "symbol LIKE 'E%'"},
        {"e": "symbol IS NULL"},
        {},
    ]
    overlay = SimulatedOverlay(
        seed=0, space=SemanticSpace(cell_count=grid.cell_count), configuration=OverlayConfiguration(heartbeat=None)
    )
    for one in wants:
        overlay.join(WhereInterests(schema, grid, one))
        overlay.settle()
    for symbol in ("ACME", "EMCA", "other", None):
        for price in (-1.0, 5.0, 11.9, 12.0, 25.0, 99.0, None):
            quote = {"symbol": symbol, "price": price}
            expected = set()
            for node, one in enumerate(wants):
                scan = matcher(schema, engine="scan")
                for name, where in one.items():
                    scan.add(name, where)
                if scan.match(quote):
                    expected.add(node)
            event = overlay.publish(4, quote)
            overlay.settle()
            assert set(overlay.deliveries[event]) == expected
