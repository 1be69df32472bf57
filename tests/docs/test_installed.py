# SPDX-License-Identifier: BSD-3-Clause
"""The first screen of the README, copied into an empty folder after an installation.

    test_installed.py BUILD
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import guides

BUILD = pathlib.Path(sys.argv[1]).resolve()
LIMIT = 240


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._scratch = tempfile.TemporaryDirectory()
        home = pathlib.Path(cls._scratch.name)
        cls.folder = home / "empty"
        cls.folder.mkdir()
        cls.environment = {name: value for name, value in os.environ.items()
                           if not name.startswith("WEFT_") and name != "PYTHONPATH"}
        cls.environment["HOME"] = str(home)
        for block in guides.blocks("sh", "installed", ["docs/python.md"]):
            text = block.text.replace("build/release", str(BUILD))
            result = cls.run_in(guides.ROOT, "bash", "-e", "-c", text)
            assert result.returncode == 0, result.stdout + result.stderr
        prefix = home / "weft"
        found = {name: next(prefix.rglob(name)).parent
                 for name in ("weft.pc", "libweft.so", "communicator.py")}
        cls.environment.update(
            PATH=f"{prefix}/bin:{os.environ['PATH']}",
            PKG_CONFIG_PATH=str(found["weft.pc"]),
            LD_LIBRARY_PATH=str(found["libweft.so"]),
            PYTHONPATH=str(found["communicator.py"].parent))

    @classmethod
    def tearDownClass(cls):
        cls._scratch.cleanup()

    @classmethod
    def run_in(cls, folder, *command):
        return subprocess.run(command, capture_output=True, text=True, cwd=folder,
                              env=cls.environment, timeout=LIMIT)

    def blocks(self, language, tag=None):
        found = guides.blocks(language, tag, ["README.md"])
        return [block for block in found if block.tag == tag]

    def test_the_program_of_c(self):
        program, = self.blocks("c")
        commands, = self.blocks("sh", "installed")
        (self.folder / "sum.c").write_text(program.text)
        result = self.run_in(self.folder, "bash", "-e", "-c", commands.text)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count("4 ranks"), 4)

    def test_the_program_of_python(self):
        program, = self.blocks("python")
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("no numpy")
        (self.folder / "script.py").write_text(program.text)
        command, = (line.partition("# ")[2] for line in program.text.splitlines() if "# " in line)
        self.assertTrue(command.startswith("python -m weft.run "), command)
        # The interpreter of the test, for which there may be no `python`.
        result = self.run_in(self.folder, sys.executable, *command.split()[1:])
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_command_for_programs_of_nccl(self):
        line, = (block.text for block in self.blocks("sh", "nccl-tests"))
        self.assertTrue(line.startswith("weft nccl-run ./all_reduce_perf "), line)
        result = self.run_in(self.folder, "weft", "nccl-run", "env")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("libnccl.so.2", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
