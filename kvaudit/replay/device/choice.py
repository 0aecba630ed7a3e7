"""Which device work runs on, and what a report must say of it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from kvaudit.core.device import DeviceFacts
from kvaudit.core.errors import MissingExtra, UsageError
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda")


def choose_device(asked: str | None, *, gpu: bool = False) -> torch.device:
    """Return the device that ``--device`` and ``--gpu`` name; ``auto`` takes CUDA where it is.

    Raises `UsageError` for a name that is not known and for CUDA where there is none, and
    `MissingExtra` without torch.
    """
    if asked is not None and asked not in DEVICES:
        raise UsageError(f"--device {asked} is not one{did_you_mean(asked, DEVICES)}")
    if gpu and asked == "cpu":
        raise UsageError("--gpu and --device cpu contradict each other; leave one of them out")
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(
            "work on a device needs torch; install it with: pip install 'kvaudit[gpu]'"
        ) from error
    has_cuda = torch.cuda.is_available()
    if (gpu or asked == "cuda") and not has_cuda:
        option = "--gpu" if gpu else "--device cuda"
        raise UsageError(
            f"{option} needs a CUDA device, and torch {torch.__version__} finds none; install a "
            "CUDA build of torch and its driver, or say --device cpu"
        )
    return torch.device("cuda" if has_cuda and asked != "cpu" else "cpu")


def device_facts(
    device: torch.device, *, dtype: str | None = None, attention: str | None = None
) -> DeviceFacts:
    """Return the device, its driver and the versions that a measurement depends on."""
    import torch

    name, driver = platform.processor() or platform.machine(), None
    if device.type == "cuda":
        name, driver = torch.cuda.get_device_name(device), _cuda_driver()
    return DeviceFacts(
        device=device.type,
        name=name,
        driver=driver,
        threads=torch.get_num_threads() if device.type == "cpu" else None,
        torch=torch.__version__,
        transformers=_version("transformers") if dtype is not None else None,
        dtype=dtype,
        attention=attention,
    )


def _cuda_driver() -> str | None:
    """Return the driver's and the runtime's versions, as far as torch tells them."""
    import torch

    runtime = torch.version.cuda
    try:
        # The newest CUDA that the driver serves, such as 13000.
        driver = int(torch._C._cuda_getDriverVersion())  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):
        return None if runtime is None else f"CUDA {runtime}"
    return f"CUDA {driver // 1000}.{driver % 1000 // 10} (runtime {runtime})"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
