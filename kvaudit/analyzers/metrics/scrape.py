"""The text of metrics: from a file, or from a URL that the user names.

Nothing is asked of any host but the one that was named: redirects are not followed.
"""

from __future__ import annotations

import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kvaudit.core.errors import InputError, UsageError

MOST_BYTES = 64 * 2**20
SCHEMES = ("http://", "https://")


def is_url(target: str) -> bool:
    """Whether a target is asked over the network."""
    return target.lower().startswith(SCHEMES)


def metrics_url(target: str) -> str:
    """Return the address of the metrics; that of a server alone gets ``/metrics``."""
    try:
        parts = urlsplit(target)
        _ = parts.port  # not read until asked for
    except ValueError as error:
        raise UsageError(f"{target}: {error}; write http://HOST:PORT/metrics") from None
    if not parts.hostname:
        raise UsageError(f"{target} names no host; write http://HOST:PORT/metrics")
    if parts.username is not None:
        raise UsageError(
            "a URL with a user in it would be printed; save the metrics to a file and name that"
        )
    return parts._replace(path="/metrics").geturl() if parts.path in ("", "/") else target


def read_file(name: str) -> str:
    """Return a file's text; ``-`` is standard input."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        hint = "" if Path(name).exists() else "; a URL begins with http:// or https://"
        raise InputError(f"{name}: {(error.strerror or str(error)).lower()}{hint}") from None
    return data.decode("utf-8", "replace")


def polled(
    url: str,
    *,
    samples: int,
    interval_s: float,
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[str]:
    """Yield the metrics of a live engine, ``samples`` times, so many seconds apart."""
    for number in range(samples):
        if number:
            sleep(interval_s)
        yield _asked(url, timeout_s)


def _asked(url: str, timeout_s: float) -> str:
    request = urllib.request.Request(url, headers={"Accept": "text/plain"})
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            data: bytes = answer.read(MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        moved = error.headers.get("Location")
        hint = f"; it is at {moved}, name that URL" if moved else "; is this the metrics' path?"
        raise InputError(f"{url}: answered {error.code} {error.reason}{hint}") from None
    except TimeoutError:
        raise InputError(
            f"{url}: no answer in {timeout_s:g} s; is the engine up? --timeout waits longer"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"{url}: {reason}; is the engine up, and is this its port?") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{url}: more than {MOST_BYTES // 2**20} MiB; this is no metrics page")
    return data.decode("utf-8", "replace")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Follow nothing."""
