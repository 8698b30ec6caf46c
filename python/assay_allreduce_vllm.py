"""What vLLM loads of every plugin that is installed, in each of its processes. It imports nothing before
VLLM_PLUGINS names it, so that installing the package neither changes an engine nor fails in one that runs
without CUDA."""
import os


def plugin():
    if "assay_allreduce" not in os.environ.get("VLLM_PLUGINS", "").split(","):
        return
    import assay_allreduce.vllm
    assay_allreduce.vllm.install()
