/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine as text. What is read is printed, and read again as the same text. */
#include "core/topo/machine_text.h"
#include "fuzz.h"

static char *printed(const weft_machine_t *machine)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    FUZZ_NEED(out != NULL);
    weft_machine_print(machine, out);
    fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_machine_t machine = {.source = {0}}, again = {.source = {0}};
    char *text = fuzz_text(data, bytes);
    if (weft_machine_parse("fuzz", text, &machine) == WEFT_OK) {
        char *first = printed(&machine);
        FUZZ_NEED(weft_machine_parse("fuzz", first, &again) == WEFT_OK);
        char *second = printed(&again);
        FUZZ_NEED(strcmp(first, second) == 0);
        free(first);
        free(second);
        weft_machine_fini(&machine);
        weft_machine_fini(&again);
    }
    free(text);
    return 0;
}
