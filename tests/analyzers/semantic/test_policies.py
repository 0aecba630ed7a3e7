"""Policy files whose values are of another kind than a policy has."""

import pytest

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.semantic.policies import is_policy, policy_documents
from kvaudit.core.sources import Source


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("sampling = 3", "sampling is 3, and a policy has a table"),
        ("admission = 'all'", "admission is 'all', and a policy has a table"),
        ("context = 3", "context is 3, and a policy has a table"),
        ("thresholds = 5", "thresholds is 5, and a policy has a table"),
        ("namespace = 'tenant'", "namespace is 'tenant', and a policy has a list of names"),
        ("key = [{a = 1}]", "key is .*, and a policy has a list of names"),
        ("allow = 3", "allow is 3, and a policy has a list of names"),
        ("scale = ['l2']", "scale is .*, and a policy has a name"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(line, wanted):
    with pytest.raises(Unreadable, match=wanted):
        policy_documents(Source("p.toml", f'encoder = "e"\nthreshold = 0.9\n{line}\n'), "policy")


def test_a_policy_of_the_right_kinds_is_judged():
    text = 'encoder = "e"\nthreshold = 0.9\nkey = ["model"]\nsampling = {limit = 0.01}\n'
    (document,) = policy_documents(Source("p.toml", text), "policy")
    kinds = {one.kind for one in document.observations}
    assert {"no-second-stage", "no-namespace"} <= kinds
    assert "no-model-version" not in kinds


def test_settings_in_a_table_of_another_program_are_no_policy():
    policy = 'encoder = "minilm"\nthreshold = 0.9\n'
    assert is_policy(policy)
    assert is_policy('encoder = "minilm"\n[thresholds]\nfaq = 0.9\n')
    assert not is_policy(f"[speech]\n{policy}")
    assert not is_policy('[defaults]\npreset = "safe"\n')
    with pytest.raises(Unreadable, match="no policy of a semantic cache"):
        policy_documents(Source("config.toml", f"[speech]\n{policy}"), "policy")
