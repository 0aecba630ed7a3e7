"""Templates in files of their own, and what Python fills them with."""

import pytest

from kvaudit.analyzers.arbitration import arbitrate
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.project import FolderProject
from kvaudit.analyzers.ruleset import choose_rules
from kvaudit.analyzers.run import look
from kvaudit.core.document import Evidence
from kvaudit.core.findings import Severity
from kvaudit.core.sources import Source

RULES = choose_rules().used
LONG = "Quote the number of each invoice that is asked for. " * 100
JINJA = "You help {{ firm }}. As of {{ stamp }}:\n" + LONG + 'Answer as {"page": 1}.\n'
BRACES = "As of {stamp}:\n" + LONG
DOUBLE = "As of {{stamp}}:\n" + LONG
SENT = """\
from datetime import datetime
from pathlib import Path
HERE = Path(__file__).parent

def ask(client, history):
    text = {text}
    system = {{"role": "system", "content": text}}
    return client.create(messages=[system, *history])
"""
CALLS = {
    "environment": ("system.j2", JINJA, 'env.get_template("system.j2").render(stamp={given})'),
    "loader": ("prompts/system.j2", JINJA, 'loader.load_prompt("system", stamp={given})'),
    "placeholders": ("prompts/s.md", DOUBLE, 'self.read_prompt("s.md", stamp={given})'),
    "path": (
        "prompts/system.md",
        BRACES,
        '(HERE / "prompts" / "system.md").read_text().format(stamp={given})',
    ),
    "opened": ("system.txt", BRACES, 'open("system.txt").read().replace("{{stamp}}", {given})'),
}


def clocks(tmp_path, call, given):
    """What is said of a clock that fills a template, and the texts it points at."""
    name, template, text = CALLS[call]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(template)
    app = tmp_path / "app.py"
    app.write_text(SENT.format(text=text.format(given=given)))
    source = Source(str(app), app.read_text())
    found = look(source, FolderProject(tmp_path, {}), RULES, Profile(), place="app.py").findings
    return [
        (f.severity, f.evidence, f.source.text[slice(*f.span)])
        for f in arbitrate(found)
        if f.code in ("KV001", "KV002")
    ]


@pytest.mark.parametrize("call", CALLS)
def test_a_clock_that_fills_a_template_is_told_where_the_prompt_shows_it(tmp_path, call):
    (told,) = clocks(tmp_path, call, "str(datetime.now())")
    severity, evidence, shown = told
    assert severity is Severity.ERROR
    assert evidence in (Evidence.BINDING, Evidence.DATAFLOW)
    assert "stamp" in shown or "datetime.now()" in shown


@pytest.mark.parametrize("call", CALLS)
def test_what_is_fixed_or_unknown_says_nothing_of_a_clock(tmp_path, call):
    assert clocks(tmp_path, call, "'spring'") == []
    assert clocks(tmp_path, call, "settings.season") == []


def test_a_day_that_fills_a_template_is_a_day(tmp_path):
    (told,) = clocks(tmp_path, "environment", "datetime.now().date()")
    assert told[0] is Severity.INFO
