# SPDX-License-Identifier: BSD-3-Clause
"""python -m weft: the version, the library in use, and the plugins beside it."""

import pathlib

from . import __version__
from ._library import lib


def library_file() -> pathlib.Path:
    """The file that the loader found for the library."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            name = line.rstrip().rpartition(" ")[2]
            if "/libweft.so" in name:
                return pathlib.Path(name)
    return pathlib.Path(lib._name)


def main() -> None:
    found = library_file()
    plugins = sorted(path.stem for path in found.with_name("weft").glob("*.so"))
    print(f"weft {__version__}")
    print(f"library: {found}")
    print(f"plugins: {' '.join(plugins) or 'none beside the library'}")


if __name__ == "__main__":
    main()
