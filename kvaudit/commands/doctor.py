"""`kvaudit doctor`: the metrics of live engines; without a target, the installation."""

import platform
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

import typer

from kvaudit import __version__
from kvaudit.commands.groups import grouped
from kvaudit.commands.live_metrics import PollOptions, examined
from kvaudit.commands.options import PrintOptions, RunOptions
from kvaudit.core.errors import KvauditError, UsageError
from kvaudit.core.extras import load

NOT_FEATURES = ("all", "dev")
"""Extras that only gather others."""


class Extra(NamedTuple):
    """An optional part of kvaudit: its packages with their versions, None where missing."""

    name: str
    versions: dict[str, str | None]


@grouped
def doctor(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[URL|FILE]...",
            help="Metrics of engines as they stand at /metrics: a URL is asked, files are samples "
            "in the order of time; - reads standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    settings: Annotated[
        bool, typer.Option("--settings", help="Show every setting and where it came from.")
    ] = False,
    polling: PollOptions,
    printed: PrintOptions,
    run: RunOptions,
) -> None:
    """Say what a live engine's cache does and what looks wrong, from its metrics.

    Without a target, show what is installed and what is missing. Exits 1 where metrics look wrong.
    """
    if targets:
        if settings:
            raise UsageError("--settings shows the installation's; leave it out, or the metrics")
        run.start()
        raise typer.Exit(examined(targets, polling, printed))
    if settings:
        lines = list(setting_lines(run.config or (), isolated=run.isolated))
    else:
        lines = [f"{name:10} {found}" for name, found in installation()]
    typer.echo("\n".join(lines))


def setting_lines(given: Sequence[str], *, isolated: bool) -> Iterator[str]:
    """Yield one line a setting: name, value, origin."""
    from kvaudit.core.config import load_config

    config = load_config(given, isolated=isolated)
    rows = [(key, _spelled(value), origin) for key, value, origin in config.rows()]
    key_width = max(len(key) for key, _, _ in rows)
    value_width = max(len(value) for _, value, _ in rows)
    for key, value, origin in rows:
        yield f"{key:{key_width}}  {value:{value_width}}  {origin}"


def _spelled(value: object) -> str:
    """Return a value as the command line would take it."""
    if value is None or value in ((), {}):
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, dict):
        return ",".join(f"{name}={source}" for name, source in value.items())
    return str(value)


def installation() -> Iterator[tuple[str, str]]:
    """Yield (part, what was found), with the command that adds what is missing."""
    yield "kvaudit", __version__
    yield "python", f"{platform.python_version()} ({sys.executable})"
    found = extras()
    if not found:
        yield "extras", "not known: kvaudit runs from its folder and is not installed"
    for name, versions in found:
        missing = [package for package, version in versions.items() if version is None]
        if missing:
            yield name, f"missing {', '.join(missing)}; add: pip install 'kvaudit[{name}]'"
        else:
            yield name, ", ".join(f"{package} {version}" for package, version in versions.items())
    yield "tokenizer", default_tokenizer()
    yield "torch", torch_build()


def extras() -> list[Extra]:
    """Return the extras that kvaudit's own metadata names, without importing any of them."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        own = metadata.metadata("kvaudit")
    except metadata.PackageNotFoundError:
        return []
    requirements = [Requirement(text) for text in own.get_all("Requires-Dist") or ()]
    names = [name for name in own.get_all("Provides-Extra") or () if name not in NOT_FEATURES]
    return [
        Extra(
            name,
            {
                requirement.name: installed_version(requirement.name)
                for requirement in requirements
                if requirement.marker and requirement.marker.evaluate({"extra": name})
            },
        )
        for name in names
    ]


def installed_version(package: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def default_tokenizer() -> str:
    """Load the default tokenizer, which must work without a network."""
    try:
        load("numpy", extra="replay")
        from kvaudit.tokens.tokenizer import DEFAULT_TOKENIZER, describe, load_tokenizer

        tokenizer = load_tokenizer(DEFAULT_TOKENIZER)
    except KvauditError as error:
        return str(error)
    return f"{describe(tokenizer)}, from {tokenizer.source}, without a network"


def torch_build() -> str:
    """Return torch's version and device, asking torch itself only where it is installed."""
    version = installed_version("torch")
    if version is None:
        return "not installed"
    torch = load("torch", extra="gpu")
    if not torch.cuda.is_available():
        return f"{version}, no CUDA device"
    return f"{version}, {torch.cuda.get_device_name(0)}"
