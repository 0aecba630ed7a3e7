"""The policy file: the smallest one, every scale, every mistake."""

from pathlib import Path

import pytest

from kvaudit.core.errors import InputError, UsageError
from kvaudit.replay.semantic.policy_file import load_policy
from kvaudit.replay.semantic.preset import find_preset

SMALLEST = '[semantic]\nencoder = "minilm"\nthreshold = 0.9\n'


@pytest.fixture
def load(tmp_path):
    def loaded(text):
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return load_policy(path)

    return loaded


def test_the_smallest_policy_and_its_defaults(load):
    policy = load(SMALLEST)
    assert (policy.scale, policy.insert, policy.namespace) == ("cosine_sim", "on-miss", ())
    assert not policy.exact_tier
    assert not policy.entity_check
    assert policy.ttl is None
    assert policy.capacity is None
    assert policy.context.messages == 1
    assert policy.cosine == 0.9


def test_a_lifetime_in_either_spelling(load):
    assert load(SMALLEST + "ttl = 60\n").ttl.seconds == 60
    ttl = load(SMALLEST + "ttl = {seconds = 60, sliding = true}\n").ttl
    assert (ttl.seconds, ttl.sliding) == (60, True)


@pytest.mark.parametrize(
    ("scale", "threshold", "cosine"),
    [
        ("cosine_sim", 0.8, 0.8),
        ("cosine_dist", 0.1, 0.9),
        ("ip_dist", 0.1, 0.9),
        ("l2", 0.2, 0.98),
        ("l2_sq", 0.2, 0.9),
        ("inv_l2_sq", 0.8, 0.875),
        ("half_dist", 0.95, 0.9),
        ("gptcache_rank", 0.8, 0.6),
        ("gptcache_rank", 0.95, 0.9),
    ],
)
def test_scales_as_cosine(load, scale, threshold, cosine):
    text = f'[semantic]\nencoder = "use"\nthreshold = {threshold}\nscale = "{scale}"\n'
    assert load(text).cosine == pytest.approx(cosine)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "[semantic]"),
        ("x = [", "not valid TOML"),
        ('[semantic]\nencoder = "use"\n', "threshold"),
        (SMALLEST + "tresholds = {a = 1}\n", "thresholds"),
        (SMALLEST + "[semantic.ttl]\nsecond = 3\n", "seconds"),
        (SMALLEST + "[other]\n", "other"),
        (SMALLEST + 'scale = "cosine"\n', "cosine_"),
        (SMALLEST + 'scale = "l2"\nthreshold = 3\n', "TOML"),
        ('[semantic]\nencoder = "use"\nthreshold = 2.5\n', "impossible"),
        ('[semantic]\nencoder = "use"\nthreshold = 0.1\nscale = "inv_l2_sq"\n', "impossible"),
        ('[semantic]\nencoder = "use"\nthreshold = "0.9"\n', "threshold"),
        ('[semantic]\nencoder = "use"\nthreshold = nan\n', "threshold"),
        (SMALLEST + 'insert = "allways"\n', "always"),
        (SMALLEST + 'namespace = ["tenat"]\n', "tenant"),
        (SMALLEST + 'namespace = "tenant"\n', 'a list of names, such as ["tenant"]'),
        (SMALLEST + "ttl = 0\n", "ttl"),
        (SMALLEST + 'ttl = "1h"\n', "a number of seconds, or a table"),
        (SMALLEST + "admission = 5\n", "must be a table"),
        (SMALLEST + "capacity = 0\n", "capacity"),
        (SMALLEST + 'deny = ["x"]\n', "scenario"),
        (SMALLEST + 'scenario = "column:s"\nallow = ["x"]\ndeny = ["x"]\n', "both"),
    ],
)
def test_mistakes_are_named(load, text, named):
    with pytest.raises((UsageError, InputError), match=r"policy\.toml") as caught:
        load(text)
    assert named in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_policy(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("name", "cosine"),
    # Semantic.md 1.1 gives each product's default as a cosine.
    [("gptcache", 0.6), ("redisvl", 0.9), ("langchain", 0.8), ("litellm", 0.8), ("portkey", 0.95)],
)
def test_presets_have_their_products_threshold(name, cosine):
    assert load_policy(Path(f"preset:{name}")).cosine == pytest.approx(cosine)
    preset = find_preset(name)
    assert preset.sources
    assert preset.date


def test_a_policy_says_what_differs_from_a_preset(load):
    policy = load('[semantic]\npreset = "gptcache"\nencoder = "use"\nnamespace = ["tenant"]\n')
    assert (policy.encoder, policy.capacity, policy.namespace) == ("use", 1000, ("tenant",))
    with pytest.raises(UsageError, match="did you mean gptcache"):
        load('[semantic]\npreset = "gptcash"\n')
