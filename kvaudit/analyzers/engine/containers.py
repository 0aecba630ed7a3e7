"""Containers as Kubernetes, compose and their relatives describe them, read into invocations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from kvaudit.analyzers.engine.flags import assignments, invoked, variable
from kvaudit.analyzers.engine.invocation import Invocation, Setting
from kvaudit.analyzers.engine.programs import of_image, version_of_image, version_of_pin
from kvaudit.analyzers.engine.shell_variables import filled
from kvaudit.analyzers.engine.words import Word, shell_commands
from kvaudit.analyzers.engine.yaml_text import places
from kvaudit.analyzers.template.structure.node import Kind, Node

COMMANDS = ("entrypoint", "command", "args")
_SCRIPTS = {"commands": ("type", "image"), "run": ("resources", "service")}
"""Scripts of dstack and of SkyPilot, by what stands beside them; CI has scripts of these names."""
_ENVIRONMENTS = ("env", "envs", "environment")
MAX_SCRIPT_CHARS = 200_000
MAX_COMMANDS = 500


class Around(NamedTuple):
    """What the maps around a container say."""

    replicas: int | None = None
    group: str = ""
    image: str = ""
    environment: tuple[Setting, ...] = ()
    open_environment: bool = False


def is_container(node: Node) -> bool:
    """Whether a map says what to run."""
    return node.kind is Kind.MAP and (
        any(node.get(key) is not None for key in COMMANDS) or any(True for _ in _scripts(node))
    )


def _scripts(node: Node) -> Iterator[Node]:
    """Yield the texts of a map that are scripts of their own."""
    for key, beside in _SCRIPTS.items():
        given = node.get(key)
        if given is not None and node.get(*beside) is not None:
            texts = given.items if given.kind is Kind.LIST else [given]
            yield from (text for text in texts if text.text is not None)


def runs_of(text: str, node: Node, around: Around) -> Iterator[Invocation]:
    """Yield what a container starts."""
    image = image_of(node) or around.image
    program = of_image(image) if image else None
    variables = [*around.environment, *environment_of(text, node)]
    commands = _commands(text, node)
    for command in commands:
        variables += assignments(command) if _only_sets(command) else []
        run = invoked(command, program)
        if run is None:
            continue
        written = " ".join(word.text for other in commands for word in other)
        version = version_of_image(run.program, image) if image else None
        yield replace(
            run,
            environment=(*variables, *run.environment),
            open_environment=around.open_environment or node.get("envFrom", "env_file") is not None,
            version=run.version or version or version_of_pin(run.program, written),
            replicas=around.replicas,
            group=node.word("name") or around.group,
        )


def _only_sets(command: Sequence[Word]) -> bool:
    return command[0].text in ("export", "set") or all("=" in word.text for word in command)


def image_of(node: Node) -> str:
    """Return the image of a container, whose parts Helm values keep apart."""
    image = node.get("image")
    if image is not None and image.kind is Kind.MAP:
        return _joined(image.word("repository"), image.get("tag"))
    if image is not None:
        return image.text or ""
    return _joined(node.word("repository"), node.get("tag"))


def _joined(name: str | None, tag: Node | None) -> str:
    return "" if name is None else f"{name}:{'' if tag is None else tag.value}"


def environment_of(text: str, node: Node) -> list[Setting]:
    """Return the variables that a container sets."""
    found: list[Setting] = []
    for key in _ENVIRONMENTS:
        listed = node.get(key)
        if listed is None:
            continue
        if listed.kind is Kind.MAP:
            for name, value in listed.pairs():
                found.append(variable(name, written(text, value), value.span))
        for item in listed.items if listed.kind is Kind.LIST else ():
            if item.text is not None:
                name, _, given = item.text.partition("=")
                found.append(variable(name, given, item.span))
            elif (named := item.word("name")) is not None:
                held = item.get("value")
                # What comes from a secret or a field is set, to something unknown.
                given = "$(elsewhere)" if held is None else written(text, held)
                found.append(variable(named, given, item.span))
    return found


def written(text: str, node: Node) -> str:
    """Return a scalar as it stands in the file, without its quotes."""
    return node.text if node.text is not None else text[node.span.start : node.span.end]


def _commands(text: str, node: Node) -> list[list[Word]]:
    """Return the commands of a container: a list is one, but a script in it has its own."""
    commands: list[list[Word]] = [[]]
    expects_value = False
    for key in COMMANDS:
        given = node.get(key)
        if given is None:
            continue
        for item in given.items if given.kind is Kind.LIST else [given]:
            if item.kind in (Kind.MAP, Kind.LIST, Kind.NULL):
                continue
            value = written(text, item)
            if _is_script(value, expects_value) and item.text is not None:
                script = shell_commands(value[:MAX_SCRIPT_CHARS], places(text, item))
                if script and (value.startswith("-") or not commands[-1]):
                    commands[-1] += script.pop(0)
                commands += script
                expects_value = False
            else:
                commands[-1].append(Word(value, item.span))
                expects_value = value.startswith("--") and "=" not in value
    for item in _scripts(node):
        commands += shell_commands(written(text, item)[:MAX_SCRIPT_CHARS], places(text, item))
    return filled([command for command in commands if command][:MAX_COMMANDS])


def _is_script(value: str, expects_value: bool) -> bool:
    if not any(blank in value for blank in " \n\t"):
        return False
    if value.startswith("--"):
        name, _, rest = value.partition("=")
        return " " in name or "\n" in value or not rest
    return not expects_value and not value.startswith(("{", "["))
