# SPDX-License-Identifier: BSD-3-Clause
"""Links of the guides into this tree lead to a file that is there, and to a heading that it has.

    test_links.py SOURCE

Addresses of other sites are not looked at.
"""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
LEFT_OUT = ("build", "shared")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


def without_code(text):
    """The text with its fenced blocks emptied, so that lines keep their numbers."""
    return FENCE.sub(lambda match: "\n" * match.group().count("\n"), text)


def anchors(text):
    """The anchors that the headings of a page get on a forge."""
    found, plain = [], []
    for heading in re.findall(r"^#+ (.*)$", without_code(text), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().replace("`", "")).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(f"{name}-{plain.count(name)}" if name in plain else name)
        plain.append(name)
    return found


def dead_links(root, page):
    """The links of a page that lead nowhere, with their lines."""
    text = without_code(page.read_text(encoding="utf-8"))
    dead = []
    for match in LINK.finditer(text):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = page if target == "" else (page.parent / target).resolve()
        if not path.exists():
            why = "no such file"
        elif anchor and path.suffix == ".md" and \
                anchor not in anchors(path.read_text(encoding="utf-8")):
            why = "no such heading"
        else:
            continue
        line = text.count("\n", 0, match.start()) + 1
        dead.append(f"{page.relative_to(root)}:{line}: {match.group(1)}: {why}")
    return dead


def pages(root):
    """All pages of the tree."""
    return sorted(page for page in root.rglob("*.md")
                  if page.relative_to(root).parts[0] not in LEFT_OUT)


class Links(unittest.TestCase):
    """Of this tree, and of a made-up one that has dead ones."""

    def test_links_of_the_tree(self):
        found = [link for page in pages(ROOT) for link in dead_links(ROOT, page)]
        self.assertGreater(len(pages(ROOT)), 100)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_each_decision_is_in_the_list(self):
        folder = ROOT / "docs" / "decisions"
        listed = set(LINK.findall((folder / "README.md").read_text(encoding="utf-8")))
        records = {page.name for page in folder.glob("[0-9]*.md")}
        self.assertEqual(sorted(records - listed), [])

    def test_dead_links_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "b.md").write_text("# One `two`, [three](b.md)\n# Same\n# Same\n")
            (root / "a.md").write_text(
                "[x](b.md) [x](b.md#one-two-three) [x](b.md#same-1) [x](https://nowhere)\n"
                "```\n[x](gone)\n```\n[x](c.md)\n[x](b.md#four) [x](#here)\n")
            self.assertEqual(dead_links(root, root / "a.md"),
                             ["a.md:5: c.md: no such file", "a.md:6: b.md#four: no such heading",
                              "a.md:6: #here: no such heading"])


if __name__ == "__main__":
    unittest.main()
