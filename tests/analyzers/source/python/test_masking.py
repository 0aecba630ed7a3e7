"""Loops that copy a history and leave out of it, piece by piece, what has grown old."""

import pytest

from .reading import found

LOOP = """
class Mask:
    def indices(self, history):
        return [i for i, said in enumerate(history) if said["role"] == "tool"]{cut}

    def ask(self, client, history):
        old = self.indices(history)
        messages = []
        for i, said in enumerate(history):
            if {test}:
                messages.append(said)
            else:
                messages.append({instead})
        return client.chat.completions.create(messages=messages)
"""
SHORT = '{"role": "tool", "content": "left out"}'


@pytest.mark.parametrize("test", ["i not in old", "i >= len(history) - self.kept"])
def test_what_is_put_in_place_of_an_old_message_is_found(test):
    text = LOOP.replace("{test}", test).replace("{cut}", "[:-5]")
    told = [("KV114", test)]
    assert found(text.replace("{instead}", SHORT)) == told
    assert found(text.replace("{instead}", "said")) == []


@pytest.mark.parametrize("test", ["said['role'] == 'user'", "i > 0"])
def test_what_does_not_depend_on_age_is_no_fault(test):
    text = LOOP.replace("{test}", test).replace("{instead}", SHORT).replace("{cut}", "")
    assert found(text) == []
