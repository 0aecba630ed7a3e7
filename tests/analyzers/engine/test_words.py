"""Words of a shell script and where they stand."""

from hypothesis import given
from hypothesis import strategies as st

from kvaudit.analyzers.engine.words import shell_commands, without_comment_lines
from kvaudit.core.sources import Span


def words(text):
    return [[word.text for word in command] for command in shell_commands(text, Span)]


def test_commands_end_where_a_shell_ends_them():
    assert words("a b; c && d | e\nf # g\nh \\\n  i") == [
        ["a", "b"], ["c"], ["d"], ["e"], ["f"], ["h", "i"],
    ]  # fmt: skip


def test_quotes_hold_a_word_together():
    assert words("""x --a '{"b": "c d"}' --e "f \\"g\\""h""") == [
        ["x", "--a", '{"b": "c d"}', "--e", 'f "g"h']
    ]


def test_here_documents_are_another_files_text():
    assert words("cat > x <<'EOF'\nvllm serve m\nEOF\nls") == [["cat", ">", "x"], ["ls"]]


def test_an_array_is_one_command_over_its_lines():
    assert words("A=(--a # why\n  --b)\nf $x; B+=(c) (g)") == [
        ["A=(", "--a", "--b"], ["f", "$x"], ["B+=(", "c"], ["g"],
    ]  # fmt: skip


def test_comment_lines_within_a_continued_line_are_blanked_in_place():
    text = "a \\\n  # b \\\n; c\n  d\n# e\n"
    blanked = without_comment_lines(text)
    assert len(blanked) == len(text)
    assert blanked.split() == ["a", "\\", "d", "#", "e"]


@given(st.text(alphabet="ab-= \"'\\$({})\n;&|#<", max_size=60))
def test_any_text_ends_and_every_word_stands_where_it_says(text):
    for command in shell_commands(text, Span):
        for word in command:
            assert 0 <= word.span.start < word.span.end <= len(text)
            assert word.text in text[slice(*word.span)] or any(
                sign in text[slice(*word.span)] for sign in "\\\"'"
            )
