"""Who is let in: names of the server, the Origin of a page, tokens."""

from __future__ import annotations

import pytest

from rdmalab.serve.visitors import Gate, Role, hosts_of, is_any, is_loopback, token

LOOP = {"127.0.0.1:8000", "localhost:8000", "[::1]:8000"}


@pytest.mark.parametrize(
    ("listens_at", "port", "names", "hosts"),
    [
        ("127.0.0.1", 8000, (), LOOP),
        ("localhost", 8000, (), LOOP),
        ("::1", 8000, (), LOOP),
        ("192.0.2.7", 8000, (), {"192.0.2.7:8000"}),
        ("192.0.2.7", 80, (), {"192.0.2.7:80", "192.0.2.7"}),
        ("0.0.0.0", 8000, ("Lab.Example",), {*LOOP, "lab.example:8000", "lab.example"}),
        ("2001:db8::1", 8000, (), {"[2001:db8::1]:8000"}),
    ],
)  # fmt: skip
def test_hosts(listens_at: str, port: int, names: tuple[str, ...], hosts: set[str]) -> None:
    assert hosts_of(listens_at, port, names) == hosts


def test_a_name_is_not_a_beginning_or_an_end() -> None:
    gate = Gate(hosts_of("127.0.0.1", 8000, ()), {})
    for host in ("127.0.0.1:80001", "x127.0.0.1:8000", "127.0.0.1:8000.evil.example", "", None):
        assert "Host" in gate.refusal(host, None, is_socket=False)
    for origin in ("http://127.0.0.1:8000.evil.example", "http://evil.example#127.0.0.1:8000", ""):
        assert "Origin" in gate.refusal("127.0.0.1:8000", origin, is_socket=False)
    assert gate.refusal("LOCALHOST:8000", "http://LocalHost:8000", is_socket=True) == ""


def test_a_token_has_one_role() -> None:
    types, watches = token(), token()
    gate = Gate(frozenset(), {types: Role.TYPES, watches: Role.WATCHES})
    assert gate.role(types) is Role.TYPES
    assert gate.role(watches) is Role.WATCHES
    wrong = ("", types[:-1], types + "x", types.swapcase(), "\ud800", "\xe4", types + watches)
    assert not any(gate.role(each) for each in wrong)


def test_addresses_to_listen_at() -> None:
    assert [is_any(each) for each in ("0.0.0.0", "::", "", "127.0.0.1", "lab")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert [is_loopback(each) for each in ("127.0.0.9", "::1", "localhost", "lab", "0.0.0.0")] == [
        True, True, True, False, False,
    ]  # fmt: skip
