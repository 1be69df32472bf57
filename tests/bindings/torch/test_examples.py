# SPDX-License-Identifier: BSD-3-Clause
"""Runs what the guides say for torch: each command, and their programs under torchrun."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
LIMIT = 120
sys.path.insert(0, str(ROOT / "tests" / "docs"))

import guides  # noqa: E402


def commands():
    """The commands of the guides for torch, but for their comments and empty lines."""
    lines = guides.script("torch").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def programs(folder):
    """Commands that run the guides' programs, which are written to the folder."""
    found = []
    for number, block in enumerate(guides.blocks("python", "torch")):
        path = pathlib.Path(folder, f"program_{number}.py")
        path.write_text(block.text)
        found.append(f"torchrun --standalone --nproc-per-node 2 {path}")
    return found


def needs_import():
    import torch.distributed as dist

    return not hasattr(dist.Backend, "_ensure_backend_registered")


def main():
    folder = os.path.dirname(sys.executable)
    environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        lines = commands() + programs(scratch)
        assert len(lines) >= 9, lines
        if needs_import():
            # What the page says to write at the top of a script.
            pathlib.Path(scratch, "sitecustomize.py").write_text("import weft.torch\n")
            environment["PYTHONPATH"] = f"{scratch}:{environment['PYTHONPATH']}"
        for line in lines:
            result = subprocess.run(["bash", "-c", line], cwd=ROOT, env=environment, timeout=LIMIT,
                                    capture_output=True, text=True)
            print("ok  " if result.returncode == 0 else "FAIL", line, flush=True)
            if result.returncode:
                print(result.stdout, result.stderr)
                failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
