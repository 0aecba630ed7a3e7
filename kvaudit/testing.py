"""For test suites: hold a prompt builder to giving the same text on every call.

from kvaudit.testing import assert_cache_stable

def test_the_system_prompt_can_be_cached():
    assert_cache_stable(build_system_prompt, tenant="acme")
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from kvaudit.analyzers.probe.builder import TIMEOUT_S, Target, parse_target, stability
from kvaudit.analyzers.probe.words import explained

__all__ = ["assert_cache_stable"]


def assert_cache_stable(
    builder: Callable[..., Any] | str,
    *args: Any,
    timeout_s: float = TIMEOUT_S,
    **kwargs: Any,
) -> None:
    """Fail if what a builder returns depends on clock, hash seed, random numbers or process.

    The builder is a function that can be imported, or ``"module:function"``; it is called in
    fresh processes. Arguments must be what JSON can hold.
    """
    # The traceback of a failing test should end in the test, not in here.
    __tracebackhide__ = True
    try:
        json.dumps([args, kwargs])
    except TypeError as error:
        raise TypeError(f"the builder is called in another process, and {error}") from None
    target = _target(builder, args, kwargs)
    found = stability(target, timeout_s=timeout_s)
    if found.unstable:
        raise AssertionError(
            f"{target.module}:{target.function} is not stable\n" + explained(found)
        )


def _target(builder: Callable[..., Any] | str, args: Any, kwargs: Any) -> Target:
    if isinstance(builder, str):
        named = parse_target(builder, kwargs)
        return Target(
            module=named.module,
            function=named.function,
            file=named.file,
            args=args,
            kwargs=kwargs,
        )
    name = getattr(builder, "__qualname__", "")
    if not name or "<" in name:
        raise TypeError(
            f"{builder!r} cannot be imported by another process; "
            "give a function of a module, or its name as 'module:function'"
        )
    return Target(
        module=builder.__module__,
        function=name,
        file=inspect.getsourcefile(builder),
        args=args,
        kwargs=kwargs,
    )
