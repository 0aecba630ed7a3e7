"""`kvaudit demo`: a made log with a known fault, replayed with and without it.

The commands run as a user would run them, in processes of their own, on files that are gone
afterwards; ``--write`` keeps a log instead.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kvaudit.core.output import check_writable

SHOWN = "sub-day-clock"
STORY = """\
{requests:,} made requests, to five applications of four tenants. In every prompt:
{faults}.
"""
TEMPLATE = """\
It is {{ now() }}.
You are the clerk of a mail-order shop. Answer in the language of the question, in one
paragraph, and quote the order number where there is one. Promise no refund: pass those
questions on.
{% for tool in tools | sort(attribute="name") %}
- {{ tool.name }}: {{ tool.description }}
{% endfor %}
"""
LINTED = "The template that writes such a prompt, before any traffic:\n"
MENDED = "The same requests without that:\n"
NEXT = """\
Try next:
  kvaudit lint                      the prompts in this folder
  kvaudit replay YOUR_LOG           what such a cache does for your requests
  kvaudit demo --fault tool-order   another fault; --write FILE keeps a log
  kvaudit replay --help             engines, capacities, tokenizers, formats\
"""


def demo(
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="FILE",
            help="Write a made log, .jsonl or .parquet, and run nothing.",
        ),
    ] = None,
    requests: Annotated[
        int, typer.Option("--requests", min=1, metavar="N", help="Requests in the log.")
    ] = 600,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Another log for each.")] = 0,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="NAME",
            help="What is wrong with the prompts; may be repeated "
            f"(default: {SHOWN}; nothing with --write).",
        ),
    ] = None,
) -> None:
    """Show a fault in a made log and in its template; needs no data and no network."""
    if write is not None:
        from kvaudit.logs.writing.records import check_suffix

        check_writable(write, option="--write")
        check_suffix(write, option="--write")
        write_log(write, requests, seed, fault or ())
        typer.echo(f"wrote {requests:,} requests, {write.stat().st_size / 1e6:.1f} MB, to {write}")
        typer.echo(f"next: kvaudit replay {write}")
        return
    from kvaudit.traffic.registry import fault as find

    faults = fault or [SHOWN]
    titles = ", ".join(find(name).title for name in faults)
    with tempfile.TemporaryDirectory(prefix="kvaudit-demo-") as folder:
        typer.echo(STORY.format(requests=requests, faults=titles))
        write_log(Path(folder, "faulty.jsonl"), requests, seed, faults)
        run(["replay", "faulty.jsonl", "--format", "full"], folder)
        if faults == [SHOWN]:
            typer.echo(LINTED)
            Path(folder, "prompt.j2").write_text(TEMPLATE)
            run(["lint", "prompt.j2", "--isolated", "--format", "full"], folder, code=1)
        typer.echo(MENDED)
        write_log(Path(folder, "sound.jsonl"), requests, seed, ())
        run(["replay", "sound.jsonl", "--format", "concise"], folder, only="hit rate,")
    typer.echo(NEXT)


def write_log(path: Path, requests: int, seed: int, faults: Sequence[str]) -> None:
    """Write a made log as kvaudit's own record."""
    from kvaudit.logs.writing.records import write_records
    from kvaudit.tokens.tokenizer import DEFAULT_TOKENIZER, load_tokenizer
    from kvaudit.traffic.fault import Planted
    from kvaudit.traffic.generate import TrafficPlan, generate

    tokenizer = load_tokenizer(DEFAULT_TOKENIZER)

    def count_tokens(text: str) -> int:
        return len(tokenizer.encode_batch([text])[0])

    planted = tuple(Planted(fault=name) for name in faults)
    plan = TrafficPlan(seed=seed, requests=requests, faults=planted)
    write_records(generate(plan, count_tokens=count_tokens), path)


def run(arguments: list[str], folder: str, *, only: str = "", code: int = 0) -> None:
    """Run kvaudit itself on the same terminal, or show only the lines that begin with a text.

    ``code`` is the exit code that the command is to have.
    """
    if only:  # the whole screen begins with the call anyway
        typer.echo(f"kvaudit {' '.join(arguments)} | grep '^{only}'")
    sys.stdout.flush()  # what the child prints comes after what was said so far
    command = [sys.executable, "-m", "kvaudit", *arguments]
    output = subprocess.PIPE if only else None
    done = subprocess.run(command, cwd=folder, stdout=output, encoding="utf-8", check=False)
    if done.returncode != code:
        raise typer.Exit(done.returncode or 2)
    for text in (done.stdout or "").splitlines():
        if text.startswith(only):
            typer.echo(text)
    typer.echo()
