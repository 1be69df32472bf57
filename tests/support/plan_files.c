/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_files.h. */
#include "tests/support/plan_files.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

char *plan_files_read(const char *path, size_t *count_p)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    size_t count = (size_t)ftell(in);
    rewind(in);
    char *bytes = calloc(1, count + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, count, in), count);
    fclose(in);
    *count_p = count;
    return bytes;
}

weft_status_t plan_files_open(plan_fixture_t *fixture, const char *files)
{
    const struct {
        const char *files;
    } config = {files};
    weft_status_t status = plan_fixture_try(fixture, WEFT_PLUGIN_DIR, "algo-file", &config);
    if (status == WEFT_ERR_UNSUPPORTED &&
        strstr(weft_error_record()->text, "without expat") != NULL) {
        plan_fixture_close(fixture);
        print_message("skipped: built without expat\n");
        skip();
    }
    return status;
}

weft_status_t plan_files_open_text(plan_fixture_t *fixture, const char *text)
{
    return plan_files_open(fixture, scratch_write("under-test", text, strlen(text)));
}

int plan_files_serve(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t nranks,
                     uint32_t root)
{
    weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = nranks, .root = root};
    return fixture->ops->supports(fixture->algo, &call) == WEFT_OK;
}

weft_verify_report_t plan_files_verify(const plan_fixture_t *fixture, weft_coll_t coll,
                                       uint32_t nranks, uint32_t root, uint32_t slots,
                                       uint32_t slices, int in_place)
{
    weft_plan_t **plans = plan_fixture_emit(fixture, coll, nranks, root);
    if (plans == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    weft_verify_report_t report = plan_fixture_verify(plans, nranks, slots, slices, in_place);
    plan_fixture_free(plans, nranks);
    return report;
}

void plan_files_refused(const char *text, const char *words)
{
    plan_fixture_t fixture;
    weft_status_t status = plan_files_open_text(&fixture, text);
    plan_fixture_close(&fixture);
    if (status == WEFT_OK || strstr(weft_error_record()->text, words) == NULL) {
        fail_msg("expected \"%s\", got %d \"%s\"", words, status,
                 status == WEFT_OK ? "" : weft_error_record()->text);
    }
}
