"""`kvaudit why` tells the parting of two prompts from a fault that few requests have."""

from random import Random

from test_why import called, lost, written

from kvaudit.core.why import Cause

NAMES = ["Ada Berg", "Bilal Chen", "Dora Egede", "Enzo Flores", "Greta Holm", "Hugo Ilves"]


def rules(tenant):
    random = Random(tenant)
    return "\n".join(
        f"{n}. Do not promise what step {random.randrange(99)} of page {random.randrange(99)} "
        "forbids, and say where it is written."
        for n in range(24)
    )


def asked(number):
    random = Random(f"question {number}")
    return " ".join(random.sample([f"word{n}" for n in range(400)], 12)) + "?"


def test_a_name_that_is_first_met_alone_counts_with_all_that_fill_in_its_line(tmp_path, capsys):
    def prompt(number, name):
        tenant = "AB"[number % 2]
        line = f"Customer: {name} ({name[0].lower()}{number}@example.org).\n\n" if name else ""
        return f"You help {tenant}.\n\n{line}{rules(tenant)}\n\nQ: {asked(number)}"

    def log(share):
        for n in range(240):
            named = n >= 20 and n % share < 2
            yield {"id": str(n), "prompt": prompt(n, NAMES[n % 6] if named else "")}

    sound = called(capsys, written(tmp_path / "sound.jsonl", log(1000)))
    report = called(capsys, written(tmp_path / "log.jsonl", log(20)))
    cost = sound["hit_tokens"] - report["hit_tokens"]
    assert lost(report)[Cause.IDENTITY] >= 0.95 * cost
