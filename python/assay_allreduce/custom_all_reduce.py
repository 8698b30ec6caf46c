"""What vLLM and SGLang call of their custom all-reduce communicators, on top of ours. Their own
classes share pointers of captured tensors between the ranks; ours sends from its own memory, so that
nothing has to be registered, before a capture or after it."""
import contextlib

import torch
import torch.distributed as dist

from .engine import EngineCommunicator, aligned


def _goes_with(message, tensor, shape):
    """Whether a fused call on the message takes this tensor where it has such a shape."""
    return tensor.shape == shape and tensor.dtype == message.dtype and tensor.is_contiguous()


class CustomAllreduce(EngineCommunicator):
    """group: the engine's CPU group, not one of NCCL; device: an int, a string or a torch.device.
    max_size: messages above so many bytes are left to the engine; None, as engines call it: those above
    what the environment's ASSAY_ALLREDUCE_MAX_SIZE says (64M), else above 10 MiB. Memory for more is taken
    where more is asked for: 397 MiB of each GPU from 64 MiB on, less for less.

    The environment's ASSAY_ALLREDUCE_DEADLINE says after how many seconds a rank that waits for another
    gives up. Its process then ends by SIGTERM, since the sums of graphs that go on are wrong. Without it
    a rank waits for ever for one that has died.

    `disabled` is true where all-reduce goes another way: one rank, too many ranks, ranks on several
    hosts or of several max_size, or GPUs without peer access; all ranks then agree on it, and the log says why.
    """

    def __init__(self, group, device, max_size=None, symm_mem_enabled=False):
        del symm_mem_enabled  # how far the engine's own kernel is asked depends on it; ours does not
        self._IS_CAPTURING = False
        if dist.get_backend(group) == dist.Backend.NCCL:
            raise ValueError("CustomAllreduce takes a group for the CPU, not one of NCCL")
        super().__init__(group, device, max_size)

    def should_custom_ar(self, inp):
        """Whether custom_all_reduce() takes this tensor; if not, the engine takes another way. SGLang
        has it traced without graph breaks, so that it must not ask for the tensor's address."""
        return self.takes(inp)

    def custom_all_reduce(self, input, override_algo=None):
        """The sum in a new tensor, or None. Every strategy adds in rank order, so that
        `override_algo`, by which SGLang asks for one order at all sizes, has nothing to change."""
        del override_algo
        if not self.should_custom_ar(input):
            return None
        return self.all_reduce(input)

    def all_reduce(self, inp, *, out=None, registered=False):
        """The sum, in `out` if it is given."""
        del registered
        return self._connected().all_reduce(aligned(inp), out)

    def all_reduce_reg(self, inp, out=None):
        return self.all_reduce(inp, out=out)

    def all_reduce_unreg(self, inp, out=None):
        return self.all_reduce(inp, out=out)

    def fused_allreduce_rmsnorm(self, input_, residual_inp_, weight_, eps):
        """The norm and the residual, which is changed in place, as SGLang's layers ask for them.
        None: not this way, on all ranks: no address decides, which need not be alike."""
        if not self.should_custom_ar(input_) or input_.shape[-1] % 8 != 0 or input_.dim() < 2:
            return None
        if not _goes_with(input_, weight_, input_.shape[-1:]):
            return None
        if residual_inp_ is not None and not _goes_with(input_, residual_inp_, input_.shape):
            return None
        residual = None if residual_inp_ is None else aligned(residual_inp_)
        norm = self._comm.all_reduce_rms_norm(aligned(input_), residual, aligned(weight_), eps)
        if residual is not residual_inp_:
            residual_inp_.copy_(residual)
        return norm, residual_inp_

    @contextlib.contextmanager
    def capture(self):
        """Around the capture of graphs."""
        self._IS_CAPTURING = True
        try:
            yield
        finally:
            self._IS_CAPTURING = False
            if not self.disabled:
                self.register_graph_buffers()

    def register_graph_buffers(self):
        """Nothing: captured calls send from memory that connecting has shared."""

    def finalize_p2p(self):
        """Nothing: connecting has opened the other ranks' memory."""


def ours_or(theirs):
    """A class for an engine: it makes ours, or an object of the engine's own class where ours is disabled,
    which all ranks agree on."""
    if issubclass(theirs, CustomAllreduce):
        return theirs

    class Either(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, (CustomAllreduce, theirs))

        def __getattr__(cls, name):
            """Answers what the engine's class asks of itself by the name that is now ours."""
            return getattr(theirs, name)

    class OursOrTheirs(CustomAllreduce, metaclass=Either):
        def __new__(cls, *arguments, **options):
            ours = CustomAllreduce(*arguments, **options)
            return theirs(*arguments, **options) if ours.disabled else ours

    return OursOrTheirs
