"""All-reduce between the GPUs of one host for PyTorch, with or without what follows it: residual
addition, RMS norm, quantisation to FP8 or NVFP4.

    import torch, torch.distributed as dist
    import assay_allreduce

    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
    comm = assay_allreduce.Communicator()               # of all ranks; collective
    y = comm.all_reduce(x)                              # the sum, out of place
    y = comm.all_reduce_rms_norm(x, residual, gamma)    # residual += sum; y = norm(residual) * gamma

The methods call the operators torch.ops.assay.*, which take comm.number. They work under
torch.compile, torch.cuda.graph and torch.export; they have no gradients. `assay_allreduce.distributed`
stands behind torch.distributed.all_reduce, `assay_allreduce.vllm` and `assay_allreduce.sglang` where
those engines' own communicators stand.
"""
try:
    import torch as _torch
except ImportError as error:
    raise ImportError("assay_allreduce needs PyTorch for CUDA, which this Python does not have "
                      f"({error})") from None

from ._library import AllReduceError, DataType, Fusion, ScaleLayout, Strategy
from .communicator import Communicator

__all__ = ["AllReduceError", "Communicator", "DataType", "Fusion", "ScaleLayout", "Strategy"]
