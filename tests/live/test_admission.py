"""Who may come in, and as what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import SettingsError
from rookery.live.admission import (
    ROLES,
    Certificate,
    certificate_of,
    certified_role,
    check_exposure,
    may_claim,
    new_secret,
    session_number,
)


@given(st.binary(max_size=64))
def test_a_number_is_made_of_its_secret_alone(secret: bytes) -> None:
    assert 0 <= session_number(secret) < 1 << 63
    assert session_number(secret) == session_number(bytes(secret))
    assert session_number(secret + b"x") != session_number(secret)


def test_secrets_are_new() -> None:
    assert len({new_secret() for _ in range(100)}) == 100


def test_a_certificate_bears_a_name_and_a_role() -> None:
    subject = ((("commonName", "one"),), (("organizationalUnitName", "broker"),))
    assert certificate_of({"subject": subject}) == Certificate("one", "broker")
    assert certificate_of({}) is None
    assert certificate_of(None) is None
    assert [certified_role(Certificate("n", unit)) for unit in ("broker", "operator", "client", "", "Broker")] == [
        "broker",
        "operator",
        "client",
        "client",
        "client",
    ]


def test_a_client_claims_no_more() -> None:
    assert {role for role in (*ROLES, "island", "overlay", "") if may_claim(role, "client")} == {"client", "overlay"}
    assert not may_claim("broker", "operator")
    assert not may_claim("operator", "broker")


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "broker.example", "192.168.1.1"])
def test_beyond_this_machine_takes_tls_or_a_word(host: str) -> None:
    with pytest.raises(SettingsError, match="--insecure"):
        check_exposure(host, has_tls=False, insecure=False)
    check_exposure(host, has_tls=True, insecure=False)
    check_exposure(host, has_tls=False, insecure=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost"])
def test_this_machine_needs_neither(host: str) -> None:
    check_exposure(host, has_tls=False, insecure=False)
