"""What SARIF 2.1.0 (section 3) and code scanning ask of the parts that kvaudit writes.

Written by hand from the standard, in which no object may hold a property that it does not name.
"""

from typing import Any

Schema = dict[str, Any]


def record(*required: str, **properties: Schema) -> Schema:
    """Return an object that holds these properties, of which some are required, and no other."""
    unknown = set(required) - set(properties)
    assert not unknown, unknown
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: Schema, **more: object) -> Schema:
    """Return an array of one kind of item."""
    return {"type": "array", "items": items, **more}


STRING = {"type": "string"}
FROM_ONE = {"type": "integer", "minimum": 1}
FROM_ZERO = {"type": "integer", "minimum": 0}
TEXT = record("text", text=STRING)
LEVEL = {"enum": ["none", "note", "warning", "error"]}
REGION = record(
    "startLine", startLine=FROM_ONE, startColumn=FROM_ONE, endLine=FROM_ONE, endColumn=FROM_ONE
)
# RFC 3986: a URI reference holds printable ASCII only, and neither of these.
ARTIFACT = record("uri", uri={"type": "string", "pattern": r'^[^\s<>"{}|\\^`\x7f-\uffff]+$'},
                  uriBaseId={"const": "%SRCROOT%"})  # fmt: skip
PLACE = record("artifactLocation", artifactLocation=ARTIFACT, region=REGION)
LOCATION = record("physicalLocation", physicalLocation=PLACE)
RULE = record(
    "id", "shortDescription", "fullDescription", "help",
    id=STRING, shortDescription=TEXT, fullDescription=TEXT,
    help=record("text", text=STRING, markdown=STRING),
    defaultConfiguration=record("level", level=LEVEL),
    properties={"type": "object", "properties": {"tags": array(STRING, uniqueItems=True)}},
)  # fmt: skip
RELATED = record(
    "id", "physicalLocation", "message", id=FROM_ZERO, physicalLocation=PLACE, message=TEXT
)
REPLACEMENT = record("deletedRegion", deletedRegion=REGION, insertedContent=TEXT)
CHANGE = record(
    "artifactLocation", "replacements",
    artifactLocation=ARTIFACT, replacements=array(REPLACEMENT, minItems=1),
)  # fmt: skip
FIX = record(
    "artifactChanges", description=TEXT,
    artifactChanges=array(CHANGE, minItems=1, uniqueItems=True),
)  # fmt: skip
SUPPRESSION = record("kind", kind={"enum": ["inSource", "external"]}, justification=STRING)
RESULT = record(
    "ruleId", "message", "level", "locations",
    ruleId=STRING, ruleIndex=FROM_ZERO, level=LEVEL, message=TEXT,
    locations=array(LOCATION, minItems=1, maxItems=1),
    relatedLocations=array(RELATED, uniqueItems=True, maxItems=1_000),
    fixes=array(FIX, uniqueItems=True),
    partialFingerprints={"type": "object", "additionalProperties": STRING},
    suppressions=array(SUPPRESSION, uniqueItems=True, minItems=1),
    properties={"type": "object"},
)  # fmt: skip
NOTIFICATION = record("message", level=LEVEL, message=TEXT, locations=array(LOCATION))
RUN = record(
    "tool", "results", "invocations",
    tool=record("driver", driver=record(
        "name", "rules", name=STRING, semanticVersion=STRING, rules=array(RULE, uniqueItems=True),
    )),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=array(RESULT, maxItems=25_000),
    invocations=array(record(
        "executionSuccessful", executionSuccessful={"type": "boolean"},
        toolExecutionNotifications=array(NOTIFICATION),
    )),
)  # fmt: skip
LOG = record(
    "version", "runs",
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"}, runs=array(RUN, minItems=1, maxItems=20),
)  # fmt: skip
