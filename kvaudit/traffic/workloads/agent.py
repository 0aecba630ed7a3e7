"""An agent that mends services: tools before everything, and a loop of calls and results.

Each request carries all calls and results so far, so nearly all of a prompt was computed a few
seconds ago. What the tools return differs between sessions.
"""

import json
from collections.abc import Iterator
from random import Random

from kvaudit.core.requests import Json
from kvaudit.traffic.draft import Draft, user
from kvaudit.traffic.english import ENGLISH
from kvaudit.traffic.workload import Sessions, Tenant, Turn, Workload

SYSTEM = (
    "You are an engineer of {tenant}. Work on the task with the tools you have. Look before you\n"
    "change anything, change one thing at a time, and run the tests after each change. Stop when\n"
    "they pass and say in two sentences what was wrong. House rules:\n"
)
SUBJECTS = ("orders", "labels", "stock", "mail", "prices", "refunds")


def deploy(tenant: Tenant, rng: Random) -> Sessions:
    """Write one tenant's instructions."""
    rules = "\n".join(f"- {rule}" for rule in ENGLISH.sentences("policy", rng, 14))
    system = SYSTEM.format(tenant=tenant.name) + rules

    def session(rng: Random) -> Iterator[Turn]:
        task = user(ENGLISH.sentence("task", rng))
        draft = Draft(tools=TOOLS, system=system, history=(task,))
        for _ in range(rng.randint(3, 10)):
            plan, call = ENGLISH.sentence("plan", rng), _call(rng)
            yield Turn(draft=draft, answer=plan, pause_s=rng.uniform(0.5, 6.0))
            said = {"role": "assistant", "content": plan, "tool_calls": [call]}
            history = (*draft.history, *draft.newest, said)
            newest = (_result(rng, call),)
            draft = Draft(tools=TOOLS, system=system, history=history, newest=newest)
        yield Turn(draft=draft, answer=ENGLISH.paragraph("answer", rng, 2))

    return session


def _call(rng: Random) -> Json:
    tool = rng.choice(TOOLS)["function"]
    arguments = {name: "/".join(rng.sample(SUBJECTS, 2)) for name in tool["parameters"]["required"]}
    return {
        "id": f"call_{rng.getrandbits(48):012x}",
        "type": "function",
        "function": {"name": tool["name"], "arguments": json.dumps(arguments)},
    }


def _result(rng: Random, call: Json) -> Json:
    lines = ENGLISH.sentences("log", rng, rng.randint(4, 28))
    return {"role": "tool", "tool_call_id": call["id"], "content": "\n".join(lines)}


def _tool(name: str, description: str, **parameters: str) -> Json:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
            },
        },
    }


TOOLS = (
    _tool("list_folder", "List the files of a folder.", path="Folder, from the root."),
    _tool("read_file", "Return the text of a file.", path="File to read."),
    _tool("search_code", "Find lines that hold a word.", word="What to find.", path="Where."),
    _tool(
        "edit_file", "Replace a text in a file.", path="File.", old="Text now.", new="Text then."
    ),
    _tool("run_tests", "Run the tests of a service.", service="Which service."),
    _tool("read_log", "Return the newest log lines.", service="Which.", since="Time of day."),
    _tool("query_orders", "Look up orders.", filter="Condition on order, place and state."),
    _tool("restart_service", "Restart a service.", service="Which.", reason="Why, for the record."),
)

WORKLOAD = Workload(
    name="agent",
    title="an agent with tools: a loop of calls and results",
    model="shop-agent",
    temperature=0.3,
    max_tokens=800,
    deploy=deploy,
)
