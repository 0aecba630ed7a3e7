"""Options that several commands share, spelled once; groups of them are dataclasses."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.printout import Printout
from kvaudit.core.console import Color, set_verbosity
from kvaudit.core.quantities import MAX_BLOCK_TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvaudit.core.config import Config
    from kvaudit.core.settings import Settings

LOG, CACHE = "Log", "Cache"
"""Panels of the help."""

ConfigOption = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="FILE|KEY=VALUE",
        help="Configuration file, or one setting; may be given more than once.",
    ),
]
IsolatedOption = Annotated[
    bool, typer.Option("--isolated", help="Ignore configuration files and KVAUDIT_ variables.")
]
OutputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        metavar="KIND:PATH",
        help="Also write results to a file, such as json:run.json, or to - (standard output); "
        "may be repeated.",
    ),
]
ColorOption = Annotated[
    Color, typer.Option("--color", envvar="KVAUDIT_COLOR", help="When to print in colour.")
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no warnings on standard error.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Details on standard error; tracebacks of crashes.")
]
LogArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="LOG...", help="Request logs; - reads standard input.", show_default=False
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Where settings come from, and how much is said on standard error."""

    config: ConfigOption = None
    isolated: IsolatedOption = False
    quiet: QuietOption = False
    verbose: VerboseOption = False

    def config_in_force(self) -> "Config":
        """Set how much is said, and return the settings in force with where each came from."""
        from kvaudit.core.config import load_config

        set_verbosity(quiet=self.quiet, verbose=self.verbose)
        return load_config(self.config or (), isolated=self.isolated)

    def start(self) -> "Settings":
        """Set how much is said, and return the settings in force."""
        return self.config_in_force().settings


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintOptions:
    """How results are printed, and where else they go."""

    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            envvar="KVAUDIT_FORMAT",
            metavar="full|concise|github|json",
            help="How results are printed (default: by place: GitHub Actions, terminal, pipe).",
        ),
    ] = None
    output: OutputOption = None
    color: ColorOption = Color.AUTO

    def printout(self, known: "Sequence[str]") -> Printout:
        """Return where the result goes; ``known`` are the formats of the command."""
        return Printout.of(self.format_, self.output, self.color, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """What a log is, and how its texts become tokens."""

    input_format: Annotated[
        str | None, typer.Option(help="Format of the log (default: auto).", rich_help_panel=LOG)
    ] = None
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=PATH",
            help="Where a generic log has a field, such as prompt=body.text; may be repeated.",
            rich_help_panel=LOG,
        ),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Read no more than so many requests.", rich_help_panel=LOG),
    ] = None
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|hf:PATH|bytes",
            help="Vocabulary of the model (default: o200k_base).",
            rich_help_panel=LOG,
        ),
    ] = None
    chat_template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            help="How messages become a prompt (default: chatml).",
            rich_help_panel=LOG,
        ),
    ] = None
    show_text: Annotated[
        bool | None,
        typer.Option(
            "--show-text/--no-show-text",
            help="Quote the log in messages; secrets are masked even so.",
            rich_help_panel=LOG,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """Which cache is modelled, and for which of the requests."""

    engine: Annotated[
        str | None,
        typer.Option(
            metavar="vllm|sglang|lmcache|trtllm|ideal|openai|azure|anthropic|bedrock|gemini|deepseek|mistral",
            help="Cache to model (default: vllm; ideal for a log of block hashes).",
            rich_help_panel=CACHE,
        ),
    ] = None
    engine_version: Annotated[
        str | None, typer.Option(help="Release to model (default: newest).", rich_help_panel=CACHE)
    ] = None
    block_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_BLOCK_TOKENS,
            help="Tokens of a block, page or chunk (default: the engine's).",
            rich_help_panel=CACHE,
        ),
    ] = None
    capacity: Annotated[
        str | None,
        typer.Option(
            metavar="600blocks|9600tokens|40GiB|inf",
            help="KV the cache can hold (default: inf).",
            rich_help_panel=CACHE,
        ),
    ] = None
    policy: Annotated[
        str | None,
        typer.Option(
            help="What is evicted first: lru; lmcache also lfu, fifo, mru; sglang these, filo, "
            "priority, slru; ideal fifo, optimal.",
            rich_help_panel=CACHE,
        ),
    ] = None
    eagle: Annotated[
        bool,
        typer.Option(
            "--eagle",
            help="Speculative decoding by EAGLE, which computes the last hit block again.",
            rich_help_panel=CACHE,
        ),
    ] = False
    partial_reuse: Annotated[
        str | None,
        typer.Option(
            metavar="copy|leaf|off",
            help="trtllm: a block of which only a part is asked for is copied (default), reused "
            "only as a leaf that nobody uses, or not reused.",
            rich_help_panel=CACHE,
        ),
    ] = None
    offload_min_priority: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=100,
            help="trtllm: the lowest retention priority that goes to the host (default: 30).",
            rich_help_panel=CACHE,
        ),
    ] = None
    save_unfull_chunk: Annotated[
        bool,
        typer.Option(
            "--save-unfull-chunk",
            help="lmcache: a prompt's partial last chunk is stored too.",
            rich_help_panel=CACHE,
        ),
    ] = False
    save_decode_cache: Annotated[
        bool,
        typer.Option(
            "--save-decode-cache",
            help="lmcache: a chunk that decoding fills is stored too.",
            rich_help_panel=CACHE,
        ),
    ] = False
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|config.json",
            help="Model, for a capacity in bytes and what hits are worth; or whose rules and "
            "prices a provider applies.",
            rich_help_panel=CACHE,
        ),
    ] = None
    kv_dtype: Annotated[
        str | None,
        typer.Option(
            metavar="bf16|fp8",
            help="Type that the model's KV is kept in (default: bf16).",
            rich_help_panel=CACHE,
        ),
    ] = None
    schedule: Annotated[
        str | None,
        typer.Option(
            metavar="sequential|steps|timed",
            help="How requests meet: one after the other, in the engine's steps, or in seconds "
            "(default: timed for a bounded vllm and a log with times, else sequential).",
            rich_help_panel=CACHE,
        ),
    ] = None
    max_num_batched_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Token budget of a step (default: 8192).", rich_help_panel=CACHE),
    ] = None
    max_num_seqs: Annotated[
        int | None,
        typer.Option(min=1, help="Most requests at once (default: 256).", rich_help_panel=CACHE),
    ] = None
    namespace: Annotated[
        str | None,
        typer.Option(
            metavar="FIELDS",
            help="Fields beside model, lora and salt that part requests, such as tenant.",
            rich_help_panel=CACHE,
        ),
    ] = None
    warmup: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="First part that fills the cache uncounted: below 1 a share, else a count.",
            rich_help_panel=CACHE,
        ),
    ] = None
