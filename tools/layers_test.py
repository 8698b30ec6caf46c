#!/usr/bin/env python3
"""Proves that layers.py sees what it must see."""
import pathlib
import tempfile
import unittest

import layers


def problems(files):
    """Problems of a tree given as {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        src = pathlib.Path(folder)
        for name, text in files.items():
            path = src / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(layers.problems(src))


class LayersTest(unittest.TestCase):
    def test_arrows_along_the_layers_are_right(self):
        files = {
            "core/text.h": "#pragma once\n#include <string>\n",
            "model/table.h": '#include "core/text.h"\n',
            "report/book.h": '#include "model/table.h"\n#include "core/text.h"\n',
            "trace/a.cc": '#include "report/book.h"\n#include "trace/sheets/b.h"\n',
            "trace/sheets/b.h": "",
            "cli/main.cc": '#include "trace/sheets/b.h"\n',
        }
        self.assertEqual(problems(files), [])

    def test_an_arrow_upwards_is_found_with_its_line(self):
        files = {"core/text.cc": '\n#include "model/table.h"\n', "model/table.h": ""}
        self.assertEqual(problems(files), ['core/text.cc:2: core/ must not include "model/table.h"'])

    def test_neighbours_of_one_level_do_not_include_each_other(self):
        self.assertEqual(len(problems({"trace/a.cc": '#include "goal/b.h"', "goal/b.h": ""})), 1)
        self.assertEqual(len(problems({"report/a.cc": '#include "gpu/b.h"', "gpu/b.h": ""})), 1)

    def test_spelling_does_not_hide_an_include(self):
        hidden = '  #  include   "trace/a.h"  // why\n'
        self.assertEqual(len(problems({"core/b.cc": hidden, "trace/a.h": ""})), 1)
        self.assertEqual(len(problems({"core/b.cc": "#include <trace/a.h>", "trace/a.h": ""})), 1)
        self.assertEqual(len(problems({"core/b.cc": '#include "../trace/a.h"', "trace/a.h": ""})), 1)
        self.assertEqual(len(problems({"core/sub/b.cc": '#include "a.h"', "core/sub/a.h": ""})), 1)

    def test_every_file_has_a_layer(self):
        self.assertEqual(len(problems({"misc/a.cc": ""})), 1)
        self.assertEqual(len(problems({"loose.cc": ""})), 1)

    def test_arrows_along_the_subfolders_are_right(self):
        files = {
            "store/files/a.h": "",
            "store/files/b.cc": '#include "store/files/a.h"\n',
            "store/database/c.h": '#include "store/files/a.h"\n',
            "store/judging/d.cc": '#include "store/database/c.h"\n#include "store/files/a.h"\n',
            "collect/kernels/e.h": "",
            "collect/cuda/gemm/f.cu": '#include "collect/kernels/e.h"\n',
            "cli/g.cc": '#include "store/files/a.h"\n',
        }
        self.assertEqual(problems(files), [])

    def test_an_arrow_upwards_between_subfolders_is_found(self):
        files = {"store/files/a.cc": '#include "store/database/b.h"', "store/database/b.h": ""}
        self.assertEqual(problems(files),
                         ['store/files/a.cc:1: store/files/ must not include "store/database/b.h"'])
        files = {"collect/worker/a.cc": '#include "collect/run/b.h"', "collect/run/b.h": ""}
        self.assertEqual(len(problems(files)), 1)

    def test_neighbours_among_the_subfolders_do_not_include_each_other(self):
        files = {"store/answers/a.cc": '#include "store/systems/b.h"', "store/systems/b.h": ""}
        self.assertEqual(len(problems(files)), 1)
        files = {"collect/ops/a.cc": '#include "collect/worker/b.h"', "collect/worker/b.h": ""}
        self.assertEqual(len(problems(files)), 1)

    def test_every_file_of_an_ordered_folder_has_a_subfolder(self):
        self.assertEqual(len(problems({"store/a.cc": ""})), 1)
        self.assertEqual(len(problems({"store/misc/a.cc": ""})), 1)
        self.assertEqual(len(problems({"trace/a.cc": ""})), 0)


if __name__ == "__main__":
    unittest.main()
