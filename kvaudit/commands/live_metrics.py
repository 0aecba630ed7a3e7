"""The metrics of engines that `kvaudit doctor` is given: files, and URLs that are asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kvaudit.commands.options import PrintOptions
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.findings import Severity

LIVE = "Live engines"
"""A panel of the help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollOptions:
    """How a URL is asked."""

    samples: Annotated[
        int,
        typer.Option(min=1, max=10_000, help="Ask a URL so many times.", rich_help_panel=LIVE),
    ] = 1
    interval: Annotated[
        float,
        typer.Option(
            min=0.1, max=86_400, metavar="S", help="Seconds between two.", rich_help_panel=LIVE
        ),
    ] = 5.0
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=600,
            metavar="S",
            help="Seconds to wait for an answer.",
            rich_help_panel=LIVE,
        ),
    ] = 10.0


def examined(targets: Sequence[str], polling: PollOptions, printed: PrintOptions) -> Exit:
    """Print what the metrics say; return the exit code."""
    from kvaudit.analyzers.metrics.run import examine
    from kvaudit.analyzers.metrics.scrape import is_url
    from kvaudit.report.render import format_names, render

    printout = printed.printout(format_names("doctor"))
    printout.check_apart([Path(t) for t in targets if not is_url(t)])
    urls = [target for target in targets if is_url(target)]
    if urls and len(targets) > 1:
        raise UsageError(
            f"{urls[0]}: a URL stands alone, since samples of several engines are not those of one"
        )
    if polling.samples > 1 and not urls:
        raise UsageError("--samples says how often a URL is asked; name more files instead")
    report = examine(_texts(targets, polling))
    printout.show(partial(render, "doctor", report))
    if not report.engines:
        return Exit.NOTHING_CHECKED
    found = [f for engine in report.engines for f in engine.findings]
    return Exit.FINDINGS if any(f.severity != Severity.INFO for f in found) else Exit.OK


def _texts(targets: Sequence[str], polling: PollOptions) -> Iterator[tuple[str, str]]:
    from kvaudit.analyzers.metrics.scrape import is_url, metrics_url, polled, read_file

    for target in targets:
        if not is_url(target):
            yield target, read_file(target)
            continue
        url = metrics_url(target)
        texts = polled(
            url,
            samples=polling.samples,
            interval_s=polling.interval,
            timeout_s=polling.timeout,
        )
        yield from ((url, text) for text in texts)
