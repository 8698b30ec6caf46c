"""A slow LogGOPS simulator, to compare `assay simulate` with.

It keeps one list of events and puts whatever finds its CPU or NIC busy back for the time at which
they are free, as LogGOPSim does; at equal times it follows the rule of event_queue.h. Whatever
else `assay simulate` does (queues for resources, tables of messages) is not here.
"""
import heapq
from dataclasses import dataclass, field

ANY = -1


@dataclass
class Op:
    kind: str  # "calc", "send", "recv"
    size: int
    peer: int = 0
    tag: int = 0
    cpu: int = 0
    nic: int = 0
    requires: list = field(default_factory=list)   # operations that must have ended
    irequires: list = field(default_factory=list)  # operations that must have started


@dataclass
class Link:
    L: int = 3700
    o: int = 200
    g: int = 5
    G: float = 0.04
    O: float = 0
    S: int = 0

    def cpu(self, size):
        return self.o + int((max(size, 1) - 1) * self.O)

    def bandwidth(self, size):
        return int((max(size, 1) - 1) * self.G)

    def rendezvous(self, size):
        return max(size, 1) > self.S


WAITS, READY, ARRIVAL = range(3)


class Simulation:
    def __init__(self, ranks, link_between):
        self.ranks = ranks
        self.link = link_between
        self.heap = []
        self.cpu = {}
        self.nic = {}
        self.posted = [[] for _ in ranks]
        self.early = [[] for _ in ranks]
        self.order = [0] * len(ranks)
        self.finish = [0] * len(ranks)
        self.done = 0
        self.received = 0
        self.after_finish = [[[] for _ in rank] for rank in ranks]
        self.after_start = [[[] for _ in rank] for rank in ranks]
        self.left = [[len(op.requires) + len(op.irequires) for op in rank] for rank in ranks]
        self.ready = [[0] * len(rank) for rank in ranks]
        self.partner = {}
        self.rendezvous = []
        for r, rank in enumerate(ranks):
            for i, op in enumerate(rank):
                for before in op.requires:
                    self.after_finish[r][before].append(i)
                for before in op.irequires:
                    self.after_start[r][before].append(i)
                if not self.left[r][i]:
                    heapq.heappush(self.heap, (0, r, READY, i, 0))

    def run(self):
        """Finish times by rank, and whether everything was done and received."""
        now = 0
        while self.heap or self.rendezvous:
            if self.rendezvous and (not self.heap or self.heap[0][0] > now):
                self.end_rendezvous()
                continue
            now, rank, kind, a, b = heapq.heappop(self.heap)
            if kind == ARRIVAL:
                self.arrive(now, rank, a, b)
            elif kind == WAITS:
                self.contend(now, rank, b, a)
            elif self.ranks[rank][a].kind == "recv":
                self.post(now, rank, a)
            else:
                self.contend(now, rank, a)
        sends = sum(op.kind == "send" for rank in self.ranks for op in rank)
        total = sum(len(rank) for rank in self.ranks)
        return self.finish, self.done == total and self.received == sends

    def release(self, time, rank, operations):
        for i in operations:
            self.ready[rank][i] = max(self.ready[rank][i], time)
            self.left[rank][i] -= 1
            if not self.left[rank][i]:
                heapq.heappush(self.heap, (self.ready[rank][i], rank, READY, i, 0))

    def end(self, time, rank, i):
        self.done += 1
        self.finish[rank] = max(self.finish[rank], time)
        self.release(time, rank, self.after_finish[rank][i])

    def post(self, now, rank, i):
        self.release(now, rank, self.after_start[rank][i])
        op = self.ranks[rank][i]
        for at, (source, tag, send) in enumerate(self.early[rank]):
            if op.peer in (ANY, source) and op.tag in (ANY, tag):
                del self.early[rank][at]
                self.partner[rank, i] = (source, send)
                return self.contend(now, rank, i)
        self.posted[rank].append(i)

    def arrive(self, now, rank, source, send):
        tag = self.ranks[source][send].tag
        for at, i in enumerate(self.posted[rank]):
            op = self.ranks[rank][i]
            if op.peer in (ANY, source) and op.tag in (ANY, tag):
                del self.posted[rank][at]
                self.partner[rank, i] = (source, send)
                return self.contend(now, rank, i)
        self.early[rank].append((source, tag, send))

    def contend(self, now, rank, i, order=None):
        op = self.ranks[rank][i]
        cpu = (rank, op.cpu)
        nic = None if op.kind == "calc" else (rank, op.kind, op.nic)
        free = max(self.cpu.get(cpu, 0), self.nic.get(nic, 0))
        if free > now:
            if order is None:
                order = self.order[rank]
                self.order[rank] += 1
            heapq.heappush(self.heap, (free, rank, WAITS, order, i))
            return
        if op.kind == "calc":
            self.cpu[cpu] = now + op.size
            self.release(now, rank, self.after_start[rank][i])
            self.end(now + op.size, rank, i)
        elif op.kind == "send":
            link = self.link(rank, op.peer)
            self.cpu[cpu] = now + link.cpu(op.size)
            self.nic[nic] = now + link.g + link.bandwidth(op.size)
            arrival = self.cpu[cpu] + link.L + link.bandwidth(op.size)
            heapq.heappush(self.heap, (arrival, op.peer, ARRIVAL, rank, i))
            self.release(now, rank, self.after_start[rank][i])
            if not link.rendezvous(op.size):
                self.end(self.cpu[cpu], rank, i)
        else:
            source, send = self.partner[rank, i]
            link = self.link(source, rank)
            size = self.ranks[source][send].size
            self.nic[nic] = now + link.g
            self.cpu[cpu] = now + link.g + link.cpu(size)
            self.received += 1
            if link.rendezvous(size):
                self.rendezvous.append((source, send, self.cpu[cpu], self.nic[nic]))
            self.end(self.cpu[cpu], rank, i)

    def end_rendezvous(self):
        for rank, i, cpu_end, nic_end in self.rendezvous:
            op = self.ranks[rank][i]
            cpu, nic = (rank, op.cpu), (rank, "send", op.nic)
            self.cpu[cpu] = max(self.cpu[cpu], cpu_end)
            self.nic[nic] = max(self.nic[nic], nic_end)
            self.end(cpu_end, rank, i)
        self.rendezvous = []


def goal_text(ranks):
    lines = [f"num_ranks {len(ranks)}"]
    for r, rank in enumerate(ranks):
        lines.append(f"rank {r} {{")
        for i, op in enumerate(rank):
            if op.kind == "calc":
                lines.append(f"l{i}: calc {op.size} cpu {op.cpu}")
            else:
                way = "to" if op.kind == "send" else "from"
                lines.append(f"l{i}: {op.kind} {op.size}b {way} {op.peer} tag {op.tag} "
                             f"cpu {op.cpu} nic {op.nic}")
            lines += [f"l{i} requires l{before}" for before in op.requires]
            lines += [f"l{i} irequires l{before}" for before in op.irequires]
        lines.append("}")
    return "\n".join(lines) + "\n"
