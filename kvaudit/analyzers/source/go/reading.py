"""Go: strings that functions with the names of prompts build."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.builder import MAX_DEPTH, Walk, documents
from kvaudit.analyzers.source.ecmascript.dates import coarse
from kvaudit.analyzers.source.ecmascript.tree import Node, parse
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Value, list_of, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Document, Origin
from kvaudit.core.sources import Source

_VERB = re.compile(r"%(?!%)[-+# 0]*(\d+|\*)?(\.\d+)?[vTtbcdoOqxXUeEfFgGsp]")
_FINE_LAYOUT = re.compile(
    r"15|0?3:04|:04|:05|PM|RFC|Kitchen|Stamp|ANSIC|UnixDate|RubyDate|DateTime|TimeOnly"
)
_ARISES = (
    (r"time\.(Now|Since|Until)", Origin.CLOCK, "reads the clock"),
    (r"uuid\.(New\w*|Must)|xid\.New|ulid\.\w+|ksuid\.New|rand\.\w+", Origin.RANDOM, "draws"),
    (r"os\.(Getwd|Getpid|Getppid|MkdirTemp|TempDir|CreateTemp)", Origin.SESSION, "of a session"),
    (r"os\.(Hostname|UserHomeDir)|runtime\.\w+|user\.Current", Origin.HOST, "of a machine"),
    (r"os\.(Getenv|LookupEnv)", Origin.DEPLOY, "read from the environment"),
    (r"exec\.Command(Context)?", Origin.LIVE_STATE, "runs a command"),
    (r"(r|req|request)\.(Header\.\w+|RemoteAddr|UserAgent)", Origin.HEADER, "of the request"),
)
_SAME = frozenset(
    (
        "TrimSpace",
        "ToLower",
        "ToUpper",
        "String",
        "Trim",
        "TrimRight",
        "TrimLeft",
        "string",
        "UTC",
        "Local",
        "In",
        "Add",
        "Sprint",
        "Output",
        "CombinedOutput",
    )
)
_DAY = frozenset(("Year", "Month", "Day", "Weekday", "YearDay", "Date"))
_WRITES = frozenset(("WriteString", "Write", "WriteByte", "WriteRune"))
FUNCTIONS = ("function_declaration", "method_declaration", "func_literal")


def read_go(source: Source, project: Project) -> Sequence[Document]:
    """Return the prompts that a file builds. Raises `Unreadable`."""
    root = parse(source.text, "go")
    functions: dict[str, Node] = {}
    constants: dict[str, Node] = {}
    for node in root.walk():
        name, value = node.get("name"), node.get("value")
        if name is None:
            continue
        text = source.text[name.start : name.end]
        if node.kind in FUNCTIONS:
            functions[text] = node
        elif node.kind in ("const_spec", "var_spec") and value is not None and value.kids:
            constants.setdefault(text, value.kids[0])
    walk = Walk(source, functions, constants, project.variables)
    return documents(_texts(walk), source, "go")


def _texts(walk: Walk) -> Iterator[tuple[str, Node, Value]]:
    for name, node in walk.functions.items():
        yield name, node, result(walk, node, [])


def result(walk: Walk, function: Node, args: list[Value]) -> Value:
    """Return what a function gives."""
    if walk.depth > MAX_DEPTH:
        return NOTHING
    inner = walk.inside()
    listed = function.get("parameters")
    position = 0
    for declared in listed.kids if listed is not None else ():
        kind = declared.get("type")
        for name in declared.kids:
            if name.kind != "identifier":
                continue
            text = walk.text(name)
            if kind is not None and kind.kind == "map_type":
                inner.maps.add(text)
            if position < len(args) and args[position] is not NOTHING:
                inner.names[text] = args[position]
            position += 1
    body = function.get("body")
    if body is not None:
        statement(inner, body)
    return inner.returned


def statement(walk: Walk, node: Node) -> None:
    """Follow one statement and those in it."""
    if not walk.spend() or node.kind in FUNCTIONS:
        return
    kind = node.kind
    if kind in ("short_var_declaration", "assignment_statement"):
        _assign(walk, node)
    elif kind == "var_spec" or kind == "const_spec":
        _declare(walk, node)
    elif kind == "expression_statement" and node.kids:
        _write(walk, node.kids[0])
    elif kind == "return_statement":
        for listed in node.kids:
            if listed.kids:
                walk.give(evaluate(walk, listed.kids[0]))
    elif kind == "for_statement":
        _loop(walk, node)
    else:
        for kid in node.kids:
            statement(walk, kid)


def _assign(walk: Walk, node: Node) -> None:
    left, right, sign = node.get("left"), node.get("right"), node.get("operator")
    if left is None or right is None or not left.kids or not right.kids:
        return
    for target, given in zip(left.kids, right.kids, strict=False):
        name = walk.text(target)
        value = evaluate(walk, given)
        if sign is not None and walk.text(sign) == "+=":
            walk.add(name, walk.placed(given, value))
        elif value is not NOTHING:
            walk.names[name] = value
        if _makes_map(given, walk):
            walk.maps.add(name)


def _makes_map(node: Node, walk: Walk) -> bool:
    text = walk.text(node)
    return text.startswith(("map[", "make(map["))


def _declare(walk: Walk, node: Node) -> None:
    name, value, kind = node.get("name"), node.get("value"), node.get("type")
    if name is None:
        return
    if kind is not None and kind.kind == "map_type":
        walk.maps.add(walk.text(name))
    if value is not None and value.kids:
        walk.names[walk.text(name)] = evaluate(walk, value.kids[0])


def _write(walk: Walk, call: Node) -> None:
    """Follow a call that writes text into a builder."""
    function, given = call.get("function"), call.get("arguments")
    if call.kind != "call_expression" or function is None or given is None:
        return
    dotted = dotted_name(walk, function)
    last = dotted.rsplit(".", 1)[-1]
    target = function.get("operand")
    if last in _WRITES and target is not None and given.kids:
        walk.add(walk.text(target), walk.placed(given.kids[0], evaluate(walk, given.kids[0])))
    elif dotted in ("fmt.Fprintf", "fmt.Fprint", "fmt.Fprintln") and len(given.kids) > 1:
        name = walk.text(given.kids[0]).lstrip("&")
        walk.add(name, _formatted(walk, given.kids[1:]).printed)


def _loop(walk: Walk, node: Node) -> None:
    clause = next((kid for kid in node.kids if kid.kind == "range_clause"), None)
    over = clause.get("right") if clause is not None else None
    body = node.get("body")
    if body is None:
        return
    before = walk.hazards
    if over is not None and walk.text(over) in walk.maps and not _only_collects(walk, body):
        walk.hazards = walk.over_map(over, walk.text(over))
    statement(walk, body)
    walk.hazards = before


def _only_collects(walk: Walk, body: Node) -> bool:
    """Whether a loop gathers keys, which are then sorted."""
    return (
        "append(" in walk.text(body)
        and re.search(r"\b(sort|slices)\.\w*Sort|sort\.Strings|sort\.Slice", walk.source.text)
        is not None
    )


def dotted_name(walk: Walk, node: Node | None) -> str:
    """Return a name with dots, calls in it left out."""
    if node is None:
        return ""
    if node.kind == "selector_expression":
        left = dotted_name(walk, node.get("operand"))
        last = node.get("field")
        return f"{left}.{walk.text(last)}" if last is not None else left
    if node.kind == "call_expression":
        return dotted_name(walk, node.get("function"))
    return walk.text(node) if node.kind in ("identifier", "package_identifier") else ""


def evaluate(walk: Walk, node: Node) -> Value:
    """Return what is known of an expression."""
    handler = _HANDLERS.get(node.kind)
    return handler(walk, node) if handler is not None and walk.spend() else NOTHING


def _string(walk: Walk, node: Node) -> Value:
    return walk.literal(node.start + 1, node.end - 1)


def _sum(walk: Walk, node: Node) -> Value:
    operands: list[Node] = []
    at: Node | None = node
    while at is not None and at.kind == "binary_expression":
        right = at.get("right")
        operands += [right] if right is not None else []
        at = at.get("left")
    operands += [at] if at is not None else []
    return text_of(p for o in reversed(operands) for p in walk.placed(o, evaluate(walk, o)))


def _name(walk: Walk, node: Node) -> Value:
    text = walk.text(node)
    if text in walk.names:
        return walk.names[text]
    if text in walk.constants and walk.depth < MAX_DEPTH:
        return evaluate(walk.inside(), walk.constants[text])
    return NOTHING if text in ("nil", "true", "false") else walk.unknown(node, text)


def _selected(walk: Walk, node: Node) -> Value:
    dotted = dotted_name(walk, node)
    return _arisen(walk, node, dotted) or walk.unknown(node, dotted)


def _arisen(walk: Walk, node: Node, dotted: str) -> Value | None:
    for pattern, origin, label in _ARISES:
        if re.fullmatch(pattern, dotted):
            return walk.arisen(node, origin, label)
    return None


def _call(walk: Walk, node: Node) -> Value:
    function, given = node.get("function"), node.get("arguments")
    args = given.kids if given is not None else []
    dotted = dotted_name(walk, function)
    last = dotted.rsplit(".", 1)[-1]
    arisen = _arisen(walk, node, dotted)
    if arisen is not None:
        return arisen
    if dotted in ("fmt.Sprintf", "fmt.Errorf") and args:
        return _formatted(walk, args)
    if dotted == "strings.Join" and args:
        return _joined(walk, args)
    if dotted in ("strings.ReplaceAll", "strings.Replace") and len(args) > 2:
        return text_of((*evaluate(walk, args[0]).printed, *_changing(walk, args[2])))
    if dotted == "append" and args:
        items = list(evaluate(walk, args[0]).items or ())
        return list_of([*items, *(text_of(walk.placed(a, evaluate(walk, a))) for a in args[1:])])
    if "." not in dotted and dotted in walk.functions and dotted != "":
        return result(walk, walk.functions[dotted], [evaluate(walk, a) for a in args])
    target = function.get("operand") if function is not None else None
    if target is not None:
        value = evaluate(walk, target)
        if last == "Format" and args:
            return value if _FINE_LAYOUT.search(walk.text(args[0])) else coarse(value)
        if last in _DAY:
            return coarse(value)
        if value.printed and (
            last in _SAME or (value.sole is not None and last in ("Unix", "UnixMilli", "UnixNano"))
        ):
            return value
    if last in _SAME and args:
        return evaluate(walk, args[0])
    return walk.unknown(node, last)


def _changing(walk: Walk, node: Node) -> list[Part]:
    return [p for p in walk.placed(node, evaluate(walk, node)) if p.text is None]


def _formatted(walk: Walk, args: list[Node]) -> Value:
    form = args[0]
    given = [(arg, evaluate(walk, arg)) for arg in args[1:]]
    if form.kind in ("interpreted_string_literal", "raw_string_literal"):
        return walk.filled(form.start + 1, form.end - 1, _VERB, given)
    known = evaluate(walk, form)
    only = known.parts[0] if len(known.parts) == 1 else None
    if only is not None and only.text is not None and only.source is walk.source:
        return walk.filled(only.span.start, only.span.end, _VERB, given)
    return text_of((*known.printed, *(p for a, v in given for p in walk.placed(a, v))))


def _joined(walk: Walk, args: list[Node]) -> Value:
    value = evaluate(walk, args[0])
    if value.items is None:
        return value if value.printed else walk.unknown(args[0], dotted_name(walk, args[0]))
    return text_of(part for item in value.items for part in item.printed)


def _composite(walk: Walk, node: Node) -> Value:
    body = node.get("body")
    items = [kid.kids[0] for kid in body.kids if kid.kids] if body is not None else []
    return list_of(text_of(walk.placed(i, evaluate(walk, i))) for i in items)


def _inner(walk: Walk, node: Node) -> Value:
    return evaluate(walk, node.kids[-1]) if node.kids else NOTHING


_HANDLERS: dict[str, Callable[[Walk, Node], Value]] = {
    "interpreted_string_literal": _string,
    "raw_string_literal": _string,
    "binary_expression": _sum,
    "identifier": _name,
    "selector_expression": _selected,
    "call_expression": _call,
    "composite_literal": _composite,
    "parenthesized_expression": _inner,
    "unary_expression": _inner,
    "type_conversion_expression": _inner,
}
