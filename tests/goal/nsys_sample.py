"""Small recordings in the shape of nsys's SQLite exports of an NCCL that marks its plans.

A job of nodes x gpus ranks in one communicator; with pipeline=True the ranks of two halves also
exchange pairs. Keywords of write() make what a recording can have wrong.
"""
import dataclasses
import pathlib
import sqlite3

STEP = 524288
FUNCTIONS = {"Broadcast": 0, "Reduce": 1, "AllGather": 2, "ReduceScatter": 3, "AllReduce": 4}
TABLES = """
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
"""


@dataclasses.dataclass
class Faults:
    kernels: bool = True         # the table of kernels has rows
    marks: bool = True           # NVTX tells of NCCL
    overlap: bool = False        # kernels begin before the last one's end
    backwards: bool = False      # kernels end before they start
    bytes_of_rank: dict = dataclasses.field(default_factory=dict)  # of its AllReduces
    type_size: int = 4
    root: int = 1                # of the Broadcast


class Rank:
    """What one process marks and runs."""

    def __init__(self, rank, ranks, gpus, faults):
        self.rank, self.ranks, self.faults = rank, ranks, faults
        self.pid = 7000 + rank
        self.device = rank % gpus
        self.host_ns = 10_000_000 + 700 * rank
        self.stream_ns = {}
        self.marks = []
        self.kernels = []

    def mark(self, text, length_ns=0):
        self.host_ns += 400
        self.marks.append((self.host_ns, self.host_ns + length_ns, f"{text} pid {self.pid}"))

    def join(self, name, rank, ranks, channels=2):
        self.mark(f"commHash {name:#x} commId {name:#x} rank {rank} nranks {ranks}")
        for channel in range(channels):
            before, after = (rank - 1) % ranks, (rank + 1) % ranks
            self.mark(f"commHash {name:#x} Rings [{channel}] {before}->{rank}->{after}")
            child = rank + 1 if rank + 1 < ranks else -1
            self.mark(f"commHash {name:#x} Trees [{channel}] {child}/-1/-1->{rank}->{rank - 1}")

    def run(self, stream, kind, length_ns):
        last = self.stream_ns.get(stream, 0)
        start = max(self.host_ns, last - 2000 if self.faults.overlap else last + 20_000)
        end = start + (-length_ns if self.faults.backwards else length_ns)
        self.stream_ns[stream] = max(start, end)
        self.kernels.append((start, end, self.device, stream, 0, self.pid << 24, kind))

    def collective(self, kind, size, name, algorithm=1):
        """Half of the elements in each of two channels."""
        if kind == "AllReduce":
            size = self.faults.bytes_of_rank.get(self.rank, size)
        unit = self.faults.type_size
        root = f" root {self.faults.root}," if kind == "Broadcast" else ""
        self.mark("ncclGroupStart():")
        self.mark(f"nccl{kind}(): commHash {name:#x}, stream 0x51, data_size {size}, "
                  f"type_size {unit},{root}", 300)
        elements = size // max(unit, 1)
        half = elements // 2
        chunk = STEP // max(unit, 1)
        self.mark(f"collType {FUNCTIONS[kind]} root {self.faults.root} redOp 0 algo {algorithm} "
                  f"proto 2 commHash {name:#x} stream 0x51 data_size {size} type_size {unit} "
                  f"chunkSize {STEP} chunkCount {chunk} chunkSteps 4 sliceSteps 2 stepSize {STEP}")
        for channel in range(2):
            self.mark(f"nWarps 16 count {elements} chunkCount {chunk} workCount {half} "
                      f"lastChunkCount {chunk} workOffset {channel * half} sendbuff 4096 "
                      f"recvbuff 8192")
        self.mark("ncclGroupEnd():", 100)
        self.run(7, kind, 40_000 + size // 20)

    def pair(self, kind, peer, size, name):
        self.mark("ncclGroupStart():")
        word = "receiver" if kind == "Send" else "sender"
        self.mark(f"nccl{kind}(): commHash {name:#x}, stream 0x62, data_size {size}, type_size 2, "
                  f"{word}_rank {peer},", 300)
        self.mark(f"Bytes {size} nWarps 16 p2pType {1 if kind == 'Send' else 2} peer {peer} proto 2 "
                  f"countHi32 0 countLo32 {size} chunkSize 131072")
        self.mark("ncclGroupEnd():", 100)
        self.run(9, "SendRecv", 30_000)


def play(rank, ranks, gpus, pipeline, steps, faults):
    process = Rank(rank, ranks, gpus, faults)
    world = 0xA0
    process.join(world, rank, ranks)
    half = ranks // 2
    stage, lane = divmod(rank, half) if pipeline else (0, 0)
    if pipeline:
        process.join(0xB0 + lane, stage, 2)
    process.marks.append((process.host_ns, None, f"nsys profiling start, pid: {process.pid}"))
    for _ in range(steps):
        process.collective("AllGather", 100_000, world)
        if pipeline:
            process.pair("Send" if stage == 0 else "Recv", 1 - stage, 600_000, 0xB0 + lane)
        process.collective("Broadcast", 64_000, world)
        process.collective("ReduceScatter", 100_000, world)
        process.collective("AllReduce", 400_000, world)
        process.collective("AllReduce", 400_000, world, algorithm=0)
    end = max([process.host_ns, *process.stream_ns.values()]) + 5000
    process.marks.append((end, None, f"nsys profiling stopped, pid: {process.pid}"))
    return process


def write(folder, nodes=2, gpus=2, pipeline=True, steps=2, without_rank=None, **faults):
    """Writes a file a node into `folder`, which is made."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    faults = Faults(**faults)
    kinds = [*FUNCTIONS, "SendRecv"]
    for node in range(nodes):
        with sqlite3.connect(folder / f"report_nid{node:06d}.sqlite") as database:
            database.executescript(TABLES)
            database.executemany("INSERT INTO StringIds VALUES(?, ?)", [
                (i, f"ncclDevKernel_{kind}_RING_LL(ncclDevComm*)") for i, kind in enumerate(kinds)])
            for rank in range(node * gpus, (node + 1) * gpus):
                if rank == without_rank:
                    continue
                process = play(rank, nodes * gpus, gpus, pipeline, steps, faults)
                thread = (1 << 56) | (process.pid << 24) | process.pid
                if faults.marks:
                    database.executemany("INSERT INTO NVTX_EVENTS VALUES(?, ?, ?, NULL, ?)",
                                         [(*mark, thread) for mark in process.marks])
                else:
                    database.execute("INSERT INTO NVTX_EVENTS VALUES(1, 2, 'forward', NULL, ?)",
                                     [thread])
                if faults.kernels:
                    database.executemany(
                        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?, ?, ?, ?, ?, ?, ?)",
                        [(*kernel[:6], kinds.index(kernel[6])) for kernel in process.kernels])
        database.close()
    return folder
