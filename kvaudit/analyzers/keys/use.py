"""What was seen of the use of one key: who asks and fills a store under it, and with whose answers.

What is kept under a key of a prompt is an answer where it comes from the call of a model that is
seen, or where a cache of another file is given it as a response, a completion or an embedding.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.keys.answers import File, answers_in, called
from kvaudit.analyzers.keys.reach import finds
from kvaudit.analyzers.keys.scopes import Scope, walk
from kvaudit.analyzers.keys.vocabulary import ANSWER
from kvaudit.analyzers.naming import snake_case

_LASTING = re.compile(
    r"redis|valkey|memcache|diskcache|sqlite|shelve|rdb|conn|db|collection|table", re.IGNORECASE
)
"""Stores that outlive the program that fills them."""
_KEEPS = re.compile(r"redis|valkey|diskcache|sqlite3|shelve|\.mkdir\(|write_text|json\.dump\(")
"""What a class of caches does that outlives the program."""
_CACHES = re.compile(r"\w*(cache|store|memo)\w*")


@dataclass(slots=True)
class Kept:
    """What was seen of a key."""

    of_prompt: bool = False
    """The key holds what is called a prompt, messages or a question."""
    words: frozenset[str] = frozenset()
    """Names that the key is made of."""
    asked: bool = False
    filled: bool = False
    made_here: bool = False
    """Something is kept that a function of the file makes, and is not given."""
    lasting: bool = False
    """The store is seen to outlive the program."""
    named: bool = False
    """What is kept is called an answer by who gives it, or the cache is called one of answers."""
    answers: list[tuple[Scope, ast.Call]] = field(default_factory=list)
    """Calls of models whose answers are kept under it."""
    scopes: list[Scope] = field(default_factory=list)
    """Functions that hold it."""

    def ask(self, scope: Scope, store: ast.expr | None, file: File) -> None:
        """Note that a store is asked."""
        self.asked = True
        self.note_store(scope, store, file)

    def note_store(self, scope: Scope, store: ast.expr | None, file: File) -> None:
        """Note whether a store outlives the program."""
        if store is None:
            return
        name = getattr(store, "id", getattr(store, "attr", ""))
        made = [*scope.given(name), *scope.module.assigned.get(name, ())]
        made += _set_by_class(scope, name)
        written = [scope.module.written(one) for one in (store, *made)]
        written += [scope.module.dotted(one.func) for one in made if isinstance(one, ast.Call)]
        self.lasting |= any(_LASTING.search(text) for text in written)
        for one in made:
            class_of = getattr(getattr(one, "func", None), "id", "")
            other = file.imported(scope, class_of) if class_of and not self.lasting else None
            if other is not None and other.every:
                text = other.every[0].module.source.text
                self.lasting |= _KEEPS.search(text) is not None

    def fill(self, scope: Scope, values: Sequence[ast.expr], file: File) -> None:
        """Note what is kept, and the answers in it, also of those who give it."""
        self.filled = True
        for value in values:
            self.answers += [(scope, call) for call in answers_in(scope, value, file)]
        names = set().union(*(_names_in(scope, value) for value in values))
        kept = [name for name in scope.params if name in names]
        self.made_here |= self.words.issuperset(map(snake_case, kept))
        for at, name in enumerate(scope.params):
            if name not in names:
                continue
            self.named |= self.of_prompt and ANSWER.fullmatch(snake_case(name)) is not None
            for caller, call in callers_of(scope, file):
                words = {word.arg: word.value for word in call.keywords}
                given = words.get(name, call.args[at] if at < len(call.args) else None)
                if given is not None and caller is not scope:
                    self.answers += [(caller, one) for one in answers_in(caller, given, file)]


def _names_in(scope: Scope, value: ast.expr, steps: int = 2) -> set[str]:
    """Return the names in a value, and in what its local names were given."""
    found: set[str] = set()
    for node in walk(scope.module, value):
        if isinstance(node, ast.Name) and node.id not in found:
            found.add(node.id)
            for given in scope.assigned.get(node.id, ()) if steps else ():
                if not finds(given):
                    found |= _names_in(scope, given, steps - 1)
    return found


def _set_by_class(scope: Scope, name: str) -> Iterator[ast.expr]:
    """Yield what an object's field is given by its class; a decorator's object is of any there."""
    is_method = scope.node is not None and any(one.arg == "self" for one in scope.node.args.args)
    any_class = scope.module.tree if scope.owner is None and is_method else None
    around = scope.owner or any_class
    for node in ast.walk(around) if around is not None else ():
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Attribute) and target.attr == name for target in node.targets
        ):
            yield node.value


def callers_of(scope: Scope, file: File) -> Iterator[tuple[Scope, ast.Call]]:
    """Yield the calls of a function in its file; of a method through another object, a cache's."""
    for other, call in file.calls.get(scope.name, ()):
        if scope in called(other, call, file) and other is not scope:
            yield other, call
        elif isinstance(call.func, ast.Attribute) and scope.owner is not None:
            root = getattr(call.func.value, "id", getattr(call.func.value, "attr", ""))
            of_class = root == scope.owner.name or _CACHES.fullmatch(snake_case(root)) is not None
            if of_class and other.owner is not scope.owner:
                yield other, call
