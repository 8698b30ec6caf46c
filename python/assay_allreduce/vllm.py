"""assay_allreduce in vLLM: its tensor-parallel groups take our CustomAllreduce for theirs.

    VLLM_PLUGINS=assay_allreduce vllm serve … --tensor-parallel-size 4

vLLM loads plugins in every process before it makes its groups. From Python, where engine and workers
are one process: `assay_allreduce.vllm.install()` before the engine is made.
"""
import importlib
import os

from .custom_all_reduce import CustomAllreduce

MODULE = "vllm.distributed.device_communicators.custom_all_reduce"


def install():
    """vLLM's CudaCommunicator looks the class up in this module when it is made."""
    importlib.import_module(MODULE).CustomAllreduce = CustomAllreduce


def plugin():
    """The entry point. vLLM without VLLM_PLUGINS loads all plugins that are installed; ours waits to
    be named, so that installing a package changes no engine."""
    if "assay_allreduce" in os.environ.get("VLLM_PLUGINS", "").split(","):
        install()
