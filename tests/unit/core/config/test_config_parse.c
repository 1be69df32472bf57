/* SPDX-License-Identifier: BSD-3-Clause
 *
 * INI files good and bad: every bad one is told with its line, whatever the bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/config/config_parse.h"
#include "core/config/settings.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A500 A50 A50 A50 A50 A50 A50 A50 A50 A50 A50

/* Reads a file as a job would; the four sections of the core are all there is. */
static weft_status_t read_path(const char *path, weft_settings_t *settings,
                               weft_config_t **config_p)
{
    const weft_comm_options_t options = {.size = sizeof options, .config = path};
    weft_config_t *config = NULL;
    weft_error_clear(weft_error_record());
    weft_status_t status = weft_config_load(&options, &config);
    if (status == WEFT_OK) {
        status = weft_settings_read(config, settings);
        status = status == WEFT_OK ? weft_config_finish(config) : status;
    }
    if (config_p != NULL && status == WEFT_OK) {
        *config_p = config;
    } else {
        weft_config_destroy(config);
    }
    return status;
}

typedef struct bad_file {
    const char *what;
    const char *text;
    size_t bytes; /* 0: as long as the text */
    unsigned line;
    const char *words;
} bad_file_t;

static const bad_file_t bad_files[] = {
    {"unknown section", "[cor]\nlog = warn\n", 0, 2, "did you mean [core]?"},
    {"far unknown section", "[something]\nlog = warn\n", 0, 2, "[something] log: unknown section"},
    {"unknown key", "[core]\nlgo = warn\n", 0, 2, "did you mean log?"},
    {"key of another section", "[core]\n\nlate = 2s\n", 0, 3, "late in section [boot]"},
    {"unknown choice", "[core]\nlog = wran\n", 0, 2, "did you mean warn?"},
    {"far unknown choice", "[exec]\nwait = 3\n", 0, 2, "one of: auto, spin, yield, sleep"},
    {"empty choice", "[core]\nlog =\n", 0, 2, "no value"},
    {"no number", "[exec]\nslots = many\n", 0, 2, "0 to 64"},
    {"number above the range", "[exec]\nslots = 65\n", 0, 2, "0 to 64"},
    {"number below the range", "[exec]\nslots = -1\n", 0, 2, "0 to 64"},
    {"overflow", "[exec]\nslots = 99999999999999999999\n", 0, 2, "out of range"},
    {"garbage after a number", "[exec]\nslots = 4 4\n", 0, 2, "whole number"},
    {"size with a bad unit", "[exec]\nslot_bytes = 4KiB\n", 0, 2, "64K, 8M or 1G"},
    {"size overflow", "[exec]\nslot_bytes = 99999999999G\n", 0, 2, "out of range"},
    {"duration with a bad unit", "[boot]\nlate = 2 sec\n", 0, 2, "ns, us, ms, s or min"},
    {"negative duration", "[boot]\nlate = -2s\n", 0, 2, "1ms to 86400s"},
    {"duration of nothing", "[boot]\nlate = s\n", 0, 2, "ns, us, ms, s or min"},
    {"infinite duration", "[boot]\nlate = inf\n", 0, 2, "ns, us, ms, s or min"},
    {"no port", "[boot]\nport_range = 80000\n", 0, 2, "or one port, up to 65535"},
    {"key before a section", "log = warn\n", 0, 1, "before the first [section]"},
    {"missing bracket", "[core\nlog = warn\n", 0, 1, "without ']'"},
    {"bracket in a comment", "[core ; ]\nlog = warn\n", 0, 1, "without ']'"},
    {"text after the bracket", "[core] log = warn\n", 0, 1, "text after ']'"},
    {"two brackets", "[core]]\n", 0, 1, "text after ']'"},
    {"empty section name", "[]\nlog = warn\n", 0, 1, "bad section name"},
    {"upper case section", "[Core]\nlog = warn\n", 0, 1, "bad section name"},
    {"blanks in a section", "[ core ]\nlog = warn\n", 0, 1, "bad section name"},
    {"section name too long", "[" A50 "]\nlog = warn\n", 0, 1, "bad section name"},
    {"line without value", "[core]\nlog\n", 0, 2, "expected key = value"},
    {"colon", "[core]\nlog: warn\n", 0, 2, "expected key = value"},
    {"colon before the equals sign", "[core]\nlog: a = warn\n", 0, 2, "bad key"},
    {"no key", "[core]\n= warn\n", 0, 2, "bad key"},
    {"upper case key", "[core]\nLog = warn\n", 0, 2, "bad key"},
    {"dash in a key", "[core]\nplugin-dir = /x\n", 0, 2, "bad key"},
    {"blank in a key", "[core]\nplugin dir = /x\n", 0, 2, "bad key"},
    {"section before the key", "[core]\ncore.log = warn\n", 0, 2, "bad key"},
    {"key too long", "[core]\n" A50 " = 1\n", 0, 2, "bad key"},
    {"indented continuation", "[core]\nlog =\n  warn\n", 0, 3, "expected key = value"},
    {"NUL in a value", "[core]\nlog = wa\0rn\n", 19, 2, "NUL byte"},
    {"NUL at the start", "\0[core]\n", 8, 1, "NUL byte"},
    {"NUL in a comment", "# a\0b\n", 6, 1, "NUL byte"},
    {"UTF-16, little end first", "\xff\xfe[\0c\0", 6, 1, "UTF-16"},
    {"UTF-16, big end first", "\xfe\xff\0[\0c", 6, 1, "UTF-16"},
    {"BOM in the middle", "[core]\n\xef\xbb\xbflog = warn\n", 0, 2, "bad key"},
    {"Latin-1", "[core]\n\nnet = caf\xe9\n", 0, 3, "not UTF-8"},
    {"UTF-8 cut at the end", "[core]\nnet = \xe2\x82", 0, 2, "not UTF-8"},
    {"UTF-8 longer than needed", "[core]\nnet = \xc0\xaf\n", 0, 2, "not UTF-8"},
    {"UTF-8 surrogate", "[core]\nnet = \xed\xa0\x80\n", 0, 2, "not UTF-8"},
    {"escape sequence", "[core]\nnet = \x1b[31m\n", 0, 2, "control character"},
    {"lone carriage return", "[core]\rlog = warn\r", 0, 1, "control character"},
    {"form feed", "[core]\n\f\nlog = warn\n", 0, 2, "control character"},
    {"delete", "[core]\nnet = \x7f\n", 0, 2, "control character"},
    {"long line", "[core]\nnet = " A500 A500 "\n", 0, 2, "longer than 1000 bytes"},
    {"long comment", "#" A500 A500 A50 "\n", 0, 1, "longer than 1000 bytes"},
    {"blanks where a long line is split",
     "[core]\nnet =                                          "
     "                                                      "
     "                                                      "
     "                                                      "
     " a\n",
     0, 2, "write it shorter"},
};

static void bad_files_are_told_with_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        const bad_file_t *bad = &bad_files[i];
        weft_settings_t settings;
        char place[1100];
        const char *path =
            scratch_write("bad.ini", bad->text, bad->bytes > 0 ? bad->bytes : strlen(bad->text));
        weft_status_t status = read_path(path, &settings, NULL);
        const char *text = weft_error_record()->text;
        snprintf(place, sizeof place, "%s:%u: ", path, bad->line);
        if (status != WEFT_ERR_CONFIG || strncmp(text, place, strlen(place)) != 0 ||
            strstr(text, bad->words) == NULL || strchr(text, '\n') != NULL) {
            fail_msg("%s: status %d, \"%s\" lacks \"%s\" or \"%s\"", bad->what, (int)status, text,
                     place, bad->words);
        }
    }
}

static void unreadable_things_are_told(void **state)
{
    static char big[(1 << 20) + 2];
    weft_settings_t settings;
    char path[1024];
    (void)state;

    snprintf(path, sizeof path, "%s", scratch_path("absent.ini"));
    assert_int_equal(read_path(path, &settings, NULL), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, path));
    assert_non_null(strstr(weft_error_record()->text, "No such file"));

    snprintf(path, sizeof path, "%s", scratch_path("folder.ini"));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_path(path, &settings, NULL), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "a folder"));

    snprintf(path, sizeof path, "%s", scratch_path("pipe.ini"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_path(path, &settings, NULL), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "no regular file"));

    memset(big, '\n', sizeof big);
    snprintf(path, sizeof path, "%s", scratch_write("big.ini", big, sizeof big));
    assert_int_equal(read_path(path, &settings, NULL), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "larger than 1 MiB"));

    snprintf(path, sizeof path, "%s", scratch_write("closed.ini", "\n", 1));
    assert_int_equal(chmod(path, 0), 0);
    /* Root reads it all the same. */
    if (geteuid() != 0) {
        assert_int_equal(read_path(path, &settings, NULL), WEFT_ERR_CONFIG);
        assert_non_null(strstr(weft_error_record()->text, "Permission denied"));
    }
}

static void too_many_keys_are_told(void **state)
{
    static char text[200000];
    size_t at = (size_t)sprintf(text, "[core]\n");
    weft_settings_t settings;
    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        at += (size_t)sprintf(text + at, "k%u = 1\n", i);
    }
    const char *path = scratch_write("many.ini", text, at);
    assert_int_equal(read_path(path, &settings, NULL), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, ":4098: more than 4096 keys"));
}

static void good_forms_are_read(void **state)
{
    static const char *const texts[] = {
        "[core]\nlog = info\n",
        "[core]\nlog=info",
        "\xef\xbb\xbf[core]\r\nlog = info\r\n",
        "  [core]  ; comment\n\t log\t=\t info \t; comment\n",
        "# comment\n; comment\n\n[core] # comment\nlog = info # comment\n",
        "[plan]\n[core]\n[boot]\n[core]\nlog = info\n",
        "[core]\nlog = info\n[not-loaded]\n;key = value\n",
        "[core]\nlog = info\n# gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\xa7\xb5\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        weft_settings_t settings;
        const char *path = scratch_write("good.ini", texts[i], strlen(texts[i]));
        if (read_path(path, &settings, NULL) != WEFT_OK) {
            fail_msg("text %zu: %s", i, weft_error_record()->text);
        }
        assert_int_equal(settings.core.log, WEFT_LOG_INFO);
    }
}

static void empty_file_is_fine(void **state)
{
    weft_settings_t settings;
    (void)state;
    assert_int_equal(read_path(scratch_write("empty.ini", "", 0), &settings, NULL), WEFT_OK);
    assert_int_equal(settings.core.log, WEFT_LOG_WARN);
}

/* The INI parser below takes lines of 200 bytes; values may have any shape around that. */
static void long_values_arrive_unchanged(void **state)
{
    weft_settings_t settings;
    char value[1000], text[1100];
    (void)state;
    for (unsigned seed = 1; seed <= 400; seed++) {
        size_t bytes = 1 + (seed * 37u) % 980;
        unsigned random = seed;
        for (size_t i = 0; i < bytes; i++) {
            random = random * 1103515245u + 12345u;
            value[i] = "abcdefgh=[]:/; #"[(random >> 16) % 16];
            /* A blank before these would open a comment, also the one after the equals sign. */
            if ((value[i] == ';' || value[i] == '#') && (i == 0 || value[i - 1] == ' ')) {
                value[i] = 'x';
            }
        }
        value[0] = 'a';
        value[bytes - 1] = 'z';
        value[bytes] = '\0';
        int used = snprintf(text, sizeof text,
                            "[plan]\nverify = off\nalgo = %s\n[core]\nlog = info", value);
        weft_config_t *config = NULL;
        const char *path = scratch_write("long.ini", text, (size_t)used);
        if (read_path(path, &settings, &config) != WEFT_OK) {
            fail_msg("seed %u: %s", seed, weft_error_record()->text);
        }
        assert_string_equal(settings.plan.algo, value);
        assert_int_equal(settings.core.log, WEFT_LOG_INFO);
        assert_int_equal(settings.plan.verify, 0);
        weft_config_destroy(config);
    }
}

/* As read_path(), without a file. */
static weft_status_t read_text(const char *text, size_t bytes)
{
    weft_settings_t settings;
    weft_config_t *config = NULL;
    weft_error_clear(weft_error_record());
    assert_int_equal(weft_config_load(NULL, &config), WEFT_OK);
    weft_status_t status = weft_config_parse(config, "random.ini", text, bytes);
    status = status == WEFT_OK ? weft_settings_read(config, &settings) : status;
    status = status == WEFT_OK ? weft_config_finish(config) : status;
    weft_config_destroy(config);
    return status;
}

/* Any bytes give OK or one line of error; the sanitizers see the rest. */
static void random_bytes_do_no_harm(void **state)
{
    static const char *const pieces[] = {
        "[core]",      "\n",        "log",
        " = ",         "warn",      "[boot]\n",
        ";",           "#",         "\xef\xbb\xbf",
        "late = 2s\n", "[net-x]\n", "\r",
        "\t",          "]",         "[",
        "=",           "\xc3",      "algo = " A50 A50 A50 A50,
        A500,          " ",         "\xff",
        "\x01",        ":",         "slots=1\n",
    };
    char text[6000];
    uint32_t random = 4711;
    unsigned good = 0;
    (void)state;
    for (unsigned round = 0; round < 4000; round++) {
        size_t at = 0;
        for (unsigned n = 0; n < 40; n++) {
            random = random * 1664525u + 1013904223u;
            uint32_t pick = random >> 8;
            const char *piece = pieces[pick % (sizeof pieces / sizeof pieces[0])];
            if (pick % 11 == 0) {
                text[at++] = (char)(pick >> 12);
            } else if (at + strlen(piece) < sizeof text - 1) {
                memcpy(text + at, piece, strlen(piece));
                at += strlen(piece);
            }
            if (pick % 17 == 0) {
                break;
            }
        }
        weft_status_t status = read_text(text, at);
        assert_true(status == WEFT_OK || status == WEFT_ERR_CONFIG);
        good += status == WEFT_OK;
        if (status != WEFT_OK) {
            assert_non_null(strstr(weft_error_record()->text, "random.ini:"));
        }
    }
    assert_in_range(good, 1, 3999);
}

int main(void)
{
    clearenv();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_told_with_their_line),
        cmocka_unit_test(unreadable_things_are_told),
        cmocka_unit_test(too_many_keys_are_told),
        cmocka_unit_test(good_forms_are_read),
        cmocka_unit_test(empty_file_is_fine),
        cmocka_unit_test(long_values_arrive_unchanged),
        cmocka_unit_test(random_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
