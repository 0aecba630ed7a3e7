"""`kvaudit schema`: JSON Schemas of what kvaudit reads and writes, made from the code."""

import json
from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any, Union

import typer


class Document(StrEnum):
    """What a schema describes."""

    CALIBRATE = "calibrate"
    CONFIG = "config"
    DOCTOR = "doctor"
    GATE = "gate"
    KEYS = "keys"
    LINT = "lint"
    REPLAY = "replay"
    SEMANTIC = "semantic"
    STORY = "story"
    SWEEP = "sweep"
    WHY = "why"


def schema(
    document: Annotated[
        Document, typer.Argument(help="Settings, a semantic policy, or the JSON of a command.")
    ],
) -> None:
    """Print the JSON Schema of the settings, a semantic policy, or a command's --format json."""
    typer.echo(json.dumps(json_schema(document), indent=2, sort_keys=True))


RESULTS: dict[Document, tuple[str, tuple[str, ...], str]] = {
    Document.CALIBRATE: (
        "calibration",
        ("CalibrationReport", "PairsReport", "LabelReport", "MonitorReport"),
        "kvaudit calibrate --format json, of a log, --pairs, --labels, --monitor",
    ),
    Document.DOCTOR: (
        "engine_metrics",
        ("MetricsReport",),
        "kvaudit doctor --format json, of the metrics of engines",
    ),
    Document.GATE: ("gate", ("GateReport",), "kvaudit gate --format json"),
    Document.KEYS: ("keys", ("KeysReport",), "kvaudit keys --format json"),
    Document.LINT: ("lint_report", ("LintReport",), "kvaudit lint --format json"),
    Document.REPLAY: ("results", ("ReplayReport",), "kvaudit replay --format json"),
    Document.STORY: ("story", ("StoryReport",), "kvaudit why --explain --format json"),
    Document.SWEEP: ("curve", ("SweepReport",), "kvaudit sweep --format json"),
    Document.WHY: ("why", ("WhyReport",), "kvaudit why --format json"),
}
"""What commands print as JSON: its module in `kvaudit.core`, its classes there, and a title."""


def json_schema(document: Document) -> dict[str, Any]:
    """Return the schema of one document."""
    if document is Document.CONFIG:
        from kvaudit.core.settings import Settings

        made = Settings.model_json_schema(by_alias=True)
        made["title"] = "kvaudit settings ([tool.kvaudit] or kvaudit.toml)"
    elif document is Document.SEMANTIC:
        from kvaudit.replay.semantic.policy import PolicyFile

        made = PolicyFile.model_json_schema()
        made["title"] = "policy of a semantic cache (replay --semantic)"
    else:
        made = _result_schema(*RESULTS[document])
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return made


def _result_schema(module: str, names: tuple[str, ...], title: str) -> dict[str, Any]:
    from pydantic import TypeAdapter

    found = import_module(f"kvaudit.core.{module}")
    any_of: Any = Union[tuple(getattr(found, name) for name in names)]  # noqa: UP007
    adapter: TypeAdapter[Any] = TypeAdapter(any_of)
    return adapter.json_schema(mode="serialization") | {"title": title}
