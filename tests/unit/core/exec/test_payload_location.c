/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ends agree where the payloads of their FIFO lie: every order of their steps, every kernel
 * that cannot, every word that a hostile end may write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/port.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum {
    SLOTS = 4,
    SLOT_BYTES = 256,
    FLAGGED = SLOTS * (128 + 512 + 384),
    BYTES = SLOTS * SLOT_BYTES + FLAGGED
};

/* A kernel of the test: what it cannot do, and what it has given out. */
struct weft_kernel {
    bool unreachable, no_memory, no_import;
    int exported, imported;
    _Alignas(128) uint8_t memory[BYTES];
};

static void fake_place(weft_kernel_t *kernel, uint8_t place[WEFT_IPC_LOCATION_BYTES])
{
    (void)kernel;
    memset(place, 0x11, WEFT_IPC_LOCATION_BYTES);
}

static weft_status_t fake_reaches(weft_kernel_t *kernel,
                                  const uint8_t place[WEFT_IPC_LOCATION_BYTES])
{
    for (int i = 0; i < WEFT_IPC_LOCATION_BYTES; i++) {
        assert_int_equal(place[i], 0x11);
    }
    return kernel->unreachable ? weft_fail(WEFT_ERR_UNSUPPORTED, 0, "too far") : WEFT_OK;
}

static weft_status_t fake_export(weft_kernel_t *kernel, uint64_t bytes, uint64_t zeros,
                                 void **memory_p, uint8_t token[WEFT_IPC_HANDLE_BYTES])
{
    uint8_t *memory = kernel->memory;
    assert_true(bytes <= BYTES);
    assert_int_equal(kernel->exported, 0);
    if (kernel->no_memory) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "full");
    }
    memset(memory, 0x33, bytes); /* of a FIFO before */
    memset(memory + bytes - zeros, 0, zeros);
    memset(token, 0x22, WEFT_IPC_HANDLE_BYTES);
    memcpy(token, &memory, sizeof memory);
    kernel->exported++;
    *memory_p = memory;
    return WEFT_OK;
}

static void fake_unexport(weft_kernel_t *kernel, void *memory)
{
    assert_ptr_equal(memory, kernel->memory);
    kernel->exported--;
}

static weft_status_t fake_import(weft_kernel_t *kernel, const uint8_t token[WEFT_IPC_HANDLE_BYTES],
                                 uint64_t bytes, void **memory_p)
{
    assert_true(bytes <= BYTES);
    assert_int_equal(token[WEFT_IPC_HANDLE_BYTES - 1], 0x22);
    if (kernel->no_import) {
        return weft_fail(WEFT_ERR_SYSTEM, 0, "refused");
    }
    memcpy(memory_p, token, sizeof *memory_p);
    kernel->imported++;
    return WEFT_OK;
}

static void fake_unimport(weft_kernel_t *kernel, void *memory)
{
    assert_non_null(memory);
    kernel->imported--;
}

static const weft_kernel_ipc_t fake_share = {.size = sizeof fake_share,
                                             .location = fake_place,
                                             .can_access = fake_reaches,
                                             .export_alloc = fake_export,
                                             .export_free = fake_unexport,
                                             .import = fake_import,
                                             .unimport = fake_unimport};

/* One FIFO: rank 0 sends, rank 1 receives. */
typedef struct pair {
    void *fifo;
    weft_kernel_t kernel[2];
    weft_mapped_port_t port[2];
} pair_t;

static void pair_open(pair_t *pair, bool sender_shares, bool receiver_shares)
{
    const bool shares[2] = {sender_shares, receiver_shares};
    pair->fifo = weft_os_pages(weft_fifo_bytes(SLOTS, SLOT_BYTES));
    for (uint32_t r = 0; r < 2; r++) {
        weft_mapped_port_t *port = &pair->port[r];
        weft_sharing_t sharing = {shares[r] ? &fake_share : NULL, &pair->kernel[r]};
        weft_mapped_port_init(port, 1 - r, r == 0, pair->fifo, SLOTS, SLOT_BYTES);
        weft_payload_location_init(&port->location, &sharing, &port->control->handshake, 1 - r,
                                   r == 0, SLOTS, SLOT_BYTES);
    }
}

static void pair_close(pair_t *pair)
{
    for (uint32_t r = 0; r < 2; r++) {
        weft_payload_location_close(&pair->port[r].location);
        weft_port_fini(&pair->port[r].port);
    }
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(pair->kernel[r].imported, 0);
        assert_int_equal(pair->kernel[r].exported, 0);
    }
    weft_os_pages_free(pair->fifo, weft_fifo_bytes(SLOTS, SLOT_BYTES));
}

/* Steps in the order of the bits of `order`, then in turns; both ends are to settle in few of
 * them. */
static void agree(pair_t *pair, uint32_t order)
{
    weft_status_t status[2] = {WEFT_IN_PROGRESS, WEFT_IN_PROGRESS};
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t r = i < 8 ? order >> i & 1 : i & 1;
        status[r] = weft_mapped_port_settle(&pair->port[r]);
        assert_true(status[r] == WEFT_OK || status[r] == WEFT_IN_PROGRESS);
    }
    assert_int_equal(status[0], WEFT_OK);
    assert_int_equal(status[1], WEFT_OK);
    assert_true(pair->port[0].location.settled && pair->port[1].location.settled);
}

/* Each end polls words of its own device, which begin with zero. */
static void check_words(pair_t *pair, bool on_device)
{
    static const uint8_t zeros[FLAGGED];
    const weft_payload_location_t *where = &pair->port[1].location;
    const weft_lanes_flagged_t words = weft_payload_location_words(where);
    const weft_lanes_flagged_t lines = weft_payload_location_lines(where);
    const weft_device_words_t *send = &pair->port[0].words, *receive = &pair->port[1].words;
    const uint8_t *released = (const uint8_t *)send->released;
    assert_ptr_equal(send->headers, receive->headers);
    assert_ptr_equal(send->released, receive->released);
    if (!on_device) {
        assert_null(send->headers);
        assert_null(send->released);
        assert_null(words.memory);
        assert_null(lines.memory);
        return;
    }
    assert_ptr_equal(receive->headers, pair->kernel[1].memory + SLOTS * SLOT_BYTES);
    assert_memory_equal(receive->headers, zeros, sizeof zeros);
    assert_ptr_equal(words.memory, receive->headers + SLOTS * 128);
    assert_ptr_equal(lines.memory, words.memory + SLOTS * words.stride);
    assert_ptr_equal(lines.memory + SLOTS * lines.stride, pair->kernel[1].memory + BYTES);
    assert_true(words.room == SLOT_BYTES && words.stride >= 2 * words.room);
    assert_true(lines.room == SLOT_BYTES && lines.stride / 128 * 120 >= lines.room);
    assert_true(released >= pair->kernel[0].memory + WEFT_IPC_TRIED_BYTES);
    assert_true(released + sizeof(uint64_t) <= pair->kernel[0].memory + BYTES);
    assert_int_equal(*send->released, 0);
}

/* Both say the same, and a message goes through the memory that they named. */
static void check(pair_t *pair, bool on_device)
{
    uint8_t *behind = (uint8_t *)(pair->port[0].headers + SLOTS);
    uint8_t *expected = on_device ? pair->kernel[1].memory : behind;
    for (uint32_t r = 0; r < 2; r++) {
        assert_ptr_equal(pair->port[r].port.payloads, expected);
        assert_ptr_equal(weft_port_payload(&pair->port[r].port, SLOT_BYTES), expected);
        assert_true(weft_port_payload(&pair->port[r].port, 8) == pair->port[r].headers[0].payload);
    }
    assert_int_equal(pair->kernel[0].imported, on_device);
    assert_int_equal(pair->kernel[1].exported, on_device);
    assert_int_equal(pair->kernel[1].imported, on_device);
    check_words(pair, on_device);
}

static void every_order_of_steps_ends_on_the_device(void **state)
{
    (void)state;
    for (uint32_t order = 0; order < 256; order++) {
        pair_t pair = {.fifo = NULL};
        pair_open(&pair, true, true);
        agree(&pair, order);
        check(&pair, true);
        pair_close(&pair);
    }
}

static void whoever_cannot_leaves_both_on_the_host(void **state)
{
    (void)state;
    for (uint32_t which = 1; which < 128; which++) {
        for (uint32_t order = 0; order < 256; order++) {
            pair_t pair = {.fifo = NULL};
            pair.kernel[0].unreachable = (which & 1) != 0;
            pair.kernel[0].no_import = (which & 2) != 0;
            pair.kernel[1].no_memory = (which & 4) != 0;
            pair.kernel[0].no_memory = (which & 32) != 0;
            pair.kernel[1].no_import = (which & 64) != 0;
            pair_open(&pair, (which & 8) == 0, (which & 16) == 0);
            agree(&pair, order);
            check(&pair, false);
            pair_close(&pair);
        }
    }
}

static void an_end_that_does_not_share_waits_for_nobody(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < 2; r++) {
        pair_t pair = {.fifo = NULL};
        pair_open(&pair, r != 0, r != 1);
        assert_int_equal(weft_mapped_port_settle(&pair.port[r]), WEFT_OK);
        pair_close(&pair);
    }
}

/* What one end says after `steps` of its own, with the right answers of the other. */
static void settle_until(pair_t *pair, uint32_t r, uint32_t said)
{
    for (uint32_t i = 0; pair->port[r].location.said != said; i++) {
        assert_true(i < 8);
        if (weft_mapped_port_settle(&pair->port[r]) == WEFT_IN_PROGRESS &&
            pair->port[r].location.said != said) {
            (void)weft_mapped_port_settle(&pair->port[1 - r]);
        }
    }
}

static void expect_proto(pair_t *pair, uint32_t r, uint32_t word)
{
    weft_fifo_handshake_t *handshake = &pair->port[r].control->handshake;
    char who[16];
    atomic_store(r == 0 ? &handshake->receiver : &handshake->sender, word);
    assert_int_equal(weft_mapped_port_settle(&pair->port[r]), WEFT_ERR_PROTO);
    snprintf(who, sizeof who, "rank %u says %u", 1 - r, word);
    assert_non_null(strstr(weft_error_record()->text, who));
    assert_int_equal(weft_error_record()->peer, 1 - r);
    assert_false(pair->port[r].location.settled);
}

/* In each state of one end: all words that the other may not say then. */
static void words_out_of_turn_are_refused(void **state)
{
    static const struct {
        uint32_t end, said, legal; /* bit per word */
    } states[] = {
        {0, WEFT_SENDER_SILENT,
         1 << WEFT_RECEIVER_SILENT | 1 << WEFT_RECEIVER_PLACE | 1 << WEFT_RECEIVER_HOST},
        {0, WEFT_SENDER_WANTS,
         1 << WEFT_RECEIVER_PLACE | 1 << WEFT_RECEIVER_MEMORY | 1 << WEFT_RECEIVER_HOST |
             1 << WEFT_RECEIVER_CLOSED},
        {1, WEFT_RECEIVER_PLACE,
         1 << WEFT_SENDER_SILENT | 1 << WEFT_SENDER_WANTS | 1 << WEFT_SENDER_HOST},
        {1, WEFT_RECEIVER_MEMORY,
         1 << WEFT_SENDER_WANTS | 1 << WEFT_SENDER_HAS | 1 << WEFT_SENDER_HOST |
             1 << WEFT_SENDER_CLOSED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        for (uint32_t word = 0; word < 10; word++) {
            uint32_t said = word < 8 ? word : word == 8 ? 0x80000001u : UINT32_MAX;
            pair_t pair = {.fifo = NULL};
            pair_open(&pair, true, true);
            settle_until(&pair, states[i].end, states[i].said);
            if (said >= 32 || (states[i].legal >> said & 1) == 0) {
                expect_proto(&pair, states[i].end, said);
            }
            pair_close(&pair);
        }
    }
}

/* Memory that the other end has open stays until that end says that it has closed it. */
static void memory_waits_for_its_last_user(void **state)
{
    (void)state;
    for (uint32_t first = 0; first < 2; first++) {
        pair_t pair = {.fifo = NULL};
        pair_open(&pair, true, true);
        settle_until(&pair, 1, WEFT_RECEIVER_MEMORY);
        for (uint32_t r = 0; r < 2; r++) {
            assert_false(weft_payload_location_left(&pair.port[r].location));
        }
        agree(&pair, 0x55);
        for (uint32_t r = 0; r < 2; r++) {
            assert_false(weft_payload_location_left(&pair.port[r].location));
        }
        weft_payload_location_leave(&pair.port[first].location);
        assert_int_equal(pair.kernel[first].imported, 0);
        assert_int_equal(pair.kernel[first].exported, 1);
        assert_false(weft_payload_location_left(&pair.port[first].location));
        assert_true(weft_payload_location_left(&pair.port[1 - first].location));
        pair_close(&pair);
    }
}

/* A sender that could not open the slots keeps its own memory until the receiver has closed
 * that. */
static void credits_wait_for_the_receiver(void **state)
{
    pair_t pair = {.fifo = NULL};
    (void)state;
    pair.kernel[0].no_import = true;
    pair_open(&pair, true, true);
    settle_until(&pair, 0, WEFT_SENDER_HOST);
    assert_int_equal(pair.kernel[1].imported, 1);
    assert_false(weft_payload_location_left(&pair.port[0].location));
    assert_int_equal(weft_mapped_port_settle(&pair.port[1]), WEFT_OK);
    assert_true(weft_payload_location_left(&pair.port[0].location));
    pair_close(&pair);
}

/* The receiver may have come and gone before the sender looks. */
static void a_receiver_that_closed_at_once_is_no_fault(void **state)
{
    pair_t pair = {.fifo = NULL};
    (void)state;
    pair_open(&pair, true, true);
    settle_until(&pair, 1, WEFT_RECEIVER_MEMORY);
    weft_payload_location_leave(&pair.port[1].location);
    assert_int_equal(weft_mapped_port_settle(&pair.port[0]), WEFT_OK);
    assert_int_equal(pair.kernel[0].imported, 0);
    assert_true(weft_payload_location_left(&pair.port[1].location));
    pair_close(&pair);
}

/* It may have come and gone before the receiver looks. */
static void a_sender_that_closed_at_once_is_no_fault(void **state)
{
    pair_t pair = {.fifo = NULL};
    (void)state;
    pair_open(&pair, true, true);
    settle_until(&pair, 1, WEFT_RECEIVER_MEMORY);
    assert_int_equal(weft_mapped_port_settle(&pair.port[0]), WEFT_OK);
    weft_payload_location_close(&pair.port[0].location);
    assert_int_equal(weft_mapped_port_settle(&pair.port[1]), WEFT_OK);
    assert_true(weft_payload_location_left(&pair.port[1].location));
    pair_close(&pair);
}

static void settle_in_thread(void *arg)
{
    while (weft_mapped_port_settle(arg) == WEFT_IN_PROGRESS) {
        weft_os_yield();
    }
}

static void two_threads_agree(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 50; round++) {
        pair_t pair = {.fifo = NULL};
        weft_os_thread_t *thread;
        pair_open(&pair, true, true);
        assert_int_equal(weft_os_thread_start("sender", settle_in_thread, &pair.port[0], &thread),
                         WEFT_OK);
        settle_in_thread(&pair.port[1]);
        weft_os_thread_join(thread);
        check(&pair, true);
        pair_close(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_steps_ends_on_the_device),
        cmocka_unit_test(whoever_cannot_leaves_both_on_the_host),
        cmocka_unit_test(an_end_that_does_not_share_waits_for_nobody),
        cmocka_unit_test(words_out_of_turn_are_refused),
        cmocka_unit_test(memory_waits_for_its_last_user),
        cmocka_unit_test(credits_wait_for_the_receiver),
        cmocka_unit_test(a_receiver_that_closed_at_once_is_no_fault),
        cmocka_unit_test(a_sender_that_closed_at_once_is_no_fault),
        cmocka_unit_test(two_threads_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
