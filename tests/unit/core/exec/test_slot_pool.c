/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots by need: which ranges a sending port commits and when, what it gives back, and that ports
 * in use keep theirs. The shared memory is a fake that writes down the ranges. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/exec/pair_layout.h"
#include "core/exec/port.h"
#include "core/exec/slot_pool.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

#define SLOTS 4u
#define SLOT_BYTES (UINT64_C(256) << 10)
#define PAGE UINT64_C(4096)

static long page_bytes = PAGE; /* of the host that this is said to be */

/* Takes the place of the C library's. */
long sysconf(int name)
{
    static long (*real)(int);
    if (name == _SC_PAGESIZE) {
        return page_bytes;
    }
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "sysconf");
        memcpy(&real, &found, sizeof real);
    }
    return real(name);
}

struct weft_net_conn {
    uint64_t offset, bytes; /* of the last commit */
    uint32_t commits, discards;
    weft_status_t answer;
};

static weft_status_t fake_commit(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes)
{
    if (conn->answer != WEFT_OK) {
        return weft_fail(conn->answer, 0, "no memory");
    }
    conn->offset = offset;
    conn->bytes = bytes;
    conn->commits++;
    return WEFT_OK;
}

static void fake_discard(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes)
{
    conn->offset = offset;
    conn->bytes = bytes;
    conn->discards++;
}

static const weft_net_map_t map = {
    .size = sizeof map, .commit = fake_commit, .discard = fake_discard};

/* A pair of ports over real memory; the sender takes its slots from the pool. */
typedef struct pair {
    weft_pair_layout_t layout;
    uint8_t *memory;
    weft_net_conn_t conn;
    weft_mapped_port_t send, receive;
} pair_t;

static const weft_fifo_shape_t shape = {
    .slots = SLOTS, .headers = SLOTS, .slot_bytes = SLOT_BYTES, .small_bytes = WEFT_SLOT_SMALL};

static void pair_open(pair_t *pair, weft_slot_pool_t *pool, uint32_t peer)
{
    *pair = (pair_t){.layout = weft_pair_layout(&shape)};
    pair->memory = weft_os_pages(pair->layout.bytes);
    weft_mapped_port_t *ports[] = {&pair->send, &pair->receive};
    for (uint32_t i = 0; i < 2; i++) {
        weft_mapped_port_init(ports[i], peer, i == 0, pair->memory, SLOTS, SLOT_BYTES);
        weft_mapped_port_set_payloads(ports[i], &shape, pair->memory + pair->layout.small[0],
                                      pair->memory + pair->layout.slots[0]);
    }
    weft_slot_store_t store = {.map = &map,
                               .conn = &pair->conn,
                               .small_at = pair->layout.small[0],
                               .slots_at = pair->layout.slots[0]};
    assert_int_equal(weft_slot_pool_join(pool, &pair->send, &store), WEFT_OK);
}

static void pair_close(pair_t *pair)
{
    weft_port_fini(&pair->send.port);
    weft_port_fini(&pair->receive.port);
    weft_os_pages_free(pair->memory, pair->layout.bytes);
}

static void pair_send(pair_t *pair, uint64_t bytes)
{
    weft_signature_t signature = {.count = bytes};
    assert_true(weft_port_can_send(&pair->send.port, bytes));
    assert_int_equal(weft_port_commit(&pair->send.port, bytes), WEFT_OK);
    memset(weft_port_payload(&pair->send.port, bytes), (int)bytes, bytes);
    assert_int_equal(weft_port_send(&pair->send.port, &signature, bytes, NULL), WEFT_OK);
}

static void pair_receive(pair_t *pair, uint64_t bytes)
{
    assert_true(weft_port_can_receive(&pair->receive.port));
    const uint8_t *payload = weft_port_payload(&pair->receive.port, bytes);
    assert_int_equal(payload[bytes - 1], (uint8_t)bytes);
    assert_int_equal(weft_port_release(&pair->receive.port), WEFT_OK);
}

static void heads_of_both_directions_share_a_page(void **state)
{
    (void)state;
    weft_pair_layout_t l = weft_pair_layout(&shape);
    assert_int_equal(l.commit, PAGE);
    assert_int_equal(l.small[0], PAGE);
    assert_int_equal(l.small[1], 2 * PAGE);
    assert_int_equal(l.slots[0], 3 * PAGE);
    assert_int_equal(l.bytes, l.slots[0] + 2 * SLOTS * SLOT_BYTES);
    assert_true(l.head[1] + weft_fifo_head_bytes(SLOTS, WEFT_SLOT_NEAR_STRIDE) <= l.commit);
    weft_fifo_shape_t of_device = shape;
    of_device.small_bytes = 0;
    l = weft_pair_layout(&of_device);
    assert_int_equal(l.slots[0], l.commit);
}

static void what_fits_the_header_commits_nothing(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {0};
    pair_t pair;
    pair_open(&pair, &pool, 1);
    for (uint32_t i = 0; i < 3 * SLOTS; i++) {
        pair_send(&pair, WEFT_SLOT_NEAR);
        pair_receive(&pair, WEFT_SLOT_NEAR);
    }
    assert_int_equal(pair.conn.commits, 0);
    pair_close(&pair);
}

static void small_payloads_share_a_page(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {0};
    pair_t pair;
    pair_open(&pair, &pool, 1);
    for (uint32_t i = 0; i < 3 * SLOTS; i++) {
        uint64_t bytes = i % 2 == 0 ? WEFT_SLOT_NEAR + 1 : WEFT_SLOT_SMALL;
        pair_send(&pair, bytes);
        pair_receive(&pair, bytes);
    }
    assert_int_equal(pair.conn.commits, 1);
    assert_int_equal(pair.conn.offset, pair.layout.small[0]);
    assert_int_equal(pair.conn.bytes, PAGE);
    assert_int_equal(pool.committed, 0);
    pair_close(&pair);
}

static void a_slot_is_committed_when_its_turn_comes(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {0};
    pair_t pair;
    pair_open(&pair, &pool, 1);
    for (uint32_t i = 0; i < SLOTS; i++) {
        pair_send(&pair, 5000);
        assert_int_equal(pair.conn.offset, pair.layout.slots[0] + i * SLOT_BYTES);
        assert_int_equal(pair.conn.bytes, 2 * PAGE);
        assert_int_equal(pool.committed, (i + 1) * 2 * PAGE);
        pair_receive(&pair, 5000);
    }
    uint32_t commits = pair.conn.commits;
    for (uint32_t i = 0; i < 2 * SLOTS; i++) {
        pair_send(&pair, 8000);
        pair_receive(&pair, 8000);
    }
    assert_int_equal(pair.conn.commits, commits);
    pair_send(&pair, 9000); /* one slot grows, the others stay */
    assert_int_equal(pool.committed, (SLOTS * 2 + 1) * PAGE);
    pair_close(&pair);
    assert_int_equal(pool.committed, 0);
    assert_null(pool.oldest);
}

/* As on many hosts of AArch64. */
static void what_larger_pages_take_is_counted(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {0};
    pair_t pair;
    page_bytes = 16 * PAGE;
    pair_open(&pair, &pool, 1);
    for (uint32_t i = 0; i < 2; i++) {
        pair_send(&pair, 5000);
        assert_int_equal(pair.conn.bytes, 16 * PAGE);
        assert_int_equal(pool.committed, (i + 1) * 16 * PAGE);
    }
    pair_close(&pair);
    assert_int_equal(pool.committed, 0);
    page_bytes = PAGE;
}

static void long_payloads_commit_the_ring_at_once(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {0};
    pair_t pair;
    pair_open(&pair, &pool, 1);
    pair_send(&pair, SLOT_BYTES);
    assert_int_equal(pair.conn.bytes, SLOTS * SLOT_BYTES);
    assert_int_equal(pool.committed, SLOTS * SLOT_BYTES);
    uint32_t commits = pair.conn.commits;
    pair_send(&pair, SLOT_BYTES / 2);
    pair_send(&pair, 100);
    assert_int_equal(pair.conn.commits, commits);
    pair_close(&pair);
}

static void idle_ports_give_back_and_busy_ones_do_not(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {.limit = 5 * SLOT_BYTES};
    pair_t busy, idle, wants;
    pair_open(&busy, &pool, 1);
    pair_open(&idle, &pool, 2);
    pair_open(&wants, &pool, 3);
    pair_send(&busy, 64 * PAGE / 4); /* nobody has taken it */
    pair_send(&idle, SLOT_BYTES);
    pair_receive(&idle, SLOT_BYTES);
    pair_send(&wants, SLOT_BYTES);
    assert_int_equal(busy.conn.discards, 0);
    assert_int_equal(idle.conn.discards, 1);
    assert_int_equal(idle.conn.offset, idle.layout.slots[0]);
    assert_int_equal(pool.committed, 16 * PAGE + SLOTS * SLOT_BYTES);
    assert_int_equal(pool.given_back, SLOTS * SLOT_BYTES);
    pair_receive(&busy, 64 * PAGE / 4); /* it is still there */
    uint32_t commits = idle.conn.commits;
    pair_send(&idle, 5000); /* what was given back is committed again */
    assert_int_equal(idle.conn.commits, commits + 1);
    pair_close(&idle);
    pair_close(&busy);
    pair_close(&wants);
    assert_int_equal(pool.committed, 0);
}

static void a_look_takes_the_slots_of_ports_that_were_idle_since_the_last(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {0};
    pair_t busy, idle, stuck;
    pair_open(&busy, &pool, 1);
    pair_open(&idle, &pool, 2);
    pair_open(&stuck, &pool, 3);
    pair_t *all[] = {&busy, &idle, &stuck};
    for (uint32_t i = 0; i < 3; i++) {
        pair_send(all[i], 5000);
    }
    pair_receive(&busy, 5000);
    pair_receive(&idle, 5000);
    uint64_t now = 2 * WEFT_SLOT_IDLE_NS;
    weft_slot_pool_look(&pool, now);
    pair_send(&busy, 5000);
    pair_receive(&busy, 5000);
    weft_slot_pool_look(&pool, now + WEFT_SLOT_IDLE_NS - 1); /* too early */
    assert_int_equal(idle.conn.discards, 0);
    weft_slot_pool_look(&pool, now + WEFT_SLOT_IDLE_NS);
    assert_int_equal(idle.conn.discards, 1);
    assert_int_equal(busy.conn.discards, 0);
    assert_int_equal(stuck.conn.discards, 0); /* nobody has taken its message */
    assert_int_equal(pool.committed, 6 * PAGE);
    pair_receive(&stuck, 5000);
    for (uint32_t i = 0; i < 2; i++) {
        weft_slot_pool_look(&pool, now + (2 + i) * WEFT_SLOT_IDLE_NS);
    }
    assert_int_equal(pool.committed, 0);
    assert_null(pool.oldest);
    for (uint32_t i = 0; i < 3; i++) {
        pair_send(all[i], 5000); /* committed again */
        pair_receive(all[i], 5000);
        pair_close(all[i]);
    }
}

static void the_limit_is_soft(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {.limit = PAGE};
    pair_t pair;
    pair_open(&pair, &pool, 1);
    pair_send(&pair, 5000);
    pair_send(&pair, 5000);
    assert_int_equal(pool.committed, 4 * PAGE);
    assert_int_equal(pair.conn.discards, 0);
    pair_close(&pair);
}

static void a_host_without_memory_is_an_error_that_names_the_peer(void **state)
{
    (void)state;
    weft_slot_pool_t pool = {0};
    pair_t pair;
    pair_open(&pair, &pool, 7);
    pair.conn.answer = WEFT_ERR_RESOURCE;
    assert_int_equal(weft_port_commit(&pair.send.port, 5000), WEFT_ERR_RESOURCE);
    assert_int_equal(weft_error_record()->peer, 7);
    assert_int_equal(pool.committed, 0);
    pair.conn.answer = WEFT_OK;
    pair_send(&pair, 5000);
    pair_receive(&pair, 5000);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_of_both_directions_share_a_page),
        cmocka_unit_test(what_fits_the_header_commits_nothing),
        cmocka_unit_test(small_payloads_share_a_page),
        cmocka_unit_test(a_slot_is_committed_when_its_turn_comes),
        cmocka_unit_test(what_larger_pages_take_is_counted),
        cmocka_unit_test(long_payloads_commit_the_ring_at_once),
        cmocka_unit_test(idle_ports_give_back_and_busy_ones_do_not),
        cmocka_unit_test(a_look_takes_the_slots_of_ports_that_were_idle_since_the_last),
        cmocka_unit_test(the_limit_is_soft),
        cmocka_unit_test(a_host_without_memory_is_an_error_that_names_the_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
