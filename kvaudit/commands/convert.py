"""`kvaudit convert`: any log to kvaudit's own record or to a trace of block hashes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kvaudit.commands import inputs
from kvaudit.commands.groups import grouped
from kvaudit.commands.options import LogArgument, LogOptions, RunOptions
from kvaudit.core.console import LOGGER
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.output import check_apart, check_writable
from kvaudit.core.progress import progress
from kvaudit.core.quantities import MAX_BLOCK_TOKENS
from kvaudit.core.redact import one_line

if TYPE_CHECKING:
    from kvaudit.logs.writing.conversion import Conversion

_KEY_BYTES = 32


@grouped
def convert(
    logs: LogArgument,
    *,
    out: Annotated[
        Path,
        typer.Option(
            *("-o", "--out"),
            metavar="OUT",
            help="File to write: .parquet, .jsonl, .jsonl.gz or .jsonl.zst.",
        ),
    ],
    to: Annotated[
        Literal["record", "mooncake", "bailian"],
        typer.Option(help="kvaudit's own record, or a trace of block hashes."),
    ] = "record",
    log: LogOptions,
    anonymize: Annotated[
        bool,
        typer.Option(
            "--anonymize", help="Keep keyed block hashes, lengths, counts and times, no text."
        ),
    ] = False,
    salt_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Secret that keys the hashes, so that logs converted apart can be compared "
            "(default: random).",
        ),
    ] = None,
    block_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_BLOCK_TOKENS,
            help="Tokens of a hashed block (default: 512 Mooncake, 16 Bailian and record).",
        ),
    ] = None,
    run: RunOptions,
) -> None:
    """Write a log as kvaudit's own record, or as a Mooncake or Bailian trace."""
    from kvaudit.logs.writing.conversion import Conversion, Target

    settings = run.start()
    _check_out(out, logs, salt_file, to)
    if salt_file is not None and not anonymize:
        raise UsageError("--salt-file keys the hashes of --anonymize; add --anonymize")
    conversion = Conversion(
        to=Target(to), block_tokens=block_size, key=_key(salt_file) if anonymize else None
    )
    source = inputs.open_log(logs, log, settings)
    with progress("converting", source.reader.size_bytes) as bar:
        conversion.run(source.watched(bar), out, source.encoder)
    _say(conversion, source, out)
    raise typer.Exit(Exit.OK if conversion.written else Exit.NOTHING_CHECKED)


def _check_out(out: Path, logs: Sequence[Path], salt_file: Path | None, to: str) -> None:
    """Raise `UsageError` for an output that cannot be, before anything is read."""
    from kvaudit.logs.writing.records import check_suffix

    check_suffix(out)
    check_writable(out, option="-o")
    if to != "record" and out.suffix == ".parquet":
        raise UsageError(f"-o {out}: a {to} trace is JSON lines; name a .jsonl file")
    check_apart([("-o", out)], [*logs, *([salt_file] if salt_file is not None else ())])


def _key(salt_file: Path | None) -> bytes:
    """Return the secret of the hashes: random bytes, or a digest of a file."""
    from hashlib import blake2b

    if salt_file is None:
        return os.urandom(_KEY_BYTES)
    make_one = f"make one with: head -c {_KEY_BYTES} /dev/urandom > {salt_file}"
    try:
        secret = salt_file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"--salt-file {salt_file} cannot be read: {error.strerror}; {make_one}"
        ) from None
    if len(secret) < _KEY_BYTES // 2:
        raise UsageError(
            f"--salt-file {salt_file} has {len(secret)} bytes, which can be guessed; {make_one}"
        )
    return blake2b(secret).digest()


def _say(conversion: "Conversion", source: inputs.OpenLog, out: Path) -> None:
    """Tell on standard output what was written, on standard error what was not."""
    from kvaudit.tokens.tokenizer import describe

    reader, loaded = source.reader, source.encoder.loaded
    reasons = reader.skipped + conversion.left_out
    for reason, count in sorted(reasons.items()):
        LOGGER.warning("%s left out: %s", f"{count:,}", reason)
    if reader.broken:
        first = reader.broken_examples[0]
        LOGGER.warning("%s broken records left out, the first is %s", f"{reader.broken:,}", first)
    for note in source.notes():
        LOGGER.warning("%s", note.text)
    if not conversion.written:
        typer.echo("nothing was written: no record of the log is a request that can be")
        return
    how = f", {describe(loaded.tokenizer)}" if loaded else ""
    typer.echo(
        f"{conversion.written:,} of {reader.records:,} records ({reader.format_name}) "
        f"written to {one_line(str(out))} as {conversion.to}{how}"
    )
