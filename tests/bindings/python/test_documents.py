# SPDX-License-Identifier: BSD-3-Clause
"""Programs of docs/python.md and of examples/python run, and the commands of the page are right."""

import pathlib
import re
import subprocess
import sys
import unittest

import weft
from support import main, numpy
from weft.collectives import Collectives

ROOT = pathlib.Path(__file__).resolve().parents[3]
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


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


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

    def test_every_program_of_the_page_runs(self):
        programs = blocks("python")
        self.assertGreaterEqual(len(programs), 4)
        for program in programs:
            with self.subTest(program.splitlines()[-1]):
                result = run_ranks(sys.executable, "-c", program)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout)

    def test_every_command_of_the_page_runs(self):
        commands = [
            line.partition("#")[0].strip()
            for block in blocks("sh")
            for line in block.splitlines()
            if line.startswith("python3 ")
        ]
        self.assertGreaterEqual(len(commands), 3)
        for command in commands:
            with self.subTest(command):
                words = [sys.executable, *command.split()[1:]]
                result = subprocess.run(
                    words, capture_output=True, text=True, cwd=ROOT, timeout=120
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
