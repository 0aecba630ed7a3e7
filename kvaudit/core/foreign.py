"""A function that the user names as MODULE:FUNCTION, called in a process of its own.

The process is started once and called many times, with texts alone; what it prints goes to
standard error, and a call that takes too long ends it.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from kvaudit.core.errors import InputError, UsageError

CALL_LIMIT_S = 30.0
"""The first call imports the module, which may import a lot."""
_START = "from kvaudit.core.foreign_child import main; main()"


def is_function(name: str) -> bool:
    """Return whether a name has the form MODULE:FUNCTION."""
    module, colon, function = name.rpartition(":")
    return bool(colon and module) and all(part.isidentifier() for part in function.split("."))


class ForeignFunction:
    """The user's function; close it, or use it in a ``with``."""

    def __init__(self, name: str, *, limit_s: float = CALL_LIMIT_S) -> None:
        """Start its process. Raises `UsageError` for a name that cannot be one."""
        if not is_function(name):
            raise UsageError(f"{name} is no MODULE:FUNCTION, such as app.cache:would_serve")
        self.name, self._limit_s = name, limit_s
        module, _, function = name.rpartition(":")
        file = None
        if module.endswith(".py"):
            file = str(Path(module).resolve())
            if not Path(module).is_file():
                raise UsageError(f"{module} is no file")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._unread = b""
        self._send({"module": module, "function": function, "file": file, "path": _path()})

    def __enter__(self) -> ForeignFunction:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.close()

    def __call__(self, *args: object) -> Any:
        """Return what the function gives. Raises `InputError` where it fails or takes too long."""
        self._send(list(args))
        answer = self._receive()
        if "error" in answer:
            self.close()
            raise InputError(f"{self.name}: {answer['error']}")
        return answer["value"]

    def close(self) -> None:
        """End the process; another call is then an error."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def _send(self, value: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(value).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise InputError(f"{self.name}: its process has ended") from None

    def _receive(self) -> dict[str, Any]:
        """Return one line of the process, which answers in time or is ended."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + self._limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self.close()
                    raise InputError(f"{self.name}: took more than {self._limit_s:g} s for a call")
                part = os.read(self._process.stdout.fileno(), 1 << 16)
                if not part:
                    self.close()
                    raise InputError(f"{self.name}: its process ended without an answer")
                self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _path() -> Sequence[str]:
    """Return where modules are looked for: as here, and in the folder that one stands in."""
    here = str(Path.cwd())
    return [here, *(entry for entry in sys.path if entry not in ("", here))]
