"""What the tests in this folder share: the commands that write, a folder for each test, and what
may lie where a command writes."""
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest
import zipfile

ASSAY = os.environ['ASSAY']
TESTS = pathlib.Path(__file__).resolve().parents[1]
SAMPLES = TESTS.parent / 'samples'
SWEEP = SAMPLES / 'sweep-nccl-ctas'
TRACES = SAMPLES / 'traces-2gpu'
MEASURED = TESTS / 'golden' / 'plan' / 'calibrate' / 'in' / 'measured.csv'
NOBODY = 65534
BENCHMARK = 'benchmark'
OTHER_BENCHMARK = 'benchmark again'
OUTPUT = '{output}'  # stands in a command where its output is named
ENDS = {'.svg': b'</svg>', '.png': b'IEND\xaeB`\x82', '.html': b'</html>'}
PATIENCE_S = 60
# What takes too long for every change.
EVERYTHING = 'ASSAY_EVERYTHING' in os.environ
WRITE = ('--write', 'xlsx,csv,json', '-q')


def run(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S, **options)


def snapshot(folder):
    """What each name is, and its content."""
    found = {}
    for path in sorted(folder.rglob('*')):
        status = path.lstat()
        content = ''
        if stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        found[str(path.relative_to(folder))] = (stat.filemode(status.st_mode), content)
    return found


def as_nobody(test):
    """The options of subprocess.run() for a user who may not write everywhere."""
    if os.geteuid() != 0:
        return {}
    try:
        run([ASSAY, '--version'], user=NOBODY)
    except PermissionError:
        test.skipTest('nobody may run the program here')
    return {'user': NOBODY}


def make_device(path):
    """A device like /dev/null."""
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


def can_make_devices(folder):
    device = folder / 'device'
    try:
        make_device(device)
        device.write_bytes(b'x')
        return True
    except OSError:
        return False
    finally:
        device.unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk(test, folder, size_bytes):
    options = f'size={size_bytes}'
    if run(['mount', '-t', 'tmpfs', '-o', options, 'none', folder]).returncode != 0:
        test.skipTest('only root may mount disks, and not in every container')
    try:
        yield
    finally:
        run(['umount', folder])


class InOwnFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='assay-harm-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.place = self.folder / 'place'  # what a command may change
        self.place.mkdir()

    def nothing_left(self, name):
        left = [str(path.relative_to(self.folder)) for path in self.folder.rglob('.assay-*.tmp')]
        self.assertEqual(left, [], name)

    def assert_whole(self, got, expected, path, label):
        """A file with a date in it differs from run to run, so its end or its sum is looked at."""
        if got == expected:
            return
        if path.suffix == '.xlsx':
            with zipfile.ZipFile(path) as book:
                self.assertIsNone(book.testzip(), label)
        elif path.suffix == '.json':
            json.loads(got)
        elif path.suffix in ENDS:
            self.assertTrue(got.rstrip().endswith(ENDS[path.suffix]), label)
        else:
            self.assertEqual(len(got), len(expected), f'{label}: {path.name} is not whole')


def into(output, command):
    """The whole command line that writes `output`."""
    return [ASSAY, *(str(output) if word == OUTPUT else str(word) for word in command)]


GENERATE = ('goal', 'generate', '-i', SAMPLES / 'goal-4gpu', '--from', '3.965', '--to', '3.999')


def file_commands(text, binary):
    """The commands that write one file. The inputs are one schedule in both forms; another one,
    with notes, comes to lie beside them."""
    noted = text.parent / 'noted'
    if not noted.exists():
        run(into(noted, (*GENERATE, '--write', 'bin', '-o', OUTPUT))).check_returncode()
    # Written once: commands that run at the same time read it.
    network = text.parent / 'network.yaml'
    if not network.exists():
        network.write_text('ranks_per_node: 1\ntopology: {type: non-blocking}\n',
                           encoding='ascii')
    fit = ('simulate', 'fit', '-i', SAMPLES / 'goal-4gpu', '-q', '-o', OUTPUT)  # takes seconds
    return {
        **({'fit': fit} if EVERYTHING else {}),
        'to-bin': ('goal', 'to-bin', text, '-o', OUTPUT),
        'to-text': ('goal', 'to-text', binary, '-o', OUTPUT),
        'merge': ('goal', 'merge', binary, binary, '-o', OUTPUT),
        'timeline': ('simulate', binary, '--quiet', '--timeline', OUTPUT),
        'links': ('simulate', noted / 'output.bin', '--quiet', '--network', network,
                  '--links', OUTPUT),
        'network page': ('simulate', binary, '--quiet', '--network', network, '--html', OUTPUT),
        'operations': ('simulate', noted / 'output.bin', '--quiet', '--operations', OUTPUT),
        'fuse': ('trace', 'fuse', TRACES / 'ctas_16', '-q', '-o', OUTPUT),
        'page': ('allreduce', 'plot', '--data_dir', SAMPLES / 'allreduce-h200', '--write', 'html',
                 '-q', '--html', OUTPUT),
        'plan page': ('plan', 'search', '--model', 'qwen3-8b', '--gpus', '2', '--scheduler',
                      'closed-form', '-q', '--html', OUTPUT),
        'plan table': ('plan', 'search', '--model', 'qwen3-8b', '--gpus', '2', '--scheduler',
                       'closed-form', '-q', '--csv', OUTPUT),
        'system': ('store', 'system', '--store', 'h200_sxm', '--name', 'x', '-q', '-o', OUTPUT),
        'calibrate': ('plan', 'calibrate', MEASURED, '-q', '-o', OUTPUT),
    }


def small_sweep(folder):
    """A sweep of two runs."""
    folder.mkdir()
    shutil.copy(SWEEP / 'sweep.json', folder)
    for setting in ('default', '4cta_512threads'):
        shutil.copytree(SWEEP / setting / 'repeat1', folder / setting / 'repeat1')
    return folder


def small_benchmark(folder, source):
    folder.mkdir()
    for ending in ('csv', 'json'):
        shutil.copy(source / f'benchmark.tp2.sm90.{ending}', folder)
    return folder


def folder_commands(folder):
    """The commands that write files of fixed names into a folder; `folder` takes the inputs."""
    sweep = small_sweep(folder / 'sweep')
    small_benchmark(folder / OTHER_BENCHMARK, SAMPLES / 'allreduce-h200' / 'again')
    benchmark = small_benchmark(folder / BENCHMARK, SAMPLES / 'allreduce-h200')
    tables = ('--data_dir', benchmark)
    return {
        'generate': (*GENERATE, '--write', 'bin', '-o', OUTPUT),
        'export-chakra': ('goal', 'export-chakra', SAMPLES / 'goal-4gpu', '--from', '3.965', '--to',
                          '3.999', '-q', '-o', OUTPUT),
        'import-chakra': ('goal', 'import-chakra', TESTS / 'golden/goal/chakra/in', '--write', 'bin',
                          '-q', '-o', OUTPUT),
        'synth': ('goal', 'synth', '--model', 'qwen3-8b', '--of', 'decode', '--tp', '2', '--write', 'bin',
                  '-q', '-o', OUTPUT),
        'job': (*GENERATE, '--write', 'job', '-q', '-o', OUTPUT),
        'generate -p': (*GENERATE, '--write', 'text', '-p', '-o', OUTPUT),
        'export': ('store', 'export', '--store', 'h200_sxm', '--table', 'gemm_perf', '-o', OUTPUT),
        'place': ('store', 'place', '--store', 'h200_sxm', '--system', 'h200_sxm', '--force',
                  '--backend', 'trtllm', '--tables-only', '--systems', OUTPUT),
        'plan files': ('plan', 'files', '--model', 'Qwen/Qwen3-32B', '--tp', '4', '--overwrite',
                       '--target', 'kubernetes', '-o', OUTPUT),
        'codegen': ('allreduce', 'codegen', *tables, '-o', OUTPUT),
        'plot': ('allreduce', 'plot', *tables, '--write', 'svg', '--fusion', 'NONE', '-o', OUTPUT),
        'report': ('trace', 'report', TRACES / 'ctas_16', *WRITE, '-o', OUTPUT),
        'collectives': ('trace', 'collectives', TRACES / 'ctas_16', '-q', '--write', 'csv', '-o',
                        OUTPUT),
        'path': ('trace', 'path', TRACES / 'ctas_16', '-q', '--write', 'csv', '-o', OUTPUT),
        'analyze': ('trace', 'analyze', TRACES / 'ctas_16', *WRITE, '-o', OUTPUT),
        'compare': ('trace', 'compare', '--baseline', TRACES / 'ctas_default', '--test',
                    TRACES / 'ctas_16', '-q', '--write', 'csv,json', '-o', OUTPUT),
        'diff': ('trace', 'diff', TRACES / 'ctas_default', TRACES / 'ctas_16', '-q', '--write',
                 'csv,json', '-o', OUTPUT),
        'split': ('trace', 'split', TRACES / 'ctas_16', '--overwrite', '-q', '-o', OUTPUT),
        'sweep report': ('sweep', 'report', sweep, '--collective-only', '-q', '--write',
                         'json', '-o', OUTPUT),
        'help': ('help', 'store', '--format', 'man', '-o', OUTPUT),
    }


def with_other_input(command):
    """The same command for an input whose output has files of the same names."""
    others = {'3.965': '3.97', BENCHMARK: OTHER_BENCHMARK, 'ctas_16': 'ctas_default',
              'ctas_default': 'ctas_16'}

    def other(word):
        if isinstance(word, pathlib.Path):
            return word.with_name(others.get(word.name, word.name))
        return others.get(word, word)
    return tuple(other(word) for word in command)


def resumed(command):
    """The same command, going on with what a killed one left, which a study does by itself."""
    if command[0] == 'simulate':
        return command
    verbs = 1 if command[0] == 'collect' else 2
    return (*command[:verbs], '--resume', *command[verbs:])


def job_commands():
    """The commands that keep in a folder what others give them, and go on with it later."""
    collect = ('--m', '1,2', '--n', '32', '--k', '32', '--dtype', 'bfloat16', '--device', 'cpu')
    bench = ('--tp', '2', '--fusion', 'NONE', '--hidden', '128', '--tokens', '1,2')
    return {
        'collect': ('collect', 'gemm', *collect, '--worker', TESTS / 'collect/fake_worker.py', '-o',
                    OUTPUT),
        'bench': ('allreduce', 'bench', *bench, '--worker', TESTS / 'allreduce/fake_worker.py',
                  '-o', OUTPUT),
        'sweep': ('sweep', 'run', '--preset', 'nccl-algo', '-p', 'default', '--set', 'KIND=good',
                  '-o', OUTPUT, '--', '/usr/bin/env', 'python3', TESTS / 'sweep/workload.py', '{dir}'),
        'study': ('simulate', '--study', TESTS / 'golden/simulate/study/in/latencies.yaml', '-q', '-o',
                  OUTPUT),
        'record': ('record', '-o', OUTPUT, '--', 'true'),
    }
