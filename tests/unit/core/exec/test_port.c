/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports: order and flow control of a mapped FIFO between two threads; a message port on a transport
 * that runs out of resources, truncates and breaks. */
#include <stdlib.h>
#include <string.h>

#include "core/exec/message_port.h"
#include "core/exec/pair_layout.h"
#include "core/exec/port.h"
#include "core/os/os.h"
#include "tests/support/loaded_net.h"
#include "tests/support/unit.h"

enum { SLOTS = 4, SLOT_BYTES = 256, MESSAGES = 20000 };

typedef struct fixture {
    void *fifo;
    weft_mapped_port_t send, receive;
} fixture_t;

static int setup(void **state)
{
    fixture_t *f = calloc(1, sizeof *f);
    f->fifo = weft_os_pages(weft_fifo_bytes(SLOTS, SLOT_BYTES));
    weft_mapped_port_init(&f->send, 1, true, f->fifo, SLOTS, SLOT_BYTES);
    weft_mapped_port_init(&f->receive, 0, false, f->fifo, SLOTS, SLOT_BYTES);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    weft_port_fini(&f->send.port);
    weft_port_fini(&f->receive.port);
    weft_os_pages_free(f->fifo, weft_fifo_bytes(SLOTS, SLOT_BYTES));
    free(f);
    return 0;
}

static uint64_t length_of(uint64_t n)
{
    return n * 37 % (SLOT_BYTES + 1);
}

static void send_message(weft_port_t *port, uint64_t n)
{
    weft_signature_t signature = {.count = n};
    uint64_t bytes = length_of(n);
    memset(weft_port_payload(port, bytes), (int)(n & 0xff), bytes);
    assert_int_equal(weft_port_send(port, &signature, bytes, NULL), WEFT_OK);
}

static void send_all(void *arg)
{
    weft_port_t *port = arg;
    for (uint64_t n = 0; n < MESSAGES; n++) {
        while (!weft_port_can_send(port, WEFT_SLOT_INLINE)) {
            weft_mapped_ports_sleep(&port, 1, WEFT_NS_PER_MS);
        }
        send_message(port, n);
    }
}

static void messages_arrive_whole_and_in_order(void **state)
{
    fixture_t *f = *state;
    weft_os_thread_t *thread;
    assert_int_equal(weft_os_thread_start("sender", send_all, &f->send.port, &thread), WEFT_OK);
    for (uint64_t n = 0; n < MESSAGES; n++) {
        while (!weft_port_can_receive(&f->receive.port)) {
            weft_mapped_ports_sleep(&(weft_port_t *){&f->receive.port}, 1, WEFT_NS_PER_MS);
        }
        uint64_t bytes = length_of(n);
        const uint8_t *payload = weft_port_payload(&f->receive.port, bytes);
        assert_int_equal(weft_port_signature(&f->receive.port)->count, n);
        for (uint64_t i = 0; i < bytes; i++) {
            assert_int_equal(payload[i], n & 0xff);
        }
        assert_int_equal(weft_port_release(&f->receive.port), WEFT_OK);
    }
    weft_os_thread_join(thread);
}

static void a_full_fifo_takes_no_more(void **state)
{
    fixture_t *f = *state;
    for (uint64_t n = 0; n < SLOTS; n++) {
        assert_true(weft_port_can_send(&f->send.port, WEFT_SLOT_INLINE));
        send_message(&f->send.port, n);
    }
    assert_false(weft_port_can_send(&f->send.port, WEFT_SLOT_INLINE));
    assert_true(weft_port_can_receive(&f->receive.port));
    assert_int_equal(weft_port_release(&f->receive.port), WEFT_OK);
    assert_true(weft_port_can_send(&f->send.port, WEFT_SLOT_INLINE));
}

static void small_payloads_ride_in_the_flag_line(void **state)
{
    fixture_t *f = *state;
    uint8_t *head = (uint8_t *)f->send.headers;
    uint8_t *payload = weft_port_payload(&f->send.port, WEFT_SLOT_INLINE);
    assert_true(payload > head && payload + WEFT_SLOT_INLINE <= head + WEFT_LINE);
    payload = weft_port_payload(&f->send.port, WEFT_SLOT_INLINE + 1);
    assert_true(payload >= head + SLOTS * sizeof(weft_slot_header_t));
}

static void only_large_payloads_may_be_elsewhere(void **state)
{
    enum { SMALL = 512 };
    fixture_t *f = *state;
    static uint8_t small[SLOTS * SMALL], slots[SLOTS * SLOT_BYTES];
    assert_false(weft_port_may_be_apart(&f->receive.port, WEFT_SLOT_INLINE));
    assert_true(weft_port_may_be_apart(&f->receive.port, WEFT_SLOT_INLINE + 1));
    const weft_fifo_shape_t shape = {.slots = SLOTS, .headers = SLOTS, .small_bytes = SMALL};
    weft_mapped_port_set_payloads(&f->send, &shape, small, slots);
    weft_mapped_port_set_payloads(&f->receive, &shape, small, slots);
    assert_false(weft_port_may_be_apart(&f->receive.port, SMALL));
    assert_true(weft_port_may_be_apart(&f->receive.port, SMALL + 1));
}

static void a_payload_that_is_not_apart_has_no_descriptor(void **state)
{
    fixture_t *f = *state;
    weft_signature_t signature = {.count = 1};
    uint8_t *words = weft_mapped_port_near(&f->send.port);
    memset(words, 0x77, WEFT_SLOT_INLINE);
    assert_int_equal(weft_port_send(&f->send.port, &signature, WEFT_SLOT_INLINE, NULL), WEFT_OK);
    assert_int_equal(words[0], 0x77);
    words = weft_mapped_port_near(&f->send.port);
    memset(words, 0x77, WEFT_SLOT_INLINE);
    assert_int_equal(weft_port_send(&f->send.port, &signature, WEFT_SLOT_INLINE + 1, NULL),
                     WEFT_OK);
    assert_int_equal(words[0], 0);
}

#define HEADERS (4 * SLOTS)

static const weft_fifo_shape_t deep = {
    .slots = SLOTS, .headers = HEADERS, .slot_bytes = SLOT_BYTES, .small_bytes = WEFT_SLOT_SMALL};

/* Two links of a host: their FIFOs do not overlap, wherever a payload lies. */
static void payloads_near_the_header_reach_no_other_header(void **state)
{
    weft_pair_layout_t l = weft_pair_layout(&deep);
    uint8_t *memory = weft_os_pages(l.bytes);
    weft_mapped_port_t ports[2];
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        weft_mapped_port_init(&ports[way], 1, true, memory + l.head[way], SLOTS, SLOT_BYTES);
        weft_mapped_port_set_payloads(&ports[way], &deep, memory + l.small[way],
                                      memory + l.slots[way]);
    }
    for (uint32_t n = 0; n < HEADERS; n++) {
        uint8_t *header = (uint8_t *)weft_mapped_port_header(&ports[0].port);
        uint8_t *payload = weft_port_payload(&ports[0].port, WEFT_SLOT_NEAR);
        assert_ptr_equal(payload, header + WEFT_FIFO_HEADER_PAYLOAD);
        ports[0].port.next++;
        bool last = n == HEADERS - 1;
        const uint8_t *end =
            last ? memory + l.head[1] : (uint8_t *)weft_mapped_port_header(&ports[0].port);
        assert_true(payload + WEFT_SLOT_NEAR <= end);
        assert_ptr_equal(weft_port_payload(&ports[0].port, WEFT_SLOT_NEAR + 1),
                         memory + l.small[0] + (n + 1) % HEADERS * WEFT_SLOT_SMALL);
    }
    ports[1].port.next = HEADERS - 1;
    uint8_t *payload = weft_port_payload(&ports[1].port, WEFT_SLOT_NEAR);
    assert_true(payload + WEFT_SLOT_NEAR <= memory + l.commit);
    weft_os_pages_free(memory, l.bytes);
}

/* A transport of the test: takes `room` posts, remembers them. */
typedef struct fake_conn {
    weft_net_op_t posted[64];
    uint32_t count, room;
    weft_status_t status;
} fake_conn_t;

static weft_status_t fake_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                               uint32_t *posted_p)
{
    fake_conn_t *fake = (fake_conn_t *)conn;
    if (fake->status != WEFT_OK) {
        return fake->status;
    }
    for (*posted_p = 0; *posted_p < count && fake->count < fake->room; (*posted_p)++) {
        fake->posted[fake->count++] = ops[*posted_p];
    }
    return *posted_p == count ? WEFT_OK : WEFT_AGAIN;
}

static const weft_net_ops_t fake_ops = {.size = sizeof fake_ops, .post = fake_post};

typedef struct message {
    weft_message_port_t message;
    weft_port_t *port;
    weft_poll_list_t list;
} message_t;

static void open_port(message_t *m, bool sends, fake_conn_t *conn)
{
    *m = (message_t){.port = &m->message.port};
    weft_message_port_params_t params = {.loaded = &loaded_net,
                                         .net = &fake_ops,
                                         .conn = (weft_net_conn_t *)conn,
                                         .list = &m->list,
                                         .slot_bytes = SLOT_BYTES,
                                         .slots = SLOTS,
                                         .peer = 1,
                                         .sends = sends};
    assert_int_equal(weft_message_port_init(&m->message, &params), WEFT_OK);
    assert_int_equal(weft_message_port_open(&m->message, NULL), WEFT_OK);
}

static weft_status_t flush(message_t *m)
{
    bool moved = false;
    return m->port->ops->flush(m->port, &moved);
}

static void receives_that_find_no_resources_are_posted_later(void **state)
{
    fake_conn_t conn = {.room = 1};
    message_t m;
    (void)state;
    open_port(&m, false, &conn);
    assert_int_equal(conn.count, 1);
    conn.room = 64;
    assert_int_equal(flush(&m), WEFT_OK);
    assert_int_equal(conn.count, SLOTS);
    weft_port_fini(m.port);
}

static weft_message_header_t *header_of(const fake_conn_t *conn, uint64_t n)
{
    return conn->posted[n].buffer;
}

/* Message number n as it was written, and not the one a ring later. */
static void check_posted(const fake_conn_t *conn, uint64_t n)
{
    const weft_message_slot_t *slot = conn->posted[n].context;
    const weft_message_header_t *header = header_of(conn, n);
    const uint8_t *payload = (const uint8_t *)(header + 1);
    assert_int_equal(slot->bytes, length_of(n));
    assert_int_equal(header->signature.count, n);
    assert_int_equal(header->bytes, length_of(n));
    for (uint64_t i = 0; i < length_of(n); i++) {
        assert_int_equal(payload[i], n & 0xff);
    }
}

static void messages_that_wait_for_resources_keep_their_slots(void **state)
{
    fake_conn_t conn = {.room = 1};
    message_t m;
    (void)state;
    open_port(&m, true, &conn);
    uint64_t sent = 0;
    for (; weft_port_can_send(m.port, WEFT_SLOT_INLINE) && sent < 3 * SLOTS; sent++) {
        send_message(m.port, sent);
    }
    assert_int_equal(sent, SLOTS);
    /* The first is done, the others have found no resources yet: one slot is free. */
    weft_message_port_complete(&(weft_net_completion_t){.context = conn.posted[0].context});
    for (; weft_port_can_send(m.port, WEFT_SLOT_INLINE) && sent < 3 * SLOTS; sent++) {
        send_message(m.port, sent);
    }
    assert_int_equal(sent, SLOTS + 1);
    assert_int_equal(conn.count, 1);
    conn.room = 64;
    assert_int_equal(flush(&m), WEFT_OK);
    assert_int_equal(conn.count, SLOTS + 1);
    for (uint64_t n = 1; n < conn.count; n++) {
        check_posted(&conn, n);
    }
    assert_false(weft_port_can_send(m.port, WEFT_SLOT_INLINE));
    weft_port_fini(m.port);
}

static void a_received_message_is_ready_once_and_its_slot_is_posted_again(void **state)
{
    fake_conn_t conn = {.room = 64};
    message_t m;
    (void)state;
    open_port(&m, false, &conn);
    weft_message_slot_t *slot = conn.posted[0].context;
    header_of(&conn, 0)->bytes = 5;
    weft_net_completion_t done = {.context = slot, .bytes = sizeof(weft_message_header_t) + 5};
    assert_false(weft_port_can_receive(m.port));
    weft_message_port_complete(&done);
    assert_true(weft_port_can_receive(m.port));
    assert_int_equal(weft_port_release(m.port), WEFT_OK);
    assert_false(weft_port_can_receive(m.port));
    assert_int_equal(conn.count, SLOTS + 1);
    weft_port_fini(m.port);
}

static void a_wrong_length_field_breaks_the_port(void **state)
{
    fake_conn_t conn = {.room = 64};
    message_t m;
    (void)state;
    open_port(&m, false, &conn);
    weft_message_slot_t *slot = conn.posted[0].context;
    header_of(&conn, 0)->bytes = 6;
    weft_net_completion_t done = {.context = slot, .bytes = sizeof(weft_message_header_t) + 5};
    weft_message_port_complete(&done);
    assert_int_equal(m.port->broken, WEFT_ERR_PROTO);
    assert_false(weft_port_can_receive(m.port));
    weft_port_fini(m.port);
}

static void a_broken_connection_is_told_by_every_use(void **state)
{
    fake_conn_t conn = {.room = 64, .status = WEFT_ERR_LINK};
    message_t m;
    (void)state;
    open_port(&m, true, &conn);
    weft_signature_t signature = {0};
    assert_int_equal(weft_port_send(m.port, &signature, 0, NULL), WEFT_ERR_LINK);
    assert_int_equal(flush(&m), WEFT_ERR_LINK);
    weft_port_fini(m.port);
}

/* A transport that takes payloads from where they are, and puts them where they are wanted. */
typedef struct fake_payload {
    fake_conn_t conn; /* the first member */
    const void *sent;
    uint64_t bytes;
    const void *context;
    uint32_t wishes;
} fake_payload_t;

static weft_status_t fake_send(weft_net_conn_t *conn, const weft_net_op_t *op, const void *payload,
                               uint64_t bytes)
{
    fake_payload_t *fake = (fake_payload_t *)conn;
    uint32_t posted = 0;
    fake->sent = payload;
    fake->bytes = bytes;
    return fake_post(conn, op, 1, &posted);
}

static weft_status_t fake_place(weft_net_conn_t *conn, const void *context, uint64_t header,
                                void *payload, uint64_t bytes)
{
    fake_payload_t *fake = (fake_payload_t *)conn;
    assert_int_equal(header, sizeof(weft_message_header_t));
    assert_non_null(payload);
    fake->context = context;
    fake->bytes = bytes;
    return fake->wishes++ == 0 ? WEFT_OK : WEFT_AGAIN;
}

static const weft_net_payload_t payload_ops = {
    .size = sizeof payload_ops, .send = fake_send, .place = fake_place};

static void open_payload_port(message_t *m, bool sends, fake_payload_t *fake)
{
    *m = (message_t){.port = &m->message.port};
    weft_message_port_params_t params = {.loaded = &loaded_net,
                                         .net = &fake_ops,
                                         .payload = &payload_ops,
                                         .conn = (weft_net_conn_t *)fake,
                                         .list = &m->list,
                                         .slot_bytes = WEFT_MESSAGE_APART,
                                         .slots = SLOTS,
                                         .peer = 1,
                                         .sends = sends};
    assert_int_equal(weft_message_port_init(&m->message, &params), WEFT_OK);
    assert_int_equal(weft_message_port_open(&m->message, NULL), WEFT_OK);
}

static void a_large_payload_is_sent_from_where_it_is(void **state)
{
    fake_payload_t fake = {.conn = {.room = 1}};
    static const uint8_t payload[WEFT_MESSAGE_APART];
    weft_signature_t signature = {.count = 7};
    message_t m;
    (void)state;
    open_payload_port(&m, true, &fake);
    assert_false(weft_message_port_sends_apart(m.port, WEFT_MESSAGE_APART - 1));
    assert_true(weft_message_port_sends_apart(m.port, WEFT_MESSAGE_APART));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weft_message_port_send_apart(m.port, &signature, sizeof payload, payload),
                         WEFT_OK);
    }
    assert_ptr_equal(fake.sent, payload);
    assert_int_equal(fake.bytes, sizeof payload);
    assert_int_equal(fake.conn.posted[0].bytes, sizeof(weft_message_header_t));
    assert_int_equal(header_of(&fake.conn, 0)->bytes, sizeof payload);
    /* The second found no room. Its payload waits with it. */
    assert_int_equal(fake.conn.count, 1);
    fake.conn.room = 64;
    fake.sent = NULL;
    assert_int_equal(flush(&m), WEFT_OK);
    assert_int_equal(fake.conn.count, 2);
    assert_ptr_equal(fake.sent, payload);
    assert_true(weft_port_holds(m.port));
    weft_port_fini(m.port);
}

static void complete(fake_payload_t *fake, uint32_t n, uint64_t bytes)
{
    header_of(&fake->conn, n)->bytes = bytes;
    weft_message_port_complete(&(weft_net_completion_t){
        .context = fake->conn.posted[n].context, .bytes = sizeof(weft_message_header_t) + bytes});
}

static void a_large_payload_is_received_where_it_is_wanted(void **state)
{
    fake_payload_t fake = {.conn = {.room = 64}};
    static uint8_t wanted[WEFT_MESSAGE_APART];
    message_t m;
    (void)state;
    open_payload_port(&m, false, &fake);
    weft_message_port_place(m.port, 0, wanted, WEFT_MESSAGE_APART - 1);
    assert_int_equal(fake.wishes, 0);
    weft_message_port_place(m.port, 0, wanted, sizeof wanted);
    weft_message_port_place(m.port, 0, wanted, sizeof wanted);
    assert_int_equal(fake.wishes, 1);
    assert_ptr_equal(fake.context, fake.conn.posted[0].context);
    complete(&fake, 0, sizeof wanted);
    assert_ptr_equal(weft_port_payload(m.port, sizeof wanted), wanted);
    /* The next wish comes too late. */
    weft_message_port_place(m.port, 1, wanted, sizeof wanted);
    assert_int_equal(fake.wishes, 2);
    complete(&fake, 1, sizeof wanted);
    assert_int_equal(weft_port_release(m.port), WEFT_OK);
    assert_ptr_equal(weft_port_payload(m.port, sizeof wanted), header_of(&fake.conn, 1) + 1);
    weft_port_fini(m.port);
}

static void a_payload_of_another_length_is_in_the_slot(void **state)
{
    fake_payload_t fake = {.conn = {.room = 64}};
    static uint8_t wanted[WEFT_MESSAGE_APART];
    message_t m;
    (void)state;
    open_payload_port(&m, false, &fake);
    weft_message_port_place(m.port, 0, wanted, sizeof wanted);
    complete(&fake, 0, 5);
    assert_ptr_equal(weft_port_payload(m.port, 5), header_of(&fake.conn, 0) + 1);
    weft_port_fini(m.port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_arrive_whole_and_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_fifo_takes_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(small_payloads_ride_in_the_flag_line, setup, teardown),
        cmocka_unit_test_setup_teardown(only_large_payloads_may_be_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(a_payload_that_is_not_apart_has_no_descriptor, setup,
                                        teardown),
        cmocka_unit_test(payloads_near_the_header_reach_no_other_header),
        cmocka_unit_test(receives_that_find_no_resources_are_posted_later),
        cmocka_unit_test(messages_that_wait_for_resources_keep_their_slots),
        cmocka_unit_test(a_received_message_is_ready_once_and_its_slot_is_posted_again),
        cmocka_unit_test(a_wrong_length_field_breaks_the_port),
        cmocka_unit_test(a_broken_connection_is_told_by_every_use),
        cmocka_unit_test(a_large_payload_is_sent_from_where_it_is),
        cmocka_unit_test(a_large_payload_is_received_where_it_is_wanted),
        cmocka_unit_test(a_payload_of_another_length_is_in_the_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
