#!/usr/bin/env python3
"""Proves that check_binaries.py sees each way in which a program can be wrong."""
import pathlib
import subprocess
import tempfile
import unittest

import check_binaries

SOURCE = r"""
#include <stdio.h>
#include <string.h>
int fill(char* to, const char* from, int n) {
  char text[64];
  memcpy(text, from, n);
  return snprintf(to, 64, "%s", text) + WHERE;
}
int main(int argc, char** argv) {
  char text[64];
  return fill(text, argv[0], argc);
}
"""
GOOD = ["-O2", "-fPIE", "-pie", "-fstack-protector-strong", "-U_FORTIFY_SOURCE",
        "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now", "-Wl,-z,noexecstack"]
NOWHERE = "-DWHERE=0"


class CheckBinariesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name) / "tree"
        self.source = pathlib.Path(folder.name) / "program.c"
        self.source.write_text(SOURCE, encoding="utf-8")
        (self.tree / "lib").mkdir(parents=True)

    def compile(self, name, *options):
        subprocess.run(["cc", "-w", *options, "-o", self.tree / name, self.source], check=True)

    def problems(self, *options, name="program"):
        self.compile(name, *GOOD, *options)
        return check_binaries.problems(self.tree, ["/home/builder/assay"])

    def expect(self, words, *options):
        found = self.problems(NOWHERE, *options)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_a_hardened_program_is_right(self):
        self.assertEqual(self.problems(NOWHERE), [])

    def test_each_missing_protection_is_seen(self):
        self.expect("position independent", "-fno-pie", "-no-pie")
        self.expect("BIND_NOW", "-Wl,-z,lazy")
        self.expect("executable stack", "-Wl,-z,execstack")
        self.expect("stack protector", "-fno-stack-protector")
        self.expect("FORTIFY", "-U_FORTIFY_SOURCE")
        self.assertIn("program: has no RELRO segment",
                      self.problems(NOWHERE, "-Wl,-z,norelro"))

    def test_an_absolute_run_path_is_seen(self):
        self.assertEqual(self.problems(NOWHERE, "-Wl,-rpath,$ORIGIN/../lib"), [])
        self.expect("/opt/lib", "-Wl,-rpath,$ORIGIN/../lib:/opt/lib")

    def test_a_build_path_is_seen_in_any_file(self):
        inside = r'-DWHERE=(int)(long)"in /home/builder/assay/src/a.cc"'
        beside = r'-DWHERE=(int)(long)"/usr/home/builder/assay, /home/builder/assay2"'
        self.assertEqual(self.problems(inside),
                         ["program: names the build's folder /home/builder/assay"])
        self.assertEqual(self.problems(beside), [])
        (self.tree / "a.pc").write_text("prefix=/home/builder/assay/build", encoding="utf-8")
        self.assertEqual(self.problems(NOWHERE),
                         ["a.pc: names the build's folder /home/builder/assay"])

    def test_a_c_library_has_a_soname_and_is_installed_under_it(self):
        name = "lib/libassay_measure.so.0.2.0"
        library = [NOWHERE, "-shared", "-fPIC"]
        self.assertIn("no SONAME", self.problems(*library, name=name)[0])
        versioned = [*library, "-Wl,-soname,libassay_measure.so.0"]
        self.assertIn("not installed under its SONAME", self.problems(*versioned, name=name)[0])
        (self.tree / "lib/libassay_measure.so.0").symlink_to("libassay_measure.so.0.2.0")
        self.assertEqual(self.problems(*versioned, name=name), [])


if __name__ == "__main__":
    unittest.main()
