"""Groups whose ranks are threads of this process; each says which rank it is."""
import threading
import types

Backend = types.SimpleNamespace(NCCL="nccl")
here = threading.local()


class Group:
    def __init__(self, size, backend="gloo"):
        self.size, self.backend = size, backend
        self.slots = [None] * size
        self.barrier = threading.Barrier(size, timeout=20)


def get_rank(group=None):
    return here.rank


def get_world_size(group=None):
    return group.size


def get_backend(group=None):
    return group.backend


def all_gather_object(everyone, mine, group=None):
    group.slots[here.rank] = mine
    group.barrier.wait()
    everyone[:] = group.slots
    group.barrier.wait()
