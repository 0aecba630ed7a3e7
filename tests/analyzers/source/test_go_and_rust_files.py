"""Constants and functions of other files that Go and Rust put into prompts."""

import pytest

from kvaudit.analyzers.project import FolderProject
from kvaudit.analyzers.run import documents_of
from kvaudit.core.sources import Source


@pytest.fixture
def texts(tmp_path):
    """Return a prompt as rendered, expressions in angle brackets: texts(files, which one)."""

    def texts_of(files, name):
        for path, text in files.items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        source = Source(str(tmp_path / name), files[name])
        documents = documents_of(source, FolderProject(tmp_path, {}))
        return [
            "".join(s.text or f"<{s.expression}: {s.origin}>" for s in document.segments)
            for document in documents
        ]

    return texts_of


GO = 'package agent\n\nfunc systemPrompt() string { return "You help people. " + base + tail() }\n'
GO_NEAR = (
    'package agent\n\nimport "time"\n\nconst (\n\tbase = "Be kind. "\n)\n\n'
    "func tail() string { return time.Now().String() }\n"
)


def test_a_package_of_go_is_one(texts):
    found = texts({"agent/a.go": GO, "agent/b.go": GO_NEAR}, "agent/a.go")
    assert found == ["You help people. Be kind. <tail(): clock>"]


@pytest.mark.parametrize(
    "other",
    [
        {"agent/b_test.go": GO_NEAR},
        {"other/b.go": GO_NEAR},
        {"agent/b.go": "package agent\n\nfunc (b *Other) tail() string { return base }\n"},
        {"agent/b.go": "package agent\n\nvar base = `" + "(" * 5_000},
    ],
)
def test_what_is_not_of_the_package_is_a_name(texts, other):
    found = texts({"agent/a.go": GO, **other}, "agent/a.go")
    assert found == ["You help people. <base: unknown><tail(): unknown>"]


def test_a_name_of_another_package_is_found_by_its_path(texts):
    files = {
        "internal/agent/a.go": (
            'package agent\n\nimport "example.com/app/internal/prompts"\n\n'
            "func systemPrompt() string {\n"
            '\treturn "You help people. " + prompts.Base + prompts.Clock() }\n'
        ),
        "internal/prompts/b.go": (
            'package prompts\n\nimport "time"\n\nconst Base = "Be kind. "\n\n'
            "func Clock() string { return time.Now().String() }\n"
        ),
    }
    found = texts(files, "internal/agent/a.go")
    assert found == ["You help people. Be kind. <prompts.Clock(): clock>"]


def test_files_that_name_one_another_end(texts):
    files = {
        "a.go": 'package a\n\nfunc systemPrompt() string { return "You help. " + other() }\n',
        "b.go": "package a\n\nfunc other() string { return systemPrompt() + other() }\n",
    }
    assert texts(files, "a.go")[0].startswith("You help. ")


@pytest.mark.parametrize(
    ("use", "base"),
    [
        ("use crate::prompts::{clock, BASE};\n", "BASE"),
        ("", "crate::prompts::BASE"),
        ("mod prompts;\n", "prompts::BASE"),
    ],
)
@pytest.mark.parametrize("place", ["src/prompts.rs", "src/prompts/mod.rs"])
def test_a_module_of_rust_is_found(texts, use, base, place):
    prompt = f'fn system_prompt() -> String {{ format!("You help people. {{}}", {base}) }}\n'
    files = {
        "src/main.rs": use + prompt,
        place: 'pub const BASE: &str = "Be kind.";\n',
    }
    assert texts(files, "src/main.rs") == ["You help people. Be kind."]


def test_a_function_of_another_module_of_rust_is_followed(texts):
    files = {
        "src/agent/run.rs": (
            "fn system_prompt() -> String {\n"
            '    format!("You help people. {}", crate::clock::now_text())\n}\n'
        ),
        "src/clock.rs": "pub fn now_text() -> String { Utc::now().to_rfc3339() }\n",
    }
    found = texts(files, "src/agent/run.rs")
    assert found == ["You help people. <crate::clock::now_text(): clock>"]


def test_a_text_that_is_compiled_in_is_read(texts):
    files = {
        "src/a.rs": 'fn system_prompt() -> String { format!("{}{}", include_str!("b.md"), now) }\n',
        "src/b.md": "You help people.\n",
    }
    assert texts(files, "src/a.rs") == ["You help people.\n<now: clock>"]
