#!/usr/bin/env python3
"""`assay doctor` against a fake NVML: one thing wrong at a time.

ASSAY names the program to test, FAKE_NVML the folder of the fake library (tests/fake_nvml).
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ASSAY = os.environ['ASSAY']
FAKE_NVML = os.environ['FAKE_NVML']
# Nothing to find fault with.
CLEAN = ['count 2', 'sm_clock 1980', 'utilization 0', 'power 90000']
HOST = {
    'proc/loadavg': '0.10 0.10 0.10 1/100 1000',
    'proc/1/cgroup': '0::/',
    'proc/sys/kernel/numa_balancing': '0',
    'sys/devices/system/node/node0/cpulist': '0-1',
    'sys/devices/system/node/node1/cpulist': '2-3',
    **{f'sys/devices/system/cpu/cpu{i}/cpufreq/scaling_governor': 'performance' for i in range(4)},
}


class DoctorTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='assay-doctor-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.root = self.folder / 'root'
        self.calls = self.folder / 'calls'
        for name, text in HOST.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + '\n', encoding='utf-8')

    def run_doctor(self, lines, *arguments):
        values = self.folder / 'values'
        values.write_text('\n'.join(lines) + '\n', encoding='utf-8')
        environment = {**os.environ, 'ASSAY_FAKE_NVML': str(values), 'LD_LIBRARY_PATH': FAKE_NVML,
                       'ASSAY_FAKE_NVML_CALLS': str(self.calls)}
        return subprocess.run([ASSAY, 'doctor', '--root', self.root, *arguments], env=environment,
                              capture_output=True, text=True, check=False)

    def findings(self, lines, *arguments, exit_code):
        done = self.run_doctor(lines, '--format', 'json', *arguments)
        self.assertEqual(done.returncode, exit_code, done.stderr + done.stdout)
        self.assertEqual(done.stderr, '')
        tables = {table['name']: table for table in json.loads(done.stdout)['tables']}
        names = [column['name'] for column in tables['findings']['columns']]
        return [dict(zip(names, row)) for row in tables['findings']['rows']]

    def assert_found(self, line, level, where, seen, command='', exit_code=3):
        found = [f for f in self.findings([*CLEAN, *line], exit_code=exit_code)
                 if f['level'] != 'ok']
        self.assertEqual([(f['level'], f['where'], f['seen']) for f in found],
                         [(level, where, seen)])
        self.assertNotEqual(found[0]['why'], '')
        self.assertNotEqual(found[0]['hint'] + found[0]['commands'], '')
        self.assertIn(command, found[0]['commands'])

    def test_a_clean_machine(self):
        found = self.findings(CLEAN, exit_code=0)
        self.assertEqual({f['level'] for f in found}, {'ok'})
        self.assertEqual({f['where'] for f in found}, {'GPUs 0-1', 'host'})

    def test_one_thing_wrong_at_a_time(self):
        for line, level, where, seen, command in [
                (['persistence.1 0'], 'warning', 'GPU 1', 'persistence mode is off',
                 'sudo nvidia-smi -i 1 -pm 1'),
                (['sm_clock 345'], 'warning', 'GPUs 0-1',
                 'clocks are not locked: 345 MHz while idle', ''),
                (['mig 1'], 'problem', 'GPUs 0-1', 'MIG is on', 'sudo nvidia-smi -i 0,1 -mig 0'),
                (['uncorrected.0 2'], 'problem', 'GPU 0',
                 '2 uncorrected memory errors since the driver was loaded',
                 'nvidia-smi -i 0 -q -d ECC,ROW_REMAPPER'),
                (['inactive_link.0 3'], 'warning', 'GPU 0', '1 of 18 NVLinks are inactive',
                 'nvidia-smi nvlink -s -i 0'),
                (['link_recoveries.1 1'], 'warning', 'GPU 1',
                 'NVLink errors: 18 recoveries, 0 corrected', 'nvidia-smi nvlink -e -i 1'),
                (['unreachable.0 1'], 'warning', 'GPU 0', 'no peer access to GPU 1',
                 'nvidia-smi topo -p2p rw'),
                (['power_limit 500000'], 'warning', 'GPUs 0-1',
                 'the power limit is 500 W; the default is 700 W',
                 'sudo nvidia-smi -i 0,1 -pl 700'),
                (['margin.0 2'], 'warning', 'GPU 0', 'only 2 C until it slows itself down', ''),
                (['margin unsupported', 'temperature.1 86'], 'warning', 'GPU 1',
                 'only 1 C until it slows itself down', ''),
                (['reasons.1 0x40'], 'warning', 'GPU 1',
                 'slowed down now by hardware thermal slowdown', 'PERFORMANCE'),
                (['pcie_width.1 4'], 'warning', 'GPU 1', 'PCIe with 4 of 16 lanes', 'pcie.link'),
                (['name.1 NVIDIA H100'], 'warning', 'GPUs 0-1',
                 'different models: NVIDIA H100, NVIDIA H200', ''),
                (['handle_error.1 15'], 'problem', 'GPU 1', 'it does not answer: fake error 15',
                 'dmesg')]:
            with self.subTest(line=line):
                self.assert_found(line, level, where, seen, command)

    def test_notes_do_not_fail(self):
        for line, where, seen in [
                (['ecc.0 0'], 'GPU 0', 'ECC is off'),
                (['link_flit_errors.1 1'], 'GPU 1', 'NVLink errors: 0 recoveries, 18 corrected'),
                (['margin.1 9'], 'GPU 1', 'only 9 C until it slows itself down')]:
            with self.subTest(line=line):
                self.assert_found(line, 'note', where, seen, exit_code=0)

    def test_processes_of_others(self):
        found = self.findings([*CLEAN, 'used.1 4711 2147483648', 'process_name.4711 /usr/bin/train'],
                              exit_code=3)
        self.assertEqual((found[0]['level'], found[0]['where'], found[0]['seen']),
                         ('problem', 'GPU 1', 'process 4711 (train) uses it, 2.0 GiB of memory'))

    def test_work_of_unseen_processes(self):
        found = self.findings([*CLEAN, 'utilization.1 80'], exit_code=3)
        self.assertEqual((found[0]['where'], found[0]['seen']),
                         ('GPU 1', 'it is busy (80 %), though no process is seen'))

    def test_idle_power_caps_do_not_count(self):
        self.findings([*CLEAN, 'reasons 0x4'], exit_code=0)

    def test_only_chosen_gpus(self):
        lines = [*CLEAN, 'count 3', 'mig.2 1', 'unreachable.0 2']
        self.findings(lines, exit_code=3)
        self.findings(lines, '--gpus', '0,1', exit_code=0)

    def test_host(self):
        self.write('sys/devices/system/cpu/cpu3/cpufreq/scaling_governor', 'powersave')
        self.assert_found([], 'warning', 'host', "the CPU governor of 1 of 4 CPUs is 'powersave'",
                          'cpupower')
        self.write('sys/devices/system/cpu/cpu3/cpufreq/scaling_governor', 'performance')
        for name, text, seen in [
                ('proc/loadavg', '0.80 1.00 1.00 1/100 1000',
                 'other work keeps 0.8 of 4 processors busy (load 0.8)'),
                ('proc/sys/kernel/numa_balancing', '1', 'NUMA balancing is on, with 2 nodes'),
                ('.dockerenv', '', 'this is a container')]:
            with self.subTest(name=name):
                old = HOST.get(name)
                self.write(name, text)
                self.assert_found([], 'note', 'host', seen, exit_code=0)
                if old:
                    self.write(name, old)
                else:
                    (self.root / name).unlink()

    def test_load(self):
        seen = 'other work keeps 3 of 4 processors busy (load 3.0)'
        self.write('proc/loadavg', '3.00 1.00 1.00 1/100 1000')
        self.assert_found([], 'warning', 'host', seen)
        done = self.run_doctor(CLEAN, '--quiet')
        self.assertEqual((done.returncode, done.stderr), (3, f'assay: warning: host: {seen}\n'))
        # Two processors are allowed to this process, and one of them is taken.
        self.write('proc/self/cgroup', '0::/mine')
        self.write('sys/fs/cgroup/mine/cpu.max', '200000 100000')
        self.assert_found([], 'warning', 'host',
                          'other work keeps 1 of 2 processors busy (load 3.0)')

    def test_numa_nodes_of_gpus(self):
        for gpu in range(2):
            self.write(f'sys/bus/pci/devices/0000:0{gpu + 1}:00.0/numa_node', str(gpu))
        found = self.findings(CLEAN, exit_code=0)
        self.assertIn('NUMA nodes: GPU 0 on 0, GPU 1 on 1', [f['seen'] for f in found])

    def test_a_driver_without_its_library(self):
        self.write('proc/driver/nvidia/version', 'NVRM version: 580.159.04')
        found = self.findings(['count 0'], exit_code=3)
        self.assertIn('its library finds no GPU', found[0]['seen'])

    def test_no_gpu_is_no_failure(self):
        found = self.findings(['init_error 9'], exit_code=0)
        self.assertEqual(found[0]['seen'], 'there is no NVIDIA driver or GPU here')

    def test_libraries_are_those_of_assays_own_variable(self):
        mine, other = self.folder / 'mine', self.folder / 'other'
        shutil.copytree(pathlib.Path(FAKE_NVML).parent / 'fake_cuda', mine)
        shutil.copytree(mine, other)
        shutil.copy(pathlib.Path(FAKE_NVML) / 'libnvidia-ml.so.1', mine)
        values = self.folder / 'values'
        values.write_text('\n'.join(CLEAN) + '\n', encoding='utf-8')
        done = subprocess.run([ASSAY, 'doctor', '--root', self.root, '--format', 'json'],
                              env={**os.environ, 'ASSAY_FAKE_NVML': str(values),
                                   'ASSAY_LIBRARY_PATH': str(mine), 'LD_LIBRARY_PATH': str(other)},
                              capture_output=True, text=True, check=False)
        tables = {table['name']: table for table in json.loads(done.stdout)['tables']}
        files = {row[0]: row[2] for row in tables['libraries']['rows']}
        for name, file in [('CUDA runtime', 'libcudart.so.13'), ('cuBLASLt', 'libcublasLt.so.13'),
                           ('cuDNN', 'libcudnn.so.9'), ('NCCL', 'libnccl.so.2')]:
            self.assertEqual(files[name], str(mine / file))
        self.assertEqual(len(tables['gpus']['rows']), 2)

    def test_errors(self):
        for lines, arguments, exit_code, message in [
                (['init_error 18'], [], 1, 'NVML does not start: fake error 18'),
                (CLEAN, ['--gpus', '2'], 1, 'there is no GPU 2; here are GPUs 0-1'),
                (['count 0'], ['--gpus', '0'], 1, 'no NVIDIA GPU was found here'),
                (CLEAN, ['--gpus', '0-1'], 2, "'0-1' is no list of GPUs such as 0,1,3")]:
            with self.subTest(arguments=arguments):
                done = self.run_doctor(lines, *arguments)
                self.assertEqual((done.returncode, done.stdout), (exit_code, ''))
                self.assertIn(message, done.stderr)

    def test_quiet_says_only_what_is_wrong(self):
        done = self.run_doctor([*CLEAN, 'mig.0 1', 'ecc.1 0'], '--quiet')
        self.assertEqual((done.returncode, done.stdout), (3, ''))
        self.assertEqual(done.stderr, 'assay: warning: GPU 0: MIG is on\n')

    def test_it_changes_nothing(self):
        self.run_doctor([*CLEAN, 'persistence 0', 'sm_clock 345', 'mig 1', 'power_limit 1000'])
        self.assertFalse(self.calls.exists())


if __name__ == '__main__':
    unittest.main()
