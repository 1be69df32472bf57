/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports in shared memory whose FIFO has more headers than slots. */
#include <stdlib.h>
#include <string.h>

#include "core/exec/pair_layout.h"
#include "core/exec/port.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum { SLOTS = 4, HEADERS = 16, SLOT_BYTES = 4096 };

static const weft_fifo_shape_t deep = {
    .slots = SLOTS, .headers = HEADERS, .slot_bytes = SLOT_BYTES, .small_bytes = WEFT_SLOT_SMALL};

/* A FIFO of more headers than slots, from end to end. */
typedef struct deep_pair {
    uint64_t bytes;
    uint8_t *memory;
    weft_mapped_port_t send, receive;
} deep_pair_t;

static int deep_open(void **state)
{
    static deep_pair_t pair;
    weft_pair_layout_t l = weft_pair_layout(&deep);
    pair.bytes = l.bytes;
    pair.memory = weft_os_pages(l.bytes);
    weft_mapped_port_t *ports[] = {&pair.send, &pair.receive};
    for (uint32_t i = 0; i < 2; i++) {
        weft_mapped_port_init(ports[i], 1, i == 0, pair.memory, SLOTS, SLOT_BYTES);
        weft_mapped_port_set_payloads(ports[i], &deep, pair.memory + l.small[0],
                                      pair.memory + l.slots[0]);
    }
    *state = &pair;
    return 0;
}

static int deep_close(void **state)
{
    deep_pair_t *pair = *state;
    weft_os_pages_free(pair->memory, pair->bytes);
    return 0;
}

static bool deep_send(deep_pair_t *pair, uint64_t number, uint64_t bytes)
{
    weft_port_t *port = &pair->send.port;
    weft_signature_t signature = {.count = number};
    if (!weft_port_can_send(port, bytes)) {
        return false;
    }
    memset(weft_port_payload(port, bytes), (int)(number & 0xff), bytes);
    assert_int_equal(weft_port_send(port, &signature, bytes, NULL), WEFT_OK);
    return true;
}

static bool deep_receive(deep_pair_t *pair, uint64_t number, uint64_t bytes)
{
    weft_port_t *port = &pair->receive.port;
    if (!weft_port_can_receive(port)) {
        return false;
    }
    const uint8_t *payload = weft_port_payload(port, bytes);
    assert_int_equal(weft_port_signature(port)->count, number);
    for (uint64_t i = 0; i < bytes; i++) {
        assert_int_equal(payload[i], number & 0xff);
    }
    assert_int_equal(weft_port_release(port), WEFT_OK);
    return true;
}

static void small_messages_run_ahead_of_slots(void **state)
{
    deep_pair_t *pair = *state;
    const uint64_t sizes[] = {8, WEFT_SLOT_NEAR, WEFT_SLOT_SMALL};
    uint64_t number = 0;
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint64_t n = 0; n < HEADERS; n++) {
            assert_true(deep_send(pair, number + n, sizes[i]));
        }
        assert_false(deep_send(pair, number + HEADERS, sizes[i]));
        for (uint64_t n = 0; n < HEADERS; n++) {
            assert_true(deep_receive(pair, number + n, sizes[i]));
        }
        assert_false(deep_receive(pair, number + HEADERS, sizes[i]));
        number += HEADERS;
    }
}

static void a_large_message_waits_for_its_slot(void **state)
{
    deep_pair_t *pair = *state;
    for (uint64_t n = 0; n <= SLOTS; n++) {
        assert_true(deep_send(pair, n, 8));
    }
    assert_false(deep_send(pair, SLOTS + 1, SLOT_BYTES));
    assert_true(deep_receive(pair, 0, 8));
    assert_false(deep_send(pair, SLOTS + 1, SLOT_BYTES));
    assert_true(deep_receive(pair, 1, 8));
    assert_true(deep_send(pair, SLOTS + 1, SLOT_BYTES));
    assert_true(deep_send(pair, SLOTS + 2, 8)); /* and small ones go on behind it */
    for (uint64_t n = 2; n <= SLOTS + 2; n++) {
        assert_true(deep_receive(pair, n, n == SLOTS + 1 ? SLOT_BYTES : 8));
    }
}

/* Of all sizes in any order, with as many under way as there may be. */
static void sizes_in_any_order_arrive_whole(void **state)
{
    deep_pair_t *pair = *state;
    const uint64_t sizes[] = {8, WEFT_SLOT_NEAR, WEFT_SLOT_SMALL, WEFT_SLOT_SMALL + 1, SLOT_BYTES};
    enum { KINDS = sizeof sizes / sizeof *sizes };
    uint64_t sent = 0, came = 0, random = 1;
    while (came < 200000) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t most = random >> 40;
        for (uint64_t n = most % (HEADERS + 1); n > 0; n--) {
            sent += deep_send(pair, sent, sizes[sent * sent % 7 % KINDS]);
        }
        for (uint64_t n = most / 1000 % (HEADERS + 1); n > 0; n--) {
            came += deep_receive(pair, came, sizes[came * came % 7 % KINDS]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_messages_run_ahead_of_slots, deep_open, deep_close),
        cmocka_unit_test_setup_teardown(a_large_message_waits_for_its_slot, deep_open, deep_close),
        cmocka_unit_test_setup_teardown(sizes_in_any_order_arrive_whole, deep_open, deep_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
