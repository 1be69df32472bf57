/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proxies: a sender's and a receiver's, joined by a transport of the test that takes as many posts,
 * and carries as many messages, as a case says. The test plays the devices, by the words of their
 * FIFOs. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/port.h"
#include "core/exec/proxy.h"
#include "core/os/os.h"
#include "tests/support/loaded_net.h"
#include "tests/support/unit.h"

enum { SLOTS = 4, SLOT_BYTES = 256, POSTS = 64, MESSAGES = 20000 };

/* What was posted in one direction: number n is in post[n % POSTS]. */
typedef struct wire {
    weft_net_op_t post[POSTS];
    uint64_t posted, done;
    uint64_t room; /* posts below this number are taken */
    weft_status_t status;
} wire_t;

/* One end: the port, and where the device is. */
typedef struct end {
    weft_message_port_t message;
    weft_port_t *port; /* its head */
    weft_poll_list_t list;
    wire_t wire;
    uint64_t next; /* of the device */
} end_t;

typedef struct fixture {
    end_t send, receive;
} fixture_t;

static weft_status_t wire_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                               uint32_t *posted_p)
{
    wire_t *wire = (wire_t *)conn;
    assert_int_equal(count, 1);
    if (wire->status != WEFT_OK) {
        return wire->status;
    }
    if (wire->posted == wire->room) {
        return WEFT_AGAIN;
    }
    wire->post[wire->posted++ % POSTS] = ops[0];
    *posted_p = 1;
    return WEFT_OK;
}

static const weft_net_ops_t wire_ops = {.size = sizeof wire_ops, .post = wire_post};

static void complete(wire_t *wire, weft_status_t status, uint64_t bytes)
{
    weft_message_port_complete(&(weft_net_completion_t){
        .context = wire->post[wire->done++ % POSTS].context, .status = status, .bytes = bytes});
}

/* Carries up to `most` messages. */
static void carry(fixture_t *f, uint64_t most)
{
    wire_t *from = &f->send.wire, *to = &f->receive.wire;
    for (; most > 0 && from->done < from->posted && to->done < to->posted; most--) {
        const weft_net_op_t *sent = &from->post[from->done % POSTS];
        const weft_net_op_t *room = &to->post[to->done % POSTS];
        assert_true(sent->bytes <= room->bytes);
        memcpy(room->buffer, sent->buffer, sent->bytes);
        complete(to, WEFT_OK, sent->bytes);
        complete(from, WEFT_OK, sent->bytes);
    }
}

/* OK while the port works: a port with a proxy is never done. */
static weft_status_t flush(end_t *end)
{
    bool moved = false;
    weft_status_t status = end->port->ops->flush(end->port, &moved);
    return status == WEFT_IN_PROGRESS ? WEFT_OK : status;
}

static bool step(end_t *end)
{
    bool moved = false;
    weft_proxy_step(end->message.proxy, &moved);
    assert_true(end->wire.status != WEFT_OK || flush(end) == end->port->broken);
    return moved;
}

/* The host looks at everything until nothing moves. */
static void settle(fixture_t *f)
{
    bool moved = true;
    while (moved) {
        moved = step(&f->send);
        carry(f, UINT64_MAX);
        moved |= step(&f->receive);
    }
}

static void open_end(end_t *end, bool sends)
{
    end->wire.room = UINT64_MAX;
    end->port = &end->message.port;
    weft_message_port_params_t params = {.loaded = &loaded_net,
                                         .net = &wire_ops,
                                         .conn = (weft_net_conn_t *)&end->wire,
                                         .list = &end->list,
                                         .slot_bytes = SLOT_BYTES,
                                         .slots = SLOTS,
                                         .peer = 1,
                                         .sends = sends};
    assert_int_equal(weft_message_port_init(&end->message, &params), WEFT_OK);
    assert_int_equal(weft_message_port_open(&end->message, NULL), WEFT_OK);
    assert_int_equal(weft_proxy_ensure(&end->message), WEFT_OK);
}

static int setup(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    open_end(&f->send, true);
    open_end(&f->receive, false);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    weft_port_fini(f->send.port);
    weft_port_fini(f->receive.port);
    free(f);
    return 0;
}

/* The device ----------------------------------------------------------------------------------- */

/* Empty, inline, large and full ones. */
static uint32_t length_of(uint64_t n)
{
    static const uint32_t edge[] = {0, 1, WEFT_SLOT_INLINE, WEFT_SLOT_INLINE + 1, SLOT_BYTES};
    return n % 3 == 0 ? edge[n / 3 % 5] : (uint32_t)(n * 37 % (SLOT_BYTES + 1));
}

static uint8_t *payload_of(const end_t *end, uint64_t n)
{
    uint32_t at = (uint32_t)n % SLOTS;
    return length_of(n) <= WEFT_SLOT_INLINE
               ? end->message.proxy->headers[at].payload
               : end->message.memory + at * (sizeof(weft_message_header_t) + SLOT_BYTES) +
                     sizeof(weft_message_header_t);
}

static bool device_can_send(const end_t *end)
{
    return end->next <
           atomic_load_explicit(&end->message.proxy->control->released, memory_order_acquire) +
               SLOTS;
}

static void device_send(end_t *end)
{
    uint64_t n = end->next++;
    weft_slot_header_t *head = &end->message.proxy->headers[n % SLOTS];
    assert_true(end->next <= atomic_load(&end->message.proxy->control->released) + SLOTS);
    memset(payload_of(end, n), (int)(n & 0xff), length_of(n));
    head->signature = (weft_signature_t){.count = n};
    end->message.proxy->lengths[n % SLOTS] = length_of(n);
    atomic_store_explicit(&head->sequence, n + 1, memory_order_release);
}

static bool device_can_receive(const end_t *end)
{
    return atomic_load_explicit(&end->message.proxy->headers[end->next % SLOTS].sequence,
                                memory_order_acquire) == end->next + 1;
}

static void check(const weft_signature_t *signature, const uint8_t *payload, uint64_t n)
{
    assert_int_equal(signature->count, n);
    for (uint32_t i = 0; i < length_of(n); i++) {
        assert_int_equal(payload[i], n & 0xff);
    }
}

static void device_receive(end_t *end)
{
    uint64_t n = end->next++;
    check(&end->message.proxy->headers[n % SLOTS].signature, payload_of(end, n), n);
    atomic_store_explicit(&end->message.proxy->control->released, end->next, memory_order_release);
}

/* Cases ---------------------------------------------------------------------------------------- */

static void messages_of_all_lengths_pass_in_order(void **state)
{
    fixture_t *f = *state;
    for (uint64_t n = 0; n < 40 * SLOTS; n++) {
        assert_true(device_can_send(&f->send));
        device_send(&f->send);
        settle(f);
        assert_true(device_can_receive(&f->receive));
        device_receive(&f->receive);
        settle(f);
    }
}

static void a_device_sends_no_more_than_there_are_slots(void **state)
{
    fixture_t *f = *state;
    uint64_t sent = 0;
    for (int round = 0; round < 3 * SLOTS; round++) {
        for (; device_can_send(&f->send); sent++) {
            device_send(&f->send);
        }
        settle(f);
    }
    /* Those of this end, and those of the other. */
    assert_int_equal(sent, 2 * SLOTS);
    device_receive(&f->receive);
    settle(f);
    assert_true(device_can_send(&f->send));
    device_send(&f->send);
    assert_false(device_can_send(&f->send));
}

static void slots_are_given_back_in_order(void **state)
{
    fixture_t *f = *state;
    wire_t *wire = &f->send.wire;
    for (int i = 0; i < SLOTS; i++) {
        device_send(&f->send);
    }
    step(&f->send);
    assert_int_equal(wire->posted, SLOTS);
    weft_message_port_complete(&(weft_net_completion_t){.context = wire->post[1].context});
    step(&f->send);
    assert_false(device_can_send(&f->send));
    weft_message_port_complete(&(weft_net_completion_t){.context = wire->post[0].context});
    step(&f->send);
    assert_int_equal(f->send.message.proxy->passed, 2);
    device_send(&f->send);
    device_send(&f->send);
    assert_false(device_can_send(&f->send));
}

static void a_post_that_is_refused_is_made_later(void **state)
{
    fixture_t *f = *state;
    f->send.wire.room = 1;
    for (int i = 0; i < 3; i++) {
        device_send(&f->send);
    }
    settle(f);
    assert_int_equal(f->send.wire.posted, 1);
    assert_int_equal(f->send.message.unposted, 2);
    device_receive(&f->receive);
    assert_false(device_can_receive(&f->receive));
    f->send.wire.room = UINT64_MAX;
    settle(f);
    while (device_can_receive(&f->receive)) {
        device_receive(&f->receive);
    }
    assert_int_equal(f->receive.next, 3);
}

static void nothing_to_pass_is_no_movement(void **state)
{
    fixture_t *f = *state;
    assert_false(step(&f->send));
    assert_false(step(&f->receive));
    device_send(&f->send);
    assert_true(step(&f->send));
    assert_false(step(&f->send));
    carry(f, 1);
    assert_true(step(&f->send));
    assert_true(step(&f->receive));
    assert_false(step(&f->receive));
    device_receive(&f->receive);
    assert_true(step(&f->receive));
    assert_false(step(&f->receive));
}

/* After each number of messages: what was sent before is kept for whoever drains, and a device that
 * goes on is told. */
static void a_link_that_breaks_under_a_sender_leaves_it_dry(void **state)
{
    for (uint64_t before = 0; before < 3 * SLOTS; before++) {
        fixture_t *f = *state;
        for (uint64_t n = 0; n < before; n++) {
            device_send(&f->send);
            settle(f);
            device_receive(&f->receive);
            settle(f);
        }
        assert_false(weft_proxy_is_dry(f->send.message.proxy));
        f->send.wire.status = WEFT_ERR_LINK;
        while (device_can_send(&f->send)) {
            device_send(&f->send);
        }
        step(&f->send);
        assert_int_equal(flush(&f->send), WEFT_ERR_LINK);
        assert_true(weft_proxy_is_dry(f->send.message.proxy));
        assert_int_equal(f->send.port->next, f->send.next);
        assert_int_equal(f->send.message.unposted, SLOTS);
        assert_false(step(&f->send));
        assert_false(device_can_send(&f->send));
        teardown(state);
        setup(state);
    }
}

/* After each number of messages, of which the device has taken each number. */
static void what_came_before_a_link_broke_is_taken(void **state)
{
    for (uint32_t came = 0; came < SLOTS; came++) {
        for (uint32_t taken = 0; taken <= came; taken++) {
            fixture_t *f = *state;
            for (uint32_t n = 0; n < came; n++) {
                device_send(&f->send);
            }
            settle(f);
            while (f->receive.next < taken) {
                device_receive(&f->receive);
            }
            f->receive.wire.status = WEFT_ERR_LINK;
            complete(&f->receive.wire, WEFT_ERR_LINK, 0);
            assert_int_equal(f->receive.port->broken, WEFT_ERR_LINK);
            while (f->receive.next < came) {
                step(&f->receive);
                assert_false(weft_proxy_is_dry(f->receive.message.proxy));
                assert_true(device_can_receive(&f->receive));
                device_receive(&f->receive);
            }
            step(&f->receive);
            assert_true(weft_proxy_is_dry(f->receive.message.proxy));
            assert_false(device_can_receive(&f->receive));
            teardown(state);
            setup(state);
        }
    }
}

/* Messages that have come, but were not passed on when the link broke. */
static void a_proxy_that_lags_behind_is_not_dry(void **state)
{
    fixture_t *f = *state;
    device_send(&f->send);
    step(&f->send);
    carry(f, 1);
    complete(&f->receive.wire, WEFT_ERR_PEER_DEAD, 0);
    assert_false(weft_proxy_is_dry(f->receive.message.proxy));
    step(&f->receive);
    device_receive(&f->receive);
    assert_false(weft_proxy_is_dry(f->receive.message.proxy));
    step(&f->receive);
    assert_true(weft_proxy_is_dry(f->receive.message.proxy));
}

static void a_length_of_the_device_beyond_its_slot_breaks_the_port(void **state)
{
    fixture_t *f = *state;
    device_send(&f->send);
    f->send.message.proxy->lengths[0] = SLOT_BYTES + 1;
    assert_false(step(&f->send));
    assert_int_equal(f->send.port->broken, WEFT_ERR_INTERNAL);
    assert_int_equal(f->send.wire.posted, 0);
    assert_non_null(strstr(weft_error_record()->text, "257 bytes to rank 1"));
    assert_false(step(&f->send));
}

static void a_wrong_length_of_the_peer_is_never_shown(void **state)
{
    static const uint64_t lies[] = {1, WEFT_SLOT_INLINE + 1, SLOT_BYTES + 1, UINT64_MAX};
    for (uint32_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        fixture_t *f = *state;
        ((weft_message_header_t *)f->receive.wire.post[0].buffer)->bytes = lies[i];
        complete(&f->receive.wire, WEFT_OK, sizeof(weft_message_header_t) + 2);
        assert_int_equal(f->receive.port->broken, WEFT_ERR_PROTO);
        assert_false(step(&f->receive));
        assert_false(device_can_receive(&f->receive));
        assert_true(weft_proxy_is_dry(f->receive.message.proxy));
        teardown(state);
        setup(state);
    }
}

/* Runs of the host and of the device ----------------------------------------------------------- */

static void host_send(end_t *end)
{
    uint64_t n = end->port->next;
    assert_true(weft_port_can_send(end->port, WEFT_SLOT_INLINE));
    memset(weft_port_payload(end->port, length_of(n)), (int)(n & 0xff), length_of(n));
    assert_int_equal(weft_port_send(end->port, &(weft_signature_t){.count = n}, length_of(n), NULL),
                     WEFT_OK);
}

static void host_receive(end_t *end)
{
    uint64_t n = end->port->next;
    assert_true(weft_port_can_receive(end->port));
    check(weft_port_signature(end->port), weft_port_payload(end->port, length_of(n)), n);
    assert_int_equal(weft_port_release(end->port), WEFT_OK);
}

/* A run of `messages` messages at one end, as far as slots allow. */
static void run_sends(end_t *end, bool device, uint32_t messages)
{
    end->next = end->port->next;
    for (uint32_t i = 0; i < messages; i++) {
        if (device) {
            assert_true(device_can_send(end));
            device_send(end);
        } else {
            host_send(end);
        }
    }
}

static void run_receives(end_t *end, bool device, uint32_t messages)
{
    end->next = end->port->next;
    for (uint32_t i = 0; i < messages; i++) {
        if (device) {
            assert_true(device_can_receive(end));
            device_receive(end);
        } else {
            host_receive(end);
        }
    }
}

static void hosts_and_devices_take_turns(void **state)
{
    fixture_t *f = *state;
    uint32_t random = 1;
    for (int round = 0; round < 2000; round++) {
        random = random * 1664525u + 1013904223u;
        uint32_t messages = random >> 28 & (SLOTS - 1);
        run_sends(&f->send, (random >> 16 & 3) != 0, messages);
        if ((random >> 18 & 1) != 0) {
            settle(f); /* the FIFO shows what the host may then take from the port */
        } else {
            step(&f->send);
            carry(f, UINT64_MAX);
        }
        bool device = (random >> 20 & 3) != 0;
        if (device) {
            settle(f);
        }
        run_receives(&f->receive, device, messages);
        if ((random >> 22 & 1) != 0) {
            settle(f);
        }
        /* A request ends when its messages have left the slots. */
        bool moved = false;
        weft_proxy_step(f->receive.message.proxy, &moved);
        weft_proxy_step(f->send.message.proxy, &moved);
        assert_int_equal(f->send.port->next, f->receive.port->next);
    }
}

/* Threads -------------------------------------------------------------------------------------- */

static void sender_main(void *arg)
{
    end_t *end = arg;
    while (end->next < MESSAGES) {
        if (device_can_send(end)) {
            device_send(end);
        } else {
            weft_os_yield();
        }
    }
}

static void receiver_main(void *arg)
{
    end_t *end = arg;
    while (end->next < MESSAGES) {
        if (device_can_receive(end)) {
            device_receive(end);
        } else {
            weft_os_yield();
        }
    }
}

static void devices_are_threads_of_their_own(void **state)
{
    fixture_t *f = *state;
    weft_os_thread_t *sender, *receiver;
    assert_int_equal(weft_os_thread_start("sender", sender_main, &f->send, &sender), WEFT_OK);
    assert_int_equal(weft_os_thread_start("receiver", receiver_main, &f->receive, &receiver),
                     WEFT_OK);
    for (uint64_t turn = 0; f->receive.port->next < MESSAGES; turn++) {
        bool moved = step(&f->send);
        carry(f, turn % 3);
        moved |= step(&f->receive);
        if (!moved) {
            weft_os_yield();
        }
    }
    weft_os_thread_join(sender);
    weft_os_thread_join(receiver);
    assert_int_equal(f->send.port->next, MESSAGES);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(messages_of_all_lengths_pass_in_order),
        CASE(a_device_sends_no_more_than_there_are_slots),
        CASE(slots_are_given_back_in_order),
        CASE(a_post_that_is_refused_is_made_later),
        CASE(nothing_to_pass_is_no_movement),
        CASE(a_link_that_breaks_under_a_sender_leaves_it_dry),
        CASE(what_came_before_a_link_broke_is_taken),
        CASE(a_proxy_that_lags_behind_is_not_dry),
        CASE(a_length_of_the_device_beyond_its_slot_breaks_the_port),
        CASE(a_wrong_length_of_the_peer_is_never_shown),
        CASE(hosts_and_devices_take_turns),
        CASE(devices_are_threads_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
