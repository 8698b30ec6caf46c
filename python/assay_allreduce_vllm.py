"""What vLLM loads of every plugin that is installed, in each of its processes. It imports nothing before
VLLM_PLUGINS names it, so that installing the package neither changes an engine nor fails in one that runs
without CUDA."""
import logging
import os


def plugin():
    if "assay_allreduce" not in os.environ.get("VLLM_PLUGINS", "").split(","):
        return
    try:
        import assay_allreduce.vllm
        assay_allreduce.vllm.install()
    except Exception as error:  # pylint: disable=broad-except
        # vLLM ends where a plugin raises; it has a class of its own.
        logging.getLogger(__name__).error("assay_allreduce is not used: %s: %s", type(error).__name__, error)
