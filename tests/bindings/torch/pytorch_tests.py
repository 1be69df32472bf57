# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of torch.distributed that torch's wheel carries, unmodified, over weft.

    python pytorch_tests.py [--as weft|gloo] [--ranks N] [unittest's arguments]

--as weft asks what the tests of an unknown backend ask; --as gloo registers weft under the name
"gloo", so that everything is asked that the tests ask of gloo. Each test runs in forked processes.
The last line counts; exceptions.txt beside this file lists the tests that are expected to fail, and
why. The exit status is 0 if exactly the expected ones failed, and as many passed as must.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
SECONDS_PER_TEST = 120
# How many must pass at least: tests that leave themselves out must not go unnoticed.
LEAST = {"weft": 62, "gloo": 87, "real-gloo": 0}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--as", dest="name", choices=("weft", "gloo", "real-gloo"), default="weft")
    parser.add_argument("--ranks", type=int, default=3)
    return parser.parse_known_args()


def expected(name):
    """Test -> reason, of exceptions.txt: lines of "as-name test reason"."""
    found = {}
    for line in (HERE / "exceptions.txt").read_text().splitlines():
        words = line.split(None, 2)
        if len(words) == 3 and words[0] == name:
            found[words[1]] = words[2]
    return found


def prepare(name, ranks):
    """The environment that torch's own runner of tests makes, and the backend."""
    folder = tempfile.mkdtemp(prefix="weft-torch-")
    os.makedirs(f"{folder}/barrier")
    os.environ.update(
        WORLD_SIZE=str(ranks), TEMP_DIR=folder, BACKEND="gloo" if "gloo" in name else "weft",
        INIT_METHOD=f"file://{folder}/shared_init_file",
    )
    import torch

    torch.set_num_threads(1)
    if name == "gloo" and not hasattr(torch.distributed.Backend, "_ensure_backend_registered"):
        print("SKIPPED: this torch knows gloo by its name, and asks no backend of that name")
        sys.exit(77)
    if name != "real-gloo":
        import weft.torch

        weft.torch.register(os.environ["BACKEND"])


def load():
    """torch's class of tests, for processes made by fork: they need not import torch again."""
    import torch
    import torch.testing._internal.common_distributed as common

    common.TIMEOUT_DEFAULT = SECONDS_PER_TEST
    common.TIMEOUT_OVERRIDE.clear()
    cases = common.DistTestCases
    cases.backend_feature["ddp"].add("weft")
    cases.backend_feature["subgroup"].add("weft")
    from torch.testing._internal.distributed.distributed_test import (
        DistributedTest,
        TestDistBackend,
    )

    class TestDist(TestDistBackend, DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return TestDist


def torch_version():
    import torch

    return torch.__version__


class Result(unittest.TextTestResult):
    """Keeps the names by outcome; torch's tests call leaving out passing, or skipping."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.passed = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test._testMethodName)


def main():
    options, rest = arguments()
    prepare(options.name, options.ranks)
    module = sys.modules[__name__]
    module.TestDist = load()
    runner = unittest.TextTestRunner(resultclass=Result, verbosity=2)
    program = unittest.main(module=module, argv=[sys.argv[0], *rest], testRunner=runner, exit=False)
    result = program.result
    failed = {test._testMethodName for test, _ in [*result.failures, *result.errors]}
    known = expected(options.name)
    surprises = failed - set(known)
    better = set(known) & set(result.passed)
    for test in sorted(failed & set(known)):
        print(f"expected: {test}: {known[test]}")
    for test in sorted(surprises):
        print(f"FAILED: {test}")
    for test in sorted(better):
        print(f"passes now, though exceptions.txt lists it: {test}")
    # ctest is asked not to cut this off, so that scripts/test-torch can show it.
    print("CTEST_FULL_OUTPUT")
    print(f"torch {torch_version()} as {options.name}: {len(result.passed)} passed, "
          f"{len(failed)} failed ({len(failed & set(known))} expected), "
          f"{len(result.skipped)} skipped")
    few = not rest and len(result.passed) < LEAST[options.name]
    if few:
        print(f"at least {LEAST[options.name]} must pass")
    sys.exit(1 if surprises or better or few else 0)


if __name__ == "__main__":
    main()
