# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the guides and of examples/python run, and so do the commands of docs/python.md."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import weft
from support import main, numpy
from weft.collectives import Collectives

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "docs"))

import guides  # noqa: E402

PAGE = (ROOT / "docs" / "python.md").read_text()
# What they print on two ranks, apart from order.
EXAMPLES = {
    "all_reduce.py": ["2 ranks, sums [1.0, 2.0]"],
    "ring.py": [
        "rank 0 has the number of rank 1",
        "rank 1 has the number of rank 0",
        "the token has passed 1 ranks",
    ],
    "overlap.py": ["rank 0: mean 1.5", "rank 1: mean 1.5"],
    "asynchronous.py": ["rank 0: sums [2.0, 4.0]", "rank 1: sums [2.0, 4.0]"],
}


def run_ranks(*command):
    return subprocess.run(
        [sys.executable, "-m", "weft.run", "-n", "2", *command],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )


class Documents(unittest.TestCase):
    def test_every_example_runs(self):
        folder = ROOT / "examples" / "python"
        self.assertEqual(sorted(path.name for path in folder.glob("*.py")), sorted(EXAMPLES))
        for name, expected in EXAMPLES.items():
            source = (folder / name).read_text()
            if numpy is None and "import numpy" in source:
                continue
            with self.subTest(name):
                # In whole lines, whoever writes first.
                result = run_ranks("-p", str(folder / name))
                self.assertEqual(result.returncode, 0, result.stderr)
                lines = [line[4:].partition(", trace")[0] for line in result.stdout.splitlines()]
                self.assertEqual(sorted(lines), expected)

    def test_every_program_runs(self):
        programs = [block for block in guides.blocks("python") if block.tag is None]
        self.assertGreaterEqual(len(programs), 6)
        for block in programs:
            if numpy is None and "import numpy" in block.text:
                continue
            with self.subTest(f"{block.page}:{block.line}"):
                result = run_ranks(sys.executable, "-c", block.text)
                self.assertEqual(result.returncode, 0, result.stderr)
                # Programs of the guide show something.
                self.assertTrue(result.stdout or block.page != "docs/python.md")

    def test_every_command_of_the_page_runs(self):
        found = guides.blocks("sh", "python")
        self.assertGreaterEqual(len(found), 1)
        library = os.environ.get("LD_LIBRARY_PATH", "")
        for block in found:
            # The build under test may be another one, or an installed package without folders.
            text = re.sub(r"^export PYTHONPATH=\S+ ", "export ", block.text, flags=re.M)
            text = text.replace("$PWD/build/release/lib", library)
            command = f'python3() {{ "{sys.executable}" "$@"; }}\n{text}'
            result = subprocess.run(
                ["bash", "-e", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=120
            )
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_name_of_the_page_exists(self):
        for name in re.findall(r"`weft\.(\w+)", PAGE):
            self.assertTrue(hasattr(weft, name) or name in ("h", "ini", "run", "torch"), name)
        for name in re.findall(r"`comm\.(\w+)", PAGE):
            found = hasattr(weft.Communicator, name) or name == "start"
            self.assertTrue(found, name)

    def test_every_call_of_a_communicator_is_in_the_page(self):
        for name in vars(Collectives):
            if not name.startswith("_"):
                self.assertTrue(f"`{name}" in PAGE, name)


if __name__ == "__main__":
    main()
