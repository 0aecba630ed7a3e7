"""One YAML file into the invocations in it, whatever kind of deployment it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from kvaudit.analyzers.engine.conditions import conditions, unconditional
from kvaudit.analyzers.engine.containers import (
    Around,
    environment_of,
    image_of,
    is_container,
    runs_of,
)
from kvaudit.analyzers.engine.invocation import Deployment, Invocation, Setting
from kvaudit.analyzers.engine.values import PRODUCTION_STACK, runs_of_values
from kvaudit.analyzers.engine.yaml_text import places, roots_of
from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.sources import Source, Span

MAX_LEVELS = 40
MAX_RUNS = 500
MAX_INNER = 20
_REPLICAS = ("replicas", "replicaCount", "minReplicas", "min_replicas", "scale")
_FILE = re.compile(r"[\w.-]+\.ya?ml")


def read_yaml(source: Source, text: str) -> Deployment:
    """Return what a file starts; ``text`` is its own, less what is of no use. Raises `Unreadable`.

    What a template passes only under a condition is left out, and so is not known to be set.
    """
    walk = _Walk(text, source.path)
    walk.through(roots_of(text))
    runs = unconditional(walk.runs, conditions(text)) if "{{" in text else walk.runs
    return Deployment(source=source, invocations=runs, variables=walk.variables)


class _Walk:
    """One way through the tree of a file, or of a file that is a value of it."""

    def __init__(self, text: str, path: str, inner: int = MAX_INNER) -> None:
        self.runs: list[Invocation] = []
        self.variables: list[Setting] = []
        self._text, self._path, self._inner = text, path, inner
        self._seen: set[int] = set()

    def through(self, roots: Sequence[Node]) -> None:
        """Go through all documents, with a stack."""
        waiting = [(root, Around(), 0) for root in reversed(roots)]
        while waiting and len(self.runs) < MAX_RUNS:
            node, around, level = waiting.pop()
            if id(node) in self._seen or level > MAX_LEVELS:
                continue
            self._seen.add(id(node))
            if node.kind is Kind.LIST:
                waiting += [(item, around, level + 1) for item in reversed(node.items)]
            elif node.kind is Kind.MAP:
                around = self._entered(node, around)
                below = [(item, _called(around, key), level + 1) for key, item in node.pairs()]
                waiting += reversed(below)

    def _entered(self, node: Node, around: Around) -> Around:
        inside = _within(self._text, node, around)
        found = [*runs_of_values(self._text, node, inside, self._path)]
        if any(run.chart == PRODUCTION_STACK for run in found):
            self._seen |= {id(item) for key, item in node.pairs() if key == "vllmConfig"}
        self.variables += environment_of(self._text, node)
        if is_container(node):
            found += runs_of(self._text, node, inside)
        self.runs += found
        for key, item in node.pairs():
            if item.text is not None and _FILE.fullmatch(key) and "\n" in item.text:
                self._within_file(key, item)
        return inside

    def _within_file(self, name: str, node: Node) -> None:
        """Read a file that a ConfigMap holds."""
        if self._inner <= 0:
            return
        self._inner -= 1
        inner = _Walk(node.text or "", name, inner=0)
        try:
            inner.through(roots_of(node.text or ""))
        except Unreadable:
            return
        place = places(self._text, node)
        self.runs += [_moved(run, place) for run in inner.runs]


def _moved(run: Invocation, place: Callable[[int, int], Span]) -> Invocation:
    def there(settings: Sequence[Setting]) -> list[Setting]:
        return [replace(setting, span=place(*setting.span)) for setting in settings]

    return replace(
        run,
        span=place(*run.span),
        settings=there(run.settings),
        environment=there(run.environment),
    )


def _called(around: Around, key: str) -> Around:
    """Return the surroundings below a key: the services of compose are named by theirs."""
    return around._replace(group=key) if re.fullmatch(r"[\w.-]+", key) else around


def _within(text: str, node: Node, around: Around) -> Around:
    count = node.get(*_REPLICAS)
    if count is None and (deploy := node.get("deploy")) is not None:
        count = deploy.get("replicas")
    if count is not None:
        number = int(count.value) if count.kind is Kind.NUMBER else None
        around = around._replace(replicas=number)
    if is_container(node):
        return around
    # Dynamo sets an image's environment beside the container, KServe beside its model.
    variables = environment_of(text, node)
    if variables:
        around = around._replace(environment=(*around.environment, *variables))
    if node.get("envFrom", "envFromSecret") is not None:
        around = around._replace(open_environment=True)
    image = image_of(node)
    return around._replace(image=image) if image else around
