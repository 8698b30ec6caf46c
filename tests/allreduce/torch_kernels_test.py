#!/usr/bin/env python3
"""The kernels of torch.ops.assay on a stand-in for PyTorch (tests/fake_torch): what they make of
tensors, what they refuse, that they lose no tensor, and that tracing expects what they make.

environment: TORCH_OPERATORS, FAKE_TORCH: the shared libraries
"""
import ctypes
import importlib.util
import os
import pathlib
import struct
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BFLOAT16, FLOAT32, E4M3, UINT8 = 15, 6, 24, 0
problems = []


def module(name):
    """A module of the package that needs no PyTorch."""
    spec = importlib.util.spec_from_file_location(
        name, SOURCE / f"python/assay_allreduce/{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


library = module("_library")
shapes = module("_shapes")
fake = ctypes.CDLL(os.environ["FAKE_TORCH"])
operators = ctypes.CDLL(os.environ["TORCH_OPERATORS"])
fake.fake_tensor.restype = ctypes.c_void_p
fake.fake_slot.restype = ctypes.c_void_p
fake.fake_slot.argtypes = [ctypes.c_uint64]
fake.fake_call.restype = ctypes.c_char_p
fake.fake_last_call.restype = ctypes.POINTER(library.Call)
fake.fake_last_stream.restype = ctypes.c_void_p
operators.assay_torch_register.restype = ctypes.c_char_p
operators.assay_torch_register.argtypes = [ctypes.c_void_p] * 3
operators.assay_torch_add.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]


def expect(is_so, what):
    if not is_so:
        problems.append(what)


def longs(values):
    return (ctypes.c_int64 * len(values))(*values)


def tensor(sizes, kind=BFLOAT16, device=1, strides=None):
    if strides is None:
        strides = [1] * len(sizes)
        for i in reversed(range(len(sizes) - 1)):
            strides[i] = strides[i + 1] * max(sizes[i + 1], 1)
    return fake.fake_tensor(len(sizes), longs(sizes), longs(strides), kind, device)


def sizes_of(handle):
    dimensions, pointer = ctypes.c_int64(), ctypes.POINTER(ctypes.c_int64)()
    fake.aoti_torch_get_dim(ctypes.c_void_p(handle), ctypes.byref(dimensions))
    fake.aoti_torch_get_sizes(ctypes.c_void_p(handle), ctypes.byref(pointer))
    return tuple(pointer[: dimensions.value])


def address(handle):
    pointer = ctypes.c_void_p()
    fake.aoti_torch_get_data_ptr(ctypes.c_void_p(handle), ctypes.byref(pointer))
    return pointer.value


def number(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def optional(handle):
    return 0 if handle is None else fake.fake_slot(handle)


def call(name, arguments, outputs):
    """The tensors that the kernel left, or the text of what it threw."""
    stack = (ctypes.c_uint64 * max(len(arguments), outputs, 1))(*arguments)
    thrown = fake.fake_call(name.encode(), stack, len(arguments), outputs)
    return thrown.decode() if thrown is not None else list(stack[:outputs])


def drop(handles):
    for handle in handles:
        fake.aoti_torch_delete_tensor_object(ctypes.c_void_p(handle))


def last():
    return fake.fake_last_call().contents


def check_all_reduce(comm):
    message = tensor([3, 5, 64])
    at = address(message)
    results = call("all_reduce", [message, comm], 1)
    expect(sizes_of(results[0]) == (3, 5, 64), "all_reduce gives input's shape")
    expect((last().num_tokens, last().hidden_size) == (15, 64), "rows of the last dimension")
    expect((last().input, last().output) == (at, address(results[0])), "out of place")
    expect((last().size, last().strategy) == (ctypes.sizeof(library.Call), 100), "strategy")
    expect(fake.fake_last_stream() == 0x701, "the current stream of the communicator's GPU")
    drop(results)

    message = tensor([5, 24, 3])
    expect(call("all_reduce_", [message, comm], 0) == [], "all_reduce_")
    expect((last().num_tokens, last().hidden_size) == (1, 360), "odd rows are one row")
    expect(last().input == last().output, "all_reduce_ is in place")

    source, target = tensor([8]), tensor([8])
    at = address(target)
    expect(call("all_reduce_out", [source, target, comm], 0) == [], "all_reduce_out")
    expect(last().output == at, "all_reduce_out writes to output")

    runs = fake.fake_runs()
    results = call("all_reduce", [tensor([0, 64]), comm], 1)
    expect(sizes_of(results[0]) == (0, 64) and fake.fake_runs() == runs, "nothing is no work")
    drop(results)
    results = call("all_reduce", [tensor([4, 0, 64]), comm], 1)
    expect(sizes_of(results[0]) == (4, 0, 64) and fake.fake_runs() == runs, "whatever its strides")
    drop(results)


def check_split(comm):
    results = call("reduce_scatter", [tensor([6, 2, 16]), comm], 1)
    expect(sizes_of(results[0]) == shapes.reduce_scatter((6, 2, 16), 2) == (3, 2, 16),
           "reduce_scatter's shape")
    expect((last().num_tokens, last().operation) == (12, 1), "tokens of the whole message")
    drop(results)
    results = call("reduce_scatter", [tensor([8, 12]), comm], 1)
    expect(sizes_of(results[0]) == (4, 12), "reduce_scatter's shape of odd rows")
    expect((last().num_tokens, last().hidden_size) == (2, 48), "odd rows are a row for each rank")
    drop(results)
    results = call("all_gather", [tensor([3, 16]), comm], 1)
    expect(sizes_of(results[0]) == shapes.all_gather((3, 16), 2) == (6, 16), "all_gather's shape")
    expect((last().num_tokens, last().operation) == (6, 2), "tokens of the whole message")
    drop(results)
    for name, sizes, output_sizes, operation in (("reduce_scatter_out", [6, 16], [3, 16], 1),
                                                 ("reduce_scatter_out", [32], [16], 1),
                                                 ("all_gather_out", [3, 16], [6, 16], 2),
                                                 ("all_gather_out", [16], [32], 2)):
        target = tensor(output_sizes)
        at = address(target)
        expect(call(name, [tensor(sizes), target, comm], 0) == [], name)
        expect((last().output, last().operation) == (at, operation), f"{name} writes to output")


def check_norm(comm):
    residual = tensor([7, 64])
    at = address(residual)
    results = call("all_reduce_rms_norm", [tensor([7, 64]), optional(residual), tensor([64]),
                                           number(1e-5), comm, number(1.0)], 1)
    expect(last().residual_in == last().residual_out == at, "the residual is changed in place")
    expect(abs(last().epsilon - 1e-5) < 1e-9 and last().weight_bias == 1.0, "epsilon, weight_bias")
    expect(last().fusion == library.Fusion.RESIDUAL_RMS_NORM, "fusion")
    drop(results)
    results = call("all_reduce_rms_norm", [tensor([7, 64]), optional(None), tensor([64]),
                                           number(1e-5), comm, number(0.0)], 1)
    expect(last().residual_in is None and last().residual_out is None, "no residual")
    drop(results)


def check_fp8(comm):
    results = call("all_reduce_rms_norm_quant_fp8",
                   [tensor([7, 256]), optional(tensor([7, 256])), tensor([256]),
                    tensor([1], FLOAT32), number(1e-6), comm, number(0)], 1)
    expect(sizes_of(results[0]) == (7, 256) and fake.fake_type(ctypes.c_void_p(results[0])) == E4M3,
           "fp8")
    expect(last().output is None and last().scale is not None, "static scale, no output")
    drop(results)
    for group_size, layout in ((0, 1), (128, 2)):
        results = call("all_reduce_rms_norm_quant_fp8_dynamic",
                       [tensor([3, 2, 256]), optional(None), tensor([256]), number(1e-6), comm,
                        number(0), group_size], 2)
        expect(sizes_of(results[1]) == shapes.fp8_scales((3, 2, 256), group_size), "fp8 scales")
        expect(last().scale_layout == layout and last().scale is None, "scale layout")
        drop(results)


def check_nvfp4(comm):
    for layout in (0, 3, 4):
        for hidden in (64, 80):
            results = call("all_reduce_rms_norm_quant_nvfp4",
                           [tensor([9, hidden]), optional(None), tensor([hidden]),
                            tensor([1], FLOAT32), number(1e-6), comm, number(0), layout], 2)
            quantized, scales = results
            expect(sizes_of(quantized) == shapes.nvfp4_quantized((9, hidden)), "nvfp4 elements")
            expect(sizes_of(scales) == shapes.nvfp4_scales((9, hidden), layout), "nvfp4 scales")
            expect(fake.fake_type(ctypes.c_void_p(quantized)) == UINT8, "nvfp4 bytes")
            expect(fake.fake_zeroed(ctypes.c_void_p(scales)) == (hidden == 80 and layout != 3),
                   "columns of padding are zero")
            drop(results)


def check_scratch(comm):
    """Refused once, for want of `output`: with one it goes."""
    fake.fake_answer(2)
    runs = fake.fake_runs()
    results = call("all_reduce_rms_norm_quant_fp8",
                   [tensor([7, 256]), optional(tensor([7, 256])), tensor([256]),
                    tensor([1], FLOAT32), number(1e-6), comm, number(0)], 1)
    expect(fake.fake_runs() == runs + 2 and last().output is not None, "a scratch for output")
    drop(results)


def check_refusals(comm):
    def refused(reason, name, arguments, outputs=1):
        said = call(name, arguments, outputs)
        expect(isinstance(said, str) and reason in said, f"{name} says '{reason}', not {said}")

    refused("no communicator has number 77", "all_reduce", [tensor([8]), 77])
    refused("no communicator has number -1", "all_reduce", [tensor([8]), 2 ** 64 - 1])
    refused("not on the communicator's GPU, cuda:1", "all_reduce", [tensor([8], device=0), comm])
    refused("not on the communicator's GPU", "all_reduce", [tensor([8], device=-1), comm])
    refused("not contiguous", "all_reduce", [tensor([4, 8], strides=[16, 1]), comm])
    refused("bfloat16, float16 or float32", "all_reduce", [tensor([8], UINT8), comm])
    refused("output must have the type", "all_reduce_out", [tensor([8]), tensor([16]), comm], 0)
    refused("a multiple of 2", "reduce_scatter", [tensor([3, 8]), comm])
    refused("type and 12 elements", "reduce_scatter_out", [tensor([3 * 8]), tensor([8]), comm], 0)
    refused("type and 16 elements", "all_gather_out", [tensor([8]), tensor([8]), comm], 0)
    refused("gamma must have", "all_reduce_rms_norm",
            [tensor([7, 64]), optional(None), tensor([32]), number(1e-5), comm, number(0)])
    refused("two dimensions or more", "all_reduce_rms_norm",
            [tensor([]), optional(None), tensor([8]), number(1e-5), comm, number(0)])
    refused("residual must have", "all_reduce_rms_norm",
            [tensor([7, 64]), optional(tensor([7, 64], FLOAT32)), tensor([64]), number(1e-5), comm,
             number(0)])
    refused("scale must be one float32", "all_reduce_rms_norm_quant_fp8",
            [tensor([7, 64]), optional(None), tensor([64]), tensor([2], FLOAT32), number(1e-5),
             comm, number(0)])
    refused("group_size is 0", "all_reduce_rms_norm_quant_fp8_dynamic",
            [tensor([7, 64]), optional(None), tensor([64]), number(1e-5), comm, number(0), 64], 2)
    refused("scale_layout is", "all_reduce_rms_norm_quant_nvfp4",
            [tensor([7, 64]), optional(None), tensor([64]), tensor([1], FLOAT32), number(1e-5),
             comm, number(0), 9], 2)
    fake.fake_answer(1)
    refused("assay_allreduce: the library's own words", "all_reduce", [tensor([8]), comm])


def main():
    nothing = ctypes.CDLL(None)
    missing = operators.assay_torch_register(nothing._handle, nothing._handle, fake._handle)
    expect(missing is not None and b"aoti_torch_library_init_impl" in missing,
           f"what is missing is named: {missing}")
    problem = operators.assay_torch_register(fake._handle, fake._handle, fake._handle)
    if problem is not None:
        sys.exit(problem.decode())
    comm = operators.assay_torch_add(0x10, library.Strategy.TWOSHOT_PUSH, 1, 2)
    for check in (check_all_reduce, check_split, check_norm, check_fp8, check_nvfp4, check_scratch,
                  check_refusals):
        check(comm)
    expect(fake.fake_live() == 0, f"{fake.fake_live()} handles were lost")
    operators.assay_torch_remove(comm)
    expect("no communicator" in call("all_reduce", [tensor([8]), comm], 1), "a closed communicator")
    expect(operators.assay_torch_add(0x10, 3, 1, 2) != comm, "numbers are given once")
    if problems:
        sys.exit("\n".join(f"not so: {problem}" for problem in problems))


if __name__ == "__main__":
    main()
