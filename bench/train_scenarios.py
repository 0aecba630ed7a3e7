"""Trains the classifier of scenarios on our own made questions, and writes its weights.

    python -m bench.train_scenarios [--clinc150 data_small.json]

Logistic regression on the vectors of the default encoder. With the CLINC150 file it also says how
many of that data set's questions it puts where the table below does; they are not trained on.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from kvaudit.replay.semantic.encoder import find_encoder
from kvaudit.replay.semantic.guards import scenarios
from kvaudit.replay.semantic.vectors import encode_all
from kvaudit.traffic.scenarios import labelled_questions

INVERSE_PENALTY = 10
DIGITS = 3
INTENTS = {
    "real-time": "weather traffic flight_status current_location time date next_song exchange_rate",
    "personal": "balance transactions bill_balance bill_due order_status pto_balance pto_used "
    "pay_bill transfer spending_history credit_limit report_lost_card account_blocked calendar "
    "shopping_list reminder todo_list payday income rewards_balance credit_score card_declined "
    "freeze_account pin_change pto_request meeting_schedule",
    "numeric": "calculator measurement_conversion",
    "general": "translate definition recipe tell_joke greeting what_can_i_ask_you fun_fact "
    "are_you_a_bot thank_you goodbye meaning_of_life flip_coin oil_change_how change_accent "
    "ingredient_substitution cook_time travel_suggestion who_made_you hobbies tire_change "
    "jump_start international_visa vaccines improve_credit_score new_card",
}
"""CLINC150's intents by scenario; the rest could be either."""


def main() -> None:
    """Train, write, and try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clinc150", type=Path)
    asked = parser.parse_args()
    encoder = find_encoder(scenarios.ENCODER).encoder
    names, texts = zip(*labelled_questions(), strict=True)
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=5000, class_weight="balanced")
    model.fit(encode_all(encoder, texts), names)
    weights = np.column_stack((model.coef_, model.intercept_)).astype(np.float64).round(DIGITS)
    rows = ",\n".join(json.dumps(row) for row in weights.tolist())
    scenarios.WEIGHTS.write_text(
        f'{{"trained_on": {json.dumps(encoder.identity)},\n'
        f'"scenarios": {json.dumps(model.classes_.tolist())},\n"weights": [\n{rows}\n]}}\n'
    )
    print(f"{len(texts)} questions of {len(set(names))} scenarios")
    if asked.clinc150 is not None:
        try_on(json.loads(asked.clinc150.read_text())["test"])


def try_on(rows: Sequence[tuple[str, str]]) -> None:
    """Say how many unseen questions are put where the table does."""
    scenario_of = {i: name for name, intents in INTENTS.items() for i in intents.split()}
    known = [(text, scenario_of[intent]) for text, intent in rows if intent in scenario_of]
    found = scenarios.classify([text for text, _ in known])
    right = [name == own for name, (_, own) in zip(found, known, strict=True)]
    print(f"CLINC150: {sum(right)} of {len(right)} as in the table")
    for scenario in INTENTS:
        own = [r for r, (_, name) in zip(right, known, strict=True) if name == scenario]
        print(f"  {scenario}: {sum(own)} of {len(own)}")


if __name__ == "__main__":
    main()
