"""As logged: the replica that served the request in life."""

from __future__ import annotations

from kvaudit.core.errors import UsageError
from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.loads import Loads
from kvaudit.replay.fleet.router import Router, RouterKind, RouterSettings


class AsLogged(Router):
    """Numbers the log's instances in the order in which they are first met."""

    def __init__(self, settings: RouterSettings, loads: Loads) -> None:
        """Start without a name."""
        super().__init__(settings, loads)
        self._numbers: dict[str, int] = {}

    def choose(self, arrival: Arrival) -> int:
        """Return the number of the request's instance."""
        instance = arrival.facts.instance
        if instance is None:
            raise UsageError(
                f"--router logged: request {arrival.facts.id} does not say which instance "
                "served it; add instance to the log, or choose another router"
            )
        number = self._numbers.setdefault(instance, len(self._numbers))
        if self.settings.replicas is None:
            self.replicas = len(self._numbers)
        elif number >= self.settings.replicas:
            raise UsageError(
                f"--instances {self.settings.replicas}: the log names more instances "
                f"({', '.join(sorted(self._numbers))}, ...); give at least as many"
            )
        return number

    def name(self, replica: int) -> str:
        """Return the log's own name."""
        names = list(self._numbers)
        return names[replica] if replica < len(names) else super().name(replica)


ROUTER = RouterKind(
    name="logged",
    rule="the instance that the log names",
    source=None,
    make=AsLogged,
    counts_replicas=False,
)
