#!/usr/bin/env python3
"""A worker without GPUs: speaks the protocol of src/allreduce/bench/protocol.h with made-up times.

FAKE_FAULTS is a list of faults by semicolons, each KIND:STRATEGY:HIDDEN:TOKENS[:FILE] with * for
any; with FILE the fault happens once, and leaves the file. Kinds:
  hang, crash, exit, garbage   while the strategy is timed
  incorrect, unsupported       as the strategy's outcome
  idle                         dies before anything is done
  lost                         done without a result
  lines                        a reason of several lines
FAKE_START is fatal, exit or silent; FAKE_SECONDS is the time that a cell takes; FAKE_FACT is the
GPU's name; FAKE_BAD_RANK is a rank that fails at its start; FAKE_PIDS is a file that gets the number of each worker process.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time


def say(**message):
    print(json.dumps(message), flush=True)


def faults(strategy, cell):
    """The kinds of the faults for a strategy in a cell."""
    for fault in filter(None, os.environ.get('FAKE_FAULTS', '').split(';')):
        kind, *wanted = fault.split(':', 4)
        once = wanted.pop() if len(wanted) == 4 else None
        actual = [strategy, str(cell['hidden_size']), str(cell['num_tokens'])]
        if not all(w in ('*', a) for w, a in zip(wanted, actual)):
            continue
        if once:
            if os.path.exists(once):
                continue
            pathlib.Path(once).touch()
        yield kind


def misbehave(kind):
    if kind == 'hang':
        # What a hung worker started must go with it, SIGTERM heeded or not.
        child = subprocess.Popen(['sleep', '1000'], start_new_session=True)
        remember(child.pid)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)
    if kind == 'crash':
        print('CUDA error: an illegal memory access', file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind in ('exit', 'idle'):
        sys.exit(7)
    if kind == 'garbage':
        print('Segmentation fault (core dumped)', flush=True)


def remember(pid):
    if 'FAKE_PIDS' in os.environ:
        with open(os.environ['FAKE_PIDS'], 'a', encoding='utf-8') as file:
            file.write(f'{pid}\n')


def latency_us(strategy, cell):
    size = cell['hidden_size'] * cell['num_tokens'] * 2
    start, rate = {'ONESHOT': (3, 60e3), 'TWOSHOT': (8, 200e3), 'TWOSHOT_PUSH': (5, 180e3)}.get(
        strategy, (20, 350e3))
    return start + size / rate


def measure(request, strategy):
    cell, kinds = request['cell'], list(faults(strategy, request['cell']))
    say(id=request['id'], doing='time', strategy=strategy)
    for kind in kinds:
        misbehave(kind)
    if 'lost' in kinds:
        return
    result = {'strategy': strategy, 'outcome': 'ok', 'samples': 0, 'memory_bytes': 1 << 20,
              'reason': ''}
    for outcome in set(kinds) & {'incorrect', 'unsupported'}:
        result.update(outcome=outcome, reason=f'{outcome}, "as told"')
    if 'lines' in kinds:
        result.update(outcome='error', reason='one\ntwo, "three"\n')
    if result['outcome'] == 'ok':
        time_us = latency_us(strategy, cell) * random.uniform(0.99, 1.01)
        result.update(time_us=time_us, low_us=0.99 * time_us, high_us=1.01 * time_us,
                      min_us=0.98 * time_us, samples=request['min_samples'])
    say(id=request['id'], result=result)


def sweep(request):
    """Answers a request of `bench --nccl-sweep`. Faults have the arm, the data type and the size."""
    cell = request['sweep']
    for arm in request['arms']:
        kinds = list(faults(arm, {'hidden_size': cell['dtype'], 'num_tokens': cell['size']}))
        say(id=request['id'], arm=arm)
        for kind in kinds:
            misbehave(kind)
        if 'lost' in kinds:
            continue
        measured = {'arm': arm, 'ran': 'NCCL_TREE_LL_2' if arm == 'NCCL' else arm, 'outcome': 'ok',
                    'samples': 0, 'reason': ''}
        for outcome in set(kinds) & {'incorrect', 'unsupported'}:
            measured.update(outcome=outcome, reason=f'{outcome}, "as told"')
        if measured['outcome'] == 'ok':
            time_us = {'NCCL': 10, 'NCCL_RING_LL_1': 8}.get(arm, 12)
            measured.update(time_us=time_us, low_us=0.99 * time_us, high_us=1.01 * time_us,
                            min_us=0.98 * time_us, samples=request['min_samples'])
        say(id=request['id'], measured=measured)
    say(id=request['id'], over=True)


def main():
    arguments = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    assert sys.argv[1] == 'allreduce' and '--tp' in arguments, sys.argv
    rank = int(arguments.get('--rank', 0))
    remember(os.getpid())
    start = os.environ.get('FAKE_START', '')
    if start == 'fatal':
        say(fatal='no NVIDIA driver was found: is this a machine with GPUs?')
        sys.exit(1)
    if start == 'exit':
        print('error while loading shared libraries: libnccl.so.2', file=sys.stderr)
        sys.exit(127)
    if rank > 0 and os.environ.get('FAKE_BAD_RANK') == str(rank):
        sys.exit(9)
    if '--rendezvous' in arguments:
        meet(arguments['--rendezvous'], rank, int(arguments['--tp']))
    if rank > 0:
        sys.stdin.read()
        return
    say(hello=1, sm_version=90, facts={'GPU': os.environ.get('FAKE_FACT', 'Fake'), 'NCCL': '2.28'})
    for line in sys.stdin:
        request = json.loads(line)
        if 'sweep' in request:
            sweep(request)
            continue
        if 'idle' in faults('idle', request['cell']):
            misbehave('idle')
        time.sleep(float(os.environ.get('FAKE_SECONDS', '0')))
        for strategy in request['strategies']:
            measure(request, strategy)
        say(id=request['id'], done=True)


def meet(place, rank, size):
    """Waits until all ranks of the generation are here."""
    pathlib.Path(f'{place}.here{rank}').touch()
    end = time.monotonic() + 30
    while not all(os.path.exists(f'{place}.here{other}') for other in range(size)):
        if time.monotonic() > end:
            say(fatal='the other ranks do not come')
            sys.exit(1)
        time.sleep(0.01)


if __name__ == '__main__':
    main()
