"""Which calls are seen to ask a model, and whether a value comes from one of them.

A name such as ``client.create`` or ``call`` may be of anything; it counts where the call is given a
prompt by name, or goes through what is called a model. Functions of the file are looked into.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from kvaudit.analyzers.keys.held_objects import methods_held
from kvaudit.analyzers.keys.reach import Reach
from kvaudit.analyzers.keys.scopes import Scope, scopes_of, walk
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.source.python.module import Module, module_of

_BY_ITSELF = re.compile(
    r"(.*\.)?((chat\.)?completions\.(create|parse)|(responses|messages|embeddings)\.(create|parse)"
    r"|generate_content(_async)?|generate_content_stream|invoke_model|converse|chat_completion"
    r"|\w*model\.(a?generate(_text)?|a?invoke)|(litellm\.|_)?a?completion"
    r"|a?embedding|embed_(query|documents|content|text)s?)"
)
"""Calls that only models answer."""
_VERBS = re.compile(
    r"(.*\.)?_?a?(create|generate(_text|_response|_answer|_text_embeddings?)?|invoke|complete|chat"
    r"|call|ask|query|prompt|predict|embed|encode|stream|run|send|completions?"
    r"|classify|summari[sz]e|translate|extract|answer|respond|reply|relevance|score|judge|grade"
    r"|rate|rank|rerank|evaluate"
    r"|(call|ask|query|prompt)_(llm|model|gpt|claude|ai|openai|anthropic|api)"
    r"|(get|create|compute|generate|fetch)_(text_)?(embeddings?|completions?))"
    r"(_(async|sync|stream))?"
)
_THROUGH = re.compile(
    r"(\w+_)?(llm|lm|chat_model|openai|anthropic|claude|gemini|ollama|embedder|embed(ding)?_model)"
    r"(_client|_func)?|(chat_|language_|base_)?model|(sentence_|text_|query_)?encoder|embeddings?"
    r"|chain|generator|(\w+_)?agent"
)
"""What a call goes through that is called a model."""
_GIVEN = frozenset(("messages", "prompt", "prompts", "contents", "system_prompt", "user_prompt"))
_REQUEST = re.compile(r"(LLM|Chat|Completion|Generat\w*|Prompt|Model)(Request|Input|Messages?)\b")
"""Types of what a model is asked with."""
_POSTS = re.compile(r"(.*\.)?(post|request|urlopen|send|stream)")
_ADDRESS = re.compile(
    r"/chat/completions|/v1/(messages|completions|embeddings|responses)|generateContent|api\.openai"
    r"|/api/(generate|chat|embed)|/embeddings|embedContent|openrouter\.ai"
)
"""Addresses at which models answer."""
_LINE = 200
_LONGEST_IMPORT = 200_000
_MOST_FOLLOWED = 100_000
"""Uses of keys in one file, of which a generated one may have any number."""


@dataclass(slots=True)
class File:
    """The functions of a file and the calls in them, by name; with those that it imports."""

    every: Sequence[Scope]
    project: Project | None = None
    """Where the files are looked for that it imports from; theirs are not."""
    others: dict[Module, File] = field(default_factory=dict)
    named: dict[str, list[Scope]] = field(default_factory=dict)
    calls: dict[str, list[tuple[Scope, ast.Call]]] = field(default_factory=dict)
    asking: dict[Scope, bool] = field(default_factory=dict)
    """Functions of which it is known whether they ask a model."""
    told: set[tuple[str, ...]] = field(default_factory=set)
    """What was said of a key that several functions make alike."""
    reaches: dict[Scope, Reach] = field(default_factory=dict)
    followed: int = 0
    """Uses of keys that were looked at."""

    def __post_init__(self) -> None:
        """Enter the functions and the calls in them."""
        for scope in self.every:
            self.named.setdefault(scope.name, []).append(scope)
            for call in scope.calls():
                self.calls.setdefault(_names(call), []).append((scope, call))

    def of(self, scope: Scope) -> File:
        """Return the file in which a function stands."""
        return self.others.get(scope.module, self)

    def imported(self, scope: Scope, name: str) -> File | None:
        """Return the file of the project from which a name is imported."""
        origin, _ = scope.module.imports.get(name, ("", None))
        if self.project is None or not origin:
            return None
        source = self.project.module(scope.module.source, origin)
        if source is None or len(source.text) > _LONGEST_IMPORT:
            return None
        try:
            module = module_of(source)
        except Unreadable:
            return None
        if module not in self.others:
            self.others[module] = File(scopes_of(module))
        return self.others[module]

    def reach(self, scope: Scope) -> Reach:
        """Return what stands in the expressions of a function."""
        if scope not in self.reaches:
            self.reaches[scope] = Reach(scope)
        return self.reaches[scope]

    def may_follow(self, uses: int) -> bool:
        """Whether a key is followed on, out of a function with so many uses of it."""
        self.followed += uses
        return self.followed < _MOST_FOLLOWED


def asks_model(scope: Scope, call: ast.Call, file: File) -> bool:
    """Whether a call is seen to ask a model, itself or through functions of the project."""
    return asks_itself(scope, call) or (
        bool(call.args or call.keywords)
        and any(_asks(made, file) for made in called(scope, call, file))
    )


def asks_itself(scope: Scope, call: ast.Call) -> bool:
    """Whether a call is of a model, by its name, by what it is given or by where it goes."""
    name = scope.module.dotted(call.func)
    if not (call.args or call.keywords):
        return False
    if _BY_ITSELF.fullmatch(name):
        return True
    parts = [snake_case(part) for part in name.split(".")]
    if _VERBS.fullmatch(name) and (
        any(_THROUGH.fullmatch(part) for part in parts[:-1]) or _is_given_prompt(scope, call)
    ):
        return True
    return _POSTS.fullmatch(name) is not None and _ADDRESS.search(_around(scope)) is not None


def _asks(made: Scope, file: File) -> bool:
    if made not in file.asking:
        file.asking[made] = False  # what calls itself asks no more for it
        file.asking[made] = any(asks_model(made, inner, file) for inner in made.calls())
    return file.asking[made]


def called(scope: Scope, call: ast.Call, file: File) -> list[Scope]:
    """Return the functions that a call is of; what a decorator wraps where it is of that."""
    file = file.of(scope)
    if isinstance(call.func, ast.Name):
        wrapped = _wrapped(scope, call.func.id, file)
        made = wrapped or [one for one in file.named.get(call.func.id, ()) if one.owner is None]
        other = file.imported(scope, call.func.id) if not made else None
        if other is None:
            return made
        _, name = scope.module.imports[call.func.id]
        return [one for one in other.named.get(name or "", ()) if one.owner is None]
    root = getattr(call.func, "value", None)
    if isinstance(root, ast.Name) and root.id in ("self", "cls"):
        name = getattr(call.func, "attr", "")
        own = [
            one
            for one in file.named.get(name, ())
            if one.owner is not None and one.owner is scope.owner
        ]
        return own or list(_inherited(scope, scope.owner, name, file))
    return list(methods_held(scope, call, file.named.get(getattr(call.func, "attr", ""), ())))


def _inherited(
    scope: Scope, owner: ast.ClassDef | None, name: str, file: File, depth: int = 3
) -> Iterator[Scope]:
    """Yield the methods of that name that a class has from those it is derived from."""
    for base in owner.bases if owner is not None and depth else ():
        class_of = getattr(base, "id", "")
        other = file.imported(scope, class_of) if class_of in scope.module.imports else file
        if not class_of or other is None or not other.every:
            continue
        there = other.every[0]
        if other is not file:
            class_of = scope.module.imports[class_of][1] or class_of
        made = [
            one for one in other.named.get(name, ()) if one.owner and one.owner.name == class_of
        ]
        yield from made
        if not made:
            above = next((n for n in there.module.tree.body if _is_class(n, class_of)), None)
            yield from _inherited(there, above, name, other, depth - 1)


def _is_class(node: ast.AST, name: str) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef) and node.name == name


def _wrapped(scope: Scope, name: str, file: File) -> list[Scope]:
    """Return the functions that a decorator's parameter stands for in its file."""
    outer = scope.outer
    while outer is not None and outer.node is not None:
        if name in outer.params:
            names = {outer.name, outer.outer.name if outer.outer is not None else ""} - {""}
            return [
                one
                for one in file.every
                if one.node is not None and any(_names(d) in names for d in one.node.decorator_list)
            ]
        outer = outer.outer
    return []


def _names(node: ast.expr) -> str:
    """Return the last name of what is called, or of a decorator."""
    node = node.func if isinstance(node, ast.Call) else node
    return getattr(node, "id", getattr(node, "attr", ""))


def _is_given_prompt(scope: Scope, call: ast.Call) -> bool:
    names = {arg.id for arg in call.args if isinstance(arg, ast.Name)}
    given = {word.arg for word in call.keywords if word.arg} | {snake_case(one) for one in names}
    return bool(given & _GIVEN) or any(
        name in names
        and annotation is not None
        and _REQUEST.search(scope.module.written(annotation))
        for name, annotation in scope.annotated()
    )


def _around(scope: Scope) -> str:
    """Return the text of a function and of the fixed texts of its file and class."""
    if scope.node is None:
        return scope.module.source.text
    fixed = [
        text
        for statements in scope.module.assigned.values()
        for statement in statements
        if len(text := scope.module.written(statement)) < _LINE
    ]
    makers = [
        scope.module.written(made)
        for made in (scope.owner.body if scope.owner is not None else ())
        if getattr(made, "name", "") == "__init__"
    ]
    return "\n".join((scope.module.written(scope.node), *fixed, *makers))


def answers_in(
    scope: Scope, value: ast.expr, file: File, seen: set[str] | None = None
) -> Iterator[ast.Call]:
    """Yield the calls of models that a value is made of."""
    seen = set() if seen is None else seen
    for node in walk(scope.module, value):
        if isinstance(node, ast.Call) and asks_model(scope, node, file):
            yield node
        elif isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            for made in scope.given(node.id):
                yield from answers_in(scope, made, file, seen)
