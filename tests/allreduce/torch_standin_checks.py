#!/usr/bin/env python3
"""Started by torch_package_test.py: the installed package on the stand-in for PyTorch. Two ranks are
two threads."""
import contextlib
import copy
import ctypes
import gc
import importlib.machinery
import inspect
import logging
import os
import sys
import threading
import types
import unittest
import unittest.mock

import torch
import torch.distributed as dist

from assay_allreduce import AllReduceError, Communicator, Strategy
from assay_allreduce import _operators, distributed, engine, flashinfer
from assay_allreduce._library import Call
from assay_allreduce.communicator import GroupExchange, StoreExchange
from assay_allreduce.custom_all_reduce import CustomAllreduce

fake_library = _operators.library.shared_object


def on_two_ranks(function):
    """What function(group) returned or raised on both."""
    group = dist.Group(2)
    results = [None, None]

    def rank(number):
        dist.here.rank = number
        try:
            results[number] = function(group)
        except Exception as error:
            results[number] = error
    threads = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Store:
    """torch.distributed.Store: get() waits for set()."""

    def __init__(self):
        self.values, self.changed = {}, threading.Condition()

    def set(self, key, value):
        with self.changed:
            self.values[key] = value
            self.changed.notify_all()

    def add(self, key, amount):
        with self.changed:
            self.values[key] = self.values.get(key, 0) + amount
            return self.values[key]

    def get(self, key):
        with self.changed:
            assert self.changed.wait_for(lambda: key in self.values, timeout=20)
            return self.values[key]


class CommunicatorTest(unittest.TestCase):
    def test_connects_calls_and_closes(self):
        def rank(group):
            comm = Communicator(group, 0)
            push = comm.with_strategy(Strategy.TWOSHOT_PUSH)
            assert push.number != comm.number
            comm.all_reduce_rms_norm("x", "residual", "gamma", 1e-5, weight_bias=1.0)
            torch.calls.append(("rank", comm.rank(), comm.size(), comm.choose(4, 4096)))
            told = comm.explain(400, 4096)
            torch.calls.append(("explained", told.strategy, told.is_from_table, told.is_extrapolated,
                                told.measured_world_size, told.link_limit_us, told.is_measured))
            assert comm.explain(4, 4096).is_measured == 1
            comm.close()
            comm.close()
            return comm.number
        numbers = on_two_ranks(rank)
        self.assertEqual(len(set(numbers)), 2, numbers)
        self.assertIn(("rank", 1, 2, Strategy.ONESHOT), torch.calls)
        self.assertIn(("explained", Strategy.TWOSHOT, 1, 1, 4, 0.5, 0), torch.calls)
        self.assertIn(("all_reduce_rms_norm", ("x", "residual", "gamma", 1e-5, numbers[1], 1.0)),
                      torch.calls)
        self.assertEqual(fake_library.fake_live(), 0, "communicators were destroyed")

    def test_connects_by_a_store(self):
        store = Store()

        def rank(group):
            comm = Communicator(exchange=StoreExchange(store, dist.here.rank, 2), use_nccl=False)
            comm.close()
            return comm.size()
        self.assertEqual(on_two_ranks(rank), [2, 2])

    def test_a_store_that_keeps_what_was_said_connects_again(self):
        store = Store()

        def rank(group):
            exchange = StoreExchange(store, dist.here.rank, 2)
            return exchange(f"{turn} of {dist.here.rank}")
        for turn in ("first", "second"):
            self.assertEqual(on_two_ranks(rank), [[f"{turn} of 0", f"{turn} of 1"]] * 2)

    def failing(self, **options):
        """What both ranks raise when only rank 1 has the options."""
        return on_two_ranks(lambda group: Communicator(
            group, **(options if dist.here.rank == 1 else {})))

    def test_a_failure_of_one_is_one_of_all(self):
        for error in self.failing(workspace_bytes=13):
            self.assertIsInstance(error, AllReduceError)
            self.assertEqual(str(error), "rank 1 of 2: the library's own words")
        for error in self.failing(table="/nowhere"):
            self.assertEqual(str(error), "rank 1 of 2: the library's own words")
        self.assertEqual(fake_library.fake_live(), 0, "communicators were destroyed")

    def test_what_pytorch_raises_on_one_rank_is_told_on_all(self):
        for name in ("current_device", "device", "get_device_capability"):
            original = getattr(torch.cuda, name)

            def fails_on_rank_1(*arguments):
                if dist.here.rank == 1:
                    raise RuntimeError("out of memory")
                return original(*arguments)
            with unittest.mock.patch.object(torch.cuda, name, fails_on_rank_1):
                errors = on_two_ranks(Communicator)
            for error in errors:
                self.assertIsInstance(error, AllReduceError)
                self.assertEqual(str(error), "rank 1 of 2: RuntimeError: out of memory")
            self.assertEqual([type(error.__cause__) for error in errors], [type(None), RuntimeError])
            self.assertEqual(fake_library.fake_live(), 0, "communicators were destroyed")

    def test_the_gpu_is_the_current_one_while_ranks_talk(self):
        """All_gather_object of a group of NCCL sends from the current GPU."""
        here = threading.local()

        @contextlib.contextmanager
        def current(where):
            here.gpu = where.index
            yield
            here.gpu = None

        def rank(group):
            seen = []
            exchange = GroupExchange(group)

            def told(mine):
                seen.append(here.gpu)
                return exchange(mine)
            told.rank, told.world_size = exchange.rank, exchange.world_size
            comm = Communicator(device=3, exchange=told)
            comm.reserve(1 << 20)
            comm.close()
            return seen, here.gpu
        with unittest.mock.patch.object(torch.cuda, "device", current):
            self.assertEqual(on_two_ranks(rank), [([3] * 5, None)] * 2)

    def test_one_communicator_too_many_is_destroyed(self):
        problem = AllReduceError("this process has made too many communicators")
        with unittest.mock.patch.object(_operators.kernels, "add", side_effect=problem):
            self.assertEqual(on_two_ranks(Communicator), [problem, problem])
        self.assertEqual(fake_library.fake_live(), 0, "communicators were destroyed")

    def test_the_library_sees_tables_and_reserved_memory_before_it_joins(self):
        for options in ({"table": None}, {"max_message_bytes": 16 << 20}):
            for error in self.failing(**options):
                self.assertEqual(str(error), "rank 0 of 2: the library's own words")

    def test_reserves_again_and_checks(self):
        def rank(group):
            comm = Communicator(group, 0, max_message_bytes=16 << 20)
            comm.check()
            comm.reserve(66 << 20)
            try:
                comm.check()
            except AllReduceError as error:
                return str(error)
            finally:
                comm.close()
        self.assertEqual(on_two_ranks(rank), ["the library's own words"] * 2)

    def test_closing_one_of_two_strategies_closes_both(self):
        def rank(group):
            comm = Communicator(group, 0)
            pushing = comm.with_strategy(Strategy.TWOSHOT_PUSH)
            comm.close()
            pushing.close()
            said = []
            for each in (comm, pushing):
                with self.assertRaises(AllReduceError) as raised:
                    each.check()
                said.append(str(raised.exception))
            return said
        self.assertEqual(on_two_ranks(rank), [["the communicator is closed"] * 2] * 2)
        self.assertEqual(fake_library.fake_live(), 0)

    def test_refuses_what_is_no_gpu(self):
        for error in on_two_ranks(lambda group: Communicator(group, "cpu")):
            self.assertIsInstance(error, ValueError)

    def test_all_reduce_writes_where_it_is_told(self):
        def rank(group):
            comm = Communicator(group)
            source = object()
            assert comm.all_reduce(source, source) is source
            assert comm.all_reduce(source, out="out") == "out"
            assert comm.all_reduce(source) == "result of all_reduce"
            names = [name for name, *rest in torch.calls if rest[0][0] is source]
            comm.close()
            return names
        for names in on_two_ranks(rank):
            self.assertEqual(names, ["all_reduce_", "all_reduce_out", "all_reduce"])


class TracingTest(unittest.TestCase):
    """The shapes and types that PyTorch computes with when it traces."""

    @classmethod
    def setUpClass(cls):
        cls.comms = on_two_ranks(Communicator)

    @classmethod
    def tearDownClass(cls):
        for comm in cls.comms:
            comm._exchange = lambda mine: None
            comm.close()

    def out(self, name, *arguments, **options):
        results = torch.fakes[f"assay::{name}"](*arguments, **options)
        if results is None:
            return None
        return [(each.shape, each.dtype) for each in (
            results if isinstance(results, tuple) else (results,))]

    def test_every_operator_has_one(self):
        self.assertEqual(set(torch.fakes), set(torch.schemas))
        self.assertEqual(len(torch.schemas), 11)

    def test_mutation_marks(self):
        marked = {name for name, schema in torch.schemas.items() if "(a!)" in schema}
        self.assertEqual(marked, {f"assay::{name}" for name in (
            "all_reduce_", "all_reduce_out", "reduce_scatter_out", "all_gather_out",
            "all_reduce_rms_norm", "all_reduce_rms_norm_quant_fp8",
            "all_reduce_rms_norm_quant_fp8_dynamic", "all_reduce_rms_norm_quant_nvfp4")})

    def test_shapes(self):
        number = self.comms[0].number
        source = torch.Tensor((6, 256))
        self.assertEqual(self.out("all_reduce", source, number), [((6, 256), "bfloat16")])
        self.assertIsNone(self.out("all_reduce_", source, number))
        self.assertEqual(self.out("reduce_scatter", source, number), [((3, 256), "bfloat16")])
        self.assertEqual(self.out("all_gather", source, number), [((12, 256), "bfloat16")])
        norm = (source, None, None, 1e-5, number)
        self.assertEqual(self.out("all_reduce_rms_norm", *norm), [((6, 256), "bfloat16")])
        self.assertEqual(self.out("all_reduce_rms_norm_quant_fp8_dynamic", *norm, group_size=128),
                         [((6, 256), "float8_e4m3fn"), ((6, 2), "float32")])
        scaled = (source, None, None, None, 1e-5, number)
        self.assertEqual(self.out("all_reduce_rms_norm_quant_fp8", *scaled),
                         [((6, 256), "float8_e4m3fn")])
        self.assertEqual(self.out("all_reduce_rms_norm_quant_nvfp4", *scaled),
                         [((6, 128), "uint8"), ((128, 16), "float8_e4m3fn")])
        self.assertEqual(self.out("all_reduce_rms_norm_quant_nvfp4", *scaled, scale_layout=4)[1],
                         ((8, 16), "float8_e4m3fn"))


class CustomAllreduceTest(unittest.TestCase):
    """What engines ask of their communicators."""

    def test_takes_what_it_can(self):
        def rank(group):
            adapter = CustomAllreduce(group, "cuda:0", max_size=4096)
            taken = [adapter.should_custom_ar(tensor) for tensor in (
                torch.Tensor((4, 512)), torch.Tensor((4, 513)), torch.Tensor((8, 512)),
                torch.Tensor((4, 512), contiguous=False), torch.Tensor((4, 512), torch.uint8),
                torch.Tensor((4, 512), address=None))]
            result = adapter.custom_all_reduce(torch.Tensor((4, 512)))
            refused = adapter.custom_all_reduce(torch.Tensor((8, 512)))
            with adapter.capture():
                capturing = adapter._IS_CAPTURING
            residual = torch.Tensor((4, 512))
            fused = adapter.fused_allreduce_rmsnorm(torch.Tensor((4, 512)), residual,
                                                    torch.Tensor((512,)), 1e-6)
            adapter.finalize_p2p()
            adapter.close()
            return (taken, result, refused, capturing, adapter._IS_CAPTURING,
                    fused == ("result of all_reduce_rms_norm", residual),
                    adapter.should_custom_ar(torch.Tensor((4, 512))))
        for results in on_two_ranks(rank):
            self.assertEqual(results, ([True, False, False, False, False, True],
                                       "result of all_reduce", None, True, False, True, False))

    def test_copies_what_begins_between_16_bytes(self):
        def rank(group):
            adapter = CustomAllreduce(group, 0)
            aligned, shifted = torch.Tensor((4, 512)), torch.Tensor((4, 512), address=66)
            for tensor in (aligned, shifted):
                adapter.custom_all_reduce(tensor)
            for function in (adapter.all_reduce, adapter.all_reduce_reg, adapter.all_reduce_unreg):
                assert function(shifted) == "result of all_reduce"
            sent = [call[1][0] for call in torch.calls if call[0] == "all_reduce"
                    and call[1][1] == adapter._comm.number]
            adapter.close()
            return sent[0] is aligned, [tensor.data_ptr() for tensor in sent], sent[1].shape
        self.assertEqual(on_two_ranks(rank), [(True, [64] * 5, (4, 512))] * 2)

    def test_fuses_what_it_can(self):
        def rank(group):
            adapter = CustomAllreduce(group, 0)
            message, gamma = torch.Tensor((4, 512)), torch.Tensor((512,))
            fused = [adapter.fused_allreduce_rmsnorm(torch.Tensor((4, 512)), residual, weight, 1e-6)
                     for residual, weight in (
                         (message, gamma), (None, gamma),
                         (message, torch.Tensor((512,), torch.float32)),
                         (message, torch.Tensor((256,))),
                         (message, torch.Tensor((512,), contiguous=False)),
                         (torch.Tensor((4, 512), torch.float32), gamma),
                         (torch.Tensor((2, 512)), gamma),
                         (torch.Tensor((4, 512), contiguous=False), gamma))]
            adapter.close()
            return [each is not None for each in fused]
        self.assertEqual(on_two_ranks(rank), [[True, True] + [False] * 6] * 2)

    def test_fuses_wherever_a_tensor_begins(self):
        """An address is this rank's own: if it decided, the other rank might go another way."""
        def rank(group):
            adapter = CustomAllreduce(group, 0)
            message, residual, gamma = (
                torch.Tensor(shape, address=66) for shape in ((4, 512), (4, 512), (512,)))
            norm, returned = adapter.fused_allreduce_rmsnorm(message, residual, gamma, 1e-6)
            sent, = [call[1][:3] for call in torch.calls if call[0] == "all_reduce_rms_norm"
                     and call[1][4] == adapter._comm.number]
            adapter.close()
            return (norm, returned is residual, residual.copied is sent[1],
                    [(tensor.data_ptr(), tensor.shape) for tensor in sent])
        self.assertEqual(on_two_ranks(rank), [("result of all_reduce_rms_norm", True, True, [
            (64, (4, 512)), (64, (4, 512)), (64, (512,))])] * 2)

    def test_says_that_it_is_disabled_or_closed(self):
        dist.here.rank = 0
        with self.assertLogs("assay_allreduce.engine", logging.WARNING):
            adapter = CustomAllreduce(dist.Group(1), 0)
        for call in (adapter.all_reduce, adapter.all_reduce_reg, adapter.all_reduce_unreg):
            with self.assertRaisesRegex(AllReduceError, "disabled or closed"):
                call(torch.Tensor((8,)))
        self.assertIsNone(adapter.fused_allreduce_rmsnorm(torch.Tensor((4, 512)), None,
                                                          torch.Tensor((512,)), 1e-6))

    def test_reserves_for_more_than_the_default(self):
        def rank(group):
            adapters = [CustomAllreduce(group, 0, max_size) for max_size in (None, 66 << 20)]
            takes = [adapter.should_custom_ar(torch.Tensor((2000, 4096))) for adapter in adapters]
            adapters[0]._comm.check()
            with self.assertRaises(AllReduceError):  # what the stand-in says of 66 MiB
                adapters[1]._comm.check()
            for adapter in adapters:
                adapter.close()
            return takes
        self.assertEqual(on_two_ranks(rank), [[False, True]] * 2)

    def test_the_environment_says_how_large_messages_it_takes(self):
        def rank(group):
            adapter = CustomAllreduce(group, 0)
            taken = adapter.should_custom_ar(torch.Tensor((2000, 4096)))
            adapter.close()
            return taken
        for text, expected in (("", False), ("64M", True), ("67108864", True), (" 1k ", False)):
            with unittest.mock.patch.dict(os.environ, ASSAY_ALLREDUCE_MAX_SIZE=text):
                self.assertEqual(on_two_ranks(rank), [expected] * 2, text)
        with unittest.mock.patch.dict(os.environ, ASSAY_ALLREDUCE_MAX_SIZE="much"):
            for error in on_two_ranks(rank):
                self.assertRegex(str(error), "ASSAY_ALLREDUCE_MAX_SIZE is 'MUCH'; it takes bytes")

    def test_the_environment_says_the_deadline(self):
        def rank(group):
            adapter = CustomAllreduce(group, 0)
            adapter.close()
            return adapter.disabled
        library = _operators.library
        with unittest.mock.patch.object(library, "create", wraps=library.create) as created:
            on_two_ranks(rank)
            with unittest.mock.patch.dict(os.environ, ASSAY_ALLREDUCE_DEADLINE="2.5"):
                on_two_ranks(rank)
        asked = [call.args[2].deadline_seconds for call in created.call_args_list]
        self.assertEqual(asked, [0, 0, 2.5, 2.5])
        for text in ("soon", "-1", "inf"):
            with unittest.mock.patch.dict(os.environ, ASSAY_ALLREDUCE_DEADLINE=text):
                for error in on_two_ranks(rank):
                    self.assertRegex(str(error), f"ASSAY_ALLREDUCE_DEADLINE is '{text}'; it takes seconds")

    def test_a_missed_deadline_ends_the_process(self):
        made = threading.Event()

        def rank(group):
            adapter = CustomAllreduce(group, 0, 66 << 20)  # of which the stand-in's check() fails
            watches.append(adapter._watch)
            if len(watches) == 2:
                made.set()
            adapter._watch._thread.join(20)
            adapter.close()
        watches, ended = [], []

        def end(error):
            made.wait(20)
            for watch in watches:
                if watch._thread is threading.current_thread():
                    watch.end()
            ended.append(error)
        with unittest.mock.patch.dict(os.environ, ASSAY_ALLREDUCE_DEADLINE="2"), \
                unittest.mock.patch.multiple(engine, _end_process=end,
                                             _SECONDS_BETWEEN_LOOKS=0.01):
            self.assertEqual(on_two_ranks(rank), [None, None])
        self.assertEqual([type(error) for error in ended], [AllReduceError] * 2)

    def test_what_the_environment_of_one_rank_says_wrong_is_told_on_all(self):
        def rank(group):
            return CustomAllreduce(group, 0, 1 << 20 if dist.here.rank == 0 else None)
        with unittest.mock.patch.dict(os.environ, ASSAY_ALLREDUCE_MAX_SIZE="much"):
            for error in on_two_ranks(rank):
                self.assertRegex(str(error), "rank 1 of 2: ASSAY_ALLREDUCE_MAX_SIZE is 'MUCH'")

    def test_ranks_that_would_not_take_the_same_messages_take_none(self):
        def rank(group):
            return CustomAllreduce(group, 0, 1 << 20 if dist.here.rank == 0 else None)
        with self.assertLogs("assay_allreduce.engine", logging.WARNING) as logged:
            adapters = on_two_ranks(rank)
        self.assertEqual([adapter.disabled for adapter in adapters], [True, True])
        self.assertIn("unequal max_size: 1048576, 10485760", logged.output[0])

    def test_an_engine_that_drops_it_gets_its_memory_back(self):
        before = fake_library.fake_live()
        adapters = on_two_ranks(lambda group: CustomAllreduce(group, 0))
        self.assertEqual(fake_library.fake_live(), before + 2)
        del adapters[:]
        gc.collect()
        self.assertEqual(fake_library.fake_live(), before)

    def test_disabled_on_all_ranks_if_one_cannot(self):
        original = _operators.library.create

        def create(rank, world_size, options):
            if rank == 1:
                raise AllReduceError("no peer access")
            return original(rank, world_size, options)
        _operators.library.create = create
        try:
            with self.assertLogs("assay_allreduce.engine", logging.WARNING) as logged:
                adapters = on_two_ranks(lambda group: CustomAllreduce(group, 0))
        finally:
            _operators.library.create = original
        self.assertEqual([adapter.disabled for adapter in adapters], [True, True])
        self.assertEqual([adapter.custom_all_reduce(torch.Tensor((8,))) for adapter in adapters],
                         [None, None])
        self.assertEqual(len(logged.output), 2)
        self.assertIn("rank 1 of 2: no peer access", logged.output[0])

    def test_refuses_a_group_of_nccl(self):
        dist.here.rank = 0
        with self.assertRaisesRegex(ValueError, "not one of NCCL"):
            CustomAllreduce(dist.Group(1, "nccl"), 0)

    def test_one_rank_is_not_asked(self):
        dist.here.rank = 0
        with self.assertLogs("assay_allreduce.engine", logging.WARNING):
            self.assertTrue(CustomAllreduce(dist.Group(1), 0).disabled)


class Theirs:
    """An engine's own communicator. Like vLLM's it asks its class by the name that is then ours."""
    GROUP_SIZES = (1, 2, 4)
    module = None

    def __init__(self, group, **options):
        assert group.size in Theirs.module.CustomAllreduce.GROUP_SIZES
        self.options = options


class ModulesTest(unittest.TestCase):
    """Modules that have the names of the engines'."""

    def module(self, name):
        """The module, with its parents."""
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            made = types.ModuleType(".".join(parts[:end]))
            made.__path__ = []
            made.__spec__ = importlib.machinery.ModuleSpec(made.__name__, None)
            sys.modules[made.__name__] = made
            self.addCleanup(sys.modules.pop, made.__name__, None)
        Theirs.module = made
        return made


class InstallTest(ModulesTest):
    """The engines' own classes, for which ours stand."""

    def check_class(self, made):
        """Ours, and where it is disabled the engine's own."""
        adapters = on_two_ranks(lambda group: made(group=group, device=0, symm_mem_enabled=False))
        self.assertEqual([type(adapter) for adapter in adapters], [CustomAllreduce] * 2)
        self.assertIsInstance(adapters[0], made)
        for adapter in adapters:
            adapter._comm.close(meet=False)
        dist.here.rank = 0
        with self.assertLogs("assay_allreduce.engine", logging.WARNING):
            alone = made(group=dist.Group(1), device=0, symm_mem_enabled=False)
        self.assertIsInstance(alone, Theirs)
        self.assertEqual(alone.options["device"], 0)

    def test_vllm(self):
        import assay_allreduce_vllm
        from assay_allreduce import vllm
        module = self.module(vllm.MODULE)
        module.CustomAllreduce = Theirs
        os.environ.pop("VLLM_PLUGINS", None)
        assay_allreduce_vllm.plugin()
        self.assertIs(module.CustomAllreduce, Theirs)
        os.environ["VLLM_PLUGINS"] = "other,assay_allreduce"
        self.addCleanup(os.environ.pop, "VLLM_PLUGINS")
        for _ in range(2):
            assay_allreduce_vllm.plugin()
            self.check_class(module.CustomAllreduce)

    def test_a_vllm_that_does_not_fit_goes_on(self):
        import assay_allreduce_vllm
        self.module("vllm.distributed")
        with unittest.mock.patch.dict(os.environ, VLLM_PLUGINS="assay_allreduce"), \
                self.assertLogs("assay_allreduce_vllm", logging.ERROR) as log:
            assay_allreduce_vllm.plugin()
        self.assertIn("assay_allreduce is not used, since this vLLM does not fit: No module", log.output[0])

    def test_sglang(self):
        from assay_allreduce import sglang
        module = self.module(sglang.MODULE)
        module.CustomAllreduce = Theirs
        sglang.install()
        self.check_class(module.CustomAllreduce)
        self.assertFalse(hasattr(module, "dispatch_custom_allreduce"))
        module.CustomAllreduce = Theirs
        module.dispatch_custom_allreduce = lambda group=None, device=None: Theirs
        sglang.install()
        self.check_class(module.dispatch_custom_allreduce())
        self.check_class(module.dispatch_custom_allreduce(group=None, device=0))


class DistributedTest(unittest.TestCase):
    """PyTorch's own calls, for which ours stand."""

    def setUp(self):
        # A group of its own for each rank, since ranks of one process share what is installed.
        self.sides = on_two_ranks(lambda group: self.install(copy.copy(group)))
        dist.here.rank, self.sums = 0, self.sides[0]
        self.group = self.sums.group
        dist.here.groups = {"ours": self.group, "another": dist.group.WORLD}
        torch.calls.clear()
        dist.here.reduced = None

    def install(self, group):
        sums = distributed.install(group, 0)
        self.assertIs(distributed.install(group), sums)
        return sums

    def tearDown(self):
        for side in self.sides:
            distributed._installed.pop(side.group, None)
            if not side.disabled:
                side._comm.close(meet=False)

    def test_sums_are_ours(self):
        message, between = torch.Tensor((4, 4096)), torch.Tensor((4, 4096), address=72)
        for all_reduce in (dist.all_reduce, dist.distributed_c10d.all_reduce):
            self.assertIsNone(all_reduce(message, op=dist.ReduceOp.SUM, group=self.group))
        dist.all_reduce(between, group=self.group)
        number = self.sums._comm.number
        self.assertEqual(torch.calls[:2], [("all_reduce_", (message, number))] * 2)
        self.assertEqual((torch.calls[2][0], torch.calls[2][1][1]), ("all_reduce", number))
        self.assertEqual(between.copied, "result of all_reduce")
        self.assertIsNone(dist.here.reduced, "PyTorch added nothing")

    def test_what_we_do_not_take_is_pytorchs(self):
        sum, maximum, message = dist.ReduceOp.SUM, dist.ReduceOp.MAX, torch.Tensor((4, 4096))
        odd, large, bytes = torch.Tensor((7,)), torch.Tensor((1 << 11, 4096)), torch.Tensor((8,), torch.uint8)
        on_host, elsewhere, sparse = torch.Tensor((8,)), torch.Tensor((8,)), torch.Tensor((8,))
        on_host.device, elsewhere.device, sparse.layout = torch.device("cpu"), torch.device("cuda", 1), torch.sparse
        for call in ((message, maximum, self.group, False), (message, sum, self.group, True),
                     (message, sum, None, False), (message, sum, dist.Group(2), False),
                     *((tensor, sum, self.group, False) for tensor in (odd, large, bytes, on_host, elsewhere, sparse,
                                                                   torch.FakeTensor((8,))))):
            tensor, op, group, async_op = call
            done = dist.all_reduce(tensor, op, group, async_op)
            self.assertEqual((dist.here.reduced, done), (call, "work" if async_op else None))
        self.assertEqual(torch.calls, [])

    def test_functional_collectives(self):
        message = torch.Tensor((4, 4096))
        number = self.sums._comm.number
        functional = {name: torch.taken_over[f"_c10d_functional::{name}"]
                      for name in ("all_reduce", "all_reduce_")}
        self.assertEqual(functional["all_reduce"]("keys", message, "SUM", "ours"), "result of all_reduce")
        self.assertIs(functional["all_reduce_"]("keys", message, "sum", "ours"), message)
        self.assertEqual(torch.calls, [(name, (message, number)) for name in functional])
        for name, call in functional.items():
            for theirs in (("keys", message, "max", "ours"), ("keys", message, "sum", "another")):
                self.assertEqual(call(*theirs), (f"PyTorch's _c10d_functional::{name}", theirs))
        remaps = dist._functional_collectives.traceable_collective_remaps
        self.assertEqual(remaps[dist.all_reduce], "the functional one", "torch.compile traces ours alike")

    def test_streams_follow_each_other(self):
        """Those of all groups of the GPU; sides[1] is another group here."""
        first, second, third = torch.Stream(), torch.Stream(), torch.Stream()
        another = self.sides[1].group
        distributed._last_streams.clear()
        for stream, is_capturing, group in (
                (first, False, self.group), (first, False, self.group), (torch.Stream(), True, self.group),
                (second, False, self.group), (third, False, another)):
            with unittest.mock.patch.multiple(torch.cuda, current_stream=lambda where: stream,
                                              is_current_stream_capturing=lambda: is_capturing):
                dist.all_reduce(torch.Tensor((4, 4096)), group=group)
        self.assertEqual([each.waited_for for each in (first, second, third)], [[], [first], [second]])

    def test_a_destroyed_group_keeps_nothing(self):
        pg_map = dist.distributed_c10d._world.pg_map
        self.addCleanup(pg_map.destroyed.clear)
        pg_map.destroyed.update(side.group for side in self.sides)
        with self.assertLogs("assay_allreduce.engine", logging.WARNING):
            distributed.install(dist.Group(1), 0)
        self.assertFalse(distributed._installed)
        self.assertTrue(all(side.disabled for side in self.sides))

    def test_who_wraps_it_later_is_left_there(self):
        def wrapper(*arguments, **options):
            return distributed._all_reduce(*arguments, **options)
        with unittest.mock.patch.multiple(dist, all_reduce=wrapper):
            distributed._stand_in()
            self.assertIs(dist.all_reduce, wrapper)

    def test_closing_gives_them_back(self):
        message = torch.Tensor((4, 4096))
        on_two_ranks(lambda group: self.sides[dist.here.rank].close())
        self.assertFalse(distributed._installed)
        dist.all_reduce(message, group=self.group)
        self.assertEqual(dist.here.reduced[0], message)
        self.assertEqual(torch.calls, [])

    def test_an_all_reduce_that_another_library_put_there_is_none_to_trace(self):
        remaps = {}
        with unittest.mock.patch.object(dist._functional_collectives, "traceable_collective_remaps", remaps), \
                unittest.mock.patch.multiple(dist, all_reduce=distributed._theirs), \
                unittest.mock.patch.object(distributed, "_take_functional"):
            distributed._stand_in.__wrapped__()
        self.assertEqual(remaps, {})

    def test_an_older_pytorch_keeps_functional_collectives(self):
        with unittest.mock.patch.multiple(dist, all_reduce=distributed._theirs), \
                unittest.mock.patch.object(torch, "library", types.SimpleNamespace()), \
                unittest.mock.patch.object(distributed, "_take_functional") as taken, \
                self.assertLogs("assay_allreduce.distributed", logging.WARNING):
            distributed._stand_in.__wrapped__()
            self.assertIs(dist.all_reduce, distributed._all_reduce)
        taken.assert_not_called()

    def test_disabled_is_not_installed(self):
        alone = dist.Group(1)
        with self.assertLogs("assay_allreduce.engine", logging.WARNING):
            self.assertTrue(distributed.install(alone, 0).disabled)
        self.assertNotIn(alone, distributed._installed)


class FlashInferTest(ModulesTest):
    """What engines call of flashinfer.comm, for whose functions ours stand."""
    ASKED = {"backend": "auto", "world_size": 2, "max_token_num": 16, "hidden_dim": 512}
    NAMES = ("create_allreduce_fusion_workspace", "allreduce_fusion")

    def setUp(self):
        self.theirs = []

        def create(backend="auto", world_size=None, rank=None, max_token_num=None, hidden_dim=None, dtype=None,
                   gpus_per_node=None, comm_backend=None, force_oneshot_support=False, group=None):
            self.theirs.append((backend, world_size, rank, max_token_num, hidden_dim, dtype, gpus_per_node,
                                comm_backend, force_oneshot_support, group))
            return types.SimpleNamespace(destroy=lambda: self.theirs.append("destroyed"))
        self.flashinfer = self.module("flashinfer.comm")
        self.flashinfer.create_allreduce_fusion_workspace = create
        self.flashinfer.allreduce_fusion = (
            lambda input, workspace, pattern, launch_with_pdl=False, trigger_completion_at_end=True, **options:
            workspace)
        self.signatures = [inspect.signature(self.function(name)) for name in self.NAMES]
        for _ in range(2):
            flashinfer.install()

    def function(self, name):
        return getattr(self.flashinfer, name)

    def workspaces(self, **asked):
        make = self.flashinfer.create_allreduce_fusion_workspace
        made = on_two_ranks(lambda group: make(rank=dist.here.rank, group=group, dtype=torch.bfloat16,
                                               **{**self.ASKED, **asked}))
        for workspace in made:
            self.addCleanup(workspace.destroy)
        return made

    def call(self, pattern, **options):
        """What reached the library, and what came back."""
        message = options.pop("message", torch.Tensor((4, 512), address=16))
        workspace = options.pop("workspace", None) or self.workspaces()[0]
        given = {"residual_in": torch.Tensor((4, 512), address=32), "rms_gamma": torch.Tensor((512,), address=48),
                 "launch_with_pdl": True, "fp32_acc": True, **options}
        result = self.flashinfer.allreduce_fusion(message, workspace, pattern, **given)
        fake_library.fake_last_call.restype = ctypes.POINTER(Call)
        return fake_library.fake_last_call()[0], result

    def test_a_norm_is_written_where_vllm_wants_it(self):
        message, residual = (torch.Tensor((4, 512), address=address) for address in (16, 32))
        call, result = self.call(1, message=message, residual_in=residual, residual_out=residual,
                                 norm_out=message, rms_eps=1e-5, weight_bias=1.0)
        self.assertIs(result, message)
        self.assertEqual((call.strategy, call.fusion, call.num_tokens, call.hidden_size), (Strategy.AUTO, 1, 4, 512))
        self.assertEqual((call.input, call.output, call.residual_in, call.residual_out, call.gamma),
                         (16, 16, 32, 32, 48))
        self.assertEqual(call.weight_bias, 1.0)
        self.assertAlmostEqual(call.epsilon, 1e-5)
        self.assertEqual(self.theirs, [])

    def test_sums_and_norms_that_are_not_given_a_place_get_one(self):
        call, result = self.call(0)
        self.assertEqual((call.fusion, call.output), (0, result.data_ptr()))
        call, result = self.call(1)
        self.assertEqual((call.fusion, call.output, call.residual_out), (1, result.data_ptr(), 64))

    def test_quantises(self):
        one = torch.Tensor((1,), torch.float32, address=96)
        eighth = torch.Tensor((4, 512), torch.float8_e4m3fn, address=112)
        call, result = self.call(2, quant_out=eighth, scale_factor=one)
        self.assertIs(result, eighth)
        self.assertEqual((call.fusion, call.output, call.quantized, call.scale, call.scale_layout),
                         (2, None, 112, 96, 0))
        call, result = self.call(4, quant_out=eighth, scale_factor=0.5)
        self.assertEqual((call.output, call.quantized, call.scale), (result.data_ptr(), 112, 64))
        call, _ = self.call(10, quant_out=eighth, scale_out=torch.Tensor((4, 1), torch.float32, address=128))
        self.assertEqual((call.scale, call.scale_out, call.scale_layout), (None, 128, 1))
        packed, scales = torch.Tensor((4, 256), torch.uint8), torch.Tensor((128, 32), torch.uint8, address=144)
        for layout, ours in ((None, 0), (0, 0), (1, 4), (2, 3)):
            call, _ = self.call(3, quant_out=packed, scale_out=scales, scale_factor=one, layout_code=layout)
            self.assertEqual((call.fusion, call.scale, call.scale_out, call.scale_layout), (3, 96, 144, ours))

    def test_mnnvl_makes_what_is_not_given_and_returns_what_it_quantised(self):
        workspace = self.workspaces(backend="mnnvl")[0]
        for pattern, dtype, shape in ((2, torch.float8_e4m3fn, (4, 512)), (4, torch.float8_e4m3fn, (4, 512)),
                                      (3, torch.uint8, (4, 256)), (5, torch.uint8, (4, 256))):
            call, result = self.call(pattern, workspace=workspace)
            self.assertEqual((result.dtype, result.shape, call.quantized), (dtype, shape, result.data_ptr()))
            self.assertEqual(call.output is None, pattern in (2, 3))
            self.assertIsNotNone(call.scale)
        one = torch.Tensor((1,), torch.float32, address=96)
        eighth = torch.Tensor((4, 512), torch.float8_e4m3fn, address=112)
        _, result = self.call(4, workspace=workspace, quant_out=eighth, scale_factor=one)
        self.assertIs(result, eighth)
        with self.assertRaisesRegex(ValueError, "needs a scale_factor"):
            self.call(2, quant_out=eighth)

    def test_refuses_tensors_that_do_not_fit(self):
        for wrong, reason in (
                ({"norm_out": torch.Tensor((3, 512))}, "norm_out must be 2048 elements of bfloat16"),
                ({"rms_gamma": torch.Tensor((512,), torch.float32)}, "rms_gamma must be 512 elements"),
                ({"residual_out": torch.Tensor((4, 512), contiguous=False)}, "residual_out must be contiguous")):
            with self.assertRaisesRegex(ValueError, reason):
                self.call(1, **wrong)
        with self.assertRaisesRegex(ValueError, "scale_out must have 4096 bytes"):
            self.call(3, quant_out=torch.Tensor((4, 256), torch.uint8), scale_factor=1.0,
                      scale_out=torch.Tensor((100, 32), torch.uint8))

    def test_what_ours_does_not_fuse_is_theirs(self):
        workspaces = self.workspaces(force_oneshot_support=True)
        for pattern, message in ((8, None), (6, None), (1, torch.Tensor((4, 512), torch.uint8)),
                                 (1, torch.Tensor((4, 2, 256))), (1, torch.Tensor((4, 508)))):
            _, result = self.call(pattern, workspace=workspaces[0],
                                  **({} if message is None else {"message": message}))
            self.assertIs(result, workspaces[0].theirs())
        (*asked, group), = self.theirs
        self.assertEqual(asked, ["auto", 2, 0, 16, 512, torch.bfloat16, None, None, True])
        self.assertEqual(group.size, 2)
        workspaces[0].destroy()
        self.assertEqual(self.theirs[1:], ["destroyed"])
        self.assertIs(self.flashinfer.allreduce_fusion(None, "their workspace", 1), "their workspace")

    def test_holds_what_was_asked_for(self):
        workspaces = self.workspaces(backend="mnnvl")
        self.assertEqual([each.backend for each in workspaces], ["mnnvl"] * 2)
        self.assertEqual(self.workspaces()[0].backend, "trtllm")
        self.assertTrue(workspaces[0].mc_ptr)
        self.assertEqual(workspaces[0].buffer_size_bytes, 16 * 512 * 2)
        self.assertEqual(self.workspaces(max_token_num=1, hidden_dim=8)[0].buffer_size_bytes, 32)
        for tokens, size, expected in ((16, 2, True), (17, 2, False), (16, 4, False)):
            self.assertIs(workspaces[0].is_buffer_size_sufficient(size, tokens, 512, torch.bfloat16), expected)

    def test_has_the_signatures_that_engines_inspect(self):
        self.assertEqual([inspect.signature(self.function(name)) for name in self.NAMES], self.signatures)
        self.assertEqual(self.flashinfer.allreduce_fusion(None, "their workspace", 1, True, False), "their workspace")
        message, weight = torch.Tensor((4, 512), address=16), torch.Tensor((512,), address=48)
        norm = self.flashinfer.allreduce_fusion(message, self.workspaces()[0], 1, True, False, rms_gamma=weight)
        self.assertEqual(norm.shape, (4, 512))

    def test_goes_by_the_backend_where_no_group_is_given(self):
        class Backend:
            def __init__(self, group):
                self.group = group

            def Get_rank(self):
                return dist.here.rank

            def Get_size(self):
                return self.group.size

            def allgather(self, data):
                gathered = [None] * self.group.size
                dist.all_gather_object(gathered, data, group=self.group)
                return tuple(gathered)
        made = on_two_ranks(lambda group: self.flashinfer.create_allreduce_fusion_workspace(
            **self.ASKED, rank=dist.here.rank, dtype=torch.bfloat16, comm_backend=Backend(group)))
        self.assertEqual([(type(each), each.rank, each.world_size) for each in made],
                         [(flashinfer.Workspace, 0, 2), (flashinfer.Workspace, 1, 2)])
        for each in made:
            each.destroy()

    def test_says_that_a_group_is_not_that_of_the_workspace(self):
        dist.here.rank = 0
        with self.assertLogs("assay_allreduce.flashinfer", logging.WARNING) as log:
            made = self.flashinfer.create_allreduce_fusion_workspace(**self.ASKED, rank=0, dtype=torch.bfloat16)
        self.assertIsInstance(made, types.SimpleNamespace)
        self.assertIn("a workspace of 2 ranks was asked for, in a group of 1", log.output[0])

    def test_sglang_takes_ours_whenever_it_was_imported(self):
        from assay_allreduce import sglang
        self.module(sglang.MODULE).CustomAllreduce = Theirs
        kept = types.ModuleType(sglang.FUSION_MODULE)
        kept._create_allreduce_fusion_workspace = kept._allreduce_fusion = lambda: "theirs"
        with unittest.mock.patch.dict(sys.modules, {sglang.FUSION_MODULE: kept}):
            sglang.install()
        self.assertEqual([getattr(kept, f"_{name}") for name in self.NAMES],
                         [self.function(name) for name in self.NAMES])

    def test_other_groups_and_types_are_theirs(self):
        for asked in ({"world_size": 4}, {"dtype": torch.uint8}):
            made = on_two_ranks(lambda group: self.flashinfer.create_allreduce_fusion_workspace(
                **{**self.ASKED, "dtype": torch.bfloat16, "rank": dist.here.rank, "group": group, **asked}))
            self.assertEqual([type(each) for each in made], [types.SimpleNamespace] * 2)
        dist.here.rank = 0
        with self.assertLogs("assay_allreduce.engine", logging.WARNING):
            alone = self.flashinfer.create_allreduce_fusion_workspace(
                "auto", 1, 0, 16, 512, torch.bfloat16, group=dist.Group(1))
        self.assertIsInstance(alone, types.SimpleNamespace)

    def test_is_part_of_what_engines_install(self):
        from assay_allreduce import sglang, vllm
        for engine_module in (vllm, sglang):
            flashinfer_module = self.module("flashinfer.comm")
            flashinfer_module.create_allreduce_fusion_workspace = flashinfer_module.allreduce_fusion = lambda: None
            self.module(engine_module.MODULE).CustomAllreduce = Theirs
            engine_module.install()
            self.assertEqual(flashinfer_module.allreduce_fusion.__module__, flashinfer.__name__)
        older = self.module("flashinfer.comm")
        flashinfer.install()
        self.assertFalse(hasattr(older, "allreduce_fusion"))


if __name__ == "__main__":
    unittest.main()
