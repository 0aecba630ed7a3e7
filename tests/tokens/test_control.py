"""Control tokens in text, for vocabularies with odd ones."""

import pytest

from kvaudit.tokens.control import FIRST_UNKNOWN_ID, ControlTokens
from kvaudit.tokens.pieces import Media, Special
from kvaudit.tokens.tokenizer import ControlToken


class Vocabulary:
    """Two tokens of which one begins the other, and one that takes white space along."""

    def __init__(self):
        self.control_tokens = {
            "<t>": ControlToken(1),
            "<t>2": ControlToken(2),
            "<end>": ControlToken(3, strips_left=True, strips_right=True),
        }

    def special_id(self, token):
        return {"<reserved>": 9}.get(token)


@pytest.fixture
def control():
    return ControlTokens(Vocabulary(), ["<t>", "<reserved>", "<unknown>"])


def test_the_longer_of_two_spellings_is_matched(control):
    assert control.split("a<t>2b<t>c") == ["a", Special("<t>2"), "b", Special("<t>"), "c"]


def test_tokens_of_the_template(control):
    assert control.id(Special("<reserved>")) == 9
    assert control.id(Special("<unknown>")) == FIRST_UNKNOWN_ID
    assert control.unknown == ["<unknown>"]
    assert control.split("<unknown>x") == [Special("<unknown>"), "x"]


def test_white_space_belongs_to_the_token_beside_it(control):
    assert control.split(" a \n<end> \n b <t> c ") == [
        " a",
        Special("<end>"),
        "b ",
        Special("<t>"),
        " c ",
    ]
    assert control.split("<end> <end>") == [Special("<end>"), Special("<end>")]


def test_white_space_of_fixed_pieces_and_media(control):
    between = Special("<end>\n<t>")
    pieces = [" a ", between, " b ", Media("hash"), " c "]
    assert control.strip(pieces) == [" a", between, " b ", Media("hash"), " c "]


def test_text_without_control_tokens(control):
    assert not control.occurs_in("<end ><T>")
    assert control.split("<end ><T>") == ["<end ><T>"]
    assert control.split("") == []
