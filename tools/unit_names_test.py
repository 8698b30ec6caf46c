#!/usr/bin/env python3
"""Proves that unit_names.py sees what it must see."""
import pathlib
import tempfile
import unittest

import unit_names


def problems(files):
    """Problems of files whose unnamed namespaces hold these lines."""
    with tempfile.TemporaryDirectory() as folder:
        src = pathlib.Path(folder)
        for name, text in files.items():
            path = src / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"namespace {{\n{text}\n}}  // namespace\nstruct Outside {{}};\n",
                            encoding="utf-8")
        return [problem.removeprefix(f"{src}/") for problem in unit_names.problems(src)]


class UnitNamesTest(unittest.TestCase):
    def test_types_constants_and_functions_are_seen(self):
        for text in ("struct Run {};", "enum class Order { kExact, kAny };",
                     "constexpr double kMost = 2;", "constexpr int kSizes[3] = {1, 2, 3};",
                     "double mean_of(const Runs& runs) {"):
            with self.subTest(text):
                found = problems({"a/one.cc": text, "a/two.cc": text})
                self.assertEqual(len(found), 1)
                self.assertTrue(found[0].startswith("a/two.cc:2: "), found)

    def test_an_alias_may_stand_twice_with_one_meaning(self):
        first = "using Run = std::vector<int>;"
        self.assertEqual(problems({"a/one.cc": first, "a/two.cc": first}), [])
        self.assertEqual(len(problems({"a/one.cc": first, "a/two.cc": "using Run = int;"})), 1)

    def test_overloads_members_and_declarations_may_stand_twice(self):
        for one, two in (("void add(int a) {", "void add(double a) {"),
                         ("  void run() {", "  void run() {"), ("struct Run;", "struct Run;")):
            with self.subTest(one):
                self.assertEqual(problems({"a/one.cc": one, "a/two.cc": two}), [])

    def test_folders_and_tests_are_apart(self):
        text = "struct Run {};"
        self.assertEqual(problems({"a/one.cc": text, "b/two.cc": text, "a/one_test.cc": text}), [])


if __name__ == "__main__":
    unittest.main()
