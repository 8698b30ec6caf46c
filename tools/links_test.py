#!/usr/bin/env python3
"""Proves that links.py sees broken links and takes good ones."""
import pathlib
import tempfile
import unittest

import links


def problems(files):
    """Problems of a tree given as {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(links.problems(links.markdown_files(root), root))


class LinksTest(unittest.TestCase):
    def test_good_links_are_taken(self):
        text = ("# The first, *part*\n[a](docs/b.md) ![p](p.png \"title\") [web](https://x.y/z)\n"
                "[up](#the-first-part) [b](docs/b.md#two-words-1) <img src=\"p.png\"> [r][r]\n\n"
                "[r]: docs/\n")
        self.assertEqual(problems({"a.md": text, "p.png": "",
                                   "docs/b.md": "## Two words\n## Two `words`\n[a](../a.md)"}), [])

    def test_a_missing_file_is_found_with_its_line(self):
        self.assertEqual(problems({"docs/a.md": "x\n[b](b.md) and [c](../c.png)"}),
                         ["docs/a.md:2: b.md: there is no b.md",
                          "docs/a.md:2: ../c.png: there is no ../c.png"])
        self.assertEqual(len(problems({"a.md": "[r]: b.md"})), 1)
        self.assertEqual(len(problems({"a.md": "<img width=\"9\" src=\"b.png\">"})), 1)

    def test_a_missing_heading_is_found(self):
        self.assertEqual(problems({"a.md": "# One\n[x](#two)"}),
                         ["a.md:2: #two: a.md has no heading #two"])
        self.assertEqual(problems({"a.md": "[x](b.md#c)", "b.md": "# B\n```\n# c\n```\n"}),
                         ["a.md:1: b.md#c: b.md has no heading #c"])

    def test_code_holds_no_links(self):
        self.assertEqual(problems({"a.md": "`[b](b.md)` and\n```\n[b](b.md)\n```\n"}), [])

    def test_a_link_out_of_the_tree_is_found(self):
        self.assertEqual(len(problems({"a.md": "[etc](../)"})), 1)


if __name__ == "__main__":
    unittest.main()
