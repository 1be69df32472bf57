# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/gpu.md is what nvcc says of the kernels.

    test_compiler.py NVCC BUILD    compares; compiles if no report of these sources is in BUILD
    test_compiler.py               says that it is skipped: no CUDA Toolkit

A kernel that spills is seen here at the latest: nothing else on a machine without a GPU notices.
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugins" / "kernel-cuda"
TABLE = "| architecture | registers | spilled | stack | shared memory |"
LIMIT = 1500
# The widest accesses of the copy and of sums, in the text that ptxas translates.
WIDE = {"loads": re.compile(r"\bld\.\S*v4\.\S*32\b"), "stores": re.compile(r"\bst\.\S*v4\.\S*32\b")}
# In the same text: calls of a function on a device, and memory of a thread that is none of its
# registers.
SLOW = {"64-bit remainders": re.compile(r"\brem\.[us]64\b"),
        "local memory": re.compile(r"\.local\b")}
HEAD = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'")
STACK = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers.*?(?:, (\d+) bytes smem|$)")


def documented(text):
    """{architecture: (registers, spilled, stack, shared memory)} of the guide."""
    rows = {}
    for line in text.partition(TABLE)[2].strip().splitlines()[1:]:
        if not line.startswith("|"):
            break
        name, *figures = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name] = tuple(int(figure.split()[0]) for figure in figures)
    return rows


def reported(text, kernel="cuda_grid"):
    """The same of what `nvcc -Xptxas -v` wrote."""
    rows = {}
    name = architecture = None
    stack = spilled = 0
    for line in text.splitlines():
        if HEAD.search(line):
            name, architecture = HEAD.search(line).groups()
            stack = spilled = None
        elif name and stack is None and STACK.search(line):
            stack, stores, loads = (int(figure) for figure in STACK.search(line).groups())
            spilled = max(stores, loads)
        elif name and USED.search(line):
            registers, shared = USED.search(line).groups()
            if kernel in name:
                rows[architecture] = (int(registers), spilled, stack, int(shared or 0))
            name = None
    return rows


def digest(nvcc, architectures):
    """Of all that the compiler reads, and of the compiler."""
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    names = sorted(PLUGIN.rglob("*.h")) + sorted(PLUGIN.rglob("*.inc")) + [PLUGIN / "kernels.cu"]
    names += sorted((ROOT / "api").rglob("*.h"))
    text = "\n".join([version, *architectures, pathlib.Path(__file__).read_text(),
                      *(name.read_text() for name in names)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compiled(nvcc, build, architectures):
    """What the compiler says, and how many wide loads and stores its text has. One architecture
    after the other, as those of a parallel run would mix their lines."""
    kept = build / f"compiler-{digest(nvcc, architectures)}.txt"
    if kept.exists():
        return kept.read_text()
    says = ""
    for name in architectures:
        with tempfile.TemporaryDirectory() as folder:
            command = [nvcc, "-std=c++17", "-O3", "-fmad=false", "-Xptxas", "-v", "-cubin",
                       f"-arch={name}", "--keep", "--keep-dir", folder, f"-I{ROOT / 'api'}",
                       f"-I{PLUGIN}", str(PLUGIN / "kernels.cu"), "-o", f"{folder}/kernels.cubin"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT,
                                  check=False)
            if done.returncode != 0:
                raise AssertionError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
            says += done.stdout + done.stderr
            text = "".join(path.read_text() for path in pathlib.Path(folder).glob("*.ptx"))
            for what, pattern in WIDE.items():
                says += f"{name} wide {what}: {len(pattern.findall(text))}\n"
            for what, pattern in SLOW.items():
                says += f"{name} {what}: {len(pattern.findall(text))}\n"
    part = kept.with_suffix(".part")
    part.write_text(says)
    part.rename(kept)
    return says


class Compiler(unittest.TestCase):
    """The table, and the compiler's report of the same architectures."""

    says = guide = ""
    table = {}

    @classmethod
    def setUpClass(cls):
        cls.guide = (ROOT / "docs" / "gpu.md").read_text()
        cls.table = documented(cls.guide)
        cls.says = compiled(NVCC, BUILD, sorted(cls.table))

    def test_the_table_is_there(self):
        self.assertLessEqual({"sm_80", "sm_90", "sm_100"}, set(self.table))

    def test_figures(self):
        version = subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True)
        here = re.search(r"release ([\d.]+)", version.stdout)[1]
        of = re.search(r"-Xptxas -v` of CUDA ([\d.]+\d)", self.guide)[1]
        if here != of:
            self.skipTest(f"SKIPPED: the table of docs/gpu.md is of CUDA {of}, here is {here}")
        found = reported(self.says)
        self.assertEqual(
            found, self.table,
            "docs/gpu.md: (registers, spilled, stack, shared memory); the first is the compiler's")

    def test_nothing_is_spilled(self):
        for name, (_, spilled, stack, _) in reported(self.says).items():
            self.assertEqual((spilled, stack), (0, 0), f"{name}: bytes spilled, bytes of stack")

    def test_wide_accesses(self):
        for name in self.table:
            for what in WIDE:
                count = re.search(rf"{name} wide {what}: (\d+)", self.says)
                self.assertTrue(count and int(count[1]) > 0,
                                f"{name}: no {what} of 16 bytes: copies are narrow")


    def test_nothing_slow(self):
        for name in self.table:
            for what in SLOW:
                count = re.search(rf"{name} {what}: (\d+)", self.says)
                self.assertEqual(int(count[1]), 0, f"{name}: {what}")


class Reader(unittest.TestCase):
    """What is read from a report is what it says."""

    SAYS = """ptxas info    : Compiling entry function 'cuda_host_wait' for 'sm_80'
ptxas info    : Function properties for cuda_host_wait
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers, 368 bytes cmem[0]
ptxas info    : Compiling entry function '_Z9cuda_grid8cuda_job' for 'sm_80'
ptxas info    : Function properties for _Z9cuda_grid8cuda_job
    8 bytes stack frame, 4 bytes spill stores, 2 bytes spill loads
ptxas info    : Used 125 registers, used 1 barriers, 848 bytes smem, 736 bytes cmem[0]
"""

    def test_report(self):
        self.assertEqual(reported(self.SAYS), {"sm_80": (125, 4, 8, 848)})

    def test_table(self):
        text = (TABLE + "\n|---|---|---|---|---|\n"
                "| sm_80 | 125 | 4 bytes | 8 bytes | 848 bytes |\n\n| x |")
        self.assertEqual(documented(text), reported(self.SAYS))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print("SKIPPED: no nvcc: the table of docs/gpu.md is not compared with the compiler")
        sys.exit(77)
    NVCC, BUILD = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1])
