"""Which device is taken, and which requests are checked there."""

import sys

import pytest
import torch

from kvaudit.core.errors import MissingExtra, UsageError
from kvaudit.replay.device.cache import sampled
from kvaudit.replay.device.choice import choose_device, device_facts


@pytest.mark.parametrize(
    ("asked", "gpu", "has_cuda", "taken"),
    [
        (None, True, True, "cuda"),
        ("auto", False, True, "cuda"),
        ("auto", False, False, "cpu"),
        ("cpu", False, True, "cpu"),
        ("cuda", True, True, "cuda"),
    ],
)
def test_the_device_is_the_one_asked_for(monkeypatch, asked, gpu, has_cuda, taken):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_cuda)
    assert choose_device(asked, gpu=gpu).type == taken


@pytest.mark.parametrize(
    ("asked", "gpu"), [(None, True), ("cuda", False), ("gpu", False), ("cpu", True)]
)
def test_what_is_not_there_is_refused_in_one_sentence(monkeypatch, asked, gpu):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError) as told:
        choose_device(asked, gpu=gpu)
    assert "\n" not in str(told.value)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'kvaudit\[gpu\]'"):
        choose_device("cpu")


def test_the_facts_of_a_cpu_name_its_threads_and_versions():
    facts = device_facts(torch.device("cpu"), dtype="fp32", attention="sdpa:cpu")
    assert (facts.driver, facts.threads) == (None, torch.get_num_threads())
    assert facts.torch == torch.__version__
    assert facts.transformers is not None
    assert facts.name


def test_half_of_the_checks_are_early_so_that_a_run_that_ends_has_some():
    found = sampled(100_000, 32)
    assert found == sampled(100_000, 32)
    assert len(found) == 32
    assert 16 <= sum(number < 4 * 32 for number in found) < 20


@pytest.mark.parametrize(("requests", "checks"), [(0, 5), (3, 5), (5, 5), (5, 0), (9, 1)])
def test_no_more_is_checked_than_there_is(requests, checks):
    found = sampled(requests, checks)
    assert len(found) == min(requests, checks)
    assert found <= set(range(requests))
