/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The core's own option tables, and conf/weft.ini against all tables. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/option_table.h"
#include "core/os/os.h"
#include "core/os/os_path.h"
#include "core/plugin/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define CONF WEFT_SOURCE_DIR "/conf/"

static void tables_are_sound(void **state)
{
    char why[400];
    (void)state;
    assert_true(weft_option_table_check(weft_core_options, sizeof(weft_core_settings_t), why, 400));
    assert_true(weft_option_table_check(weft_boot_options, sizeof(weft_boot_settings_t), why, 400));
    assert_true(weft_option_table_check(weft_exec_options, sizeof(weft_exec_settings_t), why, 400));
    assert_true(weft_option_table_check(weft_plan_options, sizeof(weft_plan_settings_t), why, 400));
    assert_true(
        weft_option_table_check(weft_figures_options, sizeof(weft_figures_settings_t), why, 400));
}

static weft_config_t *load(const char *path, const char *const *settings, uint32_t count,
                           weft_settings_t *parsed)
{
    weft_config_t *config = NULL;
    const weft_comm_options_t options = {
        .size = sizeof options, .config = path, .settings = settings, .settings_count = count};
    if (weft_config_load(&options, &config) != WEFT_OK ||
        weft_settings_read(config, parsed) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    return config;
}

static void a_range_of_ports_is_two_numbers(void **state)
{
    weft_settings_t s;
    weft_config_t *config = NULL;
    const char *good = "boot.port_range=5000-5100", *bad = "boot.port_range=5000-";
    const weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = &bad, .settings_count = 1};
    (void)state;
    config = load("/dev/null", &good, 1, &s);
    assert_int_equal(s.boot.ports.first, 5000);
    assert_int_equal(s.boot.ports.last, 5100);
    weft_config_destroy(config);
    assert_int_equal(weft_config_load(&options, &config), WEFT_OK);
    assert_int_equal(weft_settings_read(config, &s), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, ": [boot] port_range is \"5000-\""));
    weft_config_destroy(config);
}

static void defaults_are_those_of_the_documentation(void **state)
{
    weft_settings_t s;
    weft_config_t *config = load(NULL, NULL, 0, &s);
    (void)state;
    assert_string_equal(s.core.plugin_dir, "");
    assert_int_equal(s.core.log, WEFT_LOG_WARN);
    assert_false(s.core.log_time);
    assert_true(s.boot.init_timeout == 120);
    assert_true(s.boot.connect_timeout == 30);
    assert_true(s.boot.heartbeat == 0.5);
    assert_true(s.boot.late == 2);
    assert_true(s.boot.unresponsive == 10);
    assert_string_equal(s.boot.interface, "");
    assert_string_equal(s.boot.rendezvous, "");
    assert_int_equal(s.boot.exchange, WEFT_EXCHANGE_AUTO);
    assert_true(s.exec.op_timeout == 600);
    assert_int_equal(s.exec.wait, 0);
    assert_true(s.exec.spin == 1e-6);
    assert_int_equal(s.exec.slot_bytes, 0);
    assert_int_equal(s.exec.slots, 0);
    assert_string_equal(s.plan.algo, "");
    assert_int_equal(s.plan.verify, 1);
    assert_int_equal(s.plan.verify_limit, 20 << 20);
    weft_config_destroy(config);
}

static void sections_of_the_core_are_reserved(void **state)
{
    (void)state;
    assert_true(weft_settings_own("core"));
    assert_true(weft_settings_own("plan"));
    assert_false(weft_settings_own("net-x"));
}

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t bytes;
    int error;
    if (weft_os_read_file(path, 1 << 20, &text, &bytes, &error) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    return text;
}

/* Finds "\n[name]\n" and cuts the text before the next section; NULL if there is none. */
static char *section_of(const char *text, const char *name)
{
    char head[64];
    snprintf(head, sizeof head, "\n[%s]\n", name);
    const char *start = strstr(text, head);
    if (start == NULL) {
        return NULL;
    }
    const char *end = strstr(start + 1, "\n[");
    size_t bytes = end != NULL ? (size_t)(end - start) : strlen(start);
    return strndup(start, bytes);
}

/* Name of the next "[name]" line at or after *at; false at the end. */
static bool section_next(const char **at, char *name, size_t bytes)
{
    const char *start = strstr(*at, "\n[");
    if (start == NULL) {
        return false;
    }
    size_t length = strcspn(start + 2, "]");
    snprintf(name, bytes, "%.*s", (int)length, start + 2);
    *at = start + 2;
    return true;
}

static void compare(const char *name, const char *written, const char *printed)
{
    char *a = section_of(written, name), *b = section_of(printed, name);
    if (a == NULL || b == NULL || strcmp(a, b) != 0) {
        fail_msg("conf/weft.ini is not what the option tables say, make it anew with "
                 "\"weft config --ini\":\n%s\n--- instead of ---\n%s",
                 a != NULL ? a : "nothing", b != NULL ? b : "nothing");
    }
    free(a);
    free(b);
}

/* The names of `list` whose plugin is built. */
static void present(const char *key, const char *list, char *setting, size_t bytes)
{
    char copy[256], path[WEFT_OS_PATH_MAX];
    char *save = NULL;
    snprintf(copy, sizeof copy, "%s", list);
    size_t at = (size_t)snprintf(setting, bytes, "core.%s=", key);
    for (char *n = strtok_r(copy, " ", &save); n != NULL; n = strtok_r(NULL, " ", &save)) {
        snprintf(path, sizeof path, "%s/%s.so", WEFT_PLUGIN_DIR, n);
        if (weft_os_file(path).exists) {
            at += (size_t)snprintf(setting + at, bytes - at, " %s", n);
        }
    }
}

static void shipped_file_says_what_the_tables_say(void **state)
{
    char lists[5][300], path[1024], name[64];
    const char *settings[5];
    weft_settings_t s;
    weft_registry_t *registry = NULL;
    (void)state;
    weft_config_t *config = load(NULL, NULL, 0, &s);
    present("net", s.core.net, lists[0], sizeof lists[0]);
    present("algo", s.core.algo, lists[1], sizeof lists[1]);
    present("kernel", s.core.kernel, lists[2], sizeof lists[2]);
    present("tuner", s.core.tuner, lists[3], sizeof lists[3]);
    present("topo", s.core.topo, lists[4], sizeof lists[4]);
    weft_config_destroy(config);
    for (int i = 0; i < 5; i++) {
        settings[i] = lists[i];
    }

    config = load(NULL, settings, 5, &s);
    if (weft_registry_load(config, &s, true, &registry) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    snprintf(path, sizeof path, "%s", scratch_path("printed.ini"));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(weft_config_print(config, file), WEFT_OK);
    fclose(file);
    weft_config_destroy(config);

    char *written = read_text(CONF "weft.ini"), *printed = read_text(path);
    unsigned sections = 0;
    for (const char *at = printed; section_next(&at, name, sizeof name); sections++) {
        /* [core] is compared below, with the lists of all plugins. */
        if (strcmp(name, "core") != 0) {
            compare(name, written, printed);
        }
    }
    assert_true(sections >= 4);
    weft_registry_destroy(registry);
    weft_os_free(written);
    weft_os_free(printed);
}

static void shipped_file_has_the_defaults_of_the_core(void **state)
{
    static const char *const names[] = {"core", "boot", "exec", "plan"};
    weft_settings_t s;
    char path[1024];
    (void)state;
    weft_config_t *config = load(NULL, NULL, 0, &s);
    snprintf(path, sizeof path, "%s", scratch_path("core.ini"));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(weft_config_print(config, file), WEFT_OK);
    fclose(file);
    char *written = read_text(CONF "weft.ini"), *printed = read_text(path);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        compare(names[i], written, printed);
    }
    weft_config_destroy(config);
    weft_os_free(written);
    weft_os_free(printed);
}

static void shipped_file_changes_nothing(void **state)
{
    weft_settings_t s;
    (void)state;
    weft_config_t *config = load(CONF "weft.ini", NULL, 0, &s);
    assert_string_equal(weft_config_origin(config, "core", "net"), "default");
    assert_int_equal(weft_config_finish(config), WEFT_OK);
    weft_config_destroy(config);
}

static void shipped_examples_are_right(void **state)
{
    char path[1024];
    unsigned seen = 0;
    (void)state;
    DIR *folder = opendir(CONF "examples");
    assert_non_null(folder);
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        weft_settings_t s;
        if (strstr(e->d_name, ".ini") == NULL) {
            continue;
        }
        snprintf(path, sizeof path, CONF "examples/%s", e->d_name);
        weft_config_t *config = load(path, NULL, 0, &s);
        if (weft_config_finish(config) != WEFT_OK) {
            fail_msg("%s", weft_error_record()->text);
        }
        weft_config_destroy(config);
        seen++;
    }
    closedir(folder);
    assert_true(seen >= 3);
}

int main(void)
{
    clearenv();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_sound),
        cmocka_unit_test(defaults_are_those_of_the_documentation),
        cmocka_unit_test(a_range_of_ports_is_two_numbers),
        cmocka_unit_test(sections_of_the_core_are_reserved),
        cmocka_unit_test(shipped_file_has_the_defaults_of_the_core),
        cmocka_unit_test(shipped_file_says_what_the_tables_say),
        cmocka_unit_test(shipped_file_changes_nothing),
        cmocka_unit_test(shipped_examples_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
