/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks have the size of a power of two, with a header in front. The region of an image always
 * lies at the same place, so that a run does not depend on addresses. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "descriptor.h"

#define REGION_BYTES ((size_t)1 << 30)
#define REGIONS 80u
#define REGIONS_AT ((uint8_t *)0x200000000000)
#define LIVE 0x6c697665u
#define STACKS_MOST 1024u

enum { CLASSES = 31, LEAST_CLASS = 6 };

typedef struct block {
    struct block *next, *before; /* of those that are in use; next: of the free ones */
    const void *site;
    size_t bytes;
    uint32_t class, live, back, reserved; /* back: from the memory to the header */
} block_t;

typedef struct region {
    size_t used;
    block_t *free[CLASSES];
    block_t in_use; /* a ring */
    uint64_t count, bytes;
} region_t;

static region_t regions[REGIONS];
static void *stacks[STACKS_MOST];
static uint32_t nstacks;

static void *memory_reserve(void *at, size_t bytes)
{
    machine.apart++;
    void *memory =
        mmap(at, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != NULL ? MAP_FIXED_NOREPLACE : 0),
             -1, 0);
    machine.apart--;
    if (memory == MAP_FAILED) {
        fprintf(stderr, "weft-simtest: cannot reserve %zu bytes of addresses\n", bytes);
        exit(2);
    }
    return memory;
}

/* A page below a stack cannot be used, so that one that is too small is seen. */
void *memory_stack_take(void)
{
    if (nstacks > 0) {
        return stacks[--nstacks];
    }
    uint8_t *stack = memory_reserve(NULL, MEMORY_STACK_BYTES + 4096);
    (void)mprotect(stack, 4096, PROT_NONE);
    return stack + 4096;
}

void memory_stack_give(void *stack)
{
    if (nstacks < STACKS_MOST) {
        stacks[nstacks++] = stack;
    }
}

/* Regions -------------------------------------------------------------------------------------- */

static uint8_t *region_begin(uint32_t number)
{
    return REGIONS_AT + number * REGION_BYTES;
}

static region_t *region_of(const void *memory)
{
    return &regions[(size_t)((const uint8_t *)memory - REGIONS_AT) / REGION_BYTES];
}

bool memory_is_ours(const void *memory)
{
    const uint8_t *at = memory;
    return at >= REGIONS_AT && at < REGIONS_AT + REGIONS * REGION_BYTES;
}

void memory_process_init(process_t *process)
{
    static bool there[REGIONS];
    uint32_t number = process->image->number;
    region_t *region = &regions[number];
    if (!there[number]) {
        (void)memory_reserve(region_begin(number), REGION_BYTES);
        there[number] = true;
    }
    *region = (region_t){.used = 0};
    region->in_use.next = region->in_use.before = &region->in_use;
}

static block_t *region_take(uint32_t number, uint32_t class)
{
    region_t *region = &regions[number];
    block_t *block = region->free[class];
    size_t bytes = (size_t)1 << class;
    if (block != NULL) {
        region->free[class] = block->next;
        return block;
    }
    if (region->used + bytes > REGION_BYTES) {
        return NULL;
    }
    block = (block_t *)(region_begin(number) + region->used);
    region->used += bytes;
    return block;
}

static block_t *block_of(const void *memory)
{
    uint32_t back = ((const uint32_t *)memory)[-2];
    return (block_t *)((uintptr_t)memory - back);
}

void *memory_alloc(size_t bytes, size_t align, const void *site)
{
    const process_t *process = machine.self->process;
    size_t extra = align > 16 ? align : 0;
    uint32_t class = LEAST_CLASS;
    if (machine.now >= process->memory_from && machine.now < process->memory_until &&
        machine_odd(65536 / 4)) {
        return NULL;
    }
    while (class < CLASSES && ((size_t)1 << class) < bytes + sizeof(block_t) + extra) {
        class ++;
    }
    block_t *block = class < CLASSES ? region_take(process->image->number, class) : NULL;
    if (block == NULL) {
        return NULL;
    }
    region_t *region = &regions[process->image->number];
    uintptr_t memory = (uintptr_t)(block + 1);
    memory = extra > 0 ? (memory + align - 1) / align * align : memory;
    *block = (block_t){.next = region->in_use.next,
                       .before = &region->in_use,
                       .site = site,
                       .bytes = bytes,
                       .class = class,
                       .live = LIVE};
    block->next->before = block;
    region->in_use.next = block;
    ((uint32_t *)memory)[-2] = (uint32_t)(memory - (uintptr_t)block);
    region->count++;
    region->bytes += bytes;
    return (void *)memory;
}

size_t memory_bytes(const void *memory)
{
    return block_of(memory)->bytes;
}

void memory_free(void *memory)
{
    block_t *block = block_of(memory);
    region_t *region = region_of(memory);
    if (block->live != LIVE) {
        fprintf(stderr, "weft-simtest: seed %llu: memory is freed twice\n",
                (unsigned long long)machine.seed);
        abort();
    }
    region->count--;
    region->bytes -= block->bytes;
    block->before->next = block->next;
    block->next->before = block->before;
    block->live = 0;
    block->next = region->free[block->class];
    region->free[block->class] = block;
}

/* Mappings ------------------------------------------------------------------------------------- */

void memory_mapped(void *begin, size_t bytes, object_t *file, uint64_t offset)
{
    process_t *process = machine.self->process;
    mapping_t *mapping = machine_alloc(sizeof *mapping);
    memory_unmapped(begin, bytes); /* MAP_FIXED */
    *mapping = (mapping_t){
        .next = process->mappings, .begin = begin, .bytes = bytes, .file = file, .offset = offset};
    if (file != NULL) {
        object_hold(file);
    }
    process->mappings = mapping;
}

static void mapping_free(mapping_t *mapping)
{
    if (mapping->file != NULL) {
        object_drop(mapping->file);
    }
    machine_free(mapping);
}

/* Keeps what is in front of and behind the hole. */
static mapping_t *mapping_cut(mapping_t *mapping, uint8_t *begin, uint8_t *end)
{
    uint8_t *mapping_end = mapping->begin + mapping->bytes;
    mapping_t *rest = mapping->next;
    if (end < mapping_end) {
        mapping_t *behind = machine_alloc(sizeof *behind);
        *behind = *mapping;
        behind->begin = end;
        behind->bytes = (size_t)(mapping_end - end);
        behind->offset += (uint64_t)(end - mapping->begin);
        behind->next = rest;
        if (behind->file != NULL) {
            object_hold(behind->file);
        }
        rest = behind;
    }
    if (begin > mapping->begin) {
        mapping->bytes = (size_t)(begin - mapping->begin);
        mapping->next = rest;
        return mapping;
    }
    mapping_free(mapping);
    return rest;
}

void memory_unmapped(void *at, size_t bytes)
{
    uint8_t *begin = at, *end = begin + (bytes + 4095) / 4096 * 4096;
    mapping_t **link = &machine.self->process->mappings;
    while (*link != NULL) {
        mapping_t *mapping = *link;
        uint8_t *mapping_end = mapping->begin + (mapping->bytes + 4095) / 4096 * 4096;
        if (mapping->begin < end && begin < mapping_end) {
            *link = mapping_cut(mapping, begin > mapping->begin ? begin : mapping->begin,
                                end < mapping_end ? end : mapping_end);
            if (*link != mapping) {
                continue;
            }
        }
        link = &(*link)->next;
    }
}

object_t *memory_file_of(const process_t *process, const void *at, uint64_t *offset)
{
    const uint8_t *byte = at;
    for (const mapping_t *m = process->mappings; m != NULL; m = m->next) {
        if (byte >= m->begin && byte < m->begin + m->bytes) {
            *offset = m->offset + (uint64_t)(byte - m->begin);
            return m->file;
        }
    }
    return NULL;
}

/* What is held --------------------------------------------------------------------------------- */

void memory_process_fini(process_t *process)
{
    while (process->mappings != NULL) {
        mapping_t *mapping = process->mappings;
        process->mappings = mapping->next;
        (void)munmap(mapping->begin, mapping->bytes);
        mapping_free(mapping);
    }
}

memory_holdings_t memory_holds(const process_t *process)
{
    const region_t *region = &regions[process->image->number];
    memory_holdings_t holdings = {.allocations = region->count, .bytes = region->bytes};
    for (const mapping_t *m = process->mappings; m != NULL; m = m->next) {
        holdings.mappings++;
    }
    return holdings;
}

void memory_print(const process_t *process)
{
    const region_t *region = &regions[process->image->number];
    for (const block_t *b = region->in_use.next; b != &region->in_use; b = b->next) {
        fprintf(stderr, "  %zu bytes by image + 0x%zx\n", b->bytes,
                (size_t)((uintptr_t)b->site - process->image->base));
    }
    for (const mapping_t *m = process->mappings; m != NULL; m = m->next) {
        fprintf(stderr, "  a mapping of %zu bytes of %s\n", m->bytes,
                m->file != NULL ? m->file->label : "private memory");
    }
}
