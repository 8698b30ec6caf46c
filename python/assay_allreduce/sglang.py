"""assay_allreduce in SGLang: its tensor-parallel groups take our CustomAllreduce for theirs.

`assay_allreduce.sglang.install()` must run in every process before it makes its groups. SGLang starts
its workers as processes of their own, so that this belongs where they, too, come by: into the program
that starts the engine, at its top level, which multiprocessing imports again in each of them.
"""
import importlib

from . import flashinfer
from .custom_all_reduce import ours_or

MODULE = "sglang.srt.distributed.device_communicators.custom_all_reduce"


def install():
    """SGLang's GroupCoordinator asks this module for the class when it is made."""
    module = importlib.import_module(MODULE)
    dispatch = getattr(module, "dispatch_custom_allreduce", None)
    module.CustomAllreduce = ours_or(module.CustomAllreduce)
    if dispatch is not None:
        # Some versions ask with the group and the device, some with nothing.
        module.dispatch_custom_allreduce = (
            lambda *arguments, **options: ours_or(dispatch(*arguments, **options)))
    flashinfer.install()
