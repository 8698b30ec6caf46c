#!/usr/bin/env python3
"""A worker without GPUs: speaks the protocol of src/collect/worker/protocol.h with made-up times.

FAKE_FAULTS names a file of lines "KIND TEXT": a case whose id-like text ("m=1 n=32 ...") has TEXT
misbehaves. A kind with "once-" before it does so the first time only. Kinds:
  hang, crash, exit, garbage, kill   while the case is timed
  wait                               goes on once the file no longer names the case
  idle                               dies before it says that it began
  lost, error, oom                   an error, after which the worker ends (lost) or goes on
  skip, empty, stranger              a skip, no row, an answer to another case
  wrong                              a wrong result, if the case is checked
  slow                               half as long again
  sure, scatter                      with an interval of the median: none wide, or ±40 % (else: none)
FAKE_START is fatal, exit or silent, FAKE_BAD_GPU the GPU whose workers are fatal; FAKE_SECONDS is the
time of a case; FAKE_VERSION, FAKE_NAME and FAKE_DRIVER are facts; FAKE_PIDS and FAKE_CASES name files
that get the number of each worker process and the cases that were begun, FAKE_GPUS one that gets
"OPERATOR GPUS" of each case.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time


def say(**message):
    sys.stdout.write(json.dumps(message) + '\n')
    sys.stdout.flush()


def append(variable, line):
    if variable in os.environ:
        with open(os.environ[variable], 'a', encoding='utf-8') as file:
            file.write(f'{line}\n')


def load_faults():
    if 'FAKE_FAULTS' not in os.environ:
        return []
    lines = pathlib.Path(os.environ['FAKE_FAULTS']).read_text(encoding='utf-8').splitlines()
    return [line.split(' ', 1) for line in lines if line]


FAULTS = load_faults()


def fault_of(text, faults):
    for kind, part in faults:
        if part not in text:
            continue
        if not kind.startswith('once-'):
            return kind
        mark = pathlib.Path(os.environ['FAKE_FAULTS'] + '.' + part.strip().replace(' ', '_'))
        if not mark.exists():
            mark.touch()
            return kind[len('once-'):]
    return ''


def misbehave(kind, text):
    if kind == 'hang':
        # What a hung worker started must go with it, SIGTERM heeded or not.
        append('FAKE_PIDS', subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)
    while kind == 'wait' and fault_of(text, load_faults()) == 'wait':
        time.sleep(0.02)
    if kind == 'crash':
        print('CUDA error: an illegal memory access', file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    if kind in ('exit', 'idle'):
        sys.exit(7)
    if kind == 'garbage':
        print('Segmentation fault (core dumped)', flush=True)
        time.sleep(1000)


def row_of(request, kind):
    case = request['case']
    fields = list(case.items()) if isinstance(case, dict) else list(enumerate(case))
    # Collectives have theirs as an axis, which is no column of the key.
    op_name = dict(fields).get('op_name', request['operator'])
    latency = 0.001 * (1 + sum(v for _, v in fields if isinstance(v, int)) % 97)
    if kind == 'slow':
        latency *= 1.5
    timing = {'median_ms': latency, 'samples_ms': [latency] * 20}
    half = {'sure': 0, 'scatter': 0.4 * latency}.get(kind)
    if half is not None:
        timing.update(low_ms=latency - half, high_ms=latency + half)
    return {'table': request['operator'] + '_perf', 'framework': 'assay',
            'version': os.environ.get('FAKE_VERSION', '0.1.0'), 'device': device()['name'],
            'op_name': op_name, 'kernel_source': 'fake',
            'key': [[str(name), value] for name, value in fields if name != 'op_name'],
            'latency_ms': latency,
            'timing': timing,
            'conditions': {'sm_mhz_before': 1980}}


def measure(request):
    number, text = request['id'], ' '.join(f'{k}={v}' for k, v in request['case'].items()) + ' '
    append('FAKE_CASES', f"{request['operator']} {text}")
    append('FAKE_GPUS', f"{request['operator']} {gpus()}")
    kind = fault_of(text, FAULTS)
    if kind == 'idle':
        misbehave(kind, text)
    if request.get('check'):
        say(id=number, doing='check')
        if kind == 'wrong':
            say(id=number, error={'class': 'WrongResult', 'message': 'wrong, as told'})
            return
    say(id=number, doing='time')
    if os.environ.get('FAKE_SECONDS'):
        time.sleep(float(os.environ['FAKE_SECONDS']))
    if kind == 'skip':
        say(id=number, skip='the fake has no plan for this')
    elif kind in ('error', 'oom', 'lost'):
        say(id=number, error={'class': 'OutOfMemory' if kind == 'oom' else 'DeviceError',
                              'message': f'{kind}, "as told"', 'traceback': 'line 1\nline 2',
                              'lost': kind == 'lost'})
        if kind == 'lost':
            sys.exit(0)
    elif kind == 'empty':
        say(id=number, done=True)
    elif kind == 'stranger':
        say(id=number + 1, done=True)
    else:
        misbehave(kind, text)
        say(id=number, row=row_of(request, kind))
        say(id=number, done=True)


def gpus():
    return sys.argv[sys.argv.index('--gpus') + 1] if '--gpus' in sys.argv else ''


def device():
    cpu = not gpus()
    return {'kind': 'cpu' if cpu else 'cuda', 'name': os.environ.get('FAKE_NAME', 'Fake'),
            'sm_version': 0 if cpu else 90, 'framework': 'assay',
            'version': os.environ.get('FAKE_VERSION', '0.1.0'),
            'count': 1 if cpu else len(gpus().split(',')),
            'facts': {'driver': os.environ.get('FAKE_DRIVER', '580')}}


def main():
    assert sys.argv[1] == 'collect', sys.argv
    append('FAKE_PIDS', os.getpid())
    start = os.environ.get('FAKE_START', '')
    if os.environ.get('FAKE_BAD_GPU', 'none') in gpus().split(','):
        start = 'fatal'
    if start == 'fatal':
        say(fatal='the GPU is lost')
        sys.exit(1)
    if start == 'exit':
        print('error while loading shared libraries: libcublasLt.so.13', file=sys.stderr)
        sys.exit(127)
    say(hello=1, device=device())
    for line in sys.stdin:
        measure(json.loads(line))


if __name__ == '__main__':
    main()
