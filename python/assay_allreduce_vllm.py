"""What vLLM loads of every plugin that is installed, in each of its processes. It imports nothing before
VLLM_PLUGINS names it, so that installing the package neither changes an engine nor fails in one that runs
without CUDA."""
import logging
import os


def plugin():
    if "assay_allreduce" not in os.environ.get("VLLM_PLUGINS", "").split(","):
        return
    # Our library may fail to load on this rank alone: vLLM then ends, before others wait for it.
    import assay_allreduce.vllm
    try:
        assay_allreduce.vllm.install()
    except (ImportError, AttributeError) as error:
        logging.getLogger(__name__).error("assay_allreduce is not used, since this vLLM does not fit: %s", error)
