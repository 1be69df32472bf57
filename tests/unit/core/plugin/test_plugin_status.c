/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plugin/plugin_status.h"
#include "tests/support/unit.h"

static const weft_plugin_t plugin = {.name = "net-x"};
static const weft_loaded_t loaded = {.plugin = &plugin, .path = "/there/net-x.so"};

/* As host->set_error() of a plugin. */
static weft_status_t failed_by(const char *name, weft_status_t status, const char *text)
{
    weft_fail(status, 0, "%s", text);
    weft_error_t *error = weft_error_record();
    snprintf(error->transport, sizeof error->transport, "%s", name);
    return status;
}

static void says(const char *text)
{
    assert_string_equal(weft_error_record()->text, text);
    assert_string_equal(weft_error_record()->transport, "net-x");
}

static void what_a_plugin_says_stays(void **state)
{
    (void)state;
    weft_status_t status = failed_by("net-x", WEFT_ERR_LINK, "the cable is out");
    assert_int_equal(weft_plugin_status(&loaded, "post", WEFT_RETURNS_AGAIN, status),
                     WEFT_ERR_LINK);
    says("the cable is out");
    /* What the core says of a service that the plugin asked for. */
    status = weft_fail(WEFT_ERR_RESOURCE, 0, "no thread");
    assert_int_equal(weft_plugin_status(&loaded, "create", WEFT_RETURNS_FINAL, status),
                     WEFT_ERR_RESOURCE);
    assert_string_equal(weft_error_record()->text, "no thread");
}

static void a_failure_without_a_reason_is_not_told_with_anothers(void **state)
{
    (void)state;
    failed_by("algo-y", WEFT_ERR_SYSTEM, "needs several hosts");
    assert_int_equal(weft_plugin_status(&loaded, "create", WEFT_RETURNS_FINAL, WEFT_ERR_SYSTEM),
                     WEFT_ERR_SYSTEM);
    says("net-x: create failed with ERR_SYSTEM and gave no reason");
    failed_by("net-x", WEFT_ERR_ARG, "before");
    assert_int_equal(weft_plugin_status(&loaded, "listen", WEFT_RETURNS_FINAL, WEFT_ERR_LINK),
                     WEFT_ERR_LINK);
    says("net-x: listen failed with ERR_LINK and gave no reason");
}

static void what_is_no_status_is_refused(void **state)
{
    static const struct {
        int status;
        unsigned returns;
        const char *text;
    } cases[] = {
        {77, WEFT_RETURNS_FINAL,
         "net-x: poll returned 77, expected OK or an error (/there/net-x.so)"},
        {-99, WEFT_RETURNS_IN_PROGRESS,
         "net-x: poll returned -99, expected OK, IN_PROGRESS or an error (/there/net-x.so)"},
        {WEFT_AGAIN, WEFT_RETURNS_IN_PROGRESS,
         "net-x: poll returned 2, expected OK, IN_PROGRESS or an error (/there/net-x.so)"},
        {WEFT_IN_PROGRESS, WEFT_RETURNS_AGAIN,
         "net-x: poll returned 1, expected OK, AGAIN or an error (/there/net-x.so)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(
            weft_plugin_status(&loaded, "poll", cases[i].returns, (weft_status_t)cases[i].status),
            WEFT_ERR_PLUGIN);
        says(cases[i].text);
    }
}

static void what_is_allowed_leaves_the_record_alone(void **state)
{
    (void)state;
    failed_by("algo-y", WEFT_ERR_SYSTEM, "before");
    assert_int_equal(weft_plugin_status(&loaded, "x", WEFT_RETURNS_FINAL, WEFT_OK), WEFT_OK);
    assert_int_equal(weft_plugin_status(&loaded, "x", WEFT_RETURNS_IN_PROGRESS, WEFT_IN_PROGRESS),
                     WEFT_IN_PROGRESS);
    assert_int_equal(weft_plugin_status(&loaded, "x", WEFT_RETURNS_AGAIN, WEFT_AGAIN), WEFT_AGAIN);
    assert_string_equal(weft_error_record()->text, "before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_plugin_says_stays),
        cmocka_unit_test(a_failure_without_a_reason_is_not_told_with_anothers),
        cmocka_unit_test(what_is_no_status_is_refused),
        cmocka_unit_test(what_is_allowed_leaves_the_record_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
