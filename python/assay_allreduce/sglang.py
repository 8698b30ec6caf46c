"""assay_allreduce in SGLang: its tensor-parallel groups take our CustomAllreduce for theirs.

`assay_allreduce.sglang.install()` must run in every process before it makes its groups. SGLang starts
its workers as processes of their own, so that this belongs where they, too, come by: into the program
that starts the engine, at its top level, which multiprocessing imports again in each of them.
"""
import importlib
import sys

from . import flashinfer
from .custom_all_reduce import ours_or

MODULE = "sglang.srt.distributed.device_communicators.custom_all_reduce"
# Newer versions keep FlashInfer's functions, one or both, in this module under names of their own.
FUSION_MODULE = "sglang.srt.layers.flashinfer_comm_fusion"


def install():
    """SGLang's GroupCoordinator asks this module for the class when it is made."""
    # Importing SGLang's may import the module that keeps FlashInfer's functions.
    flashinfer.install()
    fusion = sys.modules.get(FUSION_MODULE)
    for name in flashinfer.FUNCTIONS:
        if getattr(fusion, f"_{name}", None) is not None:
            setattr(fusion, f"_{name}", getattr(importlib.import_module(flashinfer.MODULE), name))
    module = importlib.import_module(MODULE)
    dispatch = getattr(module, "dispatch_custom_allreduce", None)
    module.CustomAllreduce = ours_or(module.CustomAllreduce)
    if dispatch is not None:
        # Some versions ask with the group and the device, some with nothing.
        module.dispatch_custom_allreduce = (
            lambda *arguments, **options: ours_or(dispatch(*arguments, **options)))
