"""Visitors that are let in: by a name of this server, from its own page, with a printed token."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from urllib.parse import urlsplit

_TOKEN_OCTETS = 24
_HTTP = 80  # a port that browsers leave out


class Role(Enum):
    """Rights of a visitor."""

    TYPES = "types"
    WATCHES = "watches"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address to listen at."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_any(host: str) -> bool:
    """Whether an address to listen at stands for all of this machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return not host


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def hosts_of(listens_at: str, port: int, names: tuple[str, ...]) -> frozenset[str]:
    """Names that a browser may write as Host. names: further ones, such as that of a proxy."""
    own = [] if is_any(listens_at) else [f"[{listens_at}]" if ":" in listens_at else listens_at]
    if is_any(listens_at) or is_loopback(listens_at):
        own += ["127.0.0.1", "localhost", "[::1]"]
    found = [f"{name}:{port}" for name in (*own, *names)] + list(names)
    found += own if port == _HTTP else []
    return frozenset(name.lower() for name in found)


@dataclass(frozen=True, slots=True)
class Gate:
    """hosts: as `hosts_of` finds them. tokens: what the bearer of each may do.

    A page of another host that a visitor has open cannot use the visitor's browser: it has another
    Origin; and one whose name leads to this machine has another Host.
    """

    hosts: frozenset[str]
    tokens: dict[str, Role]

    def refusal(self, host: str | None, origin: str | None, *, is_socket: bool) -> str:
        """The reason to refuse a request, or empty. is_socket: it opens a connection."""
        if (host or "").lower() not in self.hosts:
            return "the Host of the request is not a name of this server: --name adds one"
        if origin is None:
            return "a connection without an Origin" if is_socket else ""
        if urlsplit(origin).netloc.lower() not in self.hosts:
            return "the Origin of the request is another host"
        return ""

    def role(self, token: str) -> Role | None:
        """Rights of the bearer of a token; None if the token is none of ours."""
        found = None
        for known, role in self.tokens.items():
            if hmac.compare_digest(known.encode(), token.encode("utf-8", "replace")):
                found = role
        return found


def token() -> str:
    """A new token, of 192 random bits."""
    return secrets.token_urlsafe(_TOKEN_OCTETS)
