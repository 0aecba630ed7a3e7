"""Session affinity: a consistent hash of the session."""

from __future__ import annotations

from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.loads import Loads
from kvaudit.replay.fleet.ring import HashRing
from kvaudit.replay.fleet.router import Router, RouterKind, RouterSettings


class SessionAffinity(Router):
    """Keeps a session, or a user without sessions, on one replica."""

    def __init__(self, settings: RouterSettings, loads: Loads) -> None:
        """Place the replicas."""
        super().__init__(settings, loads)
        self._ring = HashRing(self.replicas)

    def choose(self, arrival: Arrival) -> int:
        """Return the session's replica."""
        facts = arrival.facts
        for kind, value in (("session", facts.session), ("user", facts.user)):
            if value is not None:
                return self._ring.replica(f"{kind}:{value}".encode("utf-8", "surrogatepass"))
        return self._ring.replica(b"request:" + facts.id.encode("utf-8", "surrogatepass"))


ROUTER = RouterKind(
    name="session-affinity",
    rule=(
        "a consistent hash of the session, else of the user; a request with neither goes by "
        "its own id"
    ),
    source=None,
    make=SessionAffinity,
)
