"""Options for work on a device."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.core.errors import UsageError

if TYPE_CHECKING:
    from kvaudit.core.results import ReplayReport
    from kvaudit.cost.shapes import ModelShape
    from kvaudit.replay.device.plan import DevicePlan
    from kvaudit.replay.plan import Plan

DEVICE = "Device"
"""Panel of the help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceOptions:
    """Which device, and what is run on it; with ``--model`` the requests are executed."""

    gpu: Annotated[
        bool,
        typer.Option(
            "--gpu",
            help="Hash and match on a CUDA device; with --model, run the requests there.",
            rich_help_panel=DEVICE,
        ),
    ] = False
    device: Annotated[
        str | None,
        typer.Option(
            metavar="auto|cpu|cuda",
            help="The same on a device of choice; auto takes CUDA where it is.",
            rich_help_panel=DEVICE,
        ),
    ] = None
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="fp32|bf16",
            help="Type of weights and KV of the model that is run (default: cpu fp32, cuda bf16).",
            rich_help_panel=DEVICE,
        ),
    ] = None
    checks: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Requests, chosen by a fixed seed, that are also computed without reuse: for "
            "times and logits (default: 32).",
            rich_help_panel=DEVICE,
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Run no longer; the rest of the log is simulated (default: 300).",
            rich_help_panel=DEVICE,
        ),
    ] = None
    kv_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the files of the third tier here, for the next run.",
            rich_help_panel=DEVICE,
        ),
    ] = None

    calibrate_accelerator: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Write what the run measured, for --accelerator of later modelled runs.",
            rich_help_panel=DEVICE,
        ),
    ] = None

    def plan(self, shape: "ModelShape | None", model: str | None) -> "DevicePlan | None":
        """Return what is to be done; None for nothing. Raises `UsageError`, `MissingExtra`."""
        from kvaudit.replay.device.plan import CHECKS, TIME_LIMIT_S, DevicePlan, ExecutionPlan

        asked = self.gpu or self.device is not None
        self._check(asked=asked, has_model=shape is not None)
        if not asked:
            return None
        from kvaudit.replay.device.choice import choose_device

        device = choose_device(self.device, gpu=self.gpu).type
        if shape is None and model is not None:
            raise UsageError(
                f"--model {model}: nobody can run a provider's model; leave out --device to "
                "simulate its cache, or name --engine vllm or sglang"
            )
        if shape is None or model is None:
            return DevicePlan(device=device)
        execution = ExecutionPlan(
            model=model,
            config=shape.outer,
            dtype=self.dtype,
            checks=CHECKS if self.checks is None else self.checks,
            time_limit_s=TIME_LIMIT_S if self.time_limit is None else self.time_limit,
            kv_folder=self.kv_dir,
            fits=self.calibrate_accelerator is not None,
        )
        return DevicePlan(device=device, execution=execution)

    def _check(self, *, asked: bool, has_model: bool) -> None:
        given = {
            "--dtype": self.dtype,
            "--checks": self.checks,
            "--time-limit": self.time_limit,
            "--kv-dir": self.kv_dir,
            "--calibrate-accelerator": self.calibrate_accelerator,
        }
        for name, value in given.items():
            if value is not None and not (asked and has_model):
                raise UsageError(
                    f"{name} says how a model is run; name one with --model, and a --device"
                )


def on_device(plan: "Plan", options: DeviceOptions, shape: "ModelShape | None") -> "Plan":
    """Return the plan with what is to be done on a device; sizes in bytes follow its type."""
    device = options.plan(shape, plan.model)
    if device is None or device.execution is None or shape is None:
        return replace(plan, device=device)
    from kvaudit.cost.shapes import BF16_BYTES

    if options.kv_dir is not None and (plan.tiers is None or len(plan.tiers.capacities) < 2):
        raise UsageError("--kv-dir keeps the files of the third tier; say --l2 and --l3 SIZE too")
    is_fp32 = (options.dtype or ("bf16" if device.device == "cuda" else "fp32")) == "fp32"
    per_token = shape.kv_bytes_per_token * (4 if is_fp32 else 2) // BF16_BYTES
    return replace(plan, device=device, kv_bytes_per_token=per_token)


def write_accelerator(report: "ReplayReport", path: Path | None) -> None:
    """Write the measured accelerator, or raise `UsageError` saying why there is none."""
    if path is None:
        return
    run = report.device.execution if report.device is not None else None
    if run is None or run.accelerator is None:
        raise UsageError(
            f"--calibrate-accelerator {path}: the run cannot be fitted; it needs at least "
            "ten measured requests (--checks) of different lengths, whose times grow with their "
            "FLOPs"
        )
    try:
        path.write_text(run.accelerator, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--calibrate-accelerator {path}: {error.strerror}") from None
