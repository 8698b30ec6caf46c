"""The CPU worker, alone and as ranks of an MPI job: real kernels, compared with a reference."""
import json
import os
import shutil
import subprocess
import unittest

WORKER = os.environ["CPU_WORKER"]
PATIENCE_S = 120


# Open MPI keeps memory that it never frees.
OF_MPI = {"ASAN_OPTIONS": "detect_leaks=0"}


def ask(requests, launcher=(), options=()):
    done = subprocess.run([*launcher, WORKER, "collect", *options], text=True, check=False,
                          env={**os.environ, **(OF_MPI if launcher else {})},
                          input="".join(json.dumps(request) + "\n" for request in requests),
                          capture_output=True, timeout=PATIENCE_S)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return done, messages


def case(number, operator, **columns):
    return {"id": number, "operator": operator, "case": columns, "check": True,
            "options": {"max_time_ms": 5, "min_samples": 5}}


def gemm(number, dtype, m=33, n=65, k=129):
    return case(number, "gemm", gemm_dtype=dtype, m=m, n=n, k=k)


def attention(number, dtype, **changes):
    columns = {"batch_size": 2, "isl": 50, "num_heads": 6, "num_key_value_heads": 2,
               "head_dim": 64, "window_size": 0, "attn_dtype": dtype, "kv_cache_dtype": dtype,
               "step": 0}
    return case(number, "context_attention", **{**columns, **changes})


class CpuWorker(unittest.TestCase):
    def by_id(self, messages, kind):
        return {message["id"]: message[kind] for message in messages if kind in message}

    def test_kernels_agree_with_their_references(self):
        requests = [gemm(1, "float32"), gemm(2, "bfloat16"), gemm(3, "float32", m=1, n=1, k=1),
                    attention(4, "float32"), attention(5, "bfloat16"),
                    attention(6, "float32", window_size=7),
                    attention(7, "float32", isl=1, num_key_value_heads=6),
                    case(8, "add", dtype="float32", rows=7, columns=512, vocabulary=0),
                    case(9, "copy", dtype="bfloat16", rows=7, columns=512, vocabulary=0)]
        done, messages = ask(requests)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.by_id(messages, "error"), {})
        rows = self.by_id(messages, "row")
        skips = self.by_id(messages, "skip")
        # A processor without AVX-512 has no bfloat16 kernels.
        self.assertEqual(set(rows) | set(skips), set(range(1, 10)), messages)
        self.assertLessEqual(set(skips), {2, 5, 9}, skips)
        for row in rows.values():
            self.assertGreater(row["latency_ms"], 0)
            self.assertEqual(row["timing"]["launch"], "eager")
            self.assertGreaterEqual(len(row["timing"]["samples_ms"]), 5)

    def test_what_it_cannot_do_is_skipped_with_a_reason(self):
        done, messages = ask([gemm(1, "fp8"),
                              case(2, "nccl", op_name="all_reduce", nccl_dtype="half", num_gpus=2,
                                   message_size=256)])
        self.assertEqual(done.returncode, 0, done.stderr)
        skips = self.by_id(messages, "skip")
        self.assertIn("fp8", skips[1])
        self.assertIn("needs more ranks than can be used here (1)", skips[2])

    def test_bad_requests(self):
        done, messages = ask([gemm(1, "float32") | {"case": {"m": 1}},
                              gemm(2, "float32") | {"operator": "gem"}, gemm(3, "float32")])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(self.by_id(messages, "error")), {1, 2})
        self.assertIn(3, self.by_id(messages, "row"))
        done = subprocess.run([WORKER, "collect"], input="no json\n", capture_output=True,
                              text=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("fatal", done.stdout)

    def test_started_by_hand(self):
        done = subprocess.run([WORKER], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("assay collect", done.stderr)


@unittest.skipUnless(os.environ.get("MPI_PLUGIN") and shutil.which("mpirun"),
                     "assay was built without MPI, or there is no mpirun here")
class MpiJob(unittest.TestCase):
    LAUNCHER = ("mpirun", "--oversubscribe", "-n", "4")

    def setUp(self):
        if os.geteuid() == 0:
            self.LAUNCHER += ("--allow-run-as-root",)

    def test_collectives_of_four_ranks(self):
        requests = [case(number, "nccl", op_name=name, nccl_dtype="int8", num_gpus=ranks,
                         message_size=size)
                    for number, (name, ranks, size) in enumerate(
                        (name, ranks, size)
                        for name in ("all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                     "send_recv")
                        for ranks, size in ((2, 512), (4, 4096), (4, 1 << 20)))]
        done, messages = ask(requests, self.LAUNCHER, ("--mpi",))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {message["id"]: message["row"] for message in messages if "row" in message}
        self.assertEqual(len(rows), len(requests), messages)
        for row in rows.values():
            self.assertEqual(row["kernel_source"], "mpi")
            self.assertGreaterEqual(row["timing"]["skew_ms"], 0)

    def test_more_ranks_than_there_are(self):
        _, messages = ask([case(1, "nccl", op_name="all_reduce", nccl_dtype="int8", num_gpus=8,
                                message_size=512)], self.LAUNCHER, ("--mpi",))
        self.assertIn("skip", messages[-1])


if __name__ == "__main__":
    unittest.main()
