"""Strings that Go and Rust functions with the names of prompts build."""

import pytest

from kvaudit.analyzers.run import documents_of
from kvaudit.core.sources import Source


class NoProject:
    """A project of one file."""

    variables = {}  # noqa: RUF012

    def sibling(self, source, name):
        return None

    def folder(self, source, name, ending):
        return ()

    def module(self, source, dotted):
        return None


def read(text, name):
    return documents_of(Source(name, text), NoProject())


def origins(text, name):
    return [
        (s.expression, str(s.origin))
        for document in read(text, name)
        for s in document.segments
        if s.expression is not None
    ]


def go(body):
    head = "func (a *Agent) buildSystemPrompt(env map[string]string) string"
    return f"package a\n\n{head} {{\n{body}\n}}\n"


def rust(body):
    head = "fn system_prompt(&self, env: HashMap<String, String>) -> String"
    return f"{head} {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('return fmt.Sprintf("Now %s. Help.", time.Now().Format("15:04"))', "clock"),
        ('return fmt.Sprintf("Now %s. Help.", time.Now().Format("2006-01-02"))', "date"),
        ('return "You help. " + time.Now().Format(time.RFC3339)', "clock"),
        ('now := time.Now()\nreturn "You help. " + now.String()', "clock"),
        ('s := "You help. "\ns += uuid.New().String()\nreturn s', "random"),
        (
            "var sb strings.Builder\nsb.WriteString(`You help in `)\ndir, _ := os.Getwd()\n"
            "sb.WriteString(dir)\nreturn sb.String()",
            "session",
        ),
        (
            "var b strings.Builder\n"
            'fmt.Fprintf(&b, "You help on %s.", runtime.GOOS)\nreturn b.String()',
            "host",
        ),
        (
            'parts := []string{"You help people."}\nparts = append(parts, time.Now().String())\n'
            'return strings.Join(parts, " ")',
            "clock",
        ),
        ('return strings.ReplaceAll("You help {t}.", "{t}", time.Now().String())', "clock"),
        ('return fmt.Sprintf("Zone %s. Help.", time.Now().Format("-07:00"))', "host"),
    ],
)
def test_go(body, expected):
    assert [origin for _, origin in origins(go(body), "a.go")] == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('let now = Utc::now();\nformat!("Now {now}. Help people.")', "clock"),
        ('format!("Now {}. Help people.", Utc::now().format("%Y-%m-%d"))', "date"),
        ('format!("Now {}. Help people.", Local::now().format("%H:%M").to_string())', "clock"),
        (
            'let mut s = String::from("You help. ");\ns.push_str(&Uuid::new_v4().to_string());\ns',
            "random",
        ),
        (
            'let mut s = String::from("You help. ");\n'
            'let _ = writeln!(\n  s,\n  "Day {}",\n  Local::now().format("%Y-%m-%d"),\n);\ns',
            "date",
        ),
        ('format!("Zone {}. Help people.", Local::now().format("%:z"))', "host"),
        (
            "let now = Utc::now();\nlet (y, m) = (now.year(), 1);\n"
            'let s = format!("In {y} help.");\nif s.is_empty() { "no".to_string() } else { s }',
            "date",
        ),
        (
            'let at = match self.x { Some(x) => Utc::now(), None => o };\nformat!("At {at} help.")',
            "clock",
        ),
        (
            "let mut s = String::new();\n"
            'write!(s, "You help in {:?}", env::current_dir()).unwrap();\ns',
            "session",
        ),
        ('format!("You help at {at}. Be kind.", at = SystemTime::now())', "clock"),
        (
            'let parts = vec!["You help people.".to_string(), Utc::now().to_rfc3339()];\n'
            'parts.join(" ")',
            "clock",
        ),
        (
            'if self.x {\n return format!("Help at {}.", Utc::now());\n}\n"You help".to_string()',
            "clock",
        ),
    ],
)
def test_rust(body, expected):
    assert [origin for _, origin in origins(rust(body), "a.rs")] == [expected]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "package a\n"
            'func (a *One) head() string { return "You help. " + uuid.New().String() }\n'
            'func (b *Two) head() string { return "You help. " + time.Now().String() }\n'
            "func (b *Two) systemPrompt() string { return b.head() }\n",
            "a.go",
        ),
        (
            'impl One { fn head(&self) -> String { format!("You help {}.", Uuid::new_v4()) } }\n'
            'impl Two { fn head(&self) -> String { format!("You help {}.", Utc::now()) }\n'
            "fn system_prompt(&self) -> String { self.head() } }\n",
            "a.rs",
        ),
    ],
)
def test_a_method_is_that_of_its_own_type(text, name):
    assert [origin for _, origin in origins(text, name)] == ["clock"]


@pytest.mark.parametrize("named", ["One", "Two"])
def test_each_type_has_its_own_prompt(named):
    text = "".join(
        f'impl {one} {{ fn system_prompt(&self) -> String {{ format!("You are {one}. {{}}", '
        f"{'Utc::now()' if one == named else '1'}) }} }}\n"
        for one in ("One", "Two")
    )
    assert "clock" in [origin for _, origin in origins(text, "a.rs")]


def test_a_name_says_what_a_text_is_and_not_what_it_is_made_of():
    text = (
        "package a\nfunc systemPromptWithWorkingDir(now time.Time) string {\n"
        'date := now.Format("Monday, January 2, 2006")\n'
        'return strings.Join([]string{"You help people.", "Today: " + date}, " ")\n}\n'
    )
    assert [origin for _, origin in origins(text, "a.go")] == ["date"]


def test_a_module_of_tests_is_left_alone():
    built = rust('format!("You help at {}.", Utc::now())')
    assert origins(f"mod shown {{\n{built}}}\n", "a.rs")
    text = f"mod tests {{\n{built}}}\n"
    assert origins(text, "a.rs") == []


def test_spans_are_exact():
    for text, name in (
        (go('return fmt.Sprintf("é %s help.", time.Now())'), "a.go"),
        (rust('format!("é {} help people.", Utc::now())'), "a.rs"),
    ):
        (document,) = read(text, name)
        for segment in document.segments:
            here = text[segment.span.start : segment.span.end]
            assert here == (segment.text if segment.expression is None else segment.expression)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (go('s := "You help people. "\nfor k, v := range env { s += k + v }\nreturn s'), "a.go"),
        (
            rust(
                'let mut s = String::from("You help. ");\nfor (k, v) in &env { s.push_str(k); }\ns'
            ),
            "a.rs",
        ),
    ],
)
def test_the_order_of_a_map_is_drawn_anew(text, name):
    (document,) = read(text, name)
    assert [o.kind for o in document.observations] == ["discovery-order"]


def test_keys_that_are_sorted_first_are_fine():
    text = go(
        "var keys []string\nfor k := range env { keys = append(keys, k) }\nsort.Strings(keys)\n"
        's := "You help people. "\nfor _, k := range keys { s += env[k] }\nreturn s'
    )
    assert [o for document in read(text, "a.go") for o in document.observations] == []


@pytest.mark.parametrize(
    "text",
    [
        'package a\nfunc logPrompt() string { return fmt.Sprintf("sent %s", time.Now()) }',
        'package a\nfunc promptFile() string { return fmt.Sprintf("prompt-%s.md", time.Now()) }',
        "package a\nfunc (p *Prompt) Reset() { p.at = time.Now() }",
    ],
)
def test_what_is_no_prompt_is_left_alone(text):
    assert origins(text, "a.go") == []


def test_a_comment_behind_the_last_expression_of_a_block_is_not_its_value():
    text = rust('format!("Now {}. Help people.", Utc::now()) // told once')
    assert [origin for _, origin in origins(text, "a.rs")] == ["clock"]


def test_an_address_that_an_object_keeps_is_not_that_of_a_request():
    text = rust('format!("You run on {}. Help {}.", self.ip_address, ip_address)')
    assert [origin for _, origin in origins(text, "a.rs")] == ["host", "header"]


RUST_HELPERS = """fn system_prompt(&self) -> String {
    let mut out = String::from("You are a helper. ");
    clock(&mut out)?;
    Self::about(&mut out, self.user_name);
    let _ = self.dated(&mut out);
    out
}
fn clock(text: &mut String) -> Result<()> {
    text.push_str("It is ");
    write!(text, "{}", Utc::now().format("%H:%M"))?;
    deeper(text);
    Ok(())
}
fn deeper(text: &mut String) { *text += &Uuid::new_v4().to_string(); }
impl Agent { fn about(text: &mut String, who: &str) { text.push_str(who); } }
impl Agent { fn dated<'a>(&self, w: &'a mut dyn std::fmt::Write) { write!(w, "{}", Utc::now()); } }
"""
GO_HELPERS = """package a
func (a *Agent) systemPrompt() string {
	var b strings.Builder
	b.WriteString("You are a helper. ")
	clock(&b)
	a.about(&b, a.userName)
	return b.String()
}
func clock(text *strings.Builder) {
	fmt.Fprintf(text, "It is %s", time.Now().Format("15:04"))
	deeper(text)
}
func deeper(w io.Writer) { fmt.Fprint(w, uuid.NewString()) }
func (a *Agent) about(text *strings.Builder, who string) { text.WriteString(who) }
"""


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (RUST_HELPERS, "a.rs", ["clock", "random", "identity", "clock"]),
        (GO_HELPERS, "a.go", ["clock", "random", "identity"]),
    ],
)
def test_a_function_may_write_into_the_text_that_it_is_given(text, name, expected):
    assert [origin for _, origin in origins(text, name)] == expected


def test_a_function_that_reads_a_text_writes_nothing_into_it():
    text = RUST_HELPERS.replace("&mut String", "&String").replace("&'a mut dyn", "&'a dyn")
    assert origins(text, "a.rs") == []


SECTION = """pub struct DateTimeSection;
impl PromptSection for DateTimeSection {
    fn name(&self) -> &str { "datetime" }
    fn build(&self, _ctx: &PromptContext) -> Result<String> {
        let now = Local::now();
        Ok(format!("## Current Date & Time\\n\\n{} ({})", now.format("%H:%M"), now.format("%Z")))
    }
}
"""


def test_a_method_of_a_trait_of_prompts_gives_a_part_of_one():
    assert next(origin for _, origin in origins(SECTION, "a.rs")) == "clock"
    assert origins(SECTION.replace("PromptSection", "Widget"), "a.rs") == []
    assert origins(SECTION.replace("## Current", "Current"), "a.rs") == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            'fn write_system_prompt(out: &mut String) {\n  out.push_str("You are a helper. ");\n'
            '  write!(out, "{}", Utc::now());\n}\n',
            "a.rs",
        ),
        (
            "package a\nfunc writeSystemPrompt(w io.Writer) {\n"
            '\tfmt.Fprintf(w, "You are a helper. %s", time.Now())\n}\n',
            "a.go",
        ),
    ],
)
def test_what_a_function_writes_may_be_a_prompt_itself(text, name):
    assert [origin for _, origin in origins(text, name)] == ["clock"]


def test_a_function_that_writes_by_itself_again_and_again_ends():
    calls = "system_prompt(out);\n" * 50
    text = f'fn system_prompt(out: &mut String) {{\n{calls}write!(out, "{{}}", Utc::now());\n}}'
    assert len(origins(text, "a.rs")) <= 1_000
