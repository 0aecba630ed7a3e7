"""Finds workloads and faults by folder: a new one is one new file and nothing else."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.traffic import faults, workloads
from kvaudit.traffic.fault import Fault
from kvaudit.traffic.workload import Workload


@cache
def all_workloads() -> dict[str, Workload]:
    """Return every workload by name, in order of their names."""
    modules = (
        import_module(f"{workloads.__name__}.{m.name}") for m in iter_modules(workloads.__path__)
    )
    return {module.WORKLOAD.name: module.WORKLOAD for module in modules}


@cache
def all_faults() -> dict[str, Fault]:
    """Return every fault by name, in order of their names."""
    modules = (import_module(f"{faults.__name__}.{m.name}") for m in iter_modules(faults.__path__))
    return {module.FAULT.name: module.FAULT for module in modules}


def workload(name: str) -> Workload:
    """Return the workload of that name; raises `UsageError` if there is none."""
    if name not in all_workloads():
        raise UsageError(f"no workload {name!r}{did_you_mean(name, all_workloads())}")
    return all_workloads()[name]


def fault(name: str) -> Fault:
    """Return the fault of that name; raises `UsageError` if there is none."""
    if name not in all_faults():
        raise UsageError(f"no fault {name!r}{did_you_mean(name, all_faults())}")
    return all_faults()[name]
