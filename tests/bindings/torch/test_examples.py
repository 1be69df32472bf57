# SPDX-License-Identifier: BSD-3-Clause
"""Runs the examples as their pages say: each command of docs/pytorch.md, under torchrun."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
LIMIT = 120


def commands():
    """The lines of docs/pytorch.md that begin with torchrun or python."""
    text = (ROOT / "docs/pytorch.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()
            if line.startswith(("torchrun ", "python "))]


def needs_import():
    import torch.distributed as dist

    return not hasattr(dist.Backend, "_ensure_backend_registered")


def main():
    folder = os.path.dirname(sys.executable)
    environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
    failed = 0
    lines = commands()
    assert len(lines) >= 5, lines
    with tempfile.TemporaryDirectory() as scratch:
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
