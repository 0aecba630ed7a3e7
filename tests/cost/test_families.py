"""Defaults of families, against the configuration classes they were read from."""

import pytest

from kvaudit.cost.families import families, family_of

from .test_flop_counter import FAMILIES

transformers = pytest.importorskip("transformers")


@pytest.mark.parametrize("name", sorted(families()))
def test_defaults_are_those_of_the_family(name):
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    known = CONFIG_MAPPING[name]
    found = {field: getattr(known, field, None) for field in families()[name].defaults}
    assert found == families()[name].defaults


def test_an_unknown_family_has_no_defaults_and_says_so():
    family = family_of("cosmic")
    assert (family.known, dict(family.defaults)) == (False, {})
    assert family_of("kimi_k2").name == "deepseek_v3"


def test_every_family_is_held_against_torch():
    """See test_flop_counter.py, whose names are those of the configuration classes."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    tested = {f"{name}Config" for name in FAMILIES}
    assert {CONFIG_MAPPING_NAMES[name] for name in families()} == tested
