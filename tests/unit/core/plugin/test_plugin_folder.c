/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the plugins are looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/os/os_path.h"
#include "core/plugin/plugin_folder.h"
#include "core/plugin/plugin_path.h"
#include "tests/support/scratch.h"

static const char *self;

/* Runs a copy of this program at `place` below the scratch folder; it prints what it finds. */
static const char *found_from(const char *place)
{
    static char out[2048];
    char command[2400];
    snprintf(command, sizeof command, "cp %s %s && %s --find", self, scratch_path(place),
             scratch_path(place));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t bytes = fread(out, 1, sizeof out - 1, pipe);
    out[bytes] = '\0';
    assert_int_equal(pclose(pipe), 0);
    return out;
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(scratch_path(name), 0755), 0);
}

static void folder_is_found_near_the_program(void **state)
{
    (void)state;
    make_folder("tree");
    make_folder("tree/bin");
    make_folder("tree/tests");
    make_folder("tree/tests/deep");
    make_folder("tree/lib");
    /* Without the folder the error lists the places. */
    const char *text = found_from("tree/bin/program");
    assert_non_null(strstr(text, "no folder of plugins found, set [core] plugin_dir; tried "));
    assert_non_null(strstr(text, "tree/bin/weft, "));

    make_folder("tree/lib/weft");
    char expected[1024];
    snprintf(expected, sizeof expected, "%s", scratch_path("tree/lib/weft"));
    /* A program named weft is no folder named weft. */
    assert_string_equal(found_from("tree/bin/weft"), expected);
    assert_string_equal(found_from("tree/lib/program"), expected);
    assert_string_equal(found_from("tree/program"), expected);
    assert_string_equal(found_from("tree/tests/deep/program"), expected);
}

static void given_folder_must_exist(void **state)
{
    char folder[WEFT_OS_PATH_MAX];
    (void)state;
    assert_int_equal(weft_plugin_folder(scratch_folder(), "--set", folder, sizeof folder), WEFT_OK);
    assert_string_equal(folder, scratch_folder());
    assert_int_equal(weft_plugin_folder("/absent/folder", "--set", folder, sizeof folder),
                     WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text,
                           "--set: [core] plugin_dir = /absent/folder: no such folder"));
}

static void dots_are_seen_only_as_components(void **state)
{
    (void)state;
    assert_true(weft_path_has_dot_dot("/a/../b"));
    assert_true(weft_path_has_dot_dot("/a/.."));
    assert_true(weft_path_has_dot_dot("../b"));
    assert_false(weft_path_has_dot_dot("/a..b/..c/d.."));
    assert_false(weft_path_has_dot_dot("/a/.../b"));
}

static int find(void)
{
    char folder[WEFT_OS_PATH_MAX] = "";
    weft_status_t status = weft_plugin_folder("", "default", folder, sizeof folder);
    printf("%s", status == WEFT_OK ? folder : weft_error_record()->text);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--find") == 0) {
        return find();
    }
    char path[WEFT_OS_PATH_MAX];
    if (weft_os_self_path(path) != WEFT_OK) {
        return 1;
    }
    self = path;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_is_found_near_the_program),
        cmocka_unit_test(given_folder_must_exist),
        cmocka_unit_test(dots_are_seen_only_as_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
