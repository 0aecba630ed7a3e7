"""Policy files whose values are of another kind than a policy has."""

import pytest

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.semantic.policies import policy_documents
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
