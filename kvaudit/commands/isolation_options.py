"""Options for what tenants may have of each other's KV."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvaudit.commands.planning import checked_fields
from kvaudit.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from kvaudit.commands.inputs import LazyEncoder
    from kvaudit.replay.isolation import IsolationPlan

ISOLATION = "Isolation"


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
            metavar="N|FILE",
            help="Public even with --isolate: the first N tokens, or a file's text where a prompt "
            "or its system message begins with it; may be repeated.",
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
        counts = [int(text) for text in self.share_prefix or () if text.isdecimal()]
        files = [Path(text) for text in self.share_prefix or () if not text.isdecimal()]
        named = [f"the first {max(counts):,} tokens"] if counts else []
        named += [f"the text of {path}" for path in files]
        return IsolationPlan(
            fields=fields,
            public_tokens=max(counts, default=None),
            public_texts=_reader([_text(path) for path in files], encoder) if files else None,
            public_name=" and ".join(named) or None,
        )


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--share-prefix {path}: not a number of tokens, and no text that can be read: {error}"
        ) from None
    if not text:
        raise InputError(f"--share-prefix {path}: the file is empty")
    return text


def _reader(texts: Sequence[str], encoder: "LazyEncoder") -> "Callable[[], Sequence[Any]]":
    """Return what tokenizes the texts as the log's own prompts are."""

    def tokenized() -> Sequence[Any]:
        from kvaudit.core.requests import Request
        from kvaudit.tokens.encode import PromptEncoder

        if encoder.loaded is None:
            raise UsageError(
                "--share-prefix FILE needs a log of texts, and this one holds tokens or block "
                "hashes; say how many tokens are public instead"
            )
        # An encoder of its own, since the log's counts what it has seen.
        own = PromptEncoder(encoder.loaded.tokenizer, encoder.loaded.template)
        prompts = [Request(id="", prompt=text) for text in texts]
        prompts += [
            Request(id="", messages=[{"role": "system", "content": text}]) for text in texts
        ]
        return own.encode(prompts)

    return tokenized
