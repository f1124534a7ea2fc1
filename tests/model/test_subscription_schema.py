"""The JSON schema of subscription files names what the reader takes, and nothing else."""

from __future__ import annotations

import json
from importlib.resources import files

from rookery.model.dialects import DIALECTS
from rookery.model.dialects.rows import DIALECT
from rookery.model.subscription_columns import RECORD
from rookery.model.tables import TRIGGER_COLUMNS

SCHEMA = json.loads((files("rookery.model") / "subscriptions.schema.json").read_text(encoding="utf-8"))


def test_it_names_the_columns_of_the_reader() -> None:
    assert set(SCHEMA["properties"]) == {"subscription_id", DIALECT, *RECORD, *TRIGGER_COLUMNS}
    assert SCHEMA["required"] == ["where"]


def test_it_names_the_dialects() -> None:
    assert SCHEMA["properties"][DIALECT]["enum"] == [*DIALECTS, None]
