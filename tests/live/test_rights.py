"""A file of rights says who may do what, and a wrong one says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery.errors import SettingsError
from rookery.live.admission import Certificate
from rookery.live.rights import read_rights

FILE = """
[roles]
broker = ["*.brokers.example"]

[[allow]]
who = ["sensor-*", "ann"]
publish = ["quotes"]

[[allow]]
who = ["*"]
subscribe = ["quotes", "news/*"]
"""


def test_what_no_line_allows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rights.toml"
    path.write_text(FILE)
    rights = read_rights(path)
    assert rights.may("sensor-7", "publish", "quotes")
    assert rights.may("ann", "publish", "quotes")
    assert not rights.may("Ann", "publish", "quotes")
    assert not rights.may("bob", "publish", "quotes")
    assert not rights.may("ann", "publish", "news/x")
    assert rights.may("bob", "subscribe", "news/x")
    assert not rights.may("bob", "subscribe", "news")


def test_a_role_that_the_file_gives_is_not_the_certificates_to_give(tmp_path: Path) -> None:
    path = tmp_path / "rights.toml"
    path.write_text(FILE)
    rights = read_rights(path)
    assert rights.role_of(Certificate("a.brokers.example")) == "broker"
    assert rights.role_of(Certificate("mallory", "broker")) == "client"
    assert rights.role_of(Certificate("olga", "operator")) == "operator"  # the file does not speak of operators


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[allow]]\npublish = ['t']", "who it is for"),
        ("[[allow]]\nwho = ['a']\ndelete = ['t']", "has no 'delete'"),
        ("[[allow]]\nwho = 'a'", "who is a list of texts"),
        ("[roles]\nking = ['a']", "has no 'king'"),
        ("[deny]\n", "has no 'deny'"),
        ("allow = 3", r"write \[roles\] and \[\[allow\]\]"),
        ("a =", "rights.toml"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "rights.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=told):
        read_rights(path)
    with pytest.raises(SettingsError, match="No such file"):
        read_rights(tmp_path / "nothing")
