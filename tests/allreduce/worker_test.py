#!/usr/bin/env python3
"""assay-worker as people may start it: its help, or one line that says why not; never a crash.

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

    def assert_fatal(self, done, reason, status=1):
        """Standard output is one line of JSON with the reason."""
        self.assertEqual(done.returncode, status, done)
        self.assertEqual(done.stdout.count('\n'), 1, done)
        self.assertRegex(json.loads(done.stdout)['fatal'], reason)

    def assert_refused(self, done, reason):
        """Wrong usage, told to people: where to read on, and nothing on standard output."""
        self.assertEqual((done.returncode, done.stdout), (2, ''), done)
        self.assertRegex(done.stderr, reason)
        self.assertRegex(done.stderr, r"\(see 'assay-worker( collect)? --help'\)\n$")
        self.assertEqual(done.stderr.count('\n'), 1, done)

    def test_help(self):
        for arguments, words in (
                (('--help',), ('assay-worker collect', 'assay-worker allreduce', "'assay collect'")),
                (('-h',), ('assay-worker collect', 'assay-worker allreduce', "'assay collect'")),
                (('collect', '--help'), ("'assay collect'", '--gpus', '--mpi', '--self-test',
                                         '--nccl-memory')),
                (('collect', '--gpus', '0', '-h'), ("'assay collect'", '--self-test')),
                (('allreduce', '--help'), ("'assay allreduce bench'", '--tp', '--gpus', '--table',
                                           '--rank', '--rendezvous'))):
            with self.subTest(arguments=arguments):
                done = self.start(*arguments)
                self.assertEqual((done.returncode, done.stderr), (0, ''), done)
                self.assertTrue(done.stdout.startswith('usage: assay-worker '), done)
                for word in words:
                    self.assertIn(word, done.stdout)
                self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_help_that_nobody_can_read(self):
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run([WORKER, '--help'], stdin=subprocess.DEVNULL, stdout=full,
                                  check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)

    def test_no_such_command(self):
        self.assert_refused(self.start(), 'no command is given')
        self.assert_refused(self.start('colect'), "unknown command 'colect'")
        self.assert_refused(self.start('--gpus', '0'), "unknown command '--gpus'")

    def test_wrong_arguments_of_collect(self):
        for arguments, reason in (
                (('--hepl',), 'unknown option --hepl'),
                (('--gpus',), '--gpus must be numbers'),
                (('--gpus', ''), '--gpus must be numbers'),
                (('--gpus', '0,x'), '--gpus must be numbers'),
                (('--self-test', '--mpi'), 'exclude each other')):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.start('collect', *arguments), reason)

    def test_wrong_arguments(self):
        for arguments, reason in (
                (('allreduce', '--tp'), '--tp stands alone, without a value'),
                (('allreduce',), '--tp must be'),
                (('allreduce', '--tp', '1'), '--tp must be'),
                (('allreduce', '--tp', '9'), '--tp must be'),
                (('allreduce', '--tp', '2', '--gpus', '1,1'), 'names a GPU twice'),
                (('allreduce', '--tp', 'two'), '--tp must be'),
                (('allreduce', '--tpp', '2'), 'unknown option --tpp'),
                (('allreduce', '--tp', '2', '--gpus', '0'), '--gpus must name'),
                (('allreduce', '--tp', '2', '--gpus', '0,1,2'), '--gpus must name')):
            with self.subTest(arguments=arguments):
                self.assert_fatal(self.start(*arguments), reason, status=2)

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
