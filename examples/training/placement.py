"""Which rank this process is, as its launcher says: torchrun, mpirun (Open MPI) or srun (Slurm)."""
import dataclasses
import os
import re

DEFAULT_PORT = 29500


@dataclasses.dataclass(frozen=True)
class Placement:
    rank: int
    world_size: int
    local_rank: int
    init_method: str


def find(env=os.environ):
    # The innermost launcher first: torchrun may run under srun, and mpirun in a Slurm job.
    if "LOCAL_RANK" in env:
        return Placement(int(env["RANK"]), int(env["WORLD_SIZE"]), int(env["LOCAL_RANK"]), "env://")
    if "OMPI_COMM_WORLD_RANK" in env:
        return Placement(int(env["OMPI_COMM_WORLD_RANK"]), int(env["OMPI_COMM_WORLD_SIZE"]),
                         int(env["OMPI_COMM_WORLD_LOCAL_RANK"]), tcp(env, open_mpi_host(env)))
    # A batch script has a SLURM_PROCID too, but is no task of a step.
    if "SLURM_PROCID" in env and "SLURM_STEP_ID" in env:
        host = first_host(env.get("SLURM_STEP_NODELIST") or env["SLURM_JOB_NODELIST"])
        return Placement(int(env["SLURM_PROCID"]), int(env["SLURM_NTASKS"]),
                         int(env["SLURM_LOCALID"]), tcp(env, host))
    raise SystemExit("train.py: start it with torchrun, mpirun or srun: none of LOCAL_RANK, "
                     "OMPI_COMM_WORLD_RANK and SLURM_PROCID is set")


def tcp(env, host):
    """Rank 0's address. MASTER_ADDR and MASTER_PORT win over what the launcher tells."""
    # Jobs that share a host must not share a port.
    default_port = DEFAULT_PORT + int(env.get("SLURM_JOB_ID", 0)) % 10000
    return f"tcp://{env.get('MASTER_ADDR', host)}:{env.get('MASTER_PORT', default_port)}"


def open_mpi_host(env):
    """Open MPI tells no process where rank 0 runs; on one host it is here."""
    if env["OMPI_COMM_WORLD_LOCAL_SIZE"] == env["OMPI_COMM_WORLD_SIZE"]:
        return "127.0.0.1"
    if "MASTER_ADDR" not in env:
        raise SystemExit("train.py: on several hosts, name the first one: "
                         "mpirun -x MASTER_ADDR=<host of rank 0> ...")
    return env["MASTER_ADDR"]


def first_host(node_list):
    """'node[03-05,9],other' is Slurm's way to write node03, node04, ...: node03."""
    prefix, number = re.match(r"([^,\[]+)(?:\[(\d+))?", node_list).groups(default="")
    return prefix + number
