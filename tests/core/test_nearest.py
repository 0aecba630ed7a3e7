"""What is offered in place of a mistyped word."""

from kvaudit.core.nearest import did_you_mean, nearest


def test_the_nearest_word_is_offered_alone():
    assert nearest("engine.kid", ["engine.kind", "engine.version", "engine.block-size"]) == [
        "engine.kind"
    ]


def test_words_that_are_as_near_are_all_offered():
    assert set(nearest("a-rate", ["b-rate", "c-rate"])) == {"b-rate", "c-rate"}


def test_case_does_not_matter():
    assert nearest("VLLM", ["vllm", "ideal"]) == ["vllm"]


def test_a_sentence_ends_with_the_guess_the_list_or_nothing():
    assert did_you_mean("tokeniser", ["tokenizer", "model"]) == "; did you mean tokenizer?"
    assert did_you_mean("x", ["tokenizer", "model"]) == "; known: model, tokenizer"
    assert did_you_mean("x", [f"word-{n}" for n in range(50)]) == ""
