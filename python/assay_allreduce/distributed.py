"""assay_allreduce behind torch.distributed: the sums of a process group, in programs that call PyTorch
and nothing of ours.

    import assay_allreduce.distributed

    dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
    sums = assay_allreduce.distributed.install()    # the group of all ranks; collective

From then on `torch.distributed.all_reduce` adds the tensors of that group with our kernels, and so do
the functional collectives, which DTensor calls and torch.compile makes of it. What we do not take goes
where it went before: other reductions and types, messages above max_size, and calls with async_op=True.
A name that a module imported before, by `from torch.distributed import all_reduce`, stays PyTorch's, and
code that is compiled must not pass `op` to it.
"""
import functools
import logging

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

from .engine import EngineCommunicator, aligned, is_aligned

logger = logging.getLogger(__name__)
_OPERATORS = torch.ops.assay
_theirs = dist.all_reduce
_PLAIN = (torch.Tensor, torch.nn.Parameter)
# Of each process group, its sums.
_installed = {}
# Of each GPU, the stream of the last call: sums of several groups must not overlap there either.
_last_streams = {}
# The kernels of functional collectives, which PyTorch drops with this object.
_definitions = []


class GroupSums(EngineCommunicator):
    """The sums of one process group, until close(). Those of all groups of a GPU follow each other where the
    program calls from one stream after another. Graphs are not known here: their sums are captured on one
    stream, and what follows a replay on another stream waits for it by an event of the program's."""

    def takes(self, tensor):
        """Returns whether all_reduce() adds this tensor. All ranks answer alike."""
        return (tensor.device == self.device and tensor.layout == torch.strided
                and super().takes(tensor))

    def all_reduce_(self, tensor):
        """The sum, in place."""
        number = self._number()
        if is_aligned(tensor):
            _OPERATORS.all_reduce_.default(tensor, number)
        else:
            tensor.copy_(_OPERATORS.all_reduce.default(tensor.clone(), number))
        return tensor

    def all_reduce(self, tensor):
        """The sum, in a new tensor."""
        return _OPERATORS.all_reduce.default(aligned(tensor), self._number())

    def _number(self):
        self._follow()
        return self._connected().number

    def _follow(self):
        """The current stream waits for that of the call before, if it is another one."""
        if torch.cuda.is_current_stream_capturing():
            return
        stream = torch.cuda.current_stream(self.device)
        last = _last_streams.get(self.device.index)
        if last is not None and stream != last:
            stream.wait_stream(last)
        _last_streams[self.device.index] = stream

    def close(self):
        """Gives the sums back to PyTorch, and the memory. Collective, unless the group was destroyed."""
        if _installed.get(self.group) is self:
            del _installed[self.group]
        super().close(meet=_exists(self.group))


def _exists(group):
    """Returns whether the program has not destroyed the group."""
    return group in dist.distributed_c10d._world.pg_map


def _sums_for(group, tensor, is_sum):
    """Our sums if they take this tensor of the group, or None."""
    sums = _installed.get(group)
    return sums if is_sum and sums is not None and sums.takes(tensor) else None


def _all_reduce(tensor, op=dist.ReduceOp.SUM, group=None, async_op=False):
    """torch.distributed.all_reduce, by assay_allreduce where it takes the tensor."""
    # What is traced, or wraps a tensor, PyTorch takes apart first.
    is_sum = type(tensor) in _PLAIN and not async_op and op == dist.ReduceOp.SUM
    sums = _sums_for(dist.group.WORLD if group is None else group, tensor, is_sum)
    if sums is None:
        return _theirs(tensor, op, group, async_op)
    sums.all_reduce_(tensor)
    return None


def _take_functional(name, ours):
    """Puts ours(sums, tensor) before the CUDA kernel of a functional collective, for the tensors that we
    take."""
    operator = f"_c10d_functional::{name}"
    theirs = torch.library.get_kernel(operator, "CUDA")

    def call(keys, tensor, reduce_op, group_name):
        group = dist.distributed_c10d._resolve_process_group(group_name)
        sums = _sums_for(group, tensor, reduce_op.lower() == "sum")
        if sums is None:
            return theirs.call_boxed(keys, tensor, reduce_op, group_name)
        return ours(sums, tensor)

    definition = torch.library.Library("_c10d_functional", "IMPL")
    definition.impl(name, call, "CUDA", with_keyset=True)
    _definitions.append(definition)


@functools.cache
def _stand_in():
    """Puts ours in the place of PyTorch's, once for all groups. Who wraps it later is left there."""
    # What torch.compile makes of PyTorch's own all_reduce it makes of ours, too.
    traced = functional.traceable_collective_remaps.get(_theirs)
    if traced is not None:
        functional.traceable_collective_remaps[_all_reduce] = traced
    dist.all_reduce = dist.distributed_c10d.all_reduce = _all_reduce
    if not hasattr(torch.library, "get_kernel"):
        logger.warning("functional collectives, and what is compiled, stay PyTorch's: %s cannot share their kernels",
                       torch.__version__)
        return
    _take_functional("all_reduce", GroupSums.all_reduce)
    _take_functional("all_reduce_", GroupSums.all_reduce_)


def install(group=None, device=None, max_size=None):
    """Takes over the sums of a process group, collectively: None is the one of all ranks. `device` is this
    rank's GPU, by default the current one; `max_size` and the environment are as CustomAllreduce's. Returns
    the GroupSums. Where its `disabled` is true, PyTorch's sums stay, and the log says why."""
    group = dist.group.WORLD if group is None else group
    for destroyed in [each for each in _installed if not _exists(each)]:
        _installed[destroyed].close()
    if group in _installed:
        return _installed[group]
    sums = GroupSums(group, device, max_size)
    if not sums.disabled:
        _stand_in()
        _installed[group] = sums
    return sums
