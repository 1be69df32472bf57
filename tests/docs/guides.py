# SPDX-License-Identifier: BSD-3-Clause
"""The fenced blocks of the guides, and who runs them.

A line before a block says it: `<!-- run: TAG -->`, where RUNNERS has the test, or
`<!-- not run: REASON -->`. Blocks of sh need such a line. Programs of Python without one are run by
the tests of the package.

    python3 guides.py TAG [BUILD]

prints the commands of a tag as a script. BUILD replaces build/release in them.
"""

import pathlib
import re
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("README.md", "bindings/python/README.md", "docs/launchers.md", "docs/nccl.md",
         "docs/plans.md", "docs/python.md", "docs/pytorch.md")
# Who runs the blocks of a tag: a file that asks for them.
RUNNERS = {
    "here": "tests/docs/test_commands.py",
    "installed": "tests/docs/test_installed.py",
    "clone": "scripts/test-guides",
    "hydra": "tests/launchers/test_hydra.sh",
    "openmpi": "tests/launchers/test_openmpi.sh",
    "slurm": "tests/launchers/test_slurm.sh",
    "simgrid": "tests/e2e/test_sim.sh",
    "hand": "tests/launchers/test_by_hand.sh",
    "python": "tests/bindings/python/test_documents.py",
    "torch": "tests/bindings/torch/test_examples.py",
    "wheel": "scripts/test-wheel",
    "nccl-tests": "tests/bindings/nccl/nccl_tests.sh",
    "nccl-torch": "tests/bindings/nccl/torch_nccl.sh",
}
BLOCK = re.compile(r"(?:^<!-- (run|not run): (.*?) -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)


class Block(typing.NamedTuple):
    """A fenced block. tag or reason is None; both are if nothing is said before the block."""

    page: str
    line: int
    language: str
    tag: typing.Optional[str]
    reason: typing.Optional[str]
    text: str


def blocks(language=None, tag=None, pages=PAGES):
    """The blocks of the pages that are there, or those of a language or a tag."""
    found = []
    for page in pages:
        path = ROOT / page
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for match in BLOCK.finditer(text):
            verb, what, kind, body = match.groups()
            found.append(Block(page, text.count("\n", 0, match.start(4)), kind,
                               what if verb == "run" else None,
                               what if verb == "not run" else None, body))
    return [block for block in found if (language is None or block.language == language)
            and (tag is None or block.tag == tag)]


def script(tag, build="build/release"):
    """The commands of a tag, as the pages have them."""
    text = "".join(block.text for block in blocks("sh", tag))
    return text.replace("build/release/", f"{build}/")


if __name__ == "__main__":
    sys.stdout.write(script(*sys.argv[1:]))
