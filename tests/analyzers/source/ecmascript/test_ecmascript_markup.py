"""Prompts that are written as markup: what the components print, and what is only a page."""

import pytest

LIBRARY = "import { SystemMessage, UserMessage } from '@vscode/prompt-tsx';\n"
CLOCK = "{new Date().toISOString()}"
HISTORY = "<ConversationHistory turns={turns}/>"


def parts(documents):
    return [s.text if s.text is not None else s.expression for d in documents for s in d.segments]


def test_a_clock_in_a_system_message_stands_before_the_turns(codes, read):
    text = (
        f"{LIBRARY}export const Ask = ({{ turns }}) => <><SystemMessage priority={{1}}>You help.\n"
        f"Now <br/> {CLOCK}. Be kind.</SystemMessage>{HISTORY}</>;"
    )
    assert codes(text, "ask.tsx") == {("KV001", "error")}
    found = parts(read(text, "ask.tsx"))
    assert found[1:3] == ["new Date().toISOString()", ". Be kind."]
    assert found[3] == HISTORY


@pytest.mark.parametrize(
    "rules",
    [
        "const Rules = ({ now }) => <p>Now {now} here.</p>;",
        "class Rules extends PromptElement { render() { return <p>Now {this.props.now} "
        f"{CLOCK}</p>; }} }}",
        f"const Rules = (p) => {{ const clock = (<>Now {CLOCK}</>);\n"
        "  return p.a && <b>{clock}</b>; };",
    ],
)
def test_components_are_followed_to_what_they_render(codes, rules):
    asks = "<SystemMessage>You help.<Rules now={new Date().toISOString()}/></SystemMessage>"
    text = f"{LIBRARY}{rules}\nexport const Ask = ({{ turns }}) => <>{asks}{HISTORY}</>;"
    assert ("KV001", "error") in codes(text, "ask.tsx")


@pytest.mark.parametrize("of", ["./components/chat", "react-chat-elements", "@/ui/prompt"])
def test_an_element_of_a_page_is_no_prompt(read, of):
    text = f"import {{ SystemMessage }} from '{of}';\nexport const A = () => <div>"
    assert read(f"{text}<SystemMessage>At {CLOCK}</SystemMessage></div>;", "a.tsx") == []
