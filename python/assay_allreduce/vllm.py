"""assay_allreduce in vLLM: its tensor-parallel groups take our CustomAllreduce for theirs.

    VLLM_PLUGINS=assay_allreduce vllm serve … --tensor-parallel-size 4

vLLM loads plugins in every process before it makes its groups (assay_allreduce_vllm.py). From Python,
where engine and workers are one process: `assay_allreduce.vllm.install()` before the engine is made.
"""
import importlib

from . import flashinfer
from .custom_all_reduce import ours_or

MODULE = "vllm.distributed.device_communicators.custom_all_reduce"


def install():
    """vLLM's CudaCommunicator looks the class up in this module when it is made."""
    module = importlib.import_module(MODULE)
    ours = ours_or(module.CustomAllreduce)
    flashinfer.install()
    module.CustomAllreduce = ours
