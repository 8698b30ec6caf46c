#!/usr/bin/env python3
"""assay-worker as nobody should start it: one line that says why, and never a crash.

usage: WORKER=PROGRAM worker_test.py
"""
import json
import os
import subprocess
import tempfile
import unittest

WORKER = os.environ['WORKER']
PATIENCE_S = 60


class Worker(unittest.TestCase):
    def start(self, *arguments, visible=None):
        environment = dict(os.environ)
        if visible is not None:
            environment['CUDA_VISIBLE_DEVICES'] = visible
        return subprocess.run([WORKER, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=PATIENCE_S, env=environment)

    def assert_fatal(self, done, reason):
        """Exit 1, and standard output is one line of JSON with the reason."""
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stdout.count('\n'), 1, done)
        self.assertRegex(json.loads(done.stdout)['fatal'], reason)

    def test_wrong_arguments(self):
        for arguments, reason in (
                ((), "started by 'assay allreduce bench'"),
                (('--help',), "started by 'assay allreduce bench'"),
                (('allreduce', '--tp'), "started by 'assay allreduce bench'"),
                (('allreduce',), '--tp must be'),
                (('allreduce', '--tp', '1'), '--tp must be'),
                (('allreduce', '--tp', '9'), '--tp must be'),
                (('allreduce', '--tp', 'two'), '--tp must be'),
                (('allreduce', '--tpp', '2'), 'unknown option --tpp'),
                (('allreduce', '--tp', '2', '--gpus', '0'), '--gpus must name'),
                (('allreduce', '--tp', '2', '--gpus', '0,1,2'), '--gpus must name')):
            with self.subTest(arguments=arguments):
                self.assert_fatal(self.start(*arguments), reason)

    def test_gpus_that_are_not_there(self):
        self.assert_fatal(self.start('allreduce', '--tp', '2', '--gpus', '0,4096'), 'GPU')
        self.assert_fatal(self.start('allreduce', '--tp', '2', '--gpus', '0,-1'), 'GPU')

    def test_no_gpu(self):
        self.assert_fatal(self.start('allreduce', '--tp', '2', visible=''), 'GPU')

    def test_no_gpu_as_one_of_several_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(folder, 'rendezvous')
            for rank in '01':
                done = self.start('allreduce', '--tp', '2', '--rank', rank, '--rendezvous', place,
                                  visible='')
                self.assert_fatal(done, 'GPU')


if __name__ == '__main__':
    unittest.main()
