"""A measured accelerator as a file: what is written is read, and what is wrong is said."""

from dataclasses import replace

import pytest

from kvaudit.core.errors import InputError
from kvaudit.cost.accelerators import accelerator_named
from kvaudit.cost.measured import Fit, measured_text, read_measured

FIT = Fit(
    title='a "CPU"\\ \n of mine',
    flops_per_s=3e10,
    constant_s=0.002,
    prefills=64,
    memory_bytes=8 * 2**30,
    memory_bytes_per_s=2e10,
    host_bytes_per_s=None,
    known=None,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mine.toml"


def test_without_a_datasheet_the_peak_is_what_was_measured(path):
    path.write_text(measured_text(FIT, "torch 1, fp32"))
    accelerator, told = read_measured(path)
    assert accelerator.title == "a 'CPU'/  of mine"
    assert accelerator.flops_16_bit * told.mfu == pytest.approx(3e10)
    assert accelerator.memory_bytes == 8 * 2**30
    assert accelerator.host_bandwidth * told.bandwidth_efficiency == pytest.approx(2e10)
    assert told.constant_s == 0.002


def test_beside_a_datasheet_it_is_a_share_of_its_peak(path):
    known = accelerator_named("h100")
    fit = replace(FIT, flops_per_s=known.flops_16_bit / 4, known=known)
    fit = replace(fit, host_bytes_per_s=known.host_bandwidth / 2)
    path.write_text(measured_text(fit, "torch 1, bf16"))
    accelerator, told = read_measured(path)
    assert accelerator.flops_16_bit == pytest.approx(known.flops_16_bit)
    assert accelerator.memory_bandwidth == pytest.approx(known.memory_bandwidth)
    assert told.mfu == pytest.approx(0.25, rel=1e-5)
    assert told.bandwidth_efficiency == pytest.approx(0.5, rel=1e-5)


WRONG = [
    (lambda text: text.replace("memory_gb_s", "memory"), "memory_gb_s must be a number above 0"),
    (lambda text: text.replace("memory_gb_s = 20", "memory_gb_s = 0"), "memory_gb_s must be"),
    (lambda text: text.replace("memory_gb_s = 20", "memory_gb_s = nan"), "memory_gb_s must be"),
    (lambda text: text.replace("mfu = 1", "mfu = true"), "mfu must be"),
    (lambda text: text.replace("[assumptions]", "[other]"), r"has no \[assumptions\]"),
    (lambda text: text.replace("title = ", "title "), "is not TOML"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_what_is_wrong_is_named(path, change, said):
    text = measured_text(FIT, "torch 1, fp32")
    assert change(text) != text
    path.write_text(change(text))
    with pytest.raises(InputError, match=said):
        read_measured(path)


def test_a_file_that_is_not_there_is_named(path):
    with pytest.raises(InputError, match=r"mine\.toml: cannot be read"):
        read_measured(path)
