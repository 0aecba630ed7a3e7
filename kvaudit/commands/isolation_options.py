"""Options for what tenants may have of each other's KV."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.planning import checked_fields
from kvaudit.commands.public_texts import public_reader
from kvaudit.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from kvaudit.commands.inputs import LazyEncoder
    from kvaudit.replay.isolation import IsolationPlan

ISOLATION = "Isolation"
SYSTEM = "system"
"""Names the tools and system messages themselves; a file of that name is ``./system``."""
_MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationOptions:
    """Who is to be kept apart, and what may be shared even so."""

    isolate: Annotated[
        str | None,
        typer.Option(
            metavar="FIELDS",
            help="Replay again with these fields, such as tenant, kept apart, and show the price.",
            rich_help_panel=ISOLATION,
        ),
    ] = None
    share_prefix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N|system|FILE",
            help="Public even with --isolate: the first N tokens, the tools and system messages "
            "that several send, or a file's text at the head of a prompt or of its system "
            "message; may be repeated.",
            rich_help_panel=ISOLATION,
        ),
    ] = None

    def plan(self, namespace: Sequence[str], encoder: "LazyEncoder") -> "IsolationPlan | None":
        """Return what is asked for; ``namespace`` are the fields that part requests anyway."""
        from kvaudit.replay.isolation import IsolationPlan

        if self.isolate is None:
            if self.share_prefix:
                raise UsageError(
                    "--share-prefix says what stays shared when others are kept apart: say "
                    "--isolate tenant too"
                )
            return None
        fields = checked_fields("--isolate", self.isolate)
        twice = [field for field in fields if field in namespace]
        if twice or not fields:
            raise UsageError(
                f"--isolate {self.isolate}: name fields that do not part requests already"
            )
        public = self.share_prefix or ()
        counts = [_count(text) for text in public if text.isdecimal()]
        files = [text for text in public if not text.isdecimal() and text != SYSTEM]
        named = [f"the first {max(counts):,} tokens"] if counts else []
        named += ["common tools and system messages"] if SYSTEM in public else []
        named += [f"the text of {path}" for path in files]
        return IsolationPlan(
            fields=fields,
            public_tokens=max(counts, default=None),
            public_texts=public_reader([_text(path) for path in files], encoder) if files else None,
            public_heads=SYSTEM in public,
            public_name=" and ".join(named) or None,
        )


def _count(text: str) -> int:
    count = int(text) if len(text) <= len(str(_MOST_TOKENS)) else _MOST_TOKENS + 1
    if count > _MOST_TOKENS:
        raise UsageError(f"--share-prefix {text}: no prompt has that many tokens")
    return count


def _text(path: str) -> str:
    try:
        # Line ends as they are, since they are part of the prompt; a byte order mark is not.
        text = Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(
            f"--share-prefix {path}: not a number of tokens, not {SYSTEM}, and no text that can "
            f"be read: {error}"
        ) from None
    if not text.strip():
        raise InputError(f"--share-prefix {path}: the file is empty")
    return text
