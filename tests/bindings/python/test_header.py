# SPDX-License-Identifier: BSD-3-Clause
"""weft._library and weft.h say the same: functions, structs, numbers."""

import ctypes
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import main
from weft import _library

# The lists that make most enums.
LISTS = {
    "weft_status_t": "WEFT_STATUS_MAP(X2)",
    "weft_dtype_t": "WEFT_DTYPE_MAP(X3)",
    "weft_op_t": "WEFT_OP_MAP(X2)",
    "weft_coll_t": "WEFT_COLL_MAP(X5)",
}
API = pathlib.Path(__file__).resolve().parents[3] / "api"


def header_text() -> str:
    """The headers of the user API without comments and preprocessor lines, in single spaces."""
    text = "\n".join(path.read_text() for path in sorted((API / "weft").glob("*.h")))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(.*\\\n)*.*$", "", text, flags=re.M)
    return re.sub(r"\s+", " ", text)


def header_functions() -> dict[str, tuple[str, list[str]]]:
    """name: (type of the result, types of the parameters), as C writes them."""
    found = {}
    pattern = r"WEFT_EXPORT ([\w ]+?[ *]+)(weft_\w+)\(([^)]*)\)"
    for result, name, parameters in re.findall(pattern, header_text()):
        types = [] if parameters == "void" else parameters.split(", ")
        found[name] = (result.strip(), [re.sub(r"\w+$", "", each).strip() for each in types])
    return found


def header_structs() -> dict[str, list[str]]:
    """name: fields."""
    found = {}
    # A struct may have its typedef in an earlier header.
    pattern = r"(?:typedef )?struct (\w+) \{([^{}]*)\}(?: \w+)?;"
    for name, body in re.findall(pattern, header_text()):
        found[name + "_t"] = re.findall(r"(\w+)(?:\[\w+\])? ?;", body)
    return found


def ctypes_of(declared: str) -> list:
    """What may stand for a type of C. Addresses are void pointers, but constant texts."""
    if declared == "const char *":
        return [ctypes.c_char_p]
    if "*" in declared:
        return [ctypes.c_void_p]
    if declared in _library.ENUMS:
        return [ctypes.c_int]
    if declared.endswith("_fn_t"):
        return [value for name, value in vars(_library).items() if name.endswith("_FN")]
    return [getattr(ctypes, "c_" + re.sub(r"(?<=\d)_t$", "", declared))]


def compiled(program: str) -> str:
    """Output of a C program that includes weft.h."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.c")
        source.write_text("#include <stdio.h>\n#include <weft/weft.h>\n" + program)
        binary = pathlib.Path(folder, "program")
        command = [os.environ.get("CC", "cc"), f"-I{API}", str(source), "-o", str(binary)]
        subprocess.run(command, check=True)
        return subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout


class Header(unittest.TestCase):
    def test_every_exported_function_is_bound_and_no_other(self):
        self.assertGreater(len(header_functions()), 60)
        self.assertEqual(sorted(header_functions()), sorted(_library.FUNCTIONS))

    def test_functions_have_the_types_of_the_header(self):
        for name, (result, parameters) in header_functions().items():
            with self.subTest(name):
                bound_result, bound = _library.FUNCTIONS[name]
                self.assertIn(bound_result, ctypes_of(result))
                self.assertEqual(len(bound), len(parameters))
                for declared, parameter in zip(parameters, bound):
                    self.assertIn(parameter, ctypes_of(declared), declared)

    def test_structs_have_the_sizes_and_offsets_of_c(self):
        structs = header_structs()
        self.assertEqual(set(structs), set(_library.STRUCTS))
        lines, expected = [], []
        for name, fields in structs.items():
            bound = _library.STRUCTS[name]
            self.assertEqual(fields, [field[0] for field in bound._fields_], name)
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            expected.append(f"{name} {ctypes.sizeof(bound)}")
            for field in fields:
                member = f"(({name} *)0)->{field}"
                at = f"offsetof({name}, {field})"
                lines.append(f'printf("{name}.{field} %zu %zu\\n", {at}, sizeof {member});')
                descriptor = getattr(bound, field)
                expected.append(f"{name}.{field} {descriptor.offset} {descriptor.size}")
        program = "int main(void) {" + "\n".join(lines) + "return 0; }"
        self.assertEqual(compiled(program).splitlines(), expected)

    def test_numbers_have_the_values_of_c(self):
        program = """
            #define X2(value, name, text) printf(#name " %d\\n", (int)WEFT_##name);
            #define X3(value, name, bytes, text) X2(value, name, text)
            #define X5(value, name, text, reduces, rooted, base) X2(value, name, text)
            int main(void) { """
        for name, list_of_all in LISTS.items():
            with self.subTest(name):
                found = compiled(program + list_of_all + " return 0; }").splitlines()
                bound = _library.ENUMS[name]
                self.assertEqual(found, [f"{each.name} {each.value}" for each in bound])

    def test_other_enums_have_the_values_of_c(self):
        pattern = r"typedef enum \w+ \{([^}]*)\} (\w+);"
        for body, name in re.findall(pattern, header_text()):
            with self.subTest(name):
                if name in LISTS:
                    continue
                values = [(k, int(v)) for k, v in re.findall(r"WEFT_(\w+) = (-?\d+)", body)]
                bound = {each.name: each.value for each in _library.ENUMS[name]}
                self.assertEqual([v for _, v in values], list(bound.values()))
                for (declared, _), mine in zip(values, bound):
                    self.assertTrue(declared.endswith(mine), declared)

    def test_every_enum_is_bound(self):
        declared = set(re.findall(r"typedef enum (\w+)", header_text()))
        self.assertEqual({name + "_t" for name in declared}, set(_library.ENUMS))

    def test_constants_have_the_values_of_c(self):
        program = """int main(void) { printf("%u %d %d %d\\n", WEFT_ANY_RANK,
                         WEFT_COLOR_NONE, WEFT_UNIQUE_ID_BYTES, WEFT_TICKET_BYTES); return 0; }"""
        names = ("ANY_RANK", "COLOR_NONE", "UNIQUE_ID_BYTES", "TICKET_BYTES")
        bound = [getattr(_library, name) for name in names]
        self.assertEqual(compiled(program).split(), [str(each) for each in bound])


if __name__ == "__main__":
    main()
