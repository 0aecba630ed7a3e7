"""What is kept of other modules gives the same result whoever asked for it first."""

from itertools import permutations

from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.sources import Source

from .reading import RULES, Files

CIRCLE = {
    "clock": (
        "from datetime import datetime\nfrom words import greeting\n"
        "def moment(): return f'{datetime.now()} {greeting()}'\n"
        "def day(): return moment() + 'prompt'"
    ),
    "words": (
        "from clock import day\n"
        "def greeting(n=0): return 'Hello. ' + (day() if n else 'prompt ')\n"
        "class Persona:\n    def __init__(self):\n        self.text = self.made()\n"
        "    def made(self): return 'You are a helper. ' + day()"
    ),
}
READERS = {
    "a": "from clock import moment\ndef system_prompt(): return moment() + RULES",
    "b": "from words import greeting\ndef system_prompt(): return greeting(1) + RULES",
    "c": "from clock import day\ndef system_prompt(): return day() + RULES",
    "d": "from words import Persona\ndef system_prompt(): return Persona().text + RULES",
    **CIRCLE,
}


def told(project, name):
    source = project.modules.get(name, Source(f"{name}.py", READERS[name]))
    return [
        (f.code, f.source.path, f.span, f.message, f.lost_tokens)
        for document in documents_of(source, project)
        for f in lint_document(document, RULES, Profile())
    ]


def test_the_order_of_files_does_not_matter():
    alone = {name: told(Files(**CIRCLE), name) for name in READERS}
    assert any(alone[name] for name in "abcd")
    for order in list(permutations(READERS))[::7]:
        project = Files(**CIRCLE)
        assert {name: told(project, name) for name in order} == alone


def test_what_a_constructor_asks_of_its_own_class_is_known():
    text = (
        "from datetime import datetime\nclass A:\n    head = 'You are a helper. '\n"
        "    def __init__(self):\n        self.now = self.read()\n"
        "    def read(self): return datetime.now()\n"
        "    def system_prompt(self): return f'{self.head}{self.now}' + RULES"
    )
    assert [f[0] for f in told(Files(a=text), "a")] == ["KV005"]
