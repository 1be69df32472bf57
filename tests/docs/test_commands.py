# SPDX-License-Identifier: BSD-3-Clause
"""Every command of the guides is run by a test, or the guide's source says why not.

    test_commands.py BUILD [left-out]

runs the commands that need nothing but a build, and checks that each other one has its test. With
left-out it prints the commands that no test runs, with their reasons, and skips.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import guides

BUILD = pathlib.Path(sys.argv[1]).resolve()
LIMIT = 240
# Words that begin a command: a block of them without a language is one that nobody would run.
COMMANDS = re.compile(
    r"weft [\w-]+ |(build/|\./|WEFT_|NCCL_)\w|"
    r"(cmake|ctest|make|mpirun|mpiexec|srun|torchrun|pip|python3?|export|sudo) ")
# A program around the lines of C of a guide that are none.
PROGRAM = """#include <stddef.h>
#include <weft/weft.h>
int main(void)
{
    float send[4] = {1, 2, 3, 4}, recv[4] = {0};
    const size_t count = 4;
%s    return recv[3] == 4 ? 0 : 1;
}
"""


def command_lines(block):
    """The commands of a block, for messages."""
    lines = (line.partition(" #")[0].strip() for line in block.text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def run(*command, **variables):
    # A variable of the caller would be another configuration.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    clean["PATH"] = f"{BUILD}/bin:{clean['PATH']}"
    clean.update(variables)
    return subprocess.run(command, capture_output=True, text=True, cwd=guides.ROOT, env=clean,
                          timeout=LIMIT)


class Commands(unittest.TestCase):
    def test_each_block_of_commands_says_who_runs_it(self):
        for block in guides.blocks():
            where = f"{block.page}:{block.line}: {block.text.splitlines()[0]}"
            if block.language == "sh":
                self.assertTrue(block.tag or block.reason, f"{where}: nothing says who runs it")
            if block.tag:
                self.assertIn(block.tag, guides.RUNNERS, where)
            if block.language == "":
                self.assertFalse(COMMANDS.match(block.text), f"{where}: not marked as sh")

    def test_each_runner_asks_for_its_blocks(self):
        used = {block.tag for block in guides.blocks() if block.tag}
        self.assertEqual(used, set(guides.RUNNERS))
        for tag, name in guides.RUNNERS.items():
            path = guides.ROOT / name
            if not path.parent.exists():
                continue  # bindings may be deleted, with their tests
            asks = re.search(rf"(documented|guides)\b.*\b{tag}\b", path.read_text())
            self.assertTrue(asks, f"{name} does not ask for the blocks of {tag}")

    def test_programs_of_python_have_a_runner(self):
        # Without a tag those of these pages are the package's; others have to say.
        own = ("README.md", "bindings/python/README.md", "docs/python.md")
        for block in guides.blocks("python"):
            self.assertTrue(block.page in own or block.tag, f"{block.page}:{block.line}")

    @unittest.skipIf(os.environ.get("E2E_SANITIZE"), "large sizes; tests/e2e has the tools")
    def test_commands_that_need_only_a_build(self):
        for block in guides.blocks("sh", "here"):
            with self.subTest(command_lines(block)):
                text = block.text.replace("build/release/", f"{BUILD}/")
                result = run("bash", "-e", "-c", text)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                # As many verdicts as measurements.
                wanted = len(re.findall(r"weft perf ", text))
                self.assertEqual(result.stdout.count("# Out of bounds values : 0 OK"), wanted)

    def test_configuration_of_net_ib(self):
        # On the adapters of tests/fake-verbs, which have other names.
        fake = BUILD / "lib/fake-verbs"
        if not fake.exists():
            self.skipTest("net-ib was not built")
        block, = guides.blocks("ini", pages=["docs/transports/ib.md"])
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
            file.write(block.text.replace("mlx5_", "fake"))
            file.flush()
            result = run("weft", "info", "--conf", file.name, "net-ib",
                         FAKE_VERBS="devices=3", LD_LIBRARY_PATH=str(fake))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(re.findall(r"device \d: (\S+),", result.stdout), ["fake0:1", "fake1:1"])

    def test_programs_of_c(self):
        found = guides.blocks("c")
        self.assertGreaterEqual(len(found), 1)
        compiler = os.environ.get("CC", "cc").split()
        for block in found:
            with tempfile.TemporaryDirectory() as folder:
                source = pathlib.Path(folder, "program.c")
                is_program = "int main(" in block.text
                source.write_text(block.text if is_program else PROGRAM % block.text)
                result = run(*compiler, "-std=c11", "-Wall", f"-I{guides.ROOT}/api", str(source),
                             "-o", f"{folder}/program", f"-L{BUILD}/lib", "-lweft",
                             f"-Wl,-rpath,{BUILD}/lib")
                self.assertEqual(result.returncode, 0, result.stderr)
                result = run(f"{folder}/program")
                self.assertEqual(result.returncode, 0, result.stderr)


def left_out():
    """One line, which the summary of the tests shows."""
    found = [f"{'; '.join(command_lines(block))} ({block.page}: {block.reason})"
             for block in guides.blocks() if block.reason]
    script = [f"{'; '.join(command_lines(block))} ({block.page})"
              for block in guides.blocks("sh", "clone")]
    print("SKIPPED: commands that no test runs:", " | ".join(found) or "none;",
          "commands that only scripts/test-guides runs:", " | ".join(script))
    sys.exit(77)


if __name__ == "__main__":
    if sys.argv[2:] == ["left-out"]:
        left_out()
    unittest.main(argv=sys.argv[:1])
