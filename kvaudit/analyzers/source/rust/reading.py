"""Rust: strings that functions with the names of prompts build."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.builder import MAX_DEPTH, Walk, documents
from kvaudit.analyzers.source.ecmascript.dates import coarse
from kvaudit.analyzers.source.ecmascript.tree import Node, parse
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Value, list_of, text_of
from kvaudit.core.document import Document, Origin
from kvaudit.core.sources import Source

_HOLE = re.compile(r"(?<!\{)\{(?P<name>[a-z_]\w*)?\d*(:[^{}]*)?\}")
_FINE = re.compile(r"%[-_0]?[HIklMSpPfXcTRrs]|%\.?\d*f|%\+")
_CLOCKS = "Utc|Local|SystemTime|Instant|OffsetDateTime|Zoned|Timestamp|DateTime"
_ARISES = (
    (rf"(\w+::)*({_CLOCKS})::(now|now_utc|now_local)", Origin.CLOCK, "reads the clock"),
    (r"(\w+::)*Uuid::(new_v4|now_v7|new_v1)|(\w+::)*(random|rng|nanoid)", Origin.RANDOM, "draws"),
    (r"(\w+::)*(current_dir|tempdir|temp_dir)|(\w+::)*process::id", Origin.SESSION, "of a session"),
    (r"(\w+::)*(hostname|gethostname)|(\w+::)*consts::\w+", Origin.HOST, "of a machine"),
    (r"(\w+::)*env::var(_os)?", Origin.DEPLOY, "read from the environment"),
    (r"(\w+::)*Command::new", Origin.LIVE_STATE, "runs a command"),
)
_SAME = frozenset((
    "to_string", "to_owned", "trim", "trim_end", "trim_start", "as_str", "clone", "unwrap",
    "unwrap_or_default", "expect", "into", "as_ref", "display", "to_lowercase", "to_uppercase",
    "to_string_lossy", "unwrap_or_else", "to_rfc3339", "to_rfc2822", "timestamp", "ok", "elapsed",
    "with_timezone", "into_owned", "as_bytes", "borrow", "as_deref", "timestamp_millis",
    "duration_since", "as_secs", "as_millis",
))  # fmt: skip
_DAY = frozenset(("date_naive", "date", "year", "month", "day", "weekday", "ordinal"))
_WRAPS = frozenset(
    ("Some", "Ok", "String::from", "Cow::from", "Cow::Borrowed", "Cow::Owned", "Arc::from")
)
_MAPS = re.compile(r"\b(HashMap|HashSet)\b")
_COMMENTS = ("line_comment", "block_comment")
FUNCTIONS = ("function_item", "closure_expression")


def read_rust(source: Source, project: Project) -> Sequence[Document]:
    """Return the prompts that a file builds. Raises `Unreadable`."""
    root = parse(source.text, "rust")
    functions: dict[str, Node] = {}
    constants: dict[str, Node] = {}
    for node in root.walk():
        name, value = node.get("name"), node.get("value")
        if name is None:
            continue
        text = source.text[name.start : name.end]
        if node.kind == "function_item":
            functions[text] = node
        elif node.kind in ("const_item", "static_item") and value is not None:
            constants.setdefault(text, value)
    walk = Walk(source, functions, constants, project.variables)
    return documents(_texts(walk), source, "rust")


def _texts(walk: Walk) -> Iterator[tuple[str, Node, Value]]:
    for name, node in walk.functions.items():
        yield name, node, result(walk, node, [])


def result(walk: Walk, function: Node, args: list[Value]) -> Value:
    """Return what a function gives: what it returns, or its last expression."""
    if walk.depth > MAX_DEPTH:
        return NOTHING
    inner = walk.inside()
    listed = function.get("parameters")
    params = [n for n in listed.kids if n.kind == "parameter"] if listed is not None else []
    for index, declared in enumerate(params):
        name, kind = declared.get("pattern"), declared.get("type")
        if name is None:
            continue
        if kind is not None and _MAPS.search(walk.text(kind)):
            inner.maps.add(walk.text(name))
        if index < len(args) and args[index] is not NOTHING:
            inner.names[walk.text(name)] = args[index]
    body = function.get("body")
    if body is not None:
        inner.give(_block(inner, body))
    return inner.returned


def _block(walk: Walk, node: Node) -> Value:
    """Follow a block; its value is that of a last expression without a semicolon."""
    value = NOTHING
    kids = [kid for kid in node.kids if kid.kind not in _COMMENTS]
    for kid in kids:
        if kid.kind in _HANDLERS and kid is kids[-1]:
            value = evaluate(walk, kid)
        else:
            statement(walk, kid)
    return value


def statement(walk: Walk, node: Node) -> None:
    """Follow one statement and those in it."""
    if not walk.spend() or node.kind in FUNCTIONS:
        return
    if node.kind == "let_declaration":
        _let(walk, node)
    elif node.kind == "return_expression" and node.kids:
        walk.give(evaluate(walk, node.kids[0]))
    elif node.kind == "compound_assignment_expr":
        left, right = node.get("left"), node.get("right")
        if left is not None and right is not None:
            walk.add(walk.text(left), walk.placed(right, evaluate(walk, right)))
    elif node.kind == "assignment_expression":
        left, right = node.get("left"), node.get("right")
        if left is not None and right is not None:
            walk.names[walk.text(left)] = evaluate(walk, right)
    elif node.kind in ("call_expression", "macro_invocation"):
        _write(walk, node)
    elif node.kind == "for_expression":
        _loop(walk, node)
    else:
        for kid in node.kids:
            statement(walk, kid)


def _let(walk: Walk, node: Node) -> None:
    name, value, kind = node.get("pattern"), node.get("value"), node.get("type")
    if name is None:
        return
    typed = walk.text(kind) if kind is not None else ""
    if _MAPS.search(typed + (walk.text(value)[:60] if value is not None else "")):
        walk.maps.add(walk.text(name))
    if value is not None:
        walk.names[walk.text(name)] = evaluate(walk, value)


def _write(walk: Walk, node: Node) -> None:
    """Follow a call or macro that writes text into a string."""
    if node.kind == "macro_invocation":
        if walk.text(node.fields["macro"]).rsplit("::", 1)[-1] in ("write", "writeln"):
            args = _arguments(walk, node)
            if len(args) > 1:
                walk.add(
                    walk.text(args[0]).removeprefix("&mut ").strip(),
                    _formatted(walk, args[1:]).printed,
                )
        return
    function, given = node.get("function"), node.get("arguments")
    target = function.get("value") if function is not None else None
    name = function.get("field") if function is not None else None
    if target is None or name is None:
        return
    method = walk.text(name)
    if method in ("push_str", "push", "extend") and given is not None and given.kids:
        value = evaluate(walk, given.kids[0])
        old = walk.names.get(walk.text(target), NOTHING)
        if old.items is not None:
            walk.names[walk.text(target)] = list_of(
                (*old.items, text_of(walk.placed(given.kids[0], value)))
            )
        else:
            walk.add(walk.text(target), walk.placed(given.kids[0], value))
    elif method in ("unwrap", "expect", "ok"):
        statement(walk, target)


def _loop(walk: Walk, node: Node) -> None:
    over, body = node.get("value"), node.get("body")
    if over is None or body is None:
        return
    bare = re.sub(r"^&(mut )?|\.(iter|keys|values|into_iter|drain)\(\)$", "", walk.text(over))
    before = walk.hazards
    if bare in walk.maps:
        walk.hazards = walk.over_map(over, bare)
    for kid in body.kids:
        statement(walk, kid)
    walk.hazards = before


def _path(walk: Walk, node: Node | None) -> str:
    return re.sub(r"\s+|<[^>]*>", "", walk.text(node)) if node is not None else ""


def evaluate(walk: Walk, node: Node) -> Value:
    """Return what is known of an expression."""
    handler = _HANDLERS.get(node.kind)
    return handler(walk, node) if handler is not None and walk.spend() else NOTHING


def _string(walk: Walk, node: Node) -> Value:
    inner = next((kid for kid in node.kids if kid.kind == "string_content"), None)
    return walk.literal(inner.start, node.kids[-1].end) if inner is not None else text_of(())


def _name(walk: Walk, node: Node) -> Value:
    text = walk.text(node)
    if text in walk.names:
        return walk.names[text]
    if text in walk.constants and walk.depth < MAX_DEPTH:
        return evaluate(walk.inside(), walk.constants[text])
    return walk.unknown(node, text)


def _field(walk: Walk, node: Node) -> Value:
    return walk.unknown(node, _path(walk, node))


def _scoped(walk: Walk, node: Node) -> Value:
    path = _path(walk, node)
    return _arisen(walk, node, path) or walk.unknown(node, path.replace("::", "."))


def _arisen(walk: Walk, node: Node, path: str) -> Value | None:
    for pattern, origin, label in _ARISES:
        if re.fullmatch(pattern, path):
            return walk.arisen(node, origin, label)
    return None


def _call(walk: Walk, node: Node) -> Value:
    function, given = node.get("function"), node.get("arguments")
    args = given.kids if given is not None else []
    if function is None:
        return NOTHING
    if function.kind == "field_expression":
        return _method(walk, node, function, args)
    path = _path(walk, function)
    arisen = _arisen(walk, node, path)
    if arisen is not None:
        return arisen
    last = path.rsplit("::", 1)[-1]
    if path in _WRAPS and args:
        return evaluate(walk, args[0])
    if path in ("String::new", "Vec::new", "String::with_capacity", "Vec::with_capacity"):
        return list_of(()) if path.startswith("Vec") else text_of(())
    if last in walk.functions:
        return result(walk, walk.functions[last], [evaluate(walk, a) for a in args])
    return walk.unknown(node, last)


def _method(walk: Walk, node: Node, function: Node, args: list[Node]) -> Value:
    target, named = function.get("value"), function.get("field")
    if target is None or named is None:
        return NOTHING
    method = walk.text(named)
    value = evaluate(walk, target)
    if method == "format" and args:
        return value if _FINE.search(walk.text(args[0])) else coarse(value)
    if method in _DAY:
        return coarse(value)
    if method in ("join", "concat") and value.items is not None:
        return text_of(part for item in value.items for part in item.printed)
    if method == "replace" and len(args) == 2:
        put = walk.placed(args[1], evaluate(walk, args[1]))
        return text_of((*value.printed, *(p for p in put if p.text is None)))
    if method in _SAME:
        return value
    if walk.text(target) == "self" and method in walk.functions:
        return result(walk, walk.functions[method], [evaluate(walk, a) for a in args])
    return walk.unknown(node, method)


def _macro(walk: Walk, node: Node) -> Value:
    name = walk.text(node.fields["macro"]).rsplit("::", 1)[-1]
    args = _arguments(walk, node)
    if name in ("format", "indoc", "formatdoc", "concat") and args:
        return _formatted(walk, args)
    if name == "vec":
        return list_of(text_of(walk.placed(a, evaluate(walk, a))) for a in args)
    if name in ("include_str",):
        return walk.unknown(node, "static_text")
    return NOTHING


def _formatted(walk: Walk, args: list[Node]) -> Value:
    form = args[0]
    if form.kind not in ("string_literal", "raw_string_literal"):
        return evaluate(walk, form)
    given = []
    for arg in args[1:]:
        if arg.kind == "assignment_expression" and {"left", "right"} <= arg.fields.keys():
            right = arg.fields["right"]
            walk.names[walk.text(arg.fields["left"])] = evaluate(walk, right)
        else:
            given.append((arg, evaluate(walk, arg)))
    inner = [kid for kid in form.kids if kid.kind == "string_content"]
    if not inner:
        return text_of(())
    return walk.filled(inner[0].start, form.kids[-1].end, _HOLE, given)


def _arguments(walk: Walk, macro: Node) -> list[Node]:
    """Return the arguments of a macro; a grammar sees only tokens in it, so they are parsed."""
    tokens = next((kid for kid in macro.kids if kid.kind == "token_tree"), None)
    if tokens is None or tokens.end - tokens.start > 200_000:
        return []
    start, end = tokens.start + 1, tokens.end - 1
    head = "fn f(){g("
    root = parse(f"{head}{walk.source.text[start:end]});}}", "rust")
    call = next((n for n in root.walk() if n.kind == "call_expression"), None)
    listed = call.get("arguments") if call is not None else None
    if listed is None:
        return []
    for node in listed.walk():
        node.start += start - len(head)
        node.end += start - len(head)
    return [kid for kid in listed.kids if kid.kind not in _COMMENTS]


def _inner(walk: Walk, node: Node) -> Value:
    return evaluate(walk, node.kids[-1]) if node.kids else NOTHING


def _sum(walk: Walk, node: Node) -> Value:
    operands: list[Node] = []
    at: Node | None = node
    while at is not None and at.kind == "binary_expression":
        right = at.get("right")
        operands += [right] if right is not None else []
        at = at.get("left")
    operands += [at] if at is not None else []
    return text_of(p for o in reversed(operands) for p in walk.placed(o, evaluate(walk, o)))


def _array(walk: Walk, node: Node) -> Value:
    return list_of(text_of(walk.placed(kid, evaluate(walk, kid))) for kid in node.kids)


_HANDLERS: dict[str, Callable[[Walk, Node], Value]] = {
    "string_literal": _string,
    "raw_string_literal": _string,
    "identifier": _name,
    "field_expression": _field,
    "scoped_identifier": _scoped,
    "call_expression": _call,
    "macro_invocation": _macro,
    "reference_expression": _inner,
    "parenthesized_expression": _inner,
    "try_expression": _inner,
    "await_expression": _inner,
    "binary_expression": _sum,
    "array_expression": _array,
    "block": _block,
}
