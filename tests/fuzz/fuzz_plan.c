/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan as text. What is read is printed, and read again as the same text. */
#include "core/plan/plan_parse.h"
#include "core/plan/plan_print.h"
#include "fuzz.h"

static char *printed(const weft_plan_t *plan)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    FUZZ_NEED(out != NULL);
    weft_plan_print(plan, out);
    fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_plan_t *plan = NULL, *again = NULL;
    char *text = fuzz_text(data, bytes);
    if (weft_plan_parse(text, &plan) == WEFT_OK) {
        char *first = printed(plan);
        FUZZ_NEED(weft_plan_parse(first, &again) == WEFT_OK);
        char *second = printed(again);
        FUZZ_NEED(strcmp(first, second) == 0);
        free(first);
        free(second);
        weft_plan_destroy(plan);
        weft_plan_destroy(again);
    }
    free(text);
    return 0;
}
