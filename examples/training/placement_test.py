#!/usr/bin/env python3
"""Proves that each launcher's variables are understood, and which one wins."""
import unittest

import placement

TORCHRUN = {"RANK": "9", "WORLD_SIZE": "16", "LOCAL_RANK": "1"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8",
            "OMPI_COMM_WORLD_LOCAL_RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "8"}
SLURM_BATCH = {"SLURM_PROCID": "0", "SLURM_NTASKS": "16", "SLURM_LOCALID": "0",
               "SLURM_JOB_ID": "70123", "SLURM_JOB_NODELIST": "node[03-05,9]"}
SLURM = {**SLURM_BATCH, "SLURM_PROCID": "12", "SLURM_LOCALID": "4", "SLURM_STEP_ID": "0"}


class PlacementTest(unittest.TestCase):
    def test_torchrun_says_all_itself(self):
        self.assertEqual(placement.find(TORCHRUN), placement.Placement(9, 16, 1, "env://"))

    def test_the_innermost_launcher_wins(self):
        self.assertEqual(placement.find({**SLURM, **OPEN_MPI, **TORCHRUN}).rank, 9)
        self.assertEqual(placement.find({**SLURM, **OPEN_MPI}).rank, 3)

    def test_open_mpi_on_one_host_meets_there(self):
        self.assertEqual(placement.find(OPEN_MPI),
                         placement.Placement(3, 8, 3, "tcp://127.0.0.1:29500"))

    def test_open_mpi_on_several_hosts_must_be_told_the_first(self):
        several = {**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
        with self.assertRaisesRegex(SystemExit, "MASTER_ADDR"):
            placement.find(several)
        self.assertEqual(placement.find({**several, "MASTER_ADDR": "a"}).init_method,
                         "tcp://a:29500")

    def test_slurm_meets_on_the_first_host_at_a_port_of_the_job(self):
        self.assertEqual(placement.find(SLURM),
                         placement.Placement(12, 16, 4, "tcp://node03:29623"))
        self.assertEqual(placement.find({**SLURM, "MASTER_PORT": "1234"}).init_method,
                         "tcp://node03:1234")

    def test_forms_of_a_node_list(self):
        for text, first in (("host7", "host7"), ("a,b", "a"), ("n[1-2],m3", "n1"),
                            ("gpu-a[007,9]", "gpu-a007"), ("x.example.org,y", "x.example.org")):
            self.assertEqual(placement.first_host(text), first)

    def test_no_launcher_is_an_error_that_says_what_to_do(self):
        for env in ({}, SLURM_BATCH):
            with self.assertRaisesRegex(SystemExit, "torchrun, mpirun or srun"):
                placement.find(env)


if __name__ == "__main__":
    unittest.main()
