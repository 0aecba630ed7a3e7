"""A prompt builder called in fresh processes that differ in one thing each.

What comes out must not depend on the hash seed, the clock, the random numbers or the process. The
first byte that does is reported, with its cause.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, Any

from kvaudit.analyzers.probe.chat import shared_length
from kvaudit.core.errors import InputError, UsageError

NOON_S = 1_721_995_200.0
"""Friday, 26 July 2024, 12:00 UTC: a shift of some minutes stays within the day, in most zones."""
TIMEOUT_S = 30.0

_START = "from kvaudit.analyzers.probe.child import main; main()"
_KEPT_BYTES = 4096
"""Of what a child writes to stderr, its end: one line is quoted, and it may write for ever."""
_LAST_WORDS_S = 5.0
"""For what is still in the pipe when the child is gone."""
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_AROUND = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is called: ``module:function``, where it lies, and with what."""

    module: str
    function: str
    file: str | None = None
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a process sees."""

    cause: str
    """What is to blame if the text differs from that of the first process."""
    hash_seed: int = 0
    clock_s: float = NOON_S
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Unstable:
    """One thing that a prompt depends on and must not."""

    cause: str
    offset_bytes: int
    """First byte that differs."""
    line: int
    """The line of the prompt that holds it, from 1."""
    before: str
    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """What calling a builder showed."""

    text: str
    unstable: Sequence[Unstable]
    """By offset: the first is where the prefix ends."""


_PROCESS = "the process: something that is neither clock nor seed differs in each"
_CLOCK, _DATE = "a clock finer than one day", "the date"
_ONE_STAMP = 20
"""Characters from the day to the second in one printed time, at most: then it is one thing."""
_SETTINGS = (
    Setting(cause=_PROCESS),
    Setting(cause=_CLOCK, clock_s=NOON_S + 61),
    Setting(cause=_DATE, clock_s=NOON_S + 86_400),
    Setting(cause="random numbers or ids", seed=2),
    Setting(cause="the hash seed: a set is printed in its own order", hash_seed=1),
    Setting(cause="the hash seed: a set is printed in its own order", hash_seed=2),
)
_AGAIN = "the call: a second call in the same process gives another text"
_OBJECT = "the address of an object: its default text is printed"


def parse_target(text: str, kwargs: Mapping[str, Any]) -> Target:
    """Return what ``module:function`` names; a path to a file stands for its module."""
    module, colon, function = text.rpartition(":")
    if not colon or not module or not all(p.isidentifier() for p in function.split(".")):
        raise UsageError(
            f"{text} is no chat template that is there, and no MODULE:FUNCTION,"
            " such as app.prompts:system_text"
        )
    if not module.endswith(".py"):
        return Target(module=module, function=function, kwargs=kwargs)
    file = Path(module)
    if not file.is_file():
        raise UsageError(f"{module} is no file")
    return Target(module=file.stem, function=function, file=str(file.resolve()), kwargs=kwargs)


def stability(target: Target, *, timeout_s: float = TIMEOUT_S) -> Stability:
    """Call a builder under every setting; raises `InputError` where it cannot be called."""
    base = Setting(cause="")

    def called(setting: Setting) -> list[str]:
        return _texts(target, setting, calls=1 if setting.cause else 2, timeout_s=timeout_s)

    # The first call is made alone: where the builder cannot be called, that is said once.
    text, again = called(base)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        others = list(pool.map(called, _SETTINGS))
    seen: dict[str, Unstable] = {}
    if again != text:
        seen[_AGAIN] = _unstable(_AGAIN, text, again)
    for setting, (other,) in zip(_SETTINGS, others, strict=True):
        if setting.cause in seen or other == text:
            continue
        found = _unstable(setting.cause, text, other)
        if not any(_same_place(known, found) for known in seen.values()):
            seen[setting.cause] = found
    clock, date = seen.get(_CLOCK), seen.get(_DATE)
    if clock and date and 0 <= clock.offset_bytes - date.offset_bytes <= _ONE_STAMP:
        del seen[_DATE]
    return Stability(text=text, unstable=sorted(seen.values(), key=lambda u: u.offset_bytes))


def _same_place(known: Unstable, found: Unstable) -> bool:
    """Whether a difference is the known one: what differs in each process always does."""
    reach = _ONE_STAMP if known.cause in (_PROCESS, _AGAIN, _OBJECT) else 0
    return abs(known.offset_bytes - found.offset_bytes) <= reach


def _unstable(cause: str, first: str, second: str) -> Unstable:
    at = shared_length(first, second)
    shown = [text[at : at + _AROUND] for text in (first, second)]
    start = first.rfind("0x", max(0, at - 18), at + 2)
    if start >= 0 and _ADDRESS.match(first, start):
        cause = _OBJECT
    return Unstable(
        cause=cause,
        offset_bytes=len(first[:at].encode("utf-8", "surrogateescape")),
        line=first.count("\n", 0, at) + 1,
        before=first[max(0, at - _AROUND) : at],
        first=shown[0],
        second=shown[1],
    )


def _texts(target: Target, setting: Setting, *, calls: int, timeout_s: float) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="kvaudit-") as folder:
        answer = Path(folder, "answer.json")
        asked = {
            "path": [*_search(target), *(entry for entry in sys.path if entry)],
            "module": target.module,
            "function": target.function,
            "file": target.file,
            "args": list(target.args),
            "kwargs": dict(target.kwargs),
            "clock_s": setting.clock_s,
            "seed": setting.seed,
            "calls": calls,
            "answer": str(answer),
        }
        question = Path(folder, "asked.json")
        question.write_text(json.dumps(asked), "utf-8")
        with question.open("rb") as file:
            errors = _run(file, setting, timeout_s)
        if not answer.exists():
            last = errors.strip().rpartition("\n")[2] or "it ended without an answer"
            raise InputError(f"{_name(target)} cannot be called: {last}")
        given = json.loads(answer.read_text("utf-8"))
    if "error" in given:
        raise InputError(f"{_name(target)} cannot be called: {given['error']}")
    texts: list[str] = given["texts"]
    return texts


def _search(target: Target) -> list[str]:
    """Return where modules are looked for first, as for a script that is started here."""
    beside = [] if target.file is None else [str(Path(target.file).parent)]
    return [os.getcwd(), *beside]


def _run(asked: IO[bytes], setting: Setting, timeout_s: float) -> str:
    """Run one child to its end, or to the time limit; returns what it wrote to stderr."""
    package = Path(__file__).parents[3]
    search = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    child = subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=asked,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONHASHSEED": str(setting.hash_seed),
            "PYTHONPATH": os.pathsep.join(search),
        },
        start_new_session=True,
    )
    last_words = bytearray()
    listener = Thread(target=_listen, args=(child, last_words), daemon=True)
    listener.start()
    try:
        child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise InputError(
            f"the builder did not end within {timeout_s:g} s; --timeout gives it more"
        ) from None
    finally:
        _end(child, listener)
    return last_words.decode("utf-8", "replace")


def _listen(child: subprocess.Popen[bytes], last_words: bytearray) -> None:
    """Read stderr until nobody can write to it any more; keep its end."""
    assert child.stderr is not None
    while part := os.read(child.stderr.fileno(), 1 << 16):
        last_words += part
        del last_words[:-_KEPT_BYTES]


def _end(child: subprocess.Popen[bytes], listener: Thread) -> None:
    """End a child and whatever it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()
    listener.join(_LAST_WORDS_S)
    # What has left the group may write on: its pipe is then in use, and goes with the listener.
    if child.stderr is not None and not listener.is_alive():
        child.stderr.close()


def _name(target: Target) -> str:
    return f"{target.module}:{target.function}"
