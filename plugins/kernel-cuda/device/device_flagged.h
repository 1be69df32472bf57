/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Payloads and headers that carry their own flags: see weft/plugin/draft/lanes.h. In flagged words
 * (NCCL: LL) and flagged lines (NCCL: LL128) neither side has a fence. All threads of a block but
 * the leader pack and unpack payloads, the leader headers.
 *
 * Formally the slot's release is ordered with nothing. It needs no order: each load of a unit has
 * returned when its flag is compared, the barrier of the block comes after that, and the leader's
 * store of `released` after the barrier. Likewise a sender stores units only when it has compared
 * what is released. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_FLAGGED_H
#define KERNEL_CUDA_DEVICE_DEVICE_FLAGGED_H

#include "platform.h"
#include "run.h"

#define LANES_LINE_PARTS 8u     /* of 16 bytes, of a flagged line */
#define LANES_LINE_DATA 15u     /* words of data in it */
#define LANES_PARTS_BATCH 2u    /* that a thread has under way at once */
#define LANES_UNIT_ROUNDS 1023u /* look at the stop words in one of 1024 fruitless looks */

static WEFT_DEVICE const lanes_notice_t *lanes_notice(const lanes_run_t *run, uint32_t block)
{
    return &run->notices[block % LANES_NOTICES];
}

static WEFT_DEVICE uint32_t lanes_stop_requested(const lanes_block_t *b, const lanes_run_t *run)
{
    uint32_t told =
        device_look32(run->stop) | device_look32(&lanes_notice(run, b->at.block)->news.abort);
    return told != 0 ? LANES_STOPPED : LANES_RUNNING;
}

/* Headers
 * ---------------------------------------------------------------------------------------------- */

/* These are functions of their own for the sake of registers.
 *
 * Looks at a header. Returns whether it is that of the slice, and its data. A look in vain at what
 * is not there takes the time of one load: all are under way at once. */
static WEFT_DEVICE_CALL int lanes_header_load(const uint64_t *header, uint64_t flag, uint64_t *data)
{
    uint64_t differs = 0, word[WEFT_FIFO_FLAGGED_HEADER_WORDS];
    DEVICE_COUNT(READ, header);
    WEFT_UNROLL
    for (uint32_t i = 0; i < WEFT_FIFO_FLAGGED_HEADER_WORDS; i++) {
        uint64_t found;
        device_part_load(header + 2 * i, &word[i], &found);
        differs |= found ^ flag;
    }
    WEFT_UNROLL
    for (uint32_t i = 0; i < WEFT_FIFO_FLAGGED_HEADER_WORDS; i++) {
        data[i] = word[i];
    }
    return differs == 0;
}

static WEFT_DEVICE void lanes_header_store(uint64_t *header, uint64_t flag, const uint64_t *data)
{
    DEVICE_COUNT(TELL, header);
    WEFT_UNROLL
    for (uint32_t i = 0; i < WEFT_FIFO_FLAGGED_HEADER_WORDS; i++) {
        device_word_store(header + 2 * i, data[i], flag);
    }
}

/* Payloads
 * ---------------------------------------------------------------------------------------------- */

/* Word i of a payload, whose last one may be a part: bytes beyond its end are nobody's. */
static WEFT_DEVICE uint64_t lanes_transit_get(const lanes_transit_t *t, uint32_t i)
{
    const uint8_t *from = t->payload + 8 * i;
    uint64_t word = 0;
    if (8 * (i + 1) <= t->bytes) {
        return *(const uint64_t *)(const void *)from;
    }
    WEFT_ROLLED
    for (uint32_t k = 0; 8 * i + k < t->bytes; k++) {
        word |= (uint64_t)from[k] << (8 * k);
    }
    return word;
}

static WEFT_DEVICE void lanes_transit_put(const lanes_transit_t *t, uint32_t i, uint64_t word)
{
    uint8_t *to = t->payload + 8 * i;
    if (8 * (i + 1) <= t->bytes) {
        *(uint64_t *)(void *)to = word;
        return;
    }
    WEFT_ROLLED
    for (uint32_t k = 0; 8 * i + k < t->bytes; k++) {
        to[k] = (uint8_t)(word >> (8 * k));
    }
}

/* A unit is not there yet. Returns whether the run was stopped, alike to all threads of a flagged
 * line. The host names the port that a lane waits for long. */
static WEFT_DEVICE int lanes_transit_waits(lanes_block_t *b, const lanes_run_t *run,
                                           const lanes_transit_t *t, uint32_t rounds)
{
    if ((rounds & LANES_UNIT_ROUNDS) == 0) {
        b->idle.noted = 1;
        device_note32((uint32_t *)(void *)&b->record->blocked, (uint32_t)t->port);
        if (lanes_stop_requested(b, run) != LANES_RUNNING) {
            b->transits.stopped = 1; /* never back to 0: another thread may have set it */
        }
    }
    device_pause_units(rounds);
    return t->form == WEFT_FIFO_FORM_WORDS ? b->transits.stopped != 0
                                           : !device_line_vote(b->transits.stopped == 0);
}

/* Threads store and load parts of 16 bytes, which lie one behind the other. A flagged word is one
 * part; a flagged line is eight, of eight threads of a warp, and its flag is in the last. */
static WEFT_DEVICE int lanes_part_is_last(const lanes_transit_t *t, uint32_t part)
{
    return t->form == WEFT_FIFO_FORM_WORDS ||
           (part & (LANES_LINE_PARTS - 1)) == LANES_LINE_PARTS - 1;
}

/* The payload's word with which a part begins. */
static WEFT_DEVICE uint32_t lanes_part_word(const lanes_transit_t *t, uint32_t part)
{
    return t->form == WEFT_FIFO_FORM_WORDS
               ? part
               : part / LANES_LINE_PARTS * LANES_LINE_DATA + 2 * (part & (LANES_LINE_PARTS - 1));
}

static WEFT_DEVICE uint32_t lanes_parts(const lanes_transit_t *t)
{
    const uint32_t words = (t->bytes + 7) / 8;
    return t->form == WEFT_FIFO_FORM_WORDS
               ? words
               : (words + LANES_LINE_DATA - 1) / LANES_LINE_DATA * LANES_LINE_PARTS;
}

static WEFT_DEVICE void lanes_part_store(const lanes_transit_t *t, uint32_t part,
                                         const uint64_t *found)
{
    if (t->form == WEFT_FIFO_FORM_WORDS) {
        device_word_store(t->units + 2 * part, found[0], found[1]);
    } else {
        device_line_store(t->units + 2 * part, found[0], found[1]);
    }
}

/* The share of a thread in sending a payload. All loads of a batch are under way at once. */
static WEFT_DEVICE_CALL void lanes_pack(const lanes_transit_t *t, uint32_t thread, uint32_t threads)
{
    const uint32_t parts = lanes_parts(t);
    for (uint32_t from = thread; from < parts; from += LANES_PARTS_BATCH * threads) {
        uint64_t found[LANES_PARTS_BATCH][2];
        WEFT_UNROLL
        for (uint32_t i = 0; i < LANES_PARTS_BATCH; i++) {
            const uint32_t part = from + i * threads;
            if (part < parts) {
                const uint32_t word = lanes_part_word(t, part);
                found[i][0] = lanes_transit_get(t, word);
                found[i][1] =
                    lanes_part_is_last(t, part) ? t->flag : lanes_transit_get(t, word + 1);
            }
        }
        WEFT_UNROLL
        for (uint32_t i = 0; i < LANES_PARTS_BATCH; i++) {
            const uint32_t part = from + i * threads;
            if (part < parts) {
                lanes_part_store(t, part, found[i]);
            }
        }
    }
}

/* Loads parts `from`, `from` + step …, of which there are `parts`. Returns whether all units that
 * they belong to are there. */
static WEFT_DEVICE int lanes_unpack_look(const lanes_transit_t *t, uint32_t from, uint32_t parts,
                                         uint32_t step, uint64_t (*found)[2])
{
    int here = 1;
    WEFT_UNROLL
    for (uint32_t i = 0; i < LANES_PARTS_BATCH; i++) {
        const uint32_t part = from + i * step;
        if (part < parts) {
            const int words = t->form == WEFT_FIFO_FORM_WORDS;
            if (!words) {
                device_line_meet();
            }
            here &= words || device_line_look(t->units + 2 * part, t->flag);
            device_part_load(t->units + 2 * part, &found[i][0], &found[i][1]);
            here &= !lanes_part_is_last(t, part) || found[i][1] == t->flag;
        }
    }
    return t->form == WEFT_FIFO_FORM_WORDS ? here : device_line_vote(here);
}

/* The share of a thread in receiving a payload: waits for each of its units. Returns early if the
 * run was stopped. */
static WEFT_DEVICE_CALL void lanes_unpack(lanes_block_t *b, const lanes_run_t *run,
                                          const lanes_transit_t *t, uint32_t thread,
                                          uint32_t threads)
{
    const uint32_t parts = lanes_parts(t);
    DEVICE_COUNT(READ, t->units);
    for (uint32_t from = thread; from < parts; from += LANES_PARTS_BATCH * threads) {
        uint64_t found[LANES_PARTS_BATCH][2];
        for (uint32_t round = 1; !lanes_unpack_look(t, from, parts, threads, found); round++) {
            if (lanes_transit_waits(b, run, t, round)) {
                return;
            }
        }
        WEFT_UNROLL
        for (uint32_t i = 0; i < LANES_PARTS_BATCH; i++) {
            const uint32_t part = from + i * threads;
            if (part < parts) {
                lanes_transit_put(t, lanes_part_word(t, part), found[i][0]);
                if (!lanes_part_is_last(t, part)) {
                    lanes_transit_put(t, lanes_part_word(t, part) + 1, found[i][1]);
                }
            }
        }
    }
}

#endif
