/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory exported within a process: found by its name only, and ended while a reader reads. */
#include <string.h>

#include "core/exec/host_export.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

static const weft_export_name_t name = {.comm_id = 7, .owner = 1, .index = 2};

static void an_import_is_found_by_the_whole_name(void **state)
{
    uint8_t memory[64], *seen = NULL;
    uint64_t bytes = 0;
    weft_export_t *exported;
    const weft_export_name_t others[] = {{8, 1, 2}, {7, 0, 2}, {7, 1, 3}};
    (void)state;
    assert_int_equal(weft_export_create(&name, memory, sizeof memory, 3, &exported), WEFT_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_null(weft_import_open(&others[i], 0, &seen, &bytes));
    }
    assert_null(weft_import_open(&name, 3, &seen, &bytes)); /* no such rank */
    weft_import_t *import = weft_import_open(&name, 2, &seen, &bytes);
    assert_non_null(import);
    assert_ptr_equal(seen, memory);
    assert_int_equal(bytes, sizeof memory);
    weft_export_destroy(exported);
    assert_null(weft_import_open(&name, 2, &seen, &bytes));
    assert_false(weft_import_begin_read(import)); /* the import outlives it, and says so */
    weft_import_close(import);
    weft_export_destroy(NULL);
}

enum { BYTES = 4096 };

typedef struct reader {
    weft_import_t *import;
    const uint8_t *memory;
    _Atomic uint32_t rounds;
    bool wrong;
} reader_t;

static void read_until_it_ends(void *arg)
{
    reader_t *r = arg;
    while (weft_import_begin_read(r->import)) {
        for (int i = 0; i < BYTES; i++) {
            r->wrong = r->wrong || r->memory[i] != 0x11;
        }
        weft_import_end_read(r->import);
        atomic_fetch_add(&r->rounds, 1);
    }
}

/* TSan sees whether the last read is before the first write. */
static void the_end_waits_for_who_reads(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        uint8_t *memory = weft_os_alloc(BYTES, 0), *seen;
        uint64_t bytes;
        weft_export_t *exported;
        weft_os_thread_t *thread;
        reader_t r = {.import = NULL};
        memset(memory, 0x11, BYTES);
        assert_int_equal(weft_export_create(&name, memory, BYTES, 2, &exported), WEFT_OK);
        r.import = weft_import_open(&name, 1, &seen, &bytes);
        r.memory = seen;
        assert_int_equal(weft_os_thread_start("reader", read_until_it_ends, &r, &thread), WEFT_OK);
        while (atomic_load(&r.rounds) < 3) {
            weft_os_yield();
        }
        weft_export_destroy(exported);
        memset(memory, 0x22, BYTES);
        weft_os_thread_join(thread);
        assert_false(r.wrong);
        weft_import_close(r.import);
        weft_os_free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_import_is_found_by_the_whole_name),
        cmocka_unit_test(the_end_waits_for_who_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
