/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the plugins are looked for. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os_path.h"
#include "core/plugin/plugin_folder.h"
#include "core/plugin/plugin_path.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

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
}

static void folder_of_the_installation_comes_before_another_one(void **state)
{
    char base[1024], found[WEFT_OS_PATH_MAX], expected[1024];
    (void)state;
    make_folder("prefix");
    make_folder("prefix/bin");
    make_folder("prefix/lib");
    make_folder("prefix/lib/weft");
    make_folder("prefix/lib64");
    snprintf(base, sizeof base, "%s", scratch_path("prefix/bin"));
    assert_int_equal(weft_plugin_folder_near(base, "../lib64", found), WEFT_OK);
    assert_string_equal(found, scratch_path("prefix/lib/weft"));
    make_folder("prefix/lib64/weft");
    snprintf(expected, sizeof expected, "%s", scratch_path("prefix/lib64/weft"));
    assert_int_equal(weft_plugin_folder_near(base, "../lib64", found), WEFT_OK);
    assert_string_equal(found, expected);
    /* What somebody has in a folder above is not weft's. */
    make_folder("lib");
    make_folder("lib/weft");
    make_folder("alone");
    make_folder("alone/bin");
    snprintf(base, sizeof base, "%s", scratch_path("alone/bin"));
    if (weft_plugin_folder_near(base, "../lib64", found) == WEFT_OK) {
        assert_null(strstr(found, scratch_folder())); /* the one that is installed here */
    }
}

static void folder_that_others_could_change_is_passed_over(void **state)
{
    char base[1024], found[WEFT_OS_PATH_MAX], expected[1024];
    (void)state;
    make_folder("shared");
    make_folder("shared/bin");
    make_folder("shared/bin/weft");
    make_folder("shared/lib");
    make_folder("shared/lib/weft");
    snprintf(base, sizeof base, "%s", scratch_path("shared/bin"));
    snprintf(expected, sizeof expected, "%s", scratch_path("shared/bin/weft"));
    assert_int_equal(weft_plugin_folder_near(base, "../lib", found), WEFT_OK);
    assert_string_equal(found, expected);
    assert_int_equal(chmod(expected, 0777), 0);
    assert_int_equal(weft_plugin_folder_near(base, "../lib", found), WEFT_OK);
    assert_string_equal(found, scratch_path("shared/lib/weft"));
    assert_int_equal(chmod(scratch_path("shared/lib/weft"), 0777), 0);
    if (weft_plugin_folder_near(base, "../lib", found) != WEFT_OK) {
        assert_non_null(
            strstr(weft_error_record()->text, "shared/bin/weft (writable by others), "));
    }
    if (geteuid() == 0) {
        assert_int_equal(chmod(expected, 0755) | chown(expected, 12345, 12345), 0);
        assert_int_equal(chmod(scratch_path("shared/lib/weft"), 0755), 0);
        assert_int_equal(weft_plugin_folder_near(base, "../lib", found), WEFT_OK);
        assert_string_equal(found, scratch_path("shared/lib/weft"));
    } else {
        print_message("left out: a folder of another user, which only root can make\n");
    }
}

static weft_plugin_folders_t folders;

static void given_folders_must_exist(void **state)
{
    char list[WEFT_OS_PATH_MAX + 32];
    (void)state;
    assert_int_equal(weft_plugin_folders_read(&folders, scratch_folder(), "--set"), WEFT_OK);
    assert_int_equal(folders.count, 1);
    assert_string_equal(folders.paths[0], scratch_folder());
    snprintf(list, sizeof list, "%s:/absent/folder", scratch_folder());
    assert_int_equal(weft_plugin_folders_read(&folders, list, "--set"), WEFT_ERR_CONFIG);
    assert_int_equal(folders.count, 0);
    assert_non_null(strstr(weft_error_record()->text,
                           "--set: [core] plugin_dir = /absent/folder: no such folder"));
    snprintf(list, sizeof list, "%s", scratch_path("loop"));
    assert_int_equal(symlink("loop", list), 0);
    assert_int_equal(weft_plugin_folders_read(&folders, list, "--set"), WEFT_ERR_CONFIG);
    assert_non_null(
        strstr(weft_error_record()->text, "loop: cannot be looked at: Too many levels of"));
    assert_int_equal(weft_plugin_folders_read(&folders, "/:/:/:/:/:/:/:/:/", "--set"),
                     WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "found more than 8 folders"));
}

static void make_file(const char *name)
{
    FILE *file = fopen(scratch_path(name), "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

/* Names two folders below the scratch folder. */
static void read_two(void)
{
    char list[2 * WEFT_OS_PATH_MAX], first[WEFT_OS_PATH_MAX];
    snprintf(first, sizeof first, "%s", scratch_path("first"));
    snprintf(list, sizeof list, "%s:%s", first, scratch_path("second"));
    assert_int_equal(weft_plugin_folders_read(&folders, list, "--set"), WEFT_OK);
    assert_int_equal(folders.count, 2);
}

static void folders_are_searched_in_order(void **state)
{
    char path[WEFT_OS_PATH_MAX];
    (void)state;
    make_folder("first");
    make_folder("second");
    make_file("first/net-both.so");
    make_file("second/net-both.so");
    make_file("second/net-other.so");
    read_two();
    assert_true(weft_plugin_folders_find(&folders, "net-both", path, sizeof path));
    assert_string_equal(path, scratch_path("first/net-both.so"));
    assert_true(weft_plugin_folders_find(&folders, "net-other", path, sizeof path));
    assert_string_equal(path, scratch_path("second/net-other.so"));
    assert_true(weft_plugin_folders_find(&folders, "net-none", path, sizeof path));
    assert_string_equal(path, scratch_path("first/net-none.so"));
}

static void a_missing_plugin_names_all_folders(void **state)
{
    char expected[2 * WEFT_OS_PATH_MAX], first[WEFT_OS_PATH_MAX];
    const weft_listed_t listed = {
        .kind = WEFT_KIND_NET, .name = "net-othr", .path = "/x/net-othr.so", .origin = "--set"};
    (void)state;
    read_two();
    assert_int_equal(weft_plugin_folders_refuse(&folders, &listed), WEFT_ERR_PLUGIN);
    snprintf(first, sizeof first, "%s", scratch_path("first"));
    snprintf(expected, sizeof expected, "expected a file in one of %s, %s, did you mean net-other?",
             first, scratch_path("second"));
    assert_non_null(strstr(weft_error_record()->text, expected));
}

static void a_link_that_leads_nowhere_is_called_so(void **state)
{
    const weft_listed_t listed = {
        .kind = WEFT_KIND_NET, .name = "net-link", .path = "/x/net-link.so", .origin = "--set"};
    (void)state;
    assert_int_equal(symlink("absent", scratch_path("second/net-link.so")), 0);
    read_two();
    assert_int_equal(weft_plugin_folders_refuse(&folders, &listed), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "found a link that leads nowhere, expected"));
    assert_null(strstr(weft_error_record()->text, "did you mean"));
}

static void without_a_near_name_those_of_the_kind_are_told(void **state)
{
    weft_listed_t listed = {
        .kind = WEFT_KIND_NET, .name = "fabric", .path = "/x/fabric.so", .origin = "--set"};
    (void)state;
    make_file("first/algo-x.so");
    read_two();
    assert_int_equal(weft_plugin_folders_refuse(&folders, &listed), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "; of the kind net the folders have net-"));
    assert_null(strstr(weft_error_record()->text, "algo-x"));
    listed.name = "net-bx"; /* half of its letters are those of net-both */
    assert_int_equal(weft_plugin_folders_refuse(&folders, &listed), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "; of the kind net the folders have net-"));
    listed.name = "both";
    assert_int_equal(weft_plugin_folders_refuse(&folders, &listed), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "did you mean net-both?"));
}

/* Calls that fail as those of a file system that is gone do: the next realpath(), the n-th
 * stat(). */
static bool realpath_fails;
static uint32_t stat_fails;
char *__real_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved);
int __real_stat(const char *path, struct stat *file);
int __wrap_stat(const char *path, struct stat *file);

char *__wrap_realpath(const char *path, char *resolved)
{
    if (realpath_fails) {
        realpath_fails = false;
        errno = ESTALE;
        return NULL;
    }
    return __real_realpath(path, resolved);
}

int __wrap_stat(const char *path, struct stat *file)
{
    if (stat_fails > 0 && --stat_fails == 0) {
        errno = EIO;
        return -1;
    }
    return __real_stat(path, file);
}

static void a_file_system_that_fails_is_named(void **state)
{
    char path[WEFT_OS_PATH_MAX], real[WEFT_OS_PATH_MAX];
    const weft_listed_t listed = {
        .kind = WEFT_KIND_NET, .name = "net-both", .path = path, .origin = "--set"};
    static const char *const told[] = {"cannot be found: found Input/output error",
                                       "its folder cannot be looked at: found Input/output error",
                                       "its folder cannot be looked at: found Input/output error"};
    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("first/net-both.so"));
    assert_int_equal(weft_listed_trust(&listed, real), WEFT_OK);
    realpath_fails = true;
    assert_int_equal(weft_listed_trust(&listed, real), WEFT_ERR_PLUGIN);
    assert_non_null(strstr(weft_error_record()->text, "cannot be found: found Stale file handle"));
    for (uint32_t i = 0; i < sizeof told / sizeof *told; i++) {
        stat_fails = i + 1;
        assert_int_equal(weft_listed_trust(&listed, real), WEFT_ERR_PLUGIN);
        assert_non_null(strstr(weft_error_record()->text, told[i]));
    }
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
    weft_status_t status = weft_plugin_folders_read(&folders, "", "default");
    printf("%s", status == WEFT_OK ? folders.paths[0] : weft_error_record()->text);
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
        cmocka_unit_test(folder_of_the_installation_comes_before_another_one),
        cmocka_unit_test(folder_that_others_could_change_is_passed_over),
        cmocka_unit_test(given_folders_must_exist),
        cmocka_unit_test(folders_are_searched_in_order),
        cmocka_unit_test(a_missing_plugin_names_all_folders),
        cmocka_unit_test(a_link_that_leads_nowhere_is_called_so),
        cmocka_unit_test(without_a_near_name_those_of_the_kind_are_told),
        cmocka_unit_test(a_file_system_that_fails_is_named),
        cmocka_unit_test(dots_are_seen_only_as_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
