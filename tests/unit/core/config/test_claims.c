/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which value wins, where it is said to come from, and what nobody claimed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/config/settings.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

typedef struct sample {
    int64_t port;
    const char *interface;
    uint64_t room;
} sample_t;

static const weft_option_t sample_options[] = {
    {"port", WEFT_OPT_INT, offsetof(sample_t, port), "1", "port", NULL, 0, 0, 0, 0},
    {"interface", WEFT_OPT_STRING, offsetof(sample_t, interface), "lo", "interface", NULL, 0, 0, 0,
     0},
    {"room", WEFT_OPT_SIZE, offsetof(sample_t, room), "64K", "bytes", NULL, 0, 0, 0, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

static const weft_option_t list_options[] = {
    {"rule", WEFT_OPT_STRING, 0, "", "rules", NULL, 0, 0, WEFT_OPTION_LIST, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

/* Files and environment of one test. */
static int fresh(void **state)
{
    (void)state;
    clearenv();
    setenv("HOME", scratch_folder(), 1);
    unlink(scratch_path(".config/weft/weft.ini"));
    weft_error_clear(weft_error_record());
    return 0;
}

static weft_config_t *load(const char *file, const char *const *settings, uint32_t count)
{
    weft_config_t *config = NULL;
    const weft_comm_options_t options = {
        .size = sizeof options, .config = file, .settings = settings, .settings_count = count};
    if (weft_config_load(&options, &config) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    return config;
}

static weft_status_t load_settings(const char *const *settings, uint32_t count)
{
    weft_config_t *config = NULL;
    sample_t sample = {0};
    const weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = count};
    weft_status_t status = weft_config_load(&options, &config);
    if (status == WEFT_OK) {
        status = weft_config_section(config, "net-sample", sample_options, &sample);
        status = status == WEFT_OK ? weft_config_finish(config) : status;
        weft_config_destroy(config);
    }
    return status;
}

static const char *write_ini(const char *name, const char *text)
{
    return scratch_write(name, text, strlen(text));
}

static void defaults_hold_when_nothing_is_given(void **state)
{
    sample_t sample = {0};
    weft_config_t *config = load(NULL, NULL, 0);
    (void)state;
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample), WEFT_OK);
    assert_int_equal(weft_config_finish(config), WEFT_OK);
    assert_int_equal(sample.port, 1);
    assert_string_equal(sample.interface, "lo");
    assert_int_equal(sample.room, 65536);
    assert_string_equal(weft_config_origin(config, "net-sample", "port"), "default");
    weft_config_destroy(config);
}

static void setting_beats_environment_beats_file(void **state)
{
    static const char *const settings[] = {"net-sample.port=4"};
    sample_t sample = {0};
    char expected[1100];
    (void)state;
    const char *path =
        write_ini("a.ini", "\n[net-sample]\nport = 2\ninterface = eth0\nroom = 1M\n");
    snprintf(expected, sizeof expected, "%s:5", path);
    setenv("WEFT_NET_SAMPLE_PORT", "3", 1);
    setenv("WEFT_NET_SAMPLE_INTERFACE", "ib0", 1);
    weft_config_t *config = load(path, settings, 1);
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample), WEFT_OK);
    assert_int_equal(weft_config_finish(config), WEFT_OK);
    assert_int_equal(sample.port, 4);
    assert_string_equal(sample.interface, "ib0");
    assert_int_equal(sample.room, 1 << 20);
    assert_string_equal(weft_config_origin(config, "net-sample", "port"), "options.settings");
    assert_string_equal(weft_config_origin(config, "net-sample", "interface"),
                        "environment WEFT_NET_SAMPLE_INTERFACE");
    assert_string_equal(weft_config_origin(config, "net-sample", "room"), expected);
    weft_config_destroy(config);
}

static void later_setting_wins(void **state)
{
    static const char *const settings[] = {"net-sample.port=4", "net-sample.port=5"};
    sample_t sample = {0};
    weft_config_t *config = load(NULL, settings, 2);
    (void)state;
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample), WEFT_OK);
    assert_int_equal(sample.port, 5);
    weft_config_destroy(config);
}

static void hidden_mistake_is_still_told(void **state)
{
    static const char *const settings[] = {"net-sample.port=4"};
    (void)state;
    setenv("WEFT_NET_SAMPLE_PORT", "x", 1);
    assert_int_equal(load_settings(settings, 1), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "environment WEFT_NET_SAMPLE_PORT"));
}

static void file_is_the_named_one_else_weft_conf_else_the_users(void **state)
{
    char named[1024], variable[1024], users[1024];
    (void)state;
    snprintf(named, sizeof named, "%s", write_ini("named.ini", "[net-sample]\nport = 10\n"));
    snprintf(variable, sizeof variable, "%s", write_ini("var.ini", "[net-sample]\nport = 11\n"));
    mkdir(scratch_path(".config"), 0700);
    mkdir(scratch_path(".config/weft"), 0700);
    snprintf(users, sizeof users, "%s",
             write_ini(".config/weft/weft.ini", "[net-sample]\nport = 12\n"));
    for (int step = 0; step < 4; step++) {
        sample_t sample = {0};
        if (step == 0) {
            setenv("WEFT_CONF", variable, 1);
        } else if (step == 2) {
            unsetenv("WEFT_CONF");
        } else if (step == 3) {
            /* An XDG folder without a file of ours, so the home's does not count. */
            setenv("XDG_CONFIG_HOME", scratch_path("xdg"), 1);
        }
        weft_config_t *config = load(step == 0 ? named : NULL, NULL, 0);
        assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample),
                         WEFT_OK);
        assert_int_equal(sample.port, step == 3 ? 1 : 10 + step);
        weft_config_destroy(config);
    }
}

static void users_file_must_be_the_users(void **state)
{
    weft_config_t *config = NULL;
    (void)state;
    mkdir(scratch_path(".config"), 0700);
    mkdir(scratch_path(".config/weft"), 0700);
    const char *path = write_ini(".config/weft/weft.ini", "[core]\nlog = warn\n");
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(weft_config_load(NULL, &config), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "writable by everybody"));
    assert_int_equal(chmod(path, 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(weft_config_load(NULL, &config), WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, "owned by somebody else"));
    }
    assert_null(config);
}

static void key_given_twice_is_told_with_both_lines(void **state)
{
    (void)state;
    static const char *const texts[] = {"[net-sample]\nport = 1\nport = 2\n",
                                        "[net-sample]\nport = 1\n[net-sample]\nport = 2\n"};
    for (size_t i = 0; i < 2; i++) {
        sample_t sample = {0};
        weft_config_t *config =
            load(scratch_write("twice.ini", texts[i], strlen(texts[i])), NULL, 0);
        assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample),
                         WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, i == 0 ? "twice.ini:3" : "twice.ini:4"));
        assert_non_null(strstr(weft_error_record()->text, "twice, first on line 2"));
        weft_config_destroy(config);
    }
}

static void list_has_all_values_of_its_strongest_source(void **state)
{
    (void)state;
    static const char *const settings[] = {"net-sample.rule=x", "net-sample.rule=y = z"};
    static const char text[] = "[net-sample]\nrule = a b\nrule = c\n";
    const char *path = scratch_write("list.ini", text, sizeof text - 1);
    const char *rules = NULL;
    char expected[512];
    weft_config_t *config = load(path, NULL, 0);
    assert_int_equal(weft_config_section(config, "net-sample", list_options, &rules), WEFT_OK);
    snprintf(expected, sizeof expected, "%s:2\ta b\n%s:3\tc\n", path, path);
    assert_string_equal(rules, expected);
    weft_config_destroy(config);
    config = load(path, settings, 2);
    assert_int_equal(weft_config_section(config, "net-sample", list_options, &rules), WEFT_OK);
    assert_string_equal(rules, "options.settings\tx\noptions.settings\ty = z\n");
    weft_config_destroy(config);
    config = load(scratch_write("empty.ini", "", 0), NULL, 0);
    assert_int_equal(weft_config_section(config, "net-sample", list_options, &rules), WEFT_OK);
    assert_string_equal(rules, "");
    weft_config_destroy(config);
}

static void bad_settings_are_told(void **state)
{
    static const char *const cases[][2] = {
        {"", "no '='"},
        {"x=1", "options.settings x=1: no '.' before '=', expected section.key=value"},
        {"core", "no '='"},
        {"log=warn", "no '.'"},
        {"log=a.b", "no '.'"},
        {".log=warn", "bad section or key"},
        {"core.=warn", "bad section or key"},
        {"Core.log=warn", "bad section or key"},
        {"core.log =warn", "bad section or key"},
        {"net-sampel.port=1",
         "options.settings: [net-sampel] port: unknown section, did you mean [net-sample]?"},
        {"net-sample.prot=1",
         "options.settings: [net-sample] prot: unknown key, did you mean port?"},
        {"net-sample.zzqqy=1",
         "options.settings: [net-sample] zzqqy: unknown key; [net-sample] has port"},
        {"net-sample.port=one",
         "options.settings: [net-sample] port = one: expected a whole number"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *settings[] = {cases[i][0]};
        assert_int_equal(load_settings(settings, 1), WEFT_ERR_CONFIG);
        if (strstr(weft_error_record()->text, cases[i][1]) == NULL) {
            fail_msg("\"%s\": \"%s\"", cases[i][0], weft_error_record()->text);
        }
    }
    static const char *const null[] = {NULL};
    assert_int_equal(load_settings(null, 1), WEFT_ERR_ARG);
    assert_int_equal(load_settings(NULL, 1), WEFT_ERR_ARG);
}

/* Programs with a command line call them what their users do. */
static void settings_have_the_name_of_the_program(void **state)
{
    static const char *const unknown[] = {"net-sample.prot=1"}, *const odd[] = {"x=1"};
    (void)state;
    weft_config_name_settings("--set");
    assert_int_equal(load_settings(unknown, 1), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "--set: [net-sample] prot: unknown key"));
    assert_int_equal(load_settings(odd, 1), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "--set x=1: no '.' before '='"));
    weft_config_name_settings("options.settings");
}

static void bad_options_struct_is_told(void **state)
{
    weft_config_t *config = NULL;
    const weft_comm_options_t options = {.size = 0};
    (void)state;
    assert_int_equal(weft_config_load(&options, &config), WEFT_ERR_ARG);
    assert_non_null(strstr(weft_error_record()->text, "options.size"));
}

static void unknown_variable_is_told_with_the_nearest(void **state)
{
    (void)state;
    setenv("WEFT_NET_SAMPLE_PROT", "1", 1);
    assert_int_equal(load_settings(NULL, 0), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text,
                           "environment WEFT_NET_SAMPLE_PROT: no such option, did you mean "
                           "WEFT_NET_SAMPLE_PORT?"));
}

/* The error of a variable that is unknown lists them, too. */
static void variables_that_are_no_options_are_left_alone(void **state)
{
    static const char *const variables[] = {"WEFT_CONF",   "WEFT_UNIQUE_ID",  "WEFT_RANK",
                                            "WEFT_NRANKS", "WEFT_LOCAL_RANK", "WEFT_LOCAL_NRANKS"};
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        setenv(variables[i], "", 1);
    }
    setenv("WEFTING", "1", 1);
    assert_int_equal(load_settings(NULL, 0), WEFT_OK);
    setenv("WEFT_SOMETHING", "1", 1);
    assert_int_equal(load_settings(NULL, 0), WEFT_ERR_CONFIG);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        assert_non_null(strstr(weft_error_record()->text, variables[i]));
    }
}

static void long_variable_is_told(void **state)
{
    char value[1500];
    (void)state;
    memset(value, 'a', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    setenv("WEFT_NET_SAMPLE_INTERFACE", value, 1);
    assert_int_equal(load_settings(NULL, 0), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "longer than 1000"));
}

/* WEFT_NET_SAMPLE_PORT is [net-sample] port, and would be [net] sample_port as well. */
static void variable_belongs_to_the_section_that_has_the_key(void **state)
{
    static const weft_option_t net_options[] = {
        {"other", WEFT_OPT_INT, 0, "1", "other", NULL, 0, 0, 0, 0},
        {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
    };
    int64_t other = 0;
    sample_t sample = {0};
    (void)state;
    setenv("WEFT_NET_SAMPLE_PORT", "9", 1);
    weft_config_t *config = load(NULL, NULL, 0);
    assert_int_equal(weft_config_section(config, "net", net_options, &other), WEFT_OK);
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample), WEFT_OK);
    assert_int_equal(weft_config_finish(config), WEFT_OK);
    assert_int_equal(sample.port, 9);
    weft_config_destroy(config);
}

static void variable_with_two_meanings_is_told(void **state)
{
    static const weft_option_t net_options[] = {
        {"sample_port", WEFT_OPT_INT, 0, "1", "other", NULL, 0, 0, 0, 0},
        {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
    };
    int64_t other = 0;
    sample_t sample = {0};
    (void)state;
    setenv("WEFT_NET_SAMPLE_PORT", "9", 1);
    weft_config_t *config = load(NULL, NULL, 0);
    assert_int_equal(weft_config_section(config, "net", net_options, &other), WEFT_OK);
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample),
                     WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "[net] sample_port and [net-sample] port"));
    weft_config_destroy(config);
}

static void ignored_section_is_no_error(void **state)
{
    (void)state;
    setenv("WEFT_NET_IDLE_DEPTH", "4", 1);
    const char *path = write_ini("idle.ini", "[net-idle]\nanything = 1\n");
    weft_config_t *config = load(path, NULL, 0);
    assert_int_equal(weft_config_finish(config), WEFT_ERR_CONFIG);
    assert_int_equal(weft_config_ignore(config, "net-idle"), WEFT_OK);
    assert_int_equal(weft_config_finish(config), WEFT_OK);
    weft_config_destroy(config);
}

static void section_of_an_unlisted_plugin_from_elsewhere_is_no_error(void **state)
{
    (void)state;
    const char *path = write_ini("else.ini", "[net-vendor]\ndepth = 1\npath = /opt/x.so\n");
    weft_config_t *config = load(path, NULL, 0);
    assert_int_equal(weft_config_finish(config), WEFT_OK);
    weft_config_destroy(config);
}

typedef struct seen {
    char text[1024];
} seen_t;

static void note(void *arg, const char *section, const weft_option_t *option, const char *value,
                 const char *origin)
{
    seen_t *seen = arg;
    size_t at = strlen(seen->text);
    snprintf(seen->text + at, sizeof seen->text - at, "%s.%s=%s(%s) ", section, option->name, value,
             origin);
}

static void every_claimed_option_is_visited_in_order(void **state)
{
    static const char *const settings[] = {"net-sample.room=131072"};
    sample_t sample = {0};
    seen_t seen = {.text = ""};
    weft_config_t *config = load(NULL, settings, 1);
    (void)state;
    /* Twice: the second claim fills anew and adds nothing. */
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample), WEFT_OK);
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample), WEFT_OK);
    weft_config_each(config, note, &seen);
    assert_string_equal(seen.text, "net-sample.port=1(default) net-sample.interface=lo(default) "
                                   "net-sample.room=128K(options.settings) ");
    weft_config_destroy(config);
}

/* Prints what the interface was set to, reads it back. */
static void print_and_read(const char *interface)
{
    char given[64], path[1024];
    const char *const settings[] = {"net-sample.room=131072", given, "net-sample.port=77"};
    sample_t sample = {0}, again = {0};
    snprintf(given, sizeof given, "net-sample.interface=%s", interface);
    weft_config_t *config = load(NULL, settings, 3);
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &sample), WEFT_OK);
    snprintf(path, sizeof path, "%s", scratch_path("printed.ini"));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(weft_config_print(config, file), WEFT_OK);
    fclose(file);
    weft_config_destroy(config);

    config = load(path, NULL, 0);
    assert_int_equal(weft_config_section(config, "net-sample", sample_options, &again), WEFT_OK);
    assert_int_equal(weft_config_finish(config), WEFT_OK);
    assert_int_equal(again.port, 77);
    assert_int_equal(again.room, 131072);
    assert_string_equal(again.interface, interface);
    weft_config_destroy(config);
}

static void printed_file_reads_back_to_the_same_values(void **state)
{
    (void)state;
    print_and_read("");
    print_and_read("#lo"); /* no comment */
    print_and_read(";lo");
}

static void print_tells_a_full_disk(void **state)
{
    weft_settings_t settings;
    weft_config_t *config = load(NULL, NULL, 0);
    (void)state;
    assert_int_equal(weft_settings_read(config, &settings), WEFT_OK);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(weft_config_print(config, full), WEFT_ERR_SYSTEM);
    fclose(full);
    weft_config_destroy(config);
}

/* `port` was once named `socket`, and `room` was `space`. */
static const weft_option_t renamed_options[] = {
    {"socket", 0, 0, "port", "0.3", NULL, 0, 0, WEFT_OPTION_ALIAS, 0},
    {"port", WEFT_OPT_INT, offsetof(sample_t, port), "1", "port", NULL, 0, 0, 0, 0},
    {"interface", WEFT_OPT_STRING, offsetof(sample_t, interface), "lo", "interface", NULL, 0, 0, 0,
     0},
    {"room", WEFT_OPT_SIZE, offsetof(sample_t, room), "64K", "bytes", NULL, 0, 0, 0, 0},
    {"space", 0, 0, "room", "0.3", NULL, 0, 0, WEFT_OPTION_ALIAS, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

/* Claims the renamed options and returns what the core printed meanwhile. */
static const char *claim_renamed(weft_config_t *config, sample_t *sample, weft_status_t *status_p)
{
    static char printed[2048];
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_true(file != NULL && kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    *status_p = weft_config_section(config, "net-sample", renamed_options, sample);
    *status_p = *status_p == WEFT_OK ? weft_config_finish(config) : *status_p;
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    fclose(file);
    return printed;
}

static void old_name_works_and_is_warned_about_once(void **state)
{
    static const char *const settings[] = {"net-sample.space=1M"};
    sample_t sample = {0};
    seen_t seen = {.text = ""};
    weft_status_t status;
    char expected[1200];
    (void)state;
    const char *path = write_ini("old.ini", "\n[net-sample]\nsocket = 7\n");
    setenv("WEFT_NET_SAMPLE_SPACE", "2M", 1);
    weft_config_t *config = load(path, settings, 1);
    const char *printed = claim_renamed(config, &sample, &status);
    assert_int_equal(status, WEFT_OK);
    assert_int_equal(sample.port, 7);
    assert_int_equal(sample.room, 1 << 20);
    snprintf(expected, sizeof expected,
             "%s:3: [net-sample] socket is now named port; the old name goes with version 0.3\n",
             path);
    assert_non_null(strstr(printed, expected));
    assert_non_null(strstr(printed, "environment WEFT_NET_SAMPLE_SPACE is now named "
                                    "WEFT_NET_SAMPLE_ROOM; the old name goes with version 0.3\n"));
    assert_non_null(strstr(printed, "options.settings: [net-sample] space is now named room; "));
    /* The old names are not listed, and a second claim says nothing. */
    weft_config_each(config, note, &seen);
    snprintf(expected, sizeof expected,
             "net-sample.port=7(%s:3) net-sample.interface=lo(default) "
             "net-sample.room=1M(options.settings) ",
             path);
    assert_string_equal(seen.text, expected);
    assert_string_equal(claim_renamed(config, &sample, &status), "");
    assert_int_equal(status, WEFT_OK);
    weft_config_destroy(config);
}

static void both_names_of_an_option_are_an_error(void **state)
{
    static const char *const settings[] = {"net-sample.port=4"};
    sample_t sample = {0};
    weft_status_t status;
    (void)state;
    setenv("WEFT_NET_SAMPLE_SOCKET", "3", 1);
    weft_config_t *config = load(NULL, settings, 1);
    claim_renamed(config, &sample, &status);
    assert_int_equal(status, WEFT_ERR_CONFIG);
    assert_string_equal(weft_error_record()->text,
                        "environment WEFT_NET_SAMPLE_SOCKET: [net-sample] socket is the old name "
                        "of port, which options.settings gives too; remove the old one");
    weft_config_destroy(config);
}

static void mistake_under_an_old_name_is_told(void **state)
{
    static const char *const settings[] = {"net-sample.socket=one"};
    sample_t sample = {0};
    weft_status_t status;
    (void)state;
    weft_config_t *config = load(NULL, settings, 1);
    claim_renamed(config, &sample, &status);
    assert_int_equal(status, WEFT_ERR_CONFIG);
    assert_non_null(
        strstr(weft_error_record()->text, "options.settings: [net-sample] port = one: "));
    weft_config_destroy(config);
}

static void hint_for_an_old_name_shows_the_present_one(void **state)
{
    static const char *const settings[] = {"net-sample.sokcet=1"};
    sample_t sample = {0};
    weft_status_t status;
    (void)state;
    weft_config_t *config = load(NULL, settings, 1);
    claim_renamed(config, &sample, &status);
    assert_int_equal(status, WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "unknown key, did you mean port?"));
    weft_config_destroy(config);
    setenv("WEFT_NET_SAMPLE_SPAEC", "1", 1);
    config = load(NULL, NULL, 0);
    claim_renamed(config, &sample, &status);
    assert_int_equal(status, WEFT_ERR_CONFIG);
    assert_non_null(
        strstr(weft_error_record()->text, "no such option, did you mean WEFT_NET_SAMPLE_ROOM?"));
    weft_config_destroy(config);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults_hold_when_nothing_is_given),
        TEST(setting_beats_environment_beats_file),
        TEST(later_setting_wins),
        TEST(hidden_mistake_is_still_told),
        TEST(file_is_the_named_one_else_weft_conf_else_the_users),
        TEST(users_file_must_be_the_users),
        TEST(key_given_twice_is_told_with_both_lines),
        TEST(list_has_all_values_of_its_strongest_source),
        TEST(bad_settings_are_told),
        TEST(settings_have_the_name_of_the_program),
        TEST(bad_options_struct_is_told),
        TEST(unknown_variable_is_told_with_the_nearest),
        TEST(variables_that_are_no_options_are_left_alone),
        TEST(long_variable_is_told),
        TEST(variable_belongs_to_the_section_that_has_the_key),
        TEST(variable_with_two_meanings_is_told),
        TEST(ignored_section_is_no_error),
        TEST(section_of_an_unlisted_plugin_from_elsewhere_is_no_error),
        TEST(every_claimed_option_is_visited_in_order),
        TEST(printed_file_reads_back_to_the_same_values),
        TEST(print_tells_a_full_disk),
        TEST(old_name_works_and_is_warned_about_once),
        TEST(both_names_of_an_option_are_an_error),
        TEST(mistake_under_an_old_name_is_told),
        TEST(hint_for_an_old_name_shows_the_present_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
