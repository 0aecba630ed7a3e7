"""What the requests of a log say they used, whether they can be replayed or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvaudit.core.money import TokenClasses
from kvaudit.core.requests import Request
from kvaudit.cost.pricing import Price, PriceList


class LoggedUsage:
    """The usage of the requests of a log that reached the model; `watch` collects it."""

    def __init__(self, prices: PriceList, model: str | None = None) -> None:
        """Take a model in place of those that requests name, if any."""
        self._prices, self._model = prices, model
        self._sums: dict[tuple[str | None, bool], TokenClasses] = {}
        self._found: dict[str | None, Price | None] = {}
        self.requests = 0
        self.with_usage = 0

    def watch(self, requests: Iterable[Request]) -> Watched:
        """Return the requests; reading them from the beginning starts the sums anew."""
        return Watched(self, requests)

    def start_over(self) -> None:
        """Forget what was summed up, since the log is read again."""
        self._sums.clear()
        self.requests = self.with_usage = 0

    def add(self, request: Request) -> None:
        """Add a request, if it reached the model."""
        if request.reached_model:
            self._add(request)

    def _add(self, request: Request) -> None:
        self.requests += 1
        if request.prompt_tokens is None:
            return
        self.with_usage += 1
        model = self._model or request.model
        if model not in self._found:
            self._found[model] = self._prices.of(model).price
        price = self._found[model]
        key = model, price is not None and price.is_long(request.prompt_tokens)
        self._sums[key] = self._sums.get(key, TokenClasses()).plus(classes_of(request))

    def tokens(self) -> TokenClasses:
        """Return the tokens of all models by class."""
        total = TokenClasses()
        for tokens in self._sums.values():
            total = total.plus(tokens)
        return total

    def usd(self) -> list[float] | None:
        """Return what each class costs at list prices; None where a model has no price."""
        costs = [0.0] * len(TokenClasses())
        for (model, long), tokens in self._sums.items():
            price = self._found[model]
            if price is None:
                return None
            for place, name in enumerate(TokenClasses._fields):
                one = TokenClasses()._replace(**{name: tokens[place]})
                costs[place] += price.rates(long=long).usd(one)
        return costs if self._sums else None


class Watched:
    """Requests whose usage is summed up as they are read."""

    def __init__(self, usage: LoggedUsage, requests: Iterable[Request]) -> None:
        """Watch ``requests``; they can be read again."""
        self._usage, self._requests = usage, requests

    def __iter__(self) -> Iterator[Request]:
        """Yield the requests."""
        self._usage.start_over()
        for request in self._requests:
            self._usage.add(request)
            yield request


def classes_of(request: Request) -> TokenClasses:
    """Return a request's tokens by class; what the log does not say is taken for none."""
    read = request.cached_tokens or 0
    write_5m, write_1h = request.cache_write_5m_tokens or 0, request.cache_write_1h_tokens or 0
    rest = (request.prompt_tokens or 0) - read - write_5m - write_1h
    return TokenClasses(max(rest, 0), read, write_5m, write_1h, request.output_tokens or 0)
