"""Requests in batches: many at a time, and never much memory where prompts are huge."""

from collections.abc import Iterable, Iterator

from kvaudit.core.requests import Request

BATCH_REQUESTS = 1024
BATCH_CHARACTERS = 32 << 20


def batched(requests: Iterable[Request]) -> Iterator[list[Request]]:
    """Yield the requests in their order, a list of at least one at a time."""
    batch: list[Request] = []
    characters = 0
    for request in requests:
        batch.append(request)
        characters += _rough_size(request)
        if len(batch) >= BATCH_REQUESTS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _rough_size(request: Request) -> int:
    messages = sum(len(str(m.get("content") or "")) for m in request.messages or ())
    return messages + len(request.prompt or "") + 4 * len(request.token_ids or ())
