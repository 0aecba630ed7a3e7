"""`kvaudit schema`: JSON Schemas of what kvaudit reads and writes, made from the code."""

import json
from enum import StrEnum
from typing import Annotated, Any

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


def json_schema(document: Document) -> dict[str, Any]:
    """Return the schema of one document."""
    from pydantic import TypeAdapter

    from kvaudit.core.curve import SweepReport
    from kvaudit.core.lint_report import LintReport
    from kvaudit.core.results import ReplayReport
    from kvaudit.core.settings import Settings
    from kvaudit.core.why import WhyReport

    if document is Document.CONFIG:
        made = Settings.model_json_schema(by_alias=True)
        made["title"] = "kvaudit settings ([tool.kvaudit] or kvaudit.toml)"
    elif document is Document.CALIBRATE:
        from kvaudit.core.calibration import (
            CalibrationReport,
            LabelReport,
            MonitorReport,
            PairsReport,
        )

        either: TypeAdapter[Any] = TypeAdapter(
            CalibrationReport | PairsReport | LabelReport | MonitorReport
        )
        made = either.json_schema(mode="serialization")
        made["title"] = "kvaudit calibrate --format json, of a log, --pairs, --labels, --monitor"
    elif document is Document.SEMANTIC:
        from kvaudit.replay.semantic.policy import PolicyFile

        made = PolicyFile.model_json_schema()
        made["title"] = "policy of a semantic cache (replay --semantic)"
    elif document is Document.LINT:
        made = TypeAdapter(LintReport).json_schema(mode="serialization")
        made["title"] = "kvaudit lint --format json"
    elif document is Document.DOCTOR:
        from kvaudit.core.engine_metrics import MetricsReport

        made = TypeAdapter(MetricsReport).json_schema(mode="serialization")
        made["title"] = "kvaudit doctor --format json, of the metrics of engines"
    elif document is Document.GATE:
        from kvaudit.core.gate import GateReport

        made = TypeAdapter(GateReport).json_schema(mode="serialization")
        made["title"] = "kvaudit gate --format json"
    elif document is Document.KEYS:
        from kvaudit.core.keys import KeysReport

        made = TypeAdapter(KeysReport).json_schema(mode="serialization")
        made["title"] = "kvaudit keys --format json"
    elif document is Document.SWEEP:
        made = TypeAdapter(SweepReport).json_schema(mode="serialization")
        made["title"] = "kvaudit sweep --format json"
    elif document is Document.STORY:
        from kvaudit.core.story import StoryReport

        made = TypeAdapter(StoryReport).json_schema(mode="serialization")
        made["title"] = "kvaudit why --explain --format json"
    elif document is Document.WHY:
        made = TypeAdapter(WhyReport).json_schema(mode="serialization")
        made["title"] = "kvaudit why --format json"
    else:
        made = TypeAdapter(ReplayReport).json_schema(mode="serialization")
        made["title"] = "kvaudit replay --format json"
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return made
