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
# Newer versions keep FlashInfer's function in this module under a name of their own.
FUSION_MODULE = "sglang.srt.layers.flashinfer_comm_fusion"
_KEPT = "_create_allreduce_fusion_workspace"


def install():
    """SGLang's GroupCoordinator asks this module for the class when it is made."""
    # Importing SGLang's may import the module that keeps FlashInfer's function.
    flashinfer.install()
    fusion = sys.modules.get(FUSION_MODULE)
    if getattr(fusion, _KEPT, None) is not None:
        setattr(fusion, _KEPT, importlib.import_module(flashinfer.MODULE).create_allreduce_fusion_workspace)
    module = importlib.import_module(MODULE)
    dispatch = getattr(module, "dispatch_custom_allreduce", None)
    module.CustomAllreduce = ours_or(module.CustomAllreduce)
    if dispatch is not None:
        # Some versions ask with the group and the device, some with nothing.
        module.dispatch_custom_allreduce = (
            lambda *arguments, **options: ours_or(dispatch(*arguments, **options)))
