/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file with the results of a run of `weft tune` that was interrupted: of another job, cut, or
 * with lines that nobody wrote. What is read and added is there when the file is read again, in the
 * place of what it had of the same. */
#include "fuzz.h"
#include "tools/tune_state.h"

#define JOB "weft-tune job"

static bool is_of_the_same(const tune_result_t *a, const tune_result_t *b)
{
    return a->coll == b->coll && a->bytes == b->bytes && strcmp(a->algo, b->algo) == 0;
}

/* Opens the file; `fresh`: what it has is not asked. Ends with as many results as the file has. */
static void open_state(const char *path, bool fresh, tune_results_t *results, FILE **file)
{
    *results = (tune_results_t){.list = NULL};
    FUZZ_NEED(tune_state_open(path, JOB, fresh, results, file));
    for (size_t i = 0; i < results->count; i++) {
        const tune_result_t *r = &results->list[i];
        FUZZ_NEED(r->coll < WEFT_COLL_COUNT && memchr(r->algo, '\0', sizeof r->algo) != NULL);
        FUZZ_NEED(tune_state_has(results, r, 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const tune_result_t more = {.algo = "ring",
                                       .coll = WEFT_ALL_REDUCE,
                                       .bytes = 77,
                                       .seconds = 1,
                                       .low = 0.5,
                                       .high = 2,
                                       .model = 3,
                                       .chosen = true};
    tune_results_t first, again;
    FILE *file;
    uint8_t how = fuzz_byte(&data, &bytes);
    char *text = fuzz_text(data, bytes);
    size_t head = how % 2 == 0 ? sizeof JOB : 0, size = head + bytes;
    char *whole = malloc(size + 1);
    FUZZ_NEED(whole != NULL);
    memcpy(whole, JOB "\n", head);
    memcpy(whole + head, text, bytes);
    const char *path = fuzz_file((const uint8_t *)whole, size);
    open_state(path, how % 8 == 6, &first, &file);
    size_t after = first.count + !tune_state_has(&first, &more, 1);
    FUZZ_NEED(tune_state_add(file, path, &first, &more, 1) && first.count == after);
    FUZZ_NEED(fclose(file) == 0 && tune_state_has(&first, &more, 1));
    open_state(path, false, &again, &file);
    FUZZ_NEED(again.count == after && tune_state_has(&again, &more, 1));
    for (size_t i = 0; i < again.count; i++) {
        const tune_result_t *r = &again.list[i];
        FUZZ_NEED(!is_of_the_same(r, &more) || r->high == 2);
    }
    fclose(file);
    tune_results_t none = {.list = NULL};
    FUZZ_NEED(how % 8 != 7 || !tune_state_open("/", JOB, false, &none, &file));
    free(first.list);
    free(again.list);
    free(whole);
    free(text);
    return 0;
}
