# SPDX-License-Identifier: BSD-3-Clause
"""What the machine code of kernel-cuda is like, read with cuobjdump and nvdisasm.

    machine_code.py PLUGIN [NVCC]    prints the rows of the table in docs/gpu.md
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FETCHED = ROOT / "build" / "cuda-tools" / "nvidia"  # by scripts/lib.sh
TOOLS = ("cuobjdump", "nvdisasm")
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100")
KERNELS = {"cuda_grid": 512, "cuda_host_wait": 1}  # and the most threads of a block

# Of a multiprocessor: registers, threads, blocks, bytes of shared memory (Programming Guide, table
# of compute capabilities).
LIMITS = {"sm_80": (65536, 2048, 32, 164 << 10), "sm_90a": (65536, 2048, 32, 228 << 10),
          "sm_100": (65536, 2048, 32, 228 << 10)}
RESERVED = 1024  # bytes of shared memory that the system takes of each block

SYMBOL = re.compile(r"^\s*\.type\s+(\S+?),@function")
INTERNAL = re.compile(r"_INTERNAL_\w*?_kernels_cu_[0-9a-f]{8}(\d+)(\w+)")
LABEL = re.compile(r"^(\.L_x_\d+):")
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?);")
USAGE = re.compile(r"Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
# Memory by addresses that may be anywhere; shared memory alone is LDS and STS.
ACCESS = re.compile(r"^(LDG?|STG?)\.E(\.\S*)?$")
DIVISION = re.compile(r"__cuda_sm\w+?_(div|rem)_[su]64")


@dataclasses.dataclass
class Instruction:
    """One line: label if it is none."""

    address: int
    code: str
    rest: str
    label: str = ""


def short(symbol):
    """The name in the source of a function that nvcc mangled."""
    internal = INTERNAL.search(symbol)
    if internal:
        return internal[2][:int(internal[1])]
    mangled = re.match(r"_Z(\d+)(\w+)", symbol)
    return mangled[2][:int(mangled[1])] if mangled else symbol


def functions(text):
    """{function: its instructions and labels} of what nvdisasm printed. Functions that are part of
    a kernel come behind it."""
    found, lines = {}, None
    for line in text.splitlines():
        if symbol := SYMBOL.match(line):
            lines = found.setdefault(short(symbol[1]), [])
        elif label := LABEL.match(line):
            if lines is not None:
                lines.append(Instruction(0, "", "", label[1]))
        elif (one := INSTRUCTION.match(line)) and lines is not None:
            lines.append(Instruction(int(one[1], 16), one[2], one[3]))
    return found


def usage(text):
    """{kernel: (registers, bytes of stack, of shared memory, of local memory)} of what cuobjdump
    -res-usage printed."""
    return {short(name): tuple(int(figure) for figure in figures)
            for name, *figures in USAGE.findall(text)}


def count(lines, pattern):
    return sum(re.search(pattern, one.code) is not None for one in lines)


def calls(lines, pattern):
    return sum(one.code.startswith("CALL") and re.search(pattern, short_target(one)) is not None
               for one in lines)


def short_target(call):
    target = re.search(r"\((\S+)\)", call.rest)
    return short(target[1]) if target else ""


def copy_loop(lines):
    """The smallest loop with loads and stores of 16 bytes: what is between a label and a branch
    back to it."""
    loops = []
    for end, one in enumerate(lines):
        target = re.search(r"\((\.L_x_\d+)\)", one.rest) if one.code.startswith("BRA") else None
        begin = next((at for at, other in enumerate(lines[:end])
                      if target and other.label == target[1]), None)
        if begin is not None:
            body = lines[begin:end]
            if count(body, r"^LDG?\.E\.128") and count(body, r"^STG?\.E\.128"):
                loops.append(body)
    return min(loops, key=len, default=[])


def blocks_of(architecture, threads, registers, shared):
    """How many blocks a multiprocessor holds. Registers are allotted to warps by 256, and a warp
    belongs to one of four parts of the multiprocessor."""
    all_registers, all_threads, most, all_shared = LIMITS[architecture]
    warps = -(-threads // 32)
    of_warp = -(-registers * 32 // 256) * 256
    by_registers = all_registers // 4 // of_warp * 4 // warps
    by_shared = all_shared // (-(-(shared + RESERVED) // 128) * 128)
    return min(most, all_threads // (warps * 32), by_registers, by_shared)


def measured(architecture, used, found):
    """{(kernel, architecture): row} of one architecture."""
    rows = {}
    for kernel, threads in KERNELS.items():
        registers, stack, shared, _ = used[kernel]
        # From Hopper on the figure has the system's part, where there is shared memory at all.
        shared -= RESERVED if shared and architecture != "sm_80" else 0
        mine = [one for name, lines in found.items() for one in lines
                if (name == "cuda_host_wait") == (kernel == "cuda_host_wait")]
        slice_of = found["lanes_slice"] + found["lanes_publish"] if kernel == "cuda_grid" else mine
        row = [registers, stack, count(mine, r"^(LDL|STL)"), shared,
               blocks_of(architecture, threads, registers, shared)]
        if kernel == "cuda_grid":
            loop = copy_loop(found["cuda_copy"])
            wide = (count(loop, r"^LDG?\.E\.128"), count(loop, r"^STG?\.E\.128"))
            narrow = sum(ACCESS.match(one.code) is not None for one in loop) - sum(wide)
            row += [f"{wide[0]} and {wide[1]}", narrow,
                    f"{calls(found['cuda_grid'], '^lanes_combine$')} and "
                    f"{calls(found['lanes_slice'], '^lanes_combine$')}",
                    sum(calls(lines, DIVISION) for name, lines in found.items()
                        if not re.match(r"cuda_u?int64_combine", name))]
        else:
            row += ["-", "-", "-", calls(mine, DIVISION)]
        row += [count(slice_of, r"^LD\S*\.64\.STRONG\.SYS"), count(slice_of, r"^CCTL\.IVALL"),
                count(slice_of, r"^MEMBAR")]
        rows[kernel, architecture] = tuple(str(figure) for figure in row)
    return rows


def fence_before_look(found):
    """Whether the leader passes a fence before it has looked at all ports of a slice."""
    fences = [one.address for one in found["lanes_slice"] if one.code.startswith("MEMBAR")]
    looks = [one.address for one in found["lanes_slice"]
             if re.match(r"LD\S*\.STRONG\.SYS", one.code)]
    return min(fences) < max(looks)


def tools(nvcc=None):
    """{name: path} of the programs that are here: on the search path, beside nvcc, fetched."""
    beside = [str(pathlib.Path(nvcc).resolve().parent)] if nvcc else []
    folders = beside + [str(path) for path in FETCHED.glob("*/bin")]
    found = {name: shutil.which(name) or shutil.which(name, path=":".join(folders))
             for name in TOOLS}
    return {name: path for name, path in found.items() if path}


def run(*command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def read(plugin, programs):
    """{architecture: (usage, functions)} of those of ARCHITECTURES that the plugin is built for."""
    code = {}
    with tempfile.TemporaryDirectory() as folder:
        run(programs["cuobjdump"], "-xelf", "all", str(plugin), cwd=folder)
        for file in pathlib.Path(folder).iterdir():
            architecture = file.suffixes[-2].lstrip(".")
            if architecture in ARCHITECTURES:
                code[architecture] = (
                    usage(run(programs["cuobjdump"], "-res-usage", str(file))),
                    functions(run(programs["nvdisasm"], "-c", str(file))))
    return code


if __name__ == "__main__":
    CODE = read(pathlib.Path(sys.argv[1]).resolve(), tools(*sys.argv[2:]))
    for key, cells in sorted((key, cells) for architecture, one in CODE.items()
                             for key, cells in measured(architecture, *one).items()):
        print("| " + " | ".join([*key, *cells]) + " |")
