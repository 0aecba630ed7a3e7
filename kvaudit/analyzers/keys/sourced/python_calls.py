"""What calls in Python code do with a value: keep all of it, take less of it, or make a new one."""

from __future__ import annotations

import ast
import builtins
import re

from kvaudit.analyzers.keys.sourced.reference import Nature

_CLOCK = re.compile(
    r"time\.(time|time_ns|monotonic|monotonic_ns|perf_counter|perf_counter_ns|localtime|gmtime)"
    r"|(datetime\.)*(datetime|timezone|date)\.(now|utcnow|today)"
)
_RANDOM = re.compile(r"uuid\.uuid[147]|(random|secrets)\.\w+|os\.urandom|nanoid\.\w+|ulid\.\w+")
_ENCODES = frozenset((
    "encode", "decode", "hexdigest", "digest", "intdigest", "model_dump", "model_dump_json", "dict",
    "json", "copy", "items", "values", "isoformat", "tolist", "tobytes", "timestamp", "update",
    "join", "format", "append", "to_dict", "as_dict", "get_secret_value", "hex", "to_json",
    "__str__", "__repr__",
))  # fmt: skip
"""Methods that change the form of a value, and nothing of what it says."""
_DIGESTS = frozenset(("hexdigest", "digest", "intdigest", "hex"))
_LIBRARIES = frozenset((
    "hashlib", "xxhash", "mmh3", "blake3", "json", "orjson", "ujson", "pickle", "msgpack", "base64",
    "zlib", "binascii", "struct", "copy", "dataclasses", "itertools", "functools", "operator",
    "numpy", "np", "yaml", "collections", "typing", "string", "cloudpickle", "farmhash", "cityhash",
    "asyncio", "enum", "uuid",
))  # fmt: skip
_TAKES_LESS = frozenset(("len", "bool", "int", "round", "abs", "min", "max", "sum", "type", "any"))
BUILTINS = frozenset(dir(builtins))


def nature_of(dotted: str) -> Nature | None:
    """Return what a call makes that no request says; None for any other."""
    if _CLOCK.fullmatch(dotted):
        return Nature.CLOCK
    return Nature.RANDOM if _RANDOM.fullmatch(dotted) else None


def only_encodes(name: str, method: str) -> bool:
    """Whether a call says all that it is given in another form."""
    if name in _TAKES_LESS:
        return False
    if name in BUILTINS or name.split(".", 1)[0] in _LIBRARIES:
        return True
    return method in _ENCODES


def is_digest(node: ast.expr) -> bool:
    """Whether a part of a value is a shorter digest, of which still all is made."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _DIGESTS
