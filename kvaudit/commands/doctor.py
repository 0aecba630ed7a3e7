"""`kvaudit doctor`: what is installed, what is missing, and which settings are in force."""

import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Annotated, NamedTuple

import typer

from kvaudit import __version__
from kvaudit.commands.options import ConfigOption, IsolatedOption
from kvaudit.core.extras import load


class Extra(NamedTuple):
    """An optional part of kvaudit: its name, and which of its packages are missing."""

    name: str
    versions: dict[str, str]
    missing: list[str]


def doctor(
    settings: Annotated[
        bool, typer.Option("--settings", help="Show every setting and where it came from.")
    ] = False,
    config: ConfigOption = None,
    isolated: IsolatedOption = False,
) -> None:
    """Show what is installed and what is missing, or the settings in force."""
    if settings:
        lines = list(setting_lines(config or (), isolated=isolated))
    else:
        lines = list(installation_lines())
    typer.echo("\n".join(lines))


def setting_lines(given: list[str] | tuple[()], *, isolated: bool) -> Iterator[str]:
    """Yield one line a setting: name, value, origin."""
    from kvaudit.core.config import load_config

    rows = [
        (key, _spelled(value), origin)
        for key, value, origin in load_config(given, isolated=isolated).rows()
    ]
    key_width = max(len(key) for key, _, _ in rows)
    value_width = max(len(value) for _, value, _ in rows)
    for key, value, origin in rows:
        yield f"{key:{key_width}}  {value:{value_width}}  {origin}"


def _spelled(value: object) -> str:
    if value is None or value in ((), {}):
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, dict):
        return ",".join(f"{name}={source}" for name, source in value.items())
    return str(value)


def installation_lines() -> Iterator[str]:
    """Yield what is installed, an extra a line, with the command that adds what is missing."""
    yield f"kvaudit    {__version__}"
    yield f"python     {platform.python_version()} ({sys.executable})"
    found = extras()
    if not found:
        yield "extras     not known: kvaudit runs from its folder and is not installed"
    for extra in found:
        if extra.missing:
            yield (
                f"{extra.name:10} missing {', '.join(extra.missing)}; "
                f"add: pip install 'kvaudit[{extra.name}]'"
            )
        else:
            versions = ", ".join(f"{name} {version}" for name, version in extra.versions.items())
            yield f"{extra.name:10} {versions}"
    yield f"torch      {torch_build()}"


def extras() -> list[Extra]:
    """Return the extras that kvaudit's own metadata names, without importing any of them."""
    from packaging.requirements import Requirement

    try:
        own = metadata.metadata("kvaudit")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return []
    found: dict[str, Extra] = {
        name: Extra(name, {}, [])
        for name in own.get_all("Provides-Extra") or ()
        if name not in ("all", "dev")
    }
    for text in own.get_all("Requires-Dist") or ():
        requirement = Requirement(text)
        for extra in found.values():
            if requirement.marker is None or not requirement.marker.evaluate({"extra": extra.name}):
                continue
            try:
                extra.versions[requirement.name] = metadata.version(requirement.name)
            except metadata.PackageNotFoundError:
                extra.missing.append(requirement.name)
    return list(found.values())


def torch_build() -> str:
    """Return torch's version and device, asking torch itself only where it is installed."""
    try:
        metadata.version("torch")
    except metadata.PackageNotFoundError:
        return "not installed"
    torch = load("torch", extra="gpu")
    if not torch.cuda.is_available():
        return f"{torch.__version__}, no CUDA device"
    return f"{torch.__version__}, {torch.cuda.get_device_name(0)}"
