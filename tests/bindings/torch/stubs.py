# SPDX-License-Identifier: BSD-3-Clause
"""Makes stand-ins for the NVIDIA libraries that torch's wheel links but a CPU job never calls.

torch's wheel for Linux needs two gigabytes of CUDA libraries before `import torch` works. On a
machine without a GPU none of their functions is ever called, so each missing library is replaced
by one with the same name in which every function that torch refers to says its name and aborts.
A library that a wheel has brought is left alone.

    python stubs.py [SITE_PACKAGES]

Needs gcc, and nm and objdump of binutils.
"""
import glob
import os
import re
import subprocess
import sys
import sysconfig
import tempfile

# Library, and how the names of its functions begin; of two that fit, the first one has it.
OWNERS = (
    ("libcublasLt", r"cublasLt"),
    ("libcublas", r"cublas"),
    ("libcudnn", r"cudnn"),
    ("libcufft", r"cufft"),
    ("libcufile", r"cuFile"),
    ("libcusparseLt", r"cusparseLt"),
    ("libcusparse", r"cusparse"),
    ("libcusolver", r"cusolver"),
    ("libcurand", r"curand"),
    ("libnccl", r"p?nccl[A-Z]"),
    ("libnvrtc", r"nvrtc"),
    ("libcupti", r"cupti"),
    ("libnvshmem_host", r"nvshmem"),
    ("libnvJitLink", r"(__)?nvJitLink"),
    ("libcudart", r"(__)?cuda[A-Z]"),
)

HEAD = """#include <stdio.h>
#include <stdlib.h>
__attribute__((unused)) static void *say(const char *name)
{
    fprintf(stderr, "%s was called, but this machine has a stand-in for its library\\n", name);
    abort();
}
"""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries_of(torch):
    return glob.glob(f"{torch}/lib/*.so") + glob.glob(f"{torch}/_C*.so")


def missing_libraries(libraries, site):
    """Names of NVIDIA's libraries that the libraries need and no wheel has brought."""
    needed = set()
    for library in libraries:
        # libcuda.so.1 is the driver's, and torch asks for it only where there is a device.
        needed |= set(re.findall(r"NEEDED\s+(lib(?!cuda\.)(?:cu|nv|nccl)\S+)",
                                 output("objdump", "-p", library)))
    brought = glob.glob(f"{site}/nvidia/**/*.so*", recursive=True)
    return sorted(needed - {os.path.basename(path) for path in [*brought, *libraries]})


def undefined_symbols(libraries):
    """Symbol -> version, of all that the libraries take from others."""
    symbols = {}
    for library in libraries:
        for line in output("nm", "-D", "-u", library).splitlines():
            name, _, version = line.split()[-1].partition("@")
            symbols.setdefault(name, version.lstrip("@"))
    return symbols


def owner_of(symbol):
    return next((library for library, begin in OWNERS if re.match(begin, symbol)), None)


def make_stub(soname, symbols, folder):
    """Compiles `soname` with a function for each symbol; returns their number."""
    base = soname.split(".so")[0]
    mine = sorted(name for name in symbols if owner_of(name) == base)
    versions = sorted({symbols[name] for name in mine} - {""})
    with tempfile.TemporaryDirectory() as scratch:
        source, script = f"{scratch}/stub.c", f"{scratch}/stub.map"
        with open(source, "w") as file:
            file.write(HEAD)
            file.writelines(f'void *{name}(void) {{ return say("{name}"); }}\n' for name in mine)
        command = ["gcc", "-shared", "-fPIC", "-w", "-o", f"{folder}/{soname}", source,
                   f"-Wl,-soname,{soname}"]
        if versions:
            with open(script, "w") as file:
                file.write(f"{versions[0]} {{ global: *; }};\n")
            command.append(f"-Wl,--version-script,{script}")
        subprocess.run(command, check=True)
    return len(mine)


def main():
    site = sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_paths()["platlib"]
    libraries = libraries_of(f"{site}/torch")
    if not libraries:
        sys.exit(f"no torch in {site}")
    # This folder is in the search path that torch's libraries carry.
    folder = f"{site}/nvidia/cu13/lib"
    os.makedirs(folder, exist_ok=True)
    symbols = undefined_symbols(libraries)
    for soname in missing_libraries(libraries, site):
        print(f"{soname}: {make_stub(soname, symbols, folder)} functions")


if __name__ == "__main__":
    main()
