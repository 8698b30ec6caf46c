"""What comes out of the operators, for PyTorch's tracing: pure functions of sizes, which may be
symbolic. They make tensors by the `new_empty` of their input and look at nothing else."""


def round_up(value, multiple):
    return (value + multiple - 1) // multiple * multiple


def product(sizes):
    result = 1
    for size in sizes:
        result = result * size
    return result


def reduce_scatter(sizes, world_size):
    return (sizes[0] // world_size, *sizes[1:])


def all_gather(sizes, world_size):
    return (sizes[0] * world_size, *sizes[1:])


def fp8_scales(sizes, group_size):
    """float32 scales: one a token, or one for each `group_size` elements."""
    return (*sizes[:-1], 1 if group_size == 0 else sizes[-1] // group_size)


def nvfp4_quantized(sizes):
    """Bytes of two elements."""
    return (*sizes[:-1], sizes[-1] // 2)


def nvfp4_scales(sizes, scale_layout):
    """e4m3 scales of 16 elements each: whole blocks of 128 rows by 4 scales (layout 0) or of 8 by 4
    (4), or one a group and nothing else (3)."""
    tokens, groups = product(sizes[:-1]), sizes[-1] // 16
    rows_of_block = {0: 128, 3: 1, 4: 8}[scale_layout]
    return (round_up(tokens, rows_of_block), groups if scale_layout == 3 else round_up(groups, 4))
