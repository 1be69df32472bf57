/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plugins that cannot be used: each gives one line with path, reason, found, expected and the line
 * of the INI file that lists it, and nothing of it stays loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/os.h"
#include "core/plugin/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* Other kinds are not listed, so that only the plugin in question is loaded. */
#define HEAD "[core]\nplugin_dir = " BROKEN_DIR "\nnet =\nalgo =\nkernel =\n"
#define LIST_LINE 6

typedef struct job {
    weft_config_t *config;
    weft_settings_t settings;
    weft_registry_t *registry;
    char ini[1024];
} job_t;

static weft_status_t job_start(job_t *job, const char *text)
{
    *job = (job_t){.registry = NULL};
    weft_error_clear(weft_error_record());
    snprintf(job->ini, sizeof job->ini, "%s", scratch_write("weft.ini", text, strlen(text)));
    const weft_comm_options_t options = {.size = sizeof options, .config = job->ini};
    weft_status_t status = weft_config_load(&options, &job->config);
    status = status == WEFT_OK ? weft_settings_read(job->config, &job->settings) : status;
    return status == WEFT_OK ? weft_registry_load(job->config, &job->settings, true, &job->registry)
                             : status;
}

static void job_end(job_t *job)
{
    weft_registry_destroy(job->registry);
    weft_config_destroy(job->config);
}

/* The error of a job must be one line with all of these. */
static void expect_words(const char *what, const char *const *words, size_t count)
{
    const char *text = weft_error_record()->text;
    for (size_t i = 0; i < count; i++) {
        if (strstr(text, words[i]) == NULL) {
            fail_msg("%s: \"%s\" lacks \"%s\"", what, text, words[i]);
        }
    }
    assert_null(strchr(text, '\n'));
}

typedef struct broken {
    const char *name;
    const char *reason;
    const char *found;
    const char *expected;
} broken_t;

static const broken_t broken[] = {
    {"bad-magic", "wrong magic", "0x21706f6e", "0x74666577"},
    {"bad-major", "other ABI of the tuner kind", "3.4", "2.4"},
    {"bad-minor", "newer ABI of the tuner kind", "2.5", "2.4"},
    {"bad-kind", "wrong kind", "algo", "tuner"},
    {"bad-size", "wrong size of the descriptor", "56 bytes", "64 bytes"},
    {"bad-null", "no descriptor", "NULL", "a descriptor"},
    {"bad-slot", "missing slot", "NULL", "a function choose"},
    {"bad-short", "operation table too short", "24 bytes", "a function choose at byte 24"},
    {"bad-ops", "bad operation table", "0 as its first word", "its size in bytes"},
    {"bad-symbol", "missing symbol", "undefined symbol", "weft_plugin_entry"},
    {"bad-undefined", "cannot be loaded", "nobody_defines_this", "a complete shared object"},
    {"bad-name", "other name", "another-name", "bad-name"},
    {"bad-default", "bad option table", "default \"many\" of option depth", "1 to 64"},
    {"bad-outside", "bad option table", "option depth ends at byte 4104", "config_size 16"},
};

static void broken_plugin_gives_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        const broken_t *b = &broken[i];
        char text[2048], path[1024], place[1100];
        job_t job;
        snprintf(text, sizeof text, HEAD "tuner = %s\n", b->name);
        assert_int_equal(job_start(&job, text), WEFT_ERR_PLUGIN);
        snprintf(path, sizeof path, BROKEN_DIR "/%s.so", b->name);
        snprintf(place, sizeof place, "%s:%d", job.ini, LIST_LINE);
        const char *const words[] = {b->name,  path,        b->reason,   "found ",
                                     b->found, "expected ", b->expected, place};
        expect_words(b->name, words, sizeof words / sizeof words[0]);
        assert_null(job.registry);
        job_end(&job);
    }
}

static void optional_broken_plugin_is_passed_over(void **state)
{
    (void)state;
    weft_log_set_level(WEFT_LOG_ERROR);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        char text[2048];
        job_t job;
        snprintf(text, sizeof text,
                 HEAD "tuner = %s good\n[%s]\noptional = yes\ndepth = 4\n[good]\ndepth = 9\n",
                 broken[i].name, broken[i].name);
        if (job_start(&job, text) != WEFT_OK) {
            fail_msg("%s", weft_error_record()->text);
        }
        assert_int_equal(weft_error_record()->status, WEFT_OK);
        const weft_loaded_t *loaded = weft_registry_get(job.registry, WEFT_KIND_TUNER, 0);
        assert_non_null(loaded);
        assert_string_equal(loaded->plugin->name, "good");
        assert_int_equal(((const int64_t *)loaded->config)[0], 9);
        assert_null(weft_registry_get(job.registry, WEFT_KIND_TUNER, 1));
        job_end(&job);
    }
    weft_log_set_level(WEFT_LOG_WARN);
}

static void good_plugin_is_loaded_with_its_options(void **state)
{
    job_t job;
    (void)state;
    if (job_start(&job, HEAD "tuner = good other-good\n[good]\nlabel = from the file\n") !=
        WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    const weft_loaded_t *first = weft_registry_get(job.registry, WEFT_KIND_TUNER, 0);
    const weft_loaded_t *second = weft_registry_get(job.registry, WEFT_KIND_TUNER, 1);
    assert_string_equal(first->plugin->name, "good");
    assert_string_equal(first->path, BROKEN_DIR "/good.so");
    assert_string_equal(second->plugin->name, "other-good");
    assert_null(weft_registry_get(job.registry, WEFT_KIND_TUNER, 2));
    assert_null(weft_registry_get(job.registry, WEFT_KIND_NET, 0));
    const struct {
        int64_t depth;
        const char *label;
    } *config = first->config;
    assert_int_equal(config->depth, 4);
    assert_string_equal(config->label, "from the file");
    job_end(&job);
}

static void bad_option_of_a_plugin_is_told_even_if_it_is_optional(void **state)
{
    job_t job;
    (void)state;
    assert_int_equal(job_start(&job, HEAD "tuner = good\n[good]\noptional = yes\ndepth = 65\n"),
                     WEFT_ERR_CONFIG);
    const char *const words[] = {"weft.ini:9", "[good] depth = 65", "1 to 64"};
    expect_words("range", words, 3);
    job_end(&job);
    assert_int_equal(job_start(&job, HEAD "tuner = good\n[good]\ndeph = 6\n"), WEFT_ERR_CONFIG);
    const char *const key[] = {"weft.ini:8", "did you mean depth?"};
    expect_words("key", key, 2);
    job_end(&job);
    assert_int_equal(job_start(&job, HEAD "tuner = good\n[goood]\ndepth = 6\n"), WEFT_ERR_CONFIG);
    const char *const section[] = {"weft.ini:8", "did you mean [good]?"};
    expect_words("section", section, 2);
    job_end(&job);
}

static void section_of_an_installed_but_unlisted_plugin_is_tolerated(void **state)
{
    job_t job;
    (void)state;
    assert_int_equal(job_start(&job, HEAD "tuner = good\n[other-good]\ndepth = 6\n"), WEFT_OK);
    job_end(&job);
}

static void missing_file_is_told_with_the_nearest(void **state)
{
    job_t job;
    (void)state;
    assert_int_equal(job_start(&job, HEAD "tuner = goood\n"), WEFT_ERR_PLUGIN);
    const char *const words[] = {BROKEN_DIR "/goood.so", "cannot be found",    "found no such file",
                                 "expected a file",      "did you mean good?", "weft.ini:6"};
    expect_words("missing", words, sizeof words / sizeof words[0]);
    job_end(&job);
}

static void plugin_listed_twice_is_told(void **state)
{
    job_t job;
    (void)state;
    assert_int_equal(job_start(&job, HEAD "tuner = good other-good good\n"), WEFT_ERR_PLUGIN);
    const char *const words[] = {BROKEN_DIR "/good.so", "listed twice",
                                 "found it twice in [core] tuner", "expected it once",
                                 "weft.ini:6"};
    expect_words("twice", words, sizeof words / sizeof words[0]);
    job_end(&job);
}

static void name_in_two_kinds_is_told(void **state)
{
    job_t job;
    (void)state;
    assert_int_equal(job_start(&job, "[core]\nplugin_dir = " BROKEN_DIR
                                     "\nnet = good\nalgo =\nkernel =\ntuner = good\n"),
                     WEFT_ERR_PLUGIN);
    const char *const words[] = {BROKEN_DIR "/good.so", "listed as two kinds",
                                 "found it in [core] net, by ", "weft.ini:3, and in [core] tuner",
                                 "weft.ini:6"};
    expect_words("two kinds", words, sizeof words / sizeof words[0]);
    job_end(&job);
}

static void section_of_the_core_is_no_plugin(void **state)
{
    job_t job;
    (void)state;
    assert_int_equal(job_start(&job, HEAD "tuner = boot\n"), WEFT_ERR_CONFIG);
    const char *const words[] = {"weft.ini:6", "boot cannot be a plugin"};
    expect_words("core", words, 2);
    job_end(&job);
    assert_int_equal(job_start(&job, HEAD "tuner = good, boot\n"), WEFT_ERR_CONFIG);
    expect_words("comma", words, 2);
    job_end(&job);
    assert_int_equal(job_start(&job, HEAD "tuner = ../good\n"), WEFT_ERR_CONFIG);
    const char *const name[] = {"weft.ini:6", "\"../good\" is no plugin name"};
    expect_words("name", name, 2);
    job_end(&job);
}

static void path_of_a_plugin_must_be_absolute(void **state)
{
    static const char *const paths[] = {"good.so", "./good.so", BROKEN_DIR "/../plugins/good.so"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char text[2048];
        job_t job;
        snprintf(text, sizeof text, HEAD "tuner = good\n[good]\npath = %s\n", paths[i]);
        assert_int_equal(job_start(&job, text), WEFT_ERR_PLUGIN);
        const char *const words[] = {paths[i], "bad path", "an absolute path without '..'",
                                     "weft.ini:8"};
        expect_words("path", words, 4);
        job_end(&job);
    }
    job_t job;
    assert_int_equal(job_start(&job, "[core]\nplugin_dir = build\n"), WEFT_ERR_CONFIG);
    const char *const words[] = {"weft.ini:2", "an absolute path without '..'"};
    expect_words("folder", words, 2);
    job_end(&job);
}

/* Copies the good plugin elsewhere, as somebody might install it. */
static const char *copy_plugin(const char *name, mode_t mode)
{
    static char path[1024];
    char *data = NULL;
    size_t bytes = 0;
    int error = 0;
    assert_int_equal(weft_os_read_file(BROKEN_DIR "/good.so", 16 << 20, &data, &bytes, &error),
                     WEFT_OK);
    snprintf(path, sizeof path, "%s", scratch_write(name, data, bytes));
    weft_os_free(data);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static weft_status_t start_with_path(job_t *job, const char *path)
{
    char text[2048];
    snprintf(text, sizeof text, HEAD "tuner = good\n[good]\npath = %s\n", path);
    return job_start(job, text);
}

static void plugin_from_elsewhere_is_loaded(void **state)
{
    job_t job;
    (void)state;
    const char *path = copy_plugin("elsewhere.so", 0755);
    if (start_with_path(&job, path) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    assert_string_equal(weft_registry_get(job.registry, WEFT_KIND_TUNER, 0)->path, path);
    job_end(&job);
}

static void plugin_that_others_could_change_is_refused(void **state)
{
    job_t job;
    (void)state;
    assert_int_equal(start_with_path(&job, copy_plugin("open.so", 0757)), WEFT_ERR_PLUGIN);
    const char *const words[] = {"open.so", "writable by others", "found mode 0757",
                                 "expected no write permission", "weft.ini:8"};
    expect_words("open", words, 5);
    job_end(&job);
    if (geteuid() != 0) {
        return;
    }
    const char *path = copy_plugin("group.so", 0775);
    assert_int_equal(chown(path, 0, 12345), 0);
    assert_int_equal(start_with_path(&job, path), WEFT_ERR_PLUGIN);
    const char *const group[] = {"group.so", "writable by others", "found mode 0775"};
    expect_words("group", group, 3);
    job_end(&job);
    path = copy_plugin("foreign.so", 0755);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(start_with_path(&job, path), WEFT_ERR_PLUGIN);
    const char *const owner[] = {"foreign.so", "owned by somebody else", "found user 12345",
                                 "expected your user or root"};
    expect_words("owner", owner, 4);
    job_end(&job);
}

static void expect_folder(const char *path, const char *const words[4])
{
    job_t job;
    assert_int_equal(start_with_path(&job, path), WEFT_ERR_PLUGIN);
    expect_words("folder", words, 4);
    job_end(&job);
}

static void plugin_in_a_folder_that_others_could_change_is_refused(void **state)
{
    char folder[1024];
    (void)state;
    snprintf(folder, sizeof folder, "%s", scratch_path("open"));
    assert_int_equal(mkdir(folder, 0700), 0);
    const char *path = copy_plugin("open/good.so", 0755);
    assert_int_equal(chmod(folder, 0777), 0);
    const char *const open[] = {"open/good.so", "its folder is writable by others", "mode 0777",
                                "chmod go-w"};
    expect_folder(path, open);
    /* What leads there is no better. */
    char link[1024];
    snprintf(link, sizeof link, "%s", scratch_path("link.so"));
    assert_int_equal(symlink("open/good.so", link), 0);
    const char *const linked[] = {"link.so", "its folder is writable by others", "mode 0777",
                                  "chmod go-w"};
    expect_folder(link, linked);
    if (geteuid() != 0) {
        print_message("left out: folders of other users and groups, which only root can make\n");
        return;
    }
    path = scratch_path("open/good.so");
    assert_int_equal(chmod(folder, 0775) | chown(folder, 0, 12345), 0);
    const char *const group[] = {"open/good.so", "its folder is writable by others",
                                 "user 0, mode 0775", "chmod go-w"};
    expect_folder(path, group);
    assert_int_equal(chmod(folder, 0755) | chown(folder, 12345, 12345), 0);
    const char *const foreign[] = {"open/good.so", "its folder is owned by somebody else",
                                   "user 12345, mode 0755", "a folder of your user or root"};
    expect_folder(scratch_path("open/good.so"), foreign);
    /* In /tmp nobody but the owner of a file can exchange it. */
    job_t job;
    assert_int_equal(chmod(folder, 01777) | chown(folder, 0, 0), 0);
    assert_int_equal(start_with_path(&job, scratch_path("open/good.so")), WEFT_OK);
    job_end(&job);
}

static void things_that_are_no_shared_objects_are_refused(void **state)
{
    job_t job;
    char path[1024];
    (void)state;
    snprintf(path, sizeof path, "%s", scratch_write("text.so", "not a plugin\n", 13));
    assert_int_equal(start_with_path(&job, path), WEFT_ERR_PLUGIN);
    const char *const text[] = {"text.so", "cannot be loaded", "expected a complete shared object"};
    expect_words("text", text, 3);
    job_end(&job);
    snprintf(path, sizeof path, "%s", scratch_path("folder.so"));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(start_with_path(&job, path), WEFT_ERR_PLUGIN);
    const char *const folder[] = {"folder.so", "cannot be loaded", "found a folder"};
    expect_words("folder", folder, 3);
    job_end(&job);
    snprintf(path, sizeof path, "%s", scratch_path("absent.so"));
    assert_int_equal(start_with_path(&job, path), WEFT_ERR_PLUGIN);
    const char *const absent[] = {"absent.so", "cannot be found", "No such file", "weft.ini:8"};
    expect_words("absent", absent, 4);
    job_end(&job);
}

static void two_registries_do_not_share_options(void **state)
{
    job_t a, b;
    (void)state;
    assert_int_equal(job_start(&a, HEAD "tuner = good\n[good]\ndepth = 1\n"), WEFT_OK);
    assert_int_equal(job_start(&b, HEAD "tuner = good\n[good]\ndepth = 2\n"), WEFT_OK);
    const weft_loaded_t *la = weft_registry_get(a.registry, WEFT_KIND_TUNER, 0);
    const weft_loaded_t *lb = weft_registry_get(b.registry, WEFT_KIND_TUNER, 0);
    assert_int_equal(((const int64_t *)la->config)[0], 1);
    assert_int_equal(((const int64_t *)lb->config)[0], 2);
    assert_ptr_not_equal(la->host, lb->host);
    job_end(&a);
    assert_int_equal(((const int64_t *)lb->config)[0], 2);
    assert_string_equal(lb->plugin->name, "good");
    job_end(&b);
}

int main(void)
{
    clearenv();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_plugin_gives_one_line),
        cmocka_unit_test(optional_broken_plugin_is_passed_over),
        cmocka_unit_test(good_plugin_is_loaded_with_its_options),
        cmocka_unit_test(bad_option_of_a_plugin_is_told_even_if_it_is_optional),
        cmocka_unit_test(section_of_an_installed_but_unlisted_plugin_is_tolerated),
        cmocka_unit_test(missing_file_is_told_with_the_nearest),
        cmocka_unit_test(plugin_listed_twice_is_told),
        cmocka_unit_test(name_in_two_kinds_is_told),
        cmocka_unit_test(section_of_the_core_is_no_plugin),
        cmocka_unit_test(path_of_a_plugin_must_be_absolute),
        cmocka_unit_test(plugin_from_elsewhere_is_loaded),
        cmocka_unit_test(plugin_that_others_could_change_is_refused),
        cmocka_unit_test(plugin_in_a_folder_that_others_could_change_is_refused),
        cmocka_unit_test(things_that_are_no_shared_objects_are_refused),
        cmocka_unit_test(two_registries_do_not_share_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
