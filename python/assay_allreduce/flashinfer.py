"""assay_allreduce where engines call FlashInfer's fused all-reduce: vLLM, whose compilation puts it for an
all-reduce with the norm behind it (fuse_allreduce_rms, on by default on Hopper), and SGLang with
--enable-flashinfer-allreduce-fusion. `assay_allreduce.vllm` and `assay_allreduce.sglang` install it.

Both end in two functions of flashinfer.comm: one makes a workspace, the other takes it. Ours stand there, with
FlashInfer's signatures, which engines inspect, and hand on to FlashInfer's what ours do not fuse.
"""
import functools
import importlib
import importlib.util
import inspect
import logging

import torch

from ._library import Call, Fusion, ScaleLayout
from .communicator import DATA_TYPES, GroupExchange
from .engine import EngineCommunicator

MODULE = "flashinfer.comm"
FUNCTIONS = ("create_allreduce_fusion_workspace", "allreduce_fusion")
logger = logging.getLogger(__name__)
_MNNVL = "mnnvl"  # the backend that makes what a call does not give, and returns what it quantised
_PER_TOKEN = 1  # assay_allreduce_scale_layout: a scale for each row, which the kernel finds
# By the numbers of flashinfer.comm.AllReduceFusionPattern. Those that are missing begin with the sum of
# experts, or pack their scales to powers of two.
_FUSIONS = {
    0: Fusion.NONE,
    1: Fusion.RESIDUAL_RMS_NORM,
    2: Fusion.RESIDUAL_RMS_NORM_QUANT_FP8,
    3: Fusion.RESIDUAL_RMS_NORM_QUANT_NVFP4,
    4: Fusion.RESIDUAL_RMS_NORM_QUANT_FP8,
    5: Fusion.RESIDUAL_RMS_NORM_QUANT_NVFP4,
    10: Fusion.RESIDUAL_RMS_NORM_QUANT_FP8,
    11: Fusion.RESIDUAL_RMS_NORM_QUANT_FP8,
}
_WITH_NORM_OUT = (1, 4, 5, 11)
_DYNAMIC = (10, 11)
# By the numbers of flashinfer.comm.QuantizationSFLayout.
_NVFP4_LAYOUTS = {0: ScaleLayout.BLOCKS_128X4, 1: ScaleLayout.BLOCKS_8X4, 2: ScaleLayout.LINEAR}
_ELEMENT_BYTES = {torch.bfloat16: 2, torch.float16: 2, torch.float32: 4}
_GROUP = 16  # elements that share a scale of NVFP4
_BUFFER_BLOCK = 32


def _address(name, tensor, message, num_bytes):
    """Of a tensor that a kernel reads or writes so many bytes of; None: it is not given."""
    if tensor is None:
        return None
    if not tensor.is_contiguous() or tensor.device != message.device:
        raise ValueError(f"{name} must be contiguous, and on {message.device}")
    if tensor.numel() * tensor.element_size() < num_bytes:
        raise ValueError(f"{name} must have {num_bytes} bytes")
    return tensor.data_ptr()


def _address_of_rows(name, tensor, message, elements):
    """The same of a tensor of the message's type."""
    if tensor is not None and (tensor.dtype != message.dtype or tensor.numel() != elements):
        raise ValueError(f"{name} must be {elements} elements of {message.dtype}")
    return _address(name, tensor, message, 0)


def _nvfp4_scale_bytes(tokens, hidden, layout):
    groups = hidden // _GROUP
    if layout == ScaleLayout.LINEAR:
        return tokens * groups
    rows = 128 if layout == ScaleLayout.BLOCKS_128X4 else 8
    return -(-tokens // rows) * rows * -(-groups // 4) * 4


def _nvfp4_layout(options):
    """Where the scales lie, or None where no kernel of ours puts them there."""
    return _NVFP4_LAYOUTS.get(options.get("layout_code") or 0)


class _Outputs:
    """What a call writes, by FlashInfer's names; what it did not give is made where the backend makes it."""

    def __init__(self, pattern, message, given, backend):
        self.norm_out, self.residual_out = given.get("norm_out"), given.get("residual_out")
        self.quant_out, self.scale_out = given.get("quant_out"), given.get("scale_out")
        self.output = given.get("output")
        if pattern == 0 and self.output is None:
            self.output = torch.empty_like(message)
        if pattern in _WITH_NORM_OUT and self.norm_out is None:
            self.norm_out = torch.empty_like(message)
        if pattern != 0 and self.residual_out is None:
            self.residual_out = torch.empty_like(message)
        if backend == _MNNVL:
            self._make_quantized(_FUSIONS[pattern], message, given)
        self._returned = [self.norm_out, self.quant_out, self.output]
        if backend == _MNNVL:
            self._returned.insert(0, self.quant_out)

    def _make_quantized(self, fusion, message, given):
        """As MNNVL does. Of scales that the kernel finds it makes none."""
        rows, hidden = message.shape[0], message.shape[-1]
        if fusion == Fusion.RESIDUAL_RMS_NORM_QUANT_FP8 and self.quant_out is None:
            self.quant_out = message.new_empty(message.shape, dtype=torch.float8_e4m3fn)
        if fusion == Fusion.RESIDUAL_RMS_NORM_QUANT_NVFP4:
            if self.quant_out is None:
                self.quant_out = message.new_empty((rows, hidden // 2), dtype=torch.uint8)
            if self.scale_out is None:
                layout = _nvfp4_layout(given)
                size = _nvfp4_scale_bytes(rows, hidden, layout)
                shape = (rows, hidden // _GROUP) if layout == ScaleLayout.LINEAR else (size,)
                self.scale_out = message.new_empty(shape, dtype=torch.float8_e4m3fn)

    def last(self):
        """What FlashInfer returns."""
        return next(each for each in self._returned if each is not None)


def _scale(given, like):
    """The scale as one float32 on the GPU."""
    if given is None:
        raise ValueError("this pattern needs a scale_factor")
    if isinstance(given, torch.Tensor):
        if given.dtype != torch.float32:
            raise ValueError(f"scale_factor must be float32, not {given.dtype}")
        return given
    return torch.full((1,), float(given), dtype=torch.float32, device=like.device)


class _BackendExchange:
    """Objects of all ranks, in their order, through a CommBackend of FlashInfer's."""

    def __init__(self, backend):
        self._backend = backend
        self.rank, self.world_size = backend.Get_rank(), backend.Get_size()

    def __call__(self, mine):
        # Gloo refuses the tensors that inference mode makes.
        with torch.inference_mode(False):
            return list(self._backend.allgather(mine))


class Workspace(EngineCommunicator):
    """What engines hold of FlashInfer's workspace. Making and destroying it is collective.

    max_size: bytes of the largest message; backend: the name that the engine asked for, by which it
    chooses FlashInfer's layout of scales; make_theirs: makes FlashInfer's own workspace, for the calls
    that ours does not fuse, at the first of them; exchange: tells the ranks of each other, as a group does.
    """
    # Engines take an "mnnvl" without this pointer for one without multicast, which it could not do without.
    mc_ptr = 1

    def __init__(self, group, device, max_size, backend, make_theirs, exchange=None):
        self.backend = backend
        self._make_theirs, self._theirs = make_theirs, None
        super().__init__(group, device, max_size, exchange)

    @property
    def buffer_size_bytes(self):
        """The bytes of the largest message, in whole blocks: SGLang asks whether the halves of an "mnnvl" are aligned."""
        return -(-self.max_size // _BUFFER_BLOCK) * _BUFFER_BLOCK

    def theirs(self):
        if self._theirs is None:
            self._theirs = self._make_theirs()
        return self._theirs

    def is_buffer_size_sufficient(self, tp_size, num_tokens, hidden_dim, dtype, use_oneshot=None):
        del use_oneshot
        if tp_size != self.world_size or dtype not in _ELEMENT_BYTES:
            return False
        return num_tokens * hidden_dim * _ELEMENT_BYTES[dtype] <= self.max_size

    def fuses(self, message, pattern, options):
        """Whether the call is one of ours. All ranks must say the same, so that no address is asked."""
        if pattern not in _FUSIONS or message.dtype not in DATA_TYPES or message.dim() != 2:
            return False
        hidden = message.shape[-1]
        if _FUSIONS[pattern] == Fusion.RESIDUAL_RMS_NORM_QUANT_NVFP4:
            return hidden % _GROUP == 0 and _nvfp4_layout(options) is not None
        return hidden % 8 == 0

    def run(self, message, pattern, options):
        """FlashInfer's allreduce_fusion(), for what fuses() takes."""
        outputs = _Outputs(pattern, message, options, self.backend)
        tokens, hidden = message.shape
        fusion = _FUSIONS[pattern]

        def rows(name, tensor):
            return _address_of_rows(name, tensor, message, tokens * hidden)
        call = Call(fusion=fusion, data_type=DATA_TYPES[message.dtype], num_tokens=tokens, hidden_size=hidden,
                    input=rows("input", message))
        if fusion == Fusion.NONE:
            call.output = rows("output", outputs.output)
            self._connected().run(call)
            return outputs.output
        call.output = rows("norm_out", outputs.norm_out)
        call.residual_in = rows("residual_in", options.get("residual_in"))
        call.residual_out = rows("residual_out", outputs.residual_out)
        call.gamma = _address_of_rows("rms_gamma", options["rms_gamma"], message, hidden)
        call.epsilon, call.weight_bias = options.get("rms_eps", 1e-6), options.get("weight_bias", 0.0)
        if fusion == Fusion.RESIDUAL_RMS_NORM_QUANT_FP8:
            self._add_fp8(call, message, pattern, outputs)
        elif fusion == Fusion.RESIDUAL_RMS_NORM_QUANT_NVFP4:
            self._add_nvfp4(call, message, _nvfp4_layout(options), outputs)
        scale = None
        if fusion != Fusion.RESIDUAL_RMS_NORM and pattern not in _DYNAMIC:
            given = options.get("scale_factor")
            if given is None and self.backend == _MNNVL:
                given = 1.0
            scale = _scale(given, message)  # it must live until the call was made
            call.scale = _address("scale_factor", scale, message, 4)
        self._connected().run(call)
        return outputs.last()

    @staticmethod
    def _add_fp8(call, message, pattern, outputs):
        call.quantized = _address("quant_out", outputs.quant_out, message, call.num_tokens * call.hidden_size)
        if pattern in _DYNAMIC:
            call.scale_layout = _PER_TOKEN
            call.scale_out = _address("scale_out", outputs.scale_out, message, 4 * call.num_tokens)

    @staticmethod
    def _add_nvfp4(call, message, layout, outputs):
        tokens, hidden = call.num_tokens, call.hidden_size
        call.scale_layout = layout
        call.quantized = _address("quant_out", outputs.quant_out, message, tokens * hidden // 2)
        call.scale_out = _address("scale_out", outputs.scale_out, message,
                                  _nvfp4_scale_bytes(tokens, hidden, layout))
        if outputs.scale_out is not None and layout != ScaleLayout.LINEAR and hidden // _GROUP % 4 != 0:
            outputs.scale_out.view(torch.uint8).zero_()  # columns that pad the blocks

    def destroy(self):
        """As FlashInfer's: gives the memory back once this rank's calls have ended."""
        self._end_watch()
        comm, self._comm = self._comm, None
        if comm is not None:
            comm.close(meet=False)
        theirs, self._theirs = self._theirs, None
        if theirs is not None:
            theirs.destroy()
        self.disabled = True


def _exchange(asked):
    """How the ranks of the workspace tell each other of themselves. FlashInfer's default is all ranks."""
    group, backend = asked.get("group"), asked.get("comm_backend")
    return _BackendExchange(backend) if group is None and backend is not None else GroupExchange(group)


def _ours_or(create):
    """create_allreduce_fusion_workspace, which makes ours where that can be."""
    signature = inspect.signature(create)

    @functools.wraps(create, assigned=())
    def create_allreduce_fusion_workspace(*arguments, **options):
        def make_theirs():
            return create(*arguments, **options)
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        asked = bound.arguments
        if asked.get("dtype") not in DATA_TYPES:
            return make_theirs()
        exchange = _exchange(asked)
        if exchange.world_size != asked["world_size"]:
            logger.warning("assay_allreduce does not fuse: a workspace of %s ranks was asked for, in a group of %s",
                           asked["world_size"], exchange.world_size)
            return make_theirs()
        max_size = asked["max_token_num"] * asked["hidden_dim"] * _ELEMENT_BYTES[asked["dtype"]]
        backend = "trtllm" if asked["backend"] == "auto" else asked["backend"]
        ours = Workspace(asked.get("group"), None, max_size, backend, make_theirs, exchange)
        return make_theirs() if ours.disabled else ours

    return create_allreduce_fusion_workspace


def _with_ours(fuse):
    """allreduce_fusion, which runs ours on workspaces of ours."""

    names = list(inspect.signature(fuse).parameters)[3:]

    @functools.wraps(fuse, assigned=())
    def allreduce_fusion(input, workspace, pattern, *arguments, **options):
        options.update(zip(names, arguments))
        if not isinstance(workspace, Workspace):
            return fuse(input, workspace, pattern, **options)
        if workspace.fuses(input, pattern, options):
            return workspace.run(input, pattern, options)
        return fuse(input, workspace.theirs(), pattern, **options)

    return allreduce_fusion


def install():
    """Nothing where there is no FlashInfer, one that cannot be imported, or one that has not these functions."""
    if importlib.util.find_spec("flashinfer") is None:
        return
    try:
        module = importlib.import_module(MODULE)
    except Exception as error:  # pylint: disable=broad-except
        logger.warning("assay_allreduce: %s cannot be imported, so that nobody fuses: %s", MODULE, error)
        return
    create, fuse = (getattr(module, name, None) for name in FUNCTIONS)
    if create is None or fuse is None or fuse.__module__ == __name__:
        return
    module.create_allreduce_fusion_workspace = _ours_or(create)
    module.allreduce_fusion = _with_ours(fuse)
