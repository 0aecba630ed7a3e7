"""The Python reader: places, order, how fine a time is, guards, and hostile files."""

import re
from contextlib import suppress

import pytest
from linted import linted

from kvaudit.analyzers.examples import OneFile
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.run import lint_document, look
from kvaudit.core.document import Origin, Position
from kvaudit.core.sources import Source

from .reading import RULES, documents, segments


def shown(text, origin):
    """The texts in the file at which segments of an origin stand."""
    return {s.source.text[s.span.start : s.span.end] for s in segments(text) if s.origin is origin}


def codes(text):
    return {f.code for d in documents(text) for f in lint_document(d, RULES, Profile())}


CLOCK = "from datetime import datetime\n"
BUILDS = {
    "f-string": 'return f"é {datetime.now()} " + RULES',
    "format": 'return "It is {now}. {rules}".format(now=datetime.now(), rules=RULES)',
    "percent": 'return "It is %s. %s" % (datetime.now(), RULES)',
    "percent by name": 'return "It is %(now)s. " % {"now": datetime.now()} + RULES',
    "join": 'return "\\n".join(["It is", str(datetime.now()), RULES])',
    "replace": 'return "It is <now>. ".replace("<now>", str(datetime.now())) + RULES',
    "template": 'return Template("It is $now. ").substitute(now=datetime.now()) + RULES',
    "append": 'parts = ["It is"]\n    parts.append(str(datetime.now()))\n    return "".join(parts)',
    "triple": 'return f"""é\n  {RULES}\n  {  datetime.now()  !s:>30}\n"""',
    "concatenated": 'return ("It is " f"{1}" f"{datetime.now()}" " now ") + RULES',
    "nested": "return f\"{', '.join([str(datetime.now())])} {RULES}\"",
    "branch": 'text = RULES\n    if x:\n        text += f"{datetime.now()}"\n    return text',
}


def test_a_system_prompt_that_an_agent_keeps_has_no_turns_behind_it():
    text = "@agent.{}\ndef told():\n    return f'Help. It is {{datetime.now()}}. Be brief.'"
    assert codes(text.format("system_prompt")) == set()
    for mark in ("system_prompt(dynamic=True)", "instructions"):
        assert codes(text.format(mark)) == {"KV001"}


def test_an_identity_is_a_prompt_only_where_it_is_built():
    text = "def {}(lines):\n    identity = f'direct:{{uuid4()}}:{{lines}}'\n    return identity"
    assert documents(text.format("new_id")) == []
    assert documents(text.format("get_identity")) != []


@pytest.mark.parametrize("build", BUILDS)
def test_a_clock_is_found_through_every_way_to_build_a_text(build):
    text = f"{CLOCK}from string import Template\ndef system_prompt(x=1):\n    {BUILDS[build]}\n"
    assert any("datetime.now()" in place for place in shown(text, Origin.CLOCK))
    assert "KV001" in codes(text)


@pytest.mark.parametrize(
    ("expression", "origin"),
    [
        ("datetime.now()", Origin.CLOCK),
        ("datetime.now().isoformat()", Origin.CLOCK),
        ("datetime.now().strftime('%Y-%m-%d %H:%M')", Origin.CLOCK),
        ("datetime.now().strftime('%Y-%m-%d')", Origin.DATE),
        ("datetime.now().isoformat()[:10]", Origin.DATE),
        ("datetime.now().date()", Origin.DATE),
        ("datetime.now().year", Origin.DATE),
        ("f'{datetime.now():%d %B}'", Origin.DATE),
        ("f'{datetime.now():%d %B %H}'", Origin.CLOCK),
    ],
)
def test_a_format_decides_how_fine_a_time_is(expression, origin):
    text = f'{CLOCK}def system_prompt():\n    return "Today: " + {expression} + RULES\n'
    found = {s.origin for s in segments(text)} & {Origin.CLOCK, Origin.DATE}
    assert found == {origin}


def test_places_are_characters_of_the_file_whatever_the_line_holds():
    text = (
        CLOCK + 'def system_prompt():\n    return f"""äöü\n 😀 {  datetime.now() }\n""" + RULES\n'
    )
    assert shown(text, Origin.CLOCK) == {"datetime.now()"}


def test_a_value_is_followed_through_functions_and_other_modules():
    other = "import time\ndef stamp(prefix):\n    return f'{prefix} {time.time()}'\n"
    text = 'from times import stamp\ndef system_prompt():\n    return f"{stamp(1)} " + RULES\n'
    clocks = [s for s in segments(text, times=other) if s.origin is Origin.CLOCK]
    assert [s.source.path for s in clocks] == ["times.py"]


def test_what_a_constructor_reads_lasts_a_session():
    text = CLOCK + (
        "class Agent:\n    def __init__(self):\n        self.began = datetime.now()\n"
        '    def system_prompt(self):\n        return f"Began {self.began}. " + RULES\n'
    )
    assert {s.origin for s in segments(text) if s.expression == "self.began"} == {Origin.SESSION}
    assert "KV001" not in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        CLOCK + 'def ask():\n    log.info(f"prompt sent at {datetime.now()}")\n',
        CLOCK + 'def save(prompt):\n    open(f"prompt-{datetime.now()}.md", "w").write(prompt)\n',
        CLOCK + 'def user_prompt(q):\n    return f"{q} (asked {datetime.now()}) {EXAMPLES}"\n',
        "import uuid\ndef ask(client, messages):\n    return client.messages.create(\n"
        "        system=RULES, messages=messages, metadata={'id': str(uuid.uuid4())})\n",
        'def system_prompt(tags):\n    return RULES + ", ".join(sorted(set(tags)))\n',
        'def system_prompt():\n    return RULES + (HERE / "prompt.md").read_text()\n',
        "for block in blocks:\n    if len(marked) < 4:\n        block['cache_control'] = E\n",
    ],
)
def test_what_reaches_no_shared_prefix_is_not_reported(text):
    assert codes(text) == set()


def test_roles_decide_about_positions():
    text = (
        "def ask(client, question, history):\n"
        '    turn = {"role": "user", "content": question}\n'
        '    head = {"role": "system", "content": "Be brief."}\n'
        "    return client.chat.completions.create(messages=[head, *history, turn])\n"
    )
    order = [s.position for s in segments(text)]
    assert order[:3] == [Position.SYSTEM, Position.HISTORY, Position.NEWEST]


@pytest.mark.parametrize(
    "text",
    [
        "prompt = " + "+".join(["'a'"] * 3_000),
        "prompt = f'" + "{x}" * 5_000 + "'",
        "def prompt():\n    return prompt() + prompt()\n",
        "def system_prompt(a):\n" + "    if a:\n        a += 'x'\n" * 2_000 + "    return a\n",
        "prompt = '''" + "{" * 20_000 + "'''",
        "class A(A):\n    def prompt(self):\n        return self.prompt\n",
    ],
)
def test_hostile_modules_end(text):
    with suppress(Unreadable):  # the sum is too deep for Python itself
        documents(text)


@pytest.mark.parametrize(
    "text", ["def system_prompt(:\n", "prompt = '\x00'", "prompt = " + "(" * 500]
)
def test_what_is_no_python_is_said_to_be_unreadable(text):
    with pytest.raises(Unreadable):
        documents(text)


@pytest.mark.parametrize("text", ["x = (\n\ndef f(:\n", "def f(:\n    messages = [llm]\n"])
def test_what_is_no_python_is_skipped_with_line_and_reason_whatever_it_speaks_of(text):
    looked = look(Source("app.py", text), OneFile(), RULES, Profile())
    assert re.search(r"does not parse as Python 3\.\d+: .+, line [13];", looked.skipped)
    assert linted({"app.py": text}, RULES).checked == 0


def test_what_only_a_compiler_refuses_is_checked():
    assert look(Source("cell.py", "return 1\n"), OneFile(), RULES, Profile()).skipped is None


def test_nothing_of_the_module_runs(tmp_path):
    mark = tmp_path / "ran"
    documents(f"system_prompt = open({str(mark)!r}, 'w').write('x')\n")
    assert not mark.exists()


def test_a_text_written_several_times_over_has_the_size_of_them_all():
    build = 'import os\nRULES = "Name the invoice. " * 80\ndef system_prompt():\n    return '
    assert "KV005" in codes(build + 'f"cwd {os.getcwd()}\\n" + RULES\n')
    assert "KV005" not in codes(build.replace("80", "2") + 'f"cwd {os.getcwd()}\\n" + RULES\n')


@pytest.mark.parametrize(
    ("written", "origin"),
    [
        ("user.name", Origin.IDENTITY),
        ("self.user.name", Origin.IDENTITY),
        ("current_user.plan", Origin.IDENTITY),
        ("customer.email", Origin.IDENTITY),
        ("tool.name", Origin.UNKNOWN),
        ("client.name", Origin.UNKNOWN),
        ("model.id", Origin.UNKNOWN),
    ],
)
def test_an_attribute_is_whose_its_owner_is(written, origin):
    parameter = written.split(".")[0]
    text = f'def system_prompt({parameter}):\n    return f"You help {{{written}}}. Be kind."\n'
    assert [s.origin for s in segments(text) if s.expression] == [origin]


LONG = "Quote the invoice number in every answer that you give to a customer. " * 40


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def prompt(store, q):\n    hits = store.similarity_search(q)\n    found = ''.join(h.text"
         " for h in hits)\n    return f'{found} LONG'\n", "KV202"),
        ("import uuid\ndef ask(client, q):\n    return client.responses.create(model='gpt-5',"
         " instructions=R, input=q, prompt_cache_key=uuid.uuid4().hex)\n", "KV307"),
        ("def prompt(conn):\n    row = conn.execute('select a').fetchone()['settings']\n"
         "    return json.dumps(row) + 'LONG'\n", "KV103"),
        ("from datetime import datetime\ndef make_tools():\n    return [{'name': 'x',"
         " 'description': f'Now {datetime.now()}'}]\n", "KV106"),
        ("def loop(client, messages):\n    while True:\n        hard = is_hard(messages[-1])\n"
         "        r = client.responses.create(model='gpt-5', input=messages, reasoning={'effort':"
         " 'high' if hard else 'low'})\n", "KV308"),
        ("def system_prompt(account):\n"
         "    return f'For {account.company_name}. LONG'\n", "KV004"),
        ("RAG_PROMPT = \"\"\"{context}\nLONG\n{question}\"\"\"\n", "KV202"),
        ("import random\ndef build_prompt(examples, q):\n    random.shuffle(examples)\n"
         "    return 'Label it. ' + ''.join(examples) + q\n", "KV101"),
    ],
)  # fmt: skip
def test_a_fault_is_found_however_it_is_written(text, code):
    assert code in codes(text.replace("LONG", LONG))


def test_a_row_of_a_database_belongs_to_its_user_and_is_not_read_anew():
    text = (
        "def system_prompt(cur):\n    row = cur.fetchone()\n"
        f"    return f'You help {{row[1]}}. ' + {LONG!r}\n"
    )
    assert "KV009" not in codes(text)


def test_a_hole_of_a_template_is_not_read_when_the_template_is():
    text = f'SYSTEM_PROMPT = """It is {{current_time}}. {LONG}"""\n'
    assert codes(text) == {"KV001"}


@pytest.mark.parametrize("shape", ["{{ text: string, query: string }}", "{text: string}"])
def test_the_shape_of_an_object_in_a_template_is_no_hole(shape):
    text = f'P = PromptTemplate.from_template("""Give {shape}. {{question}} {LONG}""")\n'
    assert {s.expression for s in segments(text)} == {None, "{question}"}
