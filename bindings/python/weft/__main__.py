# SPDX-License-Identifier: BSD-3-Clause
"""python -m weft: the version, the library in use, and the plugins beside it."""

import pathlib

from . import __version__
from ._library import lib, loaded_file


def main() -> None:
    found = loaded_file() or pathlib.Path(lib._name)
    plugins = sorted(path.stem for path in found.with_name("weft").glob("*.so"))
    print(f"weft {__version__}")
    print(f"library: {found}")
    print(f"plugins: {' '.join(plugins) or 'none beside the library'}")


if __name__ == "__main__":
    main()
