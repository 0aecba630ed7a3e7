"""Where settings come from, and what is said about wrong ones."""

import subprocess
import sys

import pytest

from kvaudit.core.config import find_config, load_config, setting_fields
from kvaudit.core.errors import UsageError


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path / "repo"


def load(*given, environ=None, **options):
    return load_config(given, environ=environ or {}, **options)


def test_without_a_file_all_is_default(repository):
    config = load()
    assert config.settings.tokenizer == "o200k_base"
    assert config.settings.engine.block_size is None
    assert {origin for _, _, origin in config.rows()} == {"default"}


def test_the_nearest_file_is_used(repository):
    (repository / "kvaudit.toml").write_text("tokenizer = 'cl100k_base'\n")
    assert find_config(repository / "deep" / "er") == repository / "kvaudit.toml"
    (repository / "deep" / "pyproject.toml").write_text("[tool.kvaudit]\ntokenizer = 'bytes'\n")
    assert find_config(repository / "deep" / "er") == repository / "deep" / "pyproject.toml"


def test_a_pyproject_of_something_else_is_passed_over(repository):
    (repository / "deep" / "pyproject.toml").write_text("[tool.ruff]\n")
    (repository / "kvaudit.toml").write_text("")
    assert find_config(repository / "deep") == repository / "kvaudit.toml"


def test_nothing_above_the_repository_is_read(repository):
    (repository.parent / "kvaudit.toml").write_text("tokenizer = 'bytes'\n")
    assert find_config(repository / "deep") is None


def test_kvaudit_toml_wins_over_pyproject_in_one_folder(repository):
    (repository / "kvaudit.toml").write_text("")
    (repository / "pyproject.toml").write_text("[tool.kvaudit]\n")
    assert find_config(repository) == repository / "kvaudit.toml"


def test_later_sources_win_and_each_value_knows_its_own(repository):
    (repository / "pyproject.toml").write_text(
        """
        [tool.kvaudit]
        tokenizer = "cl100k_base"
        capacity = "40GiB"
        namespace = ["tenant", "salt"]
        engine = { kind = "vllm", block-size = 32 }
        [tool.kvaudit.replay]
        warmup = 0.5
        map = { prompt = "body.text" }
        """
    )
    config = load(
        "engine.block-size=64",
        "max-broken-share = 0.5",
        environ={"KVAUDIT_CAPACITY": "inf", "KVAUDIT_ENGINE_BLOCK_SIZE": "8", "HOME": "/"},
    )
    rows = {key: (value, origin) for key, value, origin in config.rows()}
    assert rows["tokenizer"] == ("cl100k_base", "pyproject.toml")
    assert rows["capacity"] == ("inf", "KVAUDIT_CAPACITY")
    assert rows["engine.kind"] == ("vllm", "pyproject.toml")
    assert rows["engine.block-size"] == (64, "--config")
    assert rows["namespace"] == (("tenant", "salt"), "pyproject.toml")
    assert rows["replay.warmup"] == (0.5, "pyproject.toml")
    assert rows["replay.map"] == ({"prompt": "body.text"}, "pyproject.toml")
    assert rows["max-broken-share"] == (0.5, "--config")
    assert rows["model"] == (None, "default")


def test_isolated_ignores_files_and_environment(repository):
    (repository / "kvaudit.toml").write_text("this is not TOML")
    config = load(
        "limit=1".replace("limit", "replay.limit"), isolated=True, environ={"KVAUDIT_MODEL": "x"}
    )
    assert config.settings.model is None
    assert config.settings.replay.limit == 1


def test_a_named_file_is_used_alone(repository):
    (repository / "kvaudit.toml").write_text("tokenizer = 'bytes'\n")
    (repository / "ci.toml").write_text("model = 'llama-3.1-8b'\n")
    config = load("ci.toml")
    assert config.settings.model == "llama-3.1-8b"
    assert config.settings.tokenizer == "o200k_base"


def test_paths_in_a_file_are_meant_from_its_folder(repository, monkeypatch):
    (repository / "models").mkdir()
    (repository / "models" / "config.json").write_text("{}")
    (repository / "kvaudit.toml").write_text(
        "model = 'models/config.json'\ntokenizer = 'hf:models/'\nchat-template = 'chatml'\n"
    )
    monkeypatch.chdir(repository / "deep")
    settings = load().settings
    assert settings.model == "../models/config.json"
    assert settings.tokenizer == "hf:../models"
    assert settings.chat_template == "chatml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tokeniser = 'x'", "kvaudit.toml: tokeniser is not a setting; did you mean tokenizer?"),
        (
            "[engine]\nblocksize = 1",
            "engine.blocksize is not a setting; did you mean engine.block-size?",
        ),
        ("[engin]\nkind = 'vllm'", "engin.kind is not a setting; did you mean engine.kind?"),
        ("tokenizer = 3", "kvaudit.toml: tokenizer must be a text, not 3"),
        ("engine = 'vllm'", "engine must be a table, not 'vllm'"),
        ("show-text = 'yes'", "show-text must be true or false, not 'yes'"),
        ("[engine]\nblock-size = 1.5", "engine.block-size must be a whole number, not 1.5"),
        ("[engine]\nblock-size = '16'", "engine.block-size must be a whole number, not '16'"),
        (
            "[engine]\nblock-size = 0",
            "engine.block-size = 0: input should be greater than or equal",
        ),
        ("namespace = 3", "namespace must be a list of texts, not 3"),
        ("max-broken-share = nan", "max-broken-share = nan: input should be a finite number"),
        ("model = = 1", "kvaudit.toml: is not valid TOML: Invalid value (at line 1"),
        ("required-version = '>=9'", "needs kvaudit >=9, and this is"),
        ("required-version = 'new'", "'new' is not a version range such as"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(repository, text, message):
    (repository / "kvaudit.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        load()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ("tokeniser=x",),
            "--config tokeniser=x: tokeniser is not a setting; did you mean tokenizer?",
        ),
        (("none.toml",), "none.toml: cannot be read: No such file"),
        (("a.toml", "b.toml"), "--config names two files, a.toml and b.toml"),
        (
            ("engine.block-size=big",),
            "--config: engine.block-size must be a whole number, not 'big'",
        ),
    ],
)
def test_a_wrong_option_is_said_in_a_sentence(repository, given, message):
    with pytest.raises(UsageError) as caught:
        load(*given)
    assert message in str(caught.value)


def test_a_file_that_is_to_be_ignored_cannot_be_named(repository):
    with pytest.raises(UsageError, match="--isolated ignores configuration files"):
        load("ci.toml", isolated=True)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\xef\xbb\xbfmodel = 'x'"])
def test_bytes_that_are_no_utf8_and_a_byte_order_mark(repository, content):
    (repository / "kvaudit.toml").write_bytes(content)
    if content.startswith(b"\xef"):
        assert load().settings.model == "x"
    else:
        with pytest.raises(UsageError, match="is not UTF-8"):
            load()


def test_a_mistyped_variable_is_warned_about(repository, caplog, monkeypatch):
    monkeypatch.setattr("kvaudit.core.console.LOGGER.propagate", True)
    load(environ={"KVAUDIT_TOKENISER": "x", "KVAUDIT_FORMAT": "json"})
    # A set: pytest listens at the root, and at a logger that an earlier test told not to
    # propagate as well.
    assert {record.getMessage() for record in caplog.records} == {
        "KVAUDIT_TOKENISER is not a setting and is ignored; did you mean KVAUDIT_TOKENIZER?"
    }


def test_a_wrong_variable_names_itself(repository):
    with pytest.raises(UsageError, match="KVAUDIT_SHOW_TEXT: show-text must be true or false"):
        load(environ={"KVAUDIT_SHOW_TEXT": "maybe"})


def test_every_setting_is_described():
    for key, field in setting_fields():
        assert field.description, key


def test_doctor_shows_values_and_origins(repository):
    (repository / "kvaudit.toml").write_text("model = 'llama-3.1-8b'\n")
    done = subprocess.run(
        [sys.executable, "-m", "kvaudit", "doctor", "--settings"],
        capture_output=True, text=True, check=True, cwd=repository,
        env={"PYTHONPATH": ":".join(sys.path), "KVAUDIT_REPLAY_LIMIT": "9"},
    )  # fmt: skip
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert lines["model"] == ["llama-3.1-8b", "kvaudit.toml"]
    assert lines["replay.limit"] == ["9", "KVAUDIT_REPLAY_LIMIT"]
    assert lines["tokenizer"] == ["o200k_base", "default"]
