# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/gpu.md is what the machine code of the plugin says.

    test_compiler.py NVCC PLUGIN PROBE    reads the plugin, and the kernels of the program `probe`,
                                          with cuobjdump and nvdisasm
    test_compiler.py                      says that it is skipped: no CUDA Toolkit

A kernel that spills, copies in narrow words or calls a division is seen here at the latest: nothing
else on a machine without a GPU notices.
"""

import pathlib
import re
import subprocess
import sys
import unittest

import machine_code

GUIDE = (machine_code.ROOT / "docs" / "gpu.md").read_text()
TABLE = "| kernel | architecture |"


def documented(text):
    """{(kernel, architecture): row} of the guide."""
    rows = {}
    for line in text.partition(TABLE)[2].splitlines()[2:]:
        if not line.startswith("|"):
            break
        kernel, architecture, *figures = (cell.strip() for cell in line.strip("|").split("|"))
        rows[kernel.strip("`"), architecture] = tuple(figures)
    return rows


class MachineCode(unittest.TestCase):
    """What is in the plugin."""

    @classmethod
    def setUpClass(cls):
        cls.code = machine_code.read(PLUGIN, PROGRAMS)

    def each(self):
        for architecture, (used, found) in self.code.items():
            yield architecture, used, found

    def test_the_table(self):
        release = subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True)
        here = re.search(r"release ([\d.]+)", release.stdout)[1]
        of = re.search(r"by nvcc of CUDA ([\d.]+\d)", GUIDE)[1]
        if here != of:
            self.skipTest(f"SKIPPED: the table of docs/gpu.md is of CUDA {of}, here is {here}")
        table = documented(GUIDE)
        self.assertEqual({architecture for _, architecture in table},
                         set(machine_code.ARCHITECTURES))
        for architecture, used, found in self.each():
            self.assertEqual(
                machine_code.measured(architecture, used, found),
                {key: row for key, row in table.items() if key[1] == architecture},
                "docs/gpu.md: tests/gpu/machine_code.py prints the rows; the first is measured")

    def test_the_plugin_has_the_architectures_of_the_table(self):
        missing = set(machine_code.ARCHITECTURES) - set(self.code)
        if missing:
            self.skipTest(f"SKIPPED: the plugin is not built for {' '.join(sorted(missing))}")

    # Bytes of stack, and accesses of it, that the table admits: what does not fit the registers.
    SPILLED = {"sm_100": (48, 28)}

    def test_no_memory_is_local(self):
        for architecture, used, found in self.each():
            bytes_most, accesses_most = self.SPILLED.get(architecture, (0, 0))
            for kernel, (_, stack, _, local) in used.items():
                self.assertLessEqual(stack, bytes_most, f"{architecture}, {kernel}: stack")
                self.assertEqual(local, 0, f"{architecture}, {kernel}: local memory")
            accesses = sum(machine_code.count(one, "^(LDL|STL)") for one in found.values())
            self.assertLessEqual(accesses, accesses_most, architecture)

    def test_copies_and_sums_are_wide(self):
        """What is narrow in the loop of a sum is the load of its factor (PREMULSUM)."""
        for architecture, _, found in self.each():
            names = [name for name in found if re.fullmatch(r"cuda_(copy|\w+_combine)", name)]
            self.assertGreater(len(names), 10)
            for name in names:
                loop = machine_code.copy_loop(found[name])
                self.assertGreater(len(loop), 0,
                                   f"{architecture}, {name}: no loop of accesses of 16 bytes")
                narrow = [one.code for one in loop if machine_code.ACCESS.match(one.code)
                          and ".128" not in one.code and one.code[0] == "S"]
                self.assertEqual(narrow, [], f"{architecture}, {name}")

    def test_a_block_has_one_caller_of_the_copy(self):
        """Another would be a warp apart from itself, which goes through the copy twice."""
        for architecture, _, found in self.each():
            self.assertEqual([machine_code.calls(found[name], "^lanes_combine$")
                              for name in ("cuda_grid", "lanes_slice")], [1, 1], architecture)

    def test_a_look_costs_no_fence(self):
        for architecture, _, found in self.each():
            self.assertFalse(machine_code.fence_before_look(found), architecture)

    def test_flagged_units_are_single_accesses_without_a_fence(self):
        """Eight words of a header, and all parts of payloads: 16 bytes each, data and flag."""
        for architecture, _, found in self.each():
            load, store = (rf"^{code}\S*\.128\.STRONG\.SYS" for code in ("LD", "ST"))
            wanted = (("lanes_header_load", load, 8), ("lanes_publish", store, 8),
                      ("lanes_pack", store, 2), ("lanes_unpack", load, 2))
            for name, pattern, times in wanted:
                self.assertGreaterEqual(machine_code.count(found[name], pattern), times,
                                        f"{architecture}, {name}")
            for name in ("lanes_header_load", "lanes_pack", "lanes_unpack"):
                self.assertEqual(
                    machine_code.count(found[name], r"\.64\.STRONG|^MEMBAR|^CCTL"), 0,
                    f"{architecture}, {name}: a narrower access, or a fence")

    def test_no_division_of_64_bits(self):
        """But where the mean of 64-bit integers is asked for."""
        for architecture, _, found in self.each():
            for name, lines in found.items():
                if not re.match("cuda_u?int64_combine", name):
                    self.assertEqual(machine_code.calls(lines, machine_code.DIVISION), 0,
                                     f"{architecture}, {name}")


class Multicast(unittest.TestCase):
    """The draft of an all-reduce in the switch, which nothing has run."""

    def test_the_switch_sums(self):
        for architecture, (_, found) in machine_code.read(PROBE, PROGRAMS).items():
            lines = [one for function in found.values() for one in function]
            sums = [machine_code.count(lines, "^LDGMC.*" + kind)
                    for kind in (r"\.F32x4", r"\.F16x8", r"\.BF16x8")]
            self.assertEqual(sums, [0, 0, 0] if architecture == "sm_80" else [1, 1, 1],
                             architecture)


class Reader(unittest.TestCase):
    """What is read is what the tools print."""

    CODE = """
        .type           cuda_host_wait,@function
        /*0000*/              LDC.64 R2, c[0x0][0x210] ;
        .type           $_Z1f$_ZN41_INTERNAL_7e1_10_kernels_cu_bcbeb9b09cuda_copyEPK1cmjj,@function
.L_x_1:
        /*0ad20*/                   LD.E.U8 R2, desc[UR4][R56.64] ;
.L_x_2:
        /*0ad30*/             @!P3 LD.E.128 R16, desc[UR4][R52.64] ;
        /*0ad40*/                   CALL.REL.NOINC `($__internal_2_$__cuda_sm20_div_u64) ;
        /*0ad50*/                   ST.E.128 desc[UR4][R52.64], R16 ;
        /*0ad60*/              @!P0 BRA `(.L_x_2) ;
        /*0ad70*/              @!P0 BRA `(.L_x_1) ;
"""

    def test_functions(self):
        found = machine_code.functions(self.CODE)
        self.assertEqual(list(found), ["cuda_host_wait", "cuda_copy"])
        self.assertEqual([one.code for one in found["cuda_host_wait"]], ["LDC.64"])
        self.assertEqual(machine_code.calls(found["cuda_copy"], machine_code.DIVISION), 1)

    def test_the_copy_loop_is_the_inner_one(self):
        loop = machine_code.copy_loop(machine_code.functions(self.CODE)["cuda_copy"])
        self.assertEqual([one.code for one in loop if one.code],
                         ["LD.E.128", "CALL.REL.NOINC", "ST.E.128"])

    def test_usage(self):
        text = (" Function _Z9cuda_grid8cuda_job:\n  REG:116 STACK:8 SHARED:3792 LOCAL:0 "
                "CONSTANT[2]:4096 CONSTANT[0]:776 TEXTURE:0 SURFACE:0 SAMPLER:0\n")
        self.assertEqual(machine_code.usage(text), {"cuda_grid": (116, 8, 3792, 0)})

    def test_blocks(self):
        """The first is that of 64 registers a thread, of which 65,536 hold 1,024 threads."""
        self.assertEqual(machine_code.blocks_of("sm_80", 512, 64, 0), 2)
        self.assertEqual(machine_code.blocks_of("sm_80", 512, 65, 0), 1)
        self.assertEqual(machine_code.blocks_of("sm_80", 512, 129, 0), 0)
        self.assertEqual(machine_code.blocks_of("sm_90a", 64, 32, 56 << 10), 4)
        self.assertEqual(machine_code.blocks_of("sm_100", 1, 12, 0), 32)

    def test_table(self):
        text = TABLE + " registers |\n|---|---|---|\n| `cuda_grid` | sm_80 | 125 |\n\n| x |"
        self.assertEqual(documented(text), {("cuda_grid", "sm_80"): ("125",)})


if __name__ == "__main__":
    if len(sys.argv) < 4:
        print("SKIPPED: no nvcc: the table of docs/gpu.md is not compared with the machine code")
        sys.exit(77)
    NVCC, PLUGIN, PROBE = sys.argv[1], *(pathlib.Path(name).resolve() for name in sys.argv[2:4])
    PROGRAMS = machine_code.tools(NVCC)
    if set(PROGRAMS) != set(machine_code.TOOLS):
        print(f"SKIPPED: no {' and '.join(sorted(set(machine_code.TOOLS) - set(PROGRAMS)))} "
              "(CUDA Toolkit, or scripts/test fetches them): nobody has read the machine code")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
