/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank ends what it exports while another one reads it: nobody reads the memory once the end has
 * returned.
 * Sources: core/exec/host_export.c */
#include "core/exec/host_export.c"
#include "model_system.h"

static weft_export_t the_export;
static weft_import_t imports[2];
static uint32_t allocations;
static uint64_t memory;
static weft_export_t *exported;
static weft_import_t *import;

void *weft_os_alloc(size_t bytes, size_t align)
{
    (void)bytes, (void)align;
    return allocations++ == 0 ? (void *)&the_export : (void *)imports;
}

void weft_os_free(void *allocated)
{
    (void)allocated;
}

static void model_begin(void)
{
    const weft_export_name_t name = {.comm_id = 1, .owner = 2, .index = 3};
    uint8_t *at;
    uint64_t bytes;
    allocations = 0;
    memory = 0;
    atomic_store_explicit(&the_export.ended, 0, memory_order_relaxed);
    (void)weft_export_create(&name, &memory, sizeof memory, 2, &exported);
    import = weft_import_open(&name, 1, &at, &bytes);
}

static void *model_read(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 2; i++) {
        if (weft_import_begin_read(import)) {
            model_assert(memory == 0);
            weft_import_end_read(import);
        }
    }
    weft_import_close(import);
    return NULL;
}

static void *model_end_export(void *arg)
{
    (void)arg;
    weft_export_destroy(exported);
    memory = 1;
    return NULL;
}

static void model_end(void)
{
}

MODEL_PLAY(model_read, model_end_export)
