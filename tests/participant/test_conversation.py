"""Same inputs, same octets: a whole conversation is compared with the golden one, datagram for datagram.

When a change of the protocol is meant: `python tests/participant/conversation.py > …/rookery.json`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

GOLDEN = Path(__file__).parent.parent / "cases" / "rtps" / "rookery.json"
PROGRAM = Path(__file__).with_name("conversation.py")


@pytest.fixture(scope="module")
def conversation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conversation", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_conversation_is_the_golden_one(conversation: ModuleType) -> None:
    said = [(at, str(sender), str(to), octets.hex()) for at, sender, to, octets in conversation.converse()]
    golden = [(c["at"], c["from"], c["to"], c["octets"]) for c in json.loads(GOLDEN.read_text())["cases"]]
    assert said == golden


def test_it_does_not_depend_on_the_hash_seed() -> None:
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        written = subprocess.run(
            [sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True, check=True
        ).stdout
        assert written == GOLDEN.read_text()
