"""One kind of fault a module: each looks at a deployment and yields what it observed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from kvaudit.analyzers.engine.invocation import Deployment
from kvaudit.core.document import Evidence, Observation
from kvaudit.core.sources import Span

Look = Callable[[Deployment], Iterator[Observation]]


@cache
def all_looks() -> Sequence[Look]:
    """Return what looks for each kind of fault, by the name of its module."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return [importlib.import_module(f"{__name__}.{name}").look for name in names]


def seen(
    deployment: Deployment,
    kind: str,
    span: Span,
    detail: str,
    *,
    evidence: Evidence = Evidence.DATAFLOW,
) -> Observation:
    """Return an observation in a deployment's file."""
    return Observation(
        kind=kind, source=deployment.source, span=span, detail=detail, evidence=evidence
    )
