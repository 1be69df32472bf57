/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots of a job. */
#include "core/comm/slots.h"

/* Slices of a chunk that go on while others are taken. */
#define DEEP_SLICES 2u
/* Smaller slots cost more than the memory is worth. */
#define SLOT_BYTES_LEAST UINT64_C(16384)

/* Headers of a FIFO at most, and of all FIFOs that a rank sends to about so many. A switch from
 * rank to rank on one core takes as long as ten messages: decision 143. */
#define HEADERS_MOST 32u
#define HEADERS_OF_RANK 512u

static uint32_t slots_power_of_two(uint32_t n)
{
    uint32_t p = 2;
    while (p < n && p < WEFT_SLOTS_MOST) {
        p *= 2;
    }
    return p;
}

weft_slots_t weft_slots_choose(const weft_exec_settings_t *exec, weft_slots_t asked, uint32_t depth)
{
    uint32_t usual = slots_power_of_two(asked.count);
    uint32_t deep = depth > 1 ? slots_power_of_two(DEEP_SLICES * depth) : usual;
    weft_slots_t slots = {.count = deep > usual ? deep : usual, .bytes = asked.bytes};
    if (exec->slots > 0) {
        slots.count = slots_power_of_two((uint32_t)exec->slots);
    } else if (slots.count > usual && slots.bytes > SLOT_BYTES_LEAST) {
        slots.bytes = slots.bytes * usual / slots.count;
        slots.bytes = slots.bytes > SLOT_BYTES_LEAST ? slots.bytes : SLOT_BYTES_LEAST;
    }
    slots.bytes = exec->slot_bytes > 0 ? exec->slot_bytes : slots.bytes;
    slots.bytes = (slots.bytes + WEFT_LINE - 1) / WEFT_LINE * WEFT_LINE;
    return slots;
}

weft_fifo_shape_t weft_slots_shape(weft_slots_t slots, uint64_t small_bytes, uint32_t nranks)
{
    uint32_t headers = slots.count;
    while (small_bytes > 0 && headers < HEADERS_MOST &&
           UINT64_C(2) * headers * nranks <= HEADERS_OF_RANK) {
        headers *= 2;
    }
    return (weft_fifo_shape_t){.slots = slots.count,
                               .headers = headers,
                               .slot_bytes = slots.bytes,
                               .small_bytes = small_bytes};
}
