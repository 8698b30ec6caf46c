"""The manual of all commands: docs/commands.md is what the program says, and man(1) reads its pages
without a warning."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
ROOT = pathlib.Path(__file__).resolve().parents[2]


def help_of(*arguments):
    run = subprocess.run([ASSAY, "help", *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


class Manual(unittest.TestCase):
    def test_the_checked_in_document_is_what_the_program_says(self):
        checked_in = (ROOT / "docs" / "commands.md").read_text()
        self.assertEqual(
            checked_in, help_of("--format", "markdown"),
            "write it again: assay help --format markdown > docs/commands.md")

    def test_every_command_has_a_page_that_man_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder) / "share" / "man1"
            help_of("--format", "man", "-o", folder)
            pages = sorted(folder.iterdir())
            names = {page.name for page in pages}
            document = help_of("--format", "markdown")
            titles = [line[3:] for line in document.splitlines() if line.startswith("## ")]
            self.assertEqual(names, {title.replace(" ", "-") + ".1" for title in titles})
            self.assertIn("assay-trace-compare.1", names)
            self.assertEqual((folder / "assay-sweep-run.1").read_text(),
                             help_of("sweep", "run", "--format", "man"))
            if shutil.which("groff"):
                for page in pages:
                    run = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page],
                                         capture_output=True, text=True)
                    self.assertEqual((run.returncode, run.stderr), (0, ""), page.name)

    def test_names_that_commands_share_are_in_the_table_of_names(self):
        section = (ROOT / "CONTRIBUTING.md").read_text().split("## Name an option")[1]
        told = re.findall(r"--[\w-]+", section.split("\n## ")[0].replace("_", "-"))
        texts = {}
        for part in help_of("--format", "markdown").split("\n## ")[1:]:
            for entry in re.findall(r"^- (.*)", part, re.MULTILINE):
                for name in re.findall(r"(?<=[ `])--[\w-]+", " " + entry.split("`:")[0]):
                    texts.setdefault(name.replace("_", "-"), set()).add(entry)
        shared = sorted(name for name, entries in texts.items() if len(entries) > 1)
        self.assertGreater(len(shared), 20)
        self.assertEqual([name for name in shared if name not in told], [])

    def test_pages_go_into_a_folder_only_as_man_pages(self):
        run = subprocess.run([ASSAY, "help", "-o", "somewhere"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--output needs --format man", run.stderr)


if __name__ == "__main__":
    unittest.main()
