"""From the options that name a log to the requests in it, shared by the commands that read one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kvaudit.commands.options import LogOptions
from kvaudit.core.errors import UsageError
from kvaudit.core.hash_rows import HashRows
from kvaudit.core.progress import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvaudit.core.requests import Request
    from kvaudit.core.settings import Settings
    from kvaudit.core.summaries import LogSummary, Note
    from kvaudit.logs.read import LogReader
    from kvaudit.replay.prompts import HeadTokens, Prompts
    from kvaudit.tokens.encode import PromptEncoder
    from kvaudit.tokens.heads import HeadFinder
    from kvaudit.tokens.tokenizer import Tokenizer

# How often the progress bar looks at how far the reader has come.
REQUESTS_PER_UPDATE = 256


def open_log(
    paths: Sequence[Path],
    options: LogOptions,
    settings: Settings,
    *,
    chat_template: str | None = None,
    columns: Sequence[str] = (),
) -> OpenLog:
    """Open the log with what the command line says, else the settings.

    ``chat_template`` is one that an engine cannot do without, whatever else is asked for, and
    ``columns`` are names in the log's records that each request is to carry.
    """
    from kvaudit.logs.read import LogReader

    reader = LogReader(
        paths,
        input_format=options.input_format or settings.replay.input_format,
        mapping=parse_mapping(options.map_ or ()) or settings.replay.map or None,
        max_broken_share=settings.max_broken_share,
        limit=options.limit if options.limit is not None else settings.replay.limit,
        now_s=time.time(),
        show_text=settings.show_text if options.show_text is None else options.show_text,
        columns=columns,
    )
    encoder = LazyEncoder(
        options.tokenizer or settings.tokenizer,
        chat_template or options.chat_template or settings.chat_template,
    )
    return OpenLog(paths, reader, encoder)


def parse_mapping(values: Sequence[str]) -> dict[str, str]:
    """Read every ``--map FIELD=PATH``; one option may hold several, parted by commas."""
    mapping: dict[str, str] = {}
    for part in (part.strip() for value in values for part in value.split(",")):
        field, equals, place = part.partition("=")
        if not (field and equals and place):
            raise UsageError(f"--map {part}: write it as FIELD=PATH, such as prompt=body.text")
        mapping[field] = place
    return mapping


class Watched:
    """A reader that tells a progress bar how far it has come."""

    def __init__(self, reader: LogReader, bar: Progress) -> None:
        """Watch ``reader``; it can be read again."""
        self._reader, self._bar = reader, bar

    def __iter__(self) -> Iterator[Request]:
        """Yield the reader's requests."""
        for count, request in enumerate(self._reader):
            if count % REQUESTS_PER_UPDATE == 0:
                self._bar.update(self._reader.bytes_read)
            yield request


class WatchedColumns:
    """The same reader where requests may stand in columns."""

    def __init__(self, reader: LogReader, bar: Progress) -> None:
        """Watch ``reader``; it can be read again."""
        self._reader, self._bar = reader, bar

    def __iter__(self) -> Iterator[Request | HashRows]:
        """Yield the reader's requests."""
        for count, request in enumerate(self._reader.with_columns(_scan)):
            if count % REQUESTS_PER_UPDATE == 0 or isinstance(request, HashRows):
                self._bar.update(self._reader.bytes_read)
            yield request


def _scan(text: bytes, begin: int, end: int) -> tuple[HashRows, int]:
    from kvaudit.replay.kernels.hash_rows import scan  # compiled code is loaded when it is needed

    return scan(text, begin, end)


class LazyEncoder:
    """The tokenizer and chat template, loaded when the first text is met."""

    def __init__(self, tokenizer: str, chat_template: str) -> None:
        """Remember what to load; a log of ids never does."""
        self._tokenizer, self._chat_template = tokenizer, chat_template
        self.loaded: PromptEncoder | None = None

    def __call__(self) -> PromptEncoder:
        """Return the encoder, the same one every time."""
        if self.loaded is None:
            from kvaudit.tokens.encode import PromptEncoder
            from kvaudit.tokens.templates.template import load_template
            from kvaudit.tokens.tokenizer import load_tokenizer

            self.loaded = PromptEncoder(
                load_tokenizer(self._tokenizer), load_template(self._chat_template)
            )
        return self.loaded

    def head_finder(self) -> HeadTokens:
        """Return what finds the heads of the prompts that this makes."""
        finder: HeadFinder | None = None

        def head_tokens(request: Request, prompt_ids: NDArray[np.int32]) -> int | None:
            nonlocal finder
            if finder is None:
                from kvaudit.tokens.heads import HeadFinder

                encoder = self()
                finder = HeadFinder(encoder.tokenizer, encoder.template)
            return finder.head_tokens(request, prompt_ids)

        return head_tokens


@dataclass(frozen=True, slots=True)
class OpenLog:
    """A log that is open for reading, and how its texts become tokens."""

    paths: Sequence[Path]
    reader: LogReader
    encoder: LazyEncoder

    def watched(self, bar: Progress) -> Watched:
        """Return the log's requests; reading them moves the progress bar."""
        return Watched(self.reader, bar)

    def watched_columns(self, bar: Progress) -> WatchedColumns:
        """Return the same requests, in columns where the log allows it."""
        return WatchedColumns(self.reader, bar)

    def notes(self) -> list[Note]:
        """Return what a reader must know of the log and its tokens, once it has been read."""
        return [*self.reader.notes, *(self.encoder.loaded.notes() if self.encoder.loaded else ())]


class Passed(Protocol):
    """What a pass over a log says of its requests, for the account of it."""

    @property
    def prompt_tokens(self) -> NDArray[np.int64]:
        """Of every request."""

    @property
    def output_tokens(self) -> NDArray[np.int64]:
        """Of every request."""

    @property
    def span_s(self) -> float | None:
        """Time from the first arrival to the last, where it is known."""


def log_summary(source: OpenLog, prompts: Prompts, result: Passed | None) -> LogSummary:
    """Account for every record of the log: replayed, left out on purpose, or broken."""
    from kvaudit.core.requests import NO_PROMPT
    from kvaudit.core.summaries import LogSummary
    from kvaudit.replay.lengths import lengths

    reader = source.reader
    reasons = reader.skipped + prompts.skipped
    if reader.broken:
        reasons["broken record"] = reader.broken
    if result is None:
        reasons.pop(NO_PROMPT, None)  # these requests are what the report is about
    counted = result if result is not None else prompts.counts()
    loaded = source.encoder.loaded
    return LogSummary(
        files=[str(path) for path in source.paths],
        format=reader.format_name,
        records=reader.records,
        skipped=sum(reasons.values()),
        skipped_reasons=dict(sorted(reasons.items())),
        broken=reader.broken_examples,
        requests=len(counted.prompt_tokens),
        span_s=result.span_s if result is not None else None,
        tokenizer=None if loaded is None else _described(loaded.tokenizer),
        chat_template=loaded.template.name if loaded is not None else None,
        prompt_lengths=lengths(counted.prompt_tokens),
        output_lengths=lengths(counted.output_tokens),
        digest=reader.digest(),
    )


def warmup_notes(warmup: float, requests: int) -> list[Note]:
    """Say where a warm-up leaves no request of a log to be counted."""
    from kvaudit.core.summaries import Note
    from kvaudit.replay.plan import first_counted

    if not requests or first_counted(warmup, requests) < requests:
        return []
    return [Note(topic="warmup", text="the warm-up is the whole log: nothing is counted")]


def _described(tokenizer: Tokenizer) -> str:
    from kvaudit.tokens.tokenizer import describe

    return describe(tokenizer)


def no_rate_note(log: LogSummary) -> Note:
    """Say why a log gives no hit rate, and what would."""
    from kvaudit.core.summaries import Note

    if log.requests:
        text = (
            "no hit rate: the log holds token counts only, and which tokens two prompts share "
            "cannot be told from these; log the prompts as text, token ids or block hashes"
        )
    elif log.records:
        text = "nothing was replayed: no record of the log is a request that reached a model"
    else:
        text = "nothing was replayed: the log is empty"
    return Note(topic="no-hit-rate", text=text)
