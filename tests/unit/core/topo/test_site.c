/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topology files: what they say of hosts, and what is said about wrong lines. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/topo/site.h"
#include "core/topo/site_pattern.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void patterns_fit_the_names_that_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *host;
        bool fits;
    } cases[] = {
        {"node7", "node7", true},
        {"node7", "node70", false},
        {"node70", "node7", false},
        {"node[1-16]", "node7", true},
        {"node[1-16]", "node16", true},
        {"node[1-16]", "node17", false},
        {"node[1-16]", "node07", false},
        {"node[01-16]", "node07", true},
        {"node[01-16]", "node7", false},
        {"node[01-16]", "node007", false},
        {"node[01-16]", "node16", true},
        {"r[1-2]n[1-2,7]", "r2n7", true},
        {"r[1-2]n[1-2,7]", "r2n6", false},
        {"node[1-3]-ib", "node2-ib", true},
        {"node[1-3]-ib", "node2-eth", false},
        {"n[1-3]5", "n25", true},
        {"n[1-30]5", "n255", true},
        {"*", "anything", true},
        {"*", "", true},
        {"gpu*", "gpu", true},
        {"gpu*.site", "gpu7.site", true},
        {"gpu*.site", "gpu7.sites", false},
        {"*[0-9]*", "a5b", true},
        {"*[0-9]*", "ab", false},
        {"n[0]", "n0", true},
        {"n[0-2]", "n1", true},
        {"n[00-02]", "n01", true},
        {"n[999999999]", "n999999999", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(weft_site_pattern_check(cases[i].pattern));
        if (weft_site_pattern_fits(cases[i].pattern, cases[i].host) != cases[i].fits) {
            fail_msg("%s and %s", cases[i].pattern, cases[i].host);
        }
    }
}

static weft_site_t *parsed(const char *text)
{
    weft_site_t *site = NULL;
    if (weft_site_parse("racks.txt", text, &site) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    return site;
}

static void expect_path(const weft_site_t *site, const char *host, const char *path)
{
    uint32_t groups[WEFT_SITE_LEVELS_MAX], last = weft_site_levels(site) - 1;
    if (weft_site_find(site, host, groups) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    assert_string_equal(weft_site_name(site, last, groups[last]), path);
}

static void lines_give_hosts_a_path(void **state)
{
    (void)state;
    weft_site_t *site = parsed("# racks of the hall\n"
                               "rack1/switch1 node[01-16] \t login # and the door\r\n"
                               "\n"
                               "  rack1/switch2 node[17-32]\n"
                               "rack2/switch1 gpu1.far.site gpu2\n"
                               "others/any *");
    assert_int_equal(weft_site_levels(site), 2);
    assert_int_equal(weft_site_groups(site, 0), 3);
    assert_int_equal(weft_site_groups(site, 1), 4); /* switch1 of two racks is not one */
    expect_path(site, "node03", "rack1/switch1");
    expect_path(site, "node03.far.site", "rack1/switch1");
    expect_path(site, "login", "rack1/switch1");
    expect_path(site, "node20", "rack1/switch2");
    expect_path(site, "gpu1.far.site", "rack2/switch1");
    expect_path(site, "gpu1.near.site", "others/any");
    expect_path(site, "gpu2.near.site", "rack2/switch1");
    expect_path(site, "node99", "others/any");
    weft_site_free(site);
}

static void a_host_that_no_line_names_is_named_with_the_nearest_line(void **state)
{
    (void)state;
    uint32_t groups[WEFT_SITE_LEVELS_MAX];
    weft_site_t *site = parsed("one gpu[1-4]\n\ntwo login node[01-16]\n");
    assert_int_equal(weft_site_find(site, "node17", groups), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text,
                           "host \"node17\" is in no line of racks.txt; the nearest is line 3, "
                           "\"node[01-16]\""));
    weft_site_free(site);
}

static void wrong_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "racks.txt:1: no line names a path and hosts"},
        {"# nothing\n\n", "no line names a path and hosts"},
        {"a b\nrack1\n", "racks.txt:2: a path without hosts: \"rack1\""},
        {"a//b x\n", "racks.txt:1: a part of the path is empty: \"a//b\""},
        {"/a x\n", "a part of the path is empty"},
        {"a/ x\n", "a part of the path is empty"},
        {"a/b/c/d/e x\n", "more than 4 levels in the path: \"a/b/c/d/e\""},
        {"\na/b x\nc y\n", "racks.txt:3: 1 levels in the path, but 2 in line 2: \"c\""},
        {"a x[1-\n", "racks.txt:1: brackets hold numbers and ranges such as [01-16,20]: \"x[1-\""},
        {"a x[1\n", "'[' without ']'"},
        {"a x]\n", "']' without '['"},
        {"a x[]\n", "brackets hold numbers"},
        {"a x[3-1]\n", "brackets hold numbers"},
        {"a x[1,,2]\n", "brackets hold numbers"},
        {"a x[1234567890]\n", "brackets hold numbers"},
        {"a *********\n", "more than 8 stars and brackets"},
        {"a x,y\nb *\n",
         "racks.txt:1: hosts are apart by blanks, and names have letters, digits, "},
        {"a node?\nb *\n", "hosts are apart by blanks"},
        {"a x; # y\nb *\n", "hosts are apart by blanks"},
        {"a x\xc2\xa0y\nb *\n", "hosts are apart by blanks"},
        {"a x{1..4}\nb *\n", "hosts are apart by blanks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_site_t *site = NULL;
        assert_int_equal(weft_site_parse("racks.txt", cases[i].text, &site), WEFT_ERR_CONFIG);
        assert_null(site);
        assert_says(weft_error_record()->text, cases[i].words);
    }
}

static void only_what_is_said_counts_in_the_hash(void **state)
{
    (void)state;
    static const char *const texts[] = {"a x y\nb z\n", "# c\n\n a  x\ty # d\r\nb z", "a x y z\n",
                                        "a x\nb y z\n", "a xy\nb z\n"};
    uint64_t hashes[5];
    for (size_t i = 0; i < 5; i++) {
        weft_site_t *site = parsed(texts[i]);
        hashes[i] = weft_site_hash(site);
        weft_site_free(site);
        for (size_t k = 0; k < i; k++) {
            assert_true((hashes[i] == hashes[k]) == (i == 1 && k == 0));
        }
    }
}

static void files_are_read_and_those_that_are_none_are_named(void **state)
{
    (void)state;
    static const char text[] = "a x\nb y\n", odd[] = "a x\0b y\n";
    weft_site_t *site = NULL;
    assert_int_equal(weft_site_read(scratch_write("good", text, sizeof text - 1), &site), WEFT_OK);
    expect_path(site, "y", "b");
    weft_site_free(site);
    assert_int_equal(weft_site_read(scratch_write("odd", odd, sizeof odd - 1), &site),
                     WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "odd: NUL byte, expected plain text"));
    assert_int_equal(weft_site_read(scratch_path("none"), &site), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "[core] topology: cannot read "));
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    assert_int_equal(weft_site_read(scratch_path("pipe"), &site), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "/pipe is no regular file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_fit_the_names_that_they_say),
        cmocka_unit_test(lines_give_hosts_a_path),
        cmocka_unit_test(a_host_that_no_line_names_is_named_with_the_nearest_line),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(only_what_is_said_counts_in_the_hash),
        cmocka_unit_test(files_are_read_and_those_that_are_none_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
