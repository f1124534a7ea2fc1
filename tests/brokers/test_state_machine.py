"""K1 to K7 and K9 as a state machine: Hypothesis joins, leaves, crashes, subscribes and publishes as it likes."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rookery.simulated.links import LinkConditions

from .invariants import SECOND, network
from .turmoil import History


class BrokerNetwork(RuleBasedStateMachine):
    """The network beside the oracle; time passes only where a rule lets it."""

    history: History

    @initialize(seed=st.integers(0, 2**32), brokers=st.integers(1, 6), dimensions=st.integers(1, 3), loss=st.booleans())
    def begin(self, seed: int, brokers: int, dimensions: int, loss: bool) -> None:
        conditions = LinkConditions(latency=20_000, loss=0.1 if loss else 0.0)
        self.history = History(
            network(brokers, seed=seed, dimensions=dimensions, conditions=conditions), random.Random(seed)
        )

    @rule(count=st.integers(1, 3))
    def join(self, count: int) -> None:
        for _ in range(count):
            self.history.made.join()

    @rule()
    def leave(self) -> None:
        self.history.remove(crash=False)

    @rule(count=st.integers(1, 2))
    def crash(self, count: int) -> None:
        for _ in range(count):
            self.history.remove(crash=True)

    @rule()
    def restart(self) -> None:
        self.history.restart()

    @rule()
    def subscribe(self) -> None:
        self.history.subscribe()

    @rule()
    def unsubscribe(self) -> None:
        self.history.unsubscribe()

    @rule()
    def publish(self) -> None:
        self.history.publish()

    @rule(milliseconds=st.integers(1, 30_000))
    def wait(self, milliseconds: int) -> None:
        self.history.made.run(milliseconds * 1000)

    @rule()
    def be_quiet(self) -> None:
        self.history.settle_and_check(events=3)

    @invariant()
    def nobody_is_told_twice(self) -> None:
        assert set(self.history.made.delivered.values()) <= {1}

    def teardown(self) -> None:
        if hasattr(self, "history"):
            self.history.settle_and_check(events=3)
            assert self.history.made.calendar.now > SECOND


BrokerNetwork.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=15,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # a network takes too long to shrink; the seed says it all
    suppress_health_check=list(HealthCheck),
)
TestBrokerNetwork = BrokerNetwork.TestCase
