/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Landings: which messages may use an offer, what no offer can make a sender do, and that memory is
 * not written any more once its owner has it back. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/exec/landing.h"
#include "core/exec/zero_copy.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum { SLOTS = 4, SLOT_BYTES = 4096, BLOCK = 1 << 16, CHUNK = 10000, SLICE = 4096 };

/* Both ends of a FIFO, and a block of the receiver's arena. */
typedef struct landing_pair {
    weft_windows_t windows;
    void *fifo;
    weft_mapped_port_t send, receive;
    uint8_t *block;
} landing_pair_t;

static void pair_open(landing_pair_t *p)
{
    void *block = NULL;
    *p = (landing_pair_t){.fifo = weft_os_pages(weft_fifo_bytes(SLOTS, SLOT_BYTES))};
    weft_mapped_port_init(&p->send, 1, true, p->fifo, SLOTS, SLOT_BYTES);
    weft_mapped_port_init(&p->receive, 0, false, p->fifo, SLOTS, SLOT_BYTES);
    p->send.windows = p->receive.windows = &p->windows;
    assert_true(weft_arena_alloc(BLOCK, &block));
    p->block = block;
}

static void pair_close(landing_pair_t *p)
{
    weft_port_fini(&p->send.port);
    weft_port_fini(&p->receive.port);
    weft_os_pages_free(p->fifo, weft_fifo_bytes(SLOTS, SLOT_BYTES));
    assert_true(weft_arena_free(p->block));
}

static void pair_offer(landing_pair_t *p, uint64_t ahead)
{
    weft_landing_offer(
        &p->receive.port,
        &(weft_landing_chunk_t){.ahead = ahead, .to = p->block, .bytes = CHUNK, .slice = SLICE});
}

static void pair_pass(landing_pair_t *p, uint64_t bytes, uint64_t window)
{
    weft_signature_t signature = {.coll = WEFT_ALL_REDUCE};
    weft_zero_copy_t where = {.window = window};
    assert_true(weft_port_can_send(&p->send.port, WEFT_SLOT_INLINE));
    assert_int_equal(weft_port_send(&p->send.port, &signature, bytes, &where), WEFT_OK);
    assert_true(weft_port_can_receive(&p->receive.port));
}

static void pair_skip(landing_pair_t *p)
{
    pair_pass(p, SLICE, 0);
    assert_int_equal(weft_port_release(&p->receive.port), WEFT_OK);
}

static void a_chunk_comes_to_its_place_slice_by_slice(void **state)
{
    static const uint64_t length[] = {SLICE, SLICE, CHUNK - 2 * SLICE};
    landing_pair_t p;
    const uint8_t *payload;
    (void)state;
    pair_open(&p);
    pair_offer(&p, 1);
    assert_null(weft_landing_begin(&p.send.port, SLICE, 4)); /* the message before it */
    pair_skip(&p);
    for (size_t i = 0; i < 3; i++) {
        assert_null(weft_landing_begin(&p.send.port, length[i] - 4, 4));
        uint8_t *to = weft_landing_begin(&p.send.port, length[i], 4);
        assert_non_null(to);
        memset(to, 'a' + (int)i, length[i]);
        weft_landing_end(&p.send.port);
        pair_pass(&p, length[i], WEFT_ZERO_COPY_LANDED);
        assert_int_equal(weft_zero_copy_resolve(&p.receive.port, length[i], 4, &payload), WEFT_OK);
        assert_ptr_equal(payload, p.block + i * SLICE);
        assert_int_equal(payload[length[i] - 1], 'a' + (int)i);
        assert_int_equal(weft_port_release(&p.receive.port), WEFT_OK);
        /* The sender's memory is not read, so it waits for nothing. */
        assert_true(weft_port_is_returned(&p.send.port));
    }
    assert_null(weft_landing_begin(&p.send.port, SLICE, 4)); /* the message behind it */
    assert_int_equal(p.windows.landed, 3);
    pair_close(&p);
}

static void a_whole_number_of_slices_has_none_behind(void **state)
{
    landing_pair_t p;
    (void)state;
    pair_open(&p);
    weft_landing_offer(&p.receive.port,
                       &(weft_landing_chunk_t){.to = p.block, .bytes = SLICE, .slice = SLICE});
    pair_skip(&p);
    assert_null(weft_landing_begin(&p.send.port, SLICE, 4));
    assert_null(weft_landing_begin(&p.send.port, 0, 4));
    pair_close(&p);
}

static void other_memory_is_not_offered(void **state)
{
    landing_pair_t p;
    uint8_t *plain = malloc(CHUNK);
    (void)state;
    pair_open(&p);
    weft_landing_offer(&p.receive.port,
                       &(weft_landing_chunk_t){.to = plain, .bytes = CHUNK, .slice = SLICE});
    assert_null(weft_landing_begin(&p.send.port, SLICE, 4));
    pair_close(&p);
    free(plain);
}

static void what_was_not_offered_cannot_have_come(void **state)
{
    landing_pair_t p;
    const uint8_t *payload;
    (void)state;
    for (int offered = 0; offered < 2; offered++) {
        pair_open(&p);
        if (offered) {
            pair_offer(&p, 1);
        }
        pair_pass(&p, SLICE, WEFT_ZERO_COPY_LANDED);
        assert_int_equal(weft_zero_copy_resolve(&p.receive.port, SLICE, 4, &payload),
                         WEFT_ERR_PROTO);
        assert_int_equal(weft_error_record()->peer, 0);
        pair_close(&p);
    }
}

/* The words of the offer are shared memory: a peer may write anything there. */
static void an_offer_that_lies_is_not_used(void **state)
{
    landing_pair_t p;
    (void)state;
    for (int lie = 0; lie < 6; lie++) {
        pair_open(&p);
        pair_offer(&p, 0);
        weft_fifo_landing_t *l = &p.receive.control->landing;
        _Atomic uint64_t *word[] = {&l->offset, &l->bytes, &l->slice,
                                    &l->token,  &l->where, &l->offset};
        static const uint64_t value[] = {UINT64_MAX - 8, UINT64_MAX, 0, 12345, UINT64_MAX, 2};
        atomic_store(word[lie], value[lie]);
        assert_null(weft_landing_begin(&p.send.port, SLICE, 4));
        assert_int_equal(atomic_load(&p.send.control->writes), 0);
        pair_close(&p);
    }
}

/* Of two offers for one message a sender could read the place of one and the length of the
 * other. */
static void offers_for_one_message_end_a_checked_process(void **state)
{
    (void)state;
#ifndef WEFT_CHECKED
    print_message("skipped: only a build with checks, such as that of a sanitizer, ends there\n");
    skip();
#else
    landing_pair_t p;
    int status;
    pair_open(&p);
    pair_offer(&p, 1);
    pair_skip(&p);
    pair_offer(&p, 1);
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        pair_offer(&p, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    pair_close(&p);
#endif
}

typedef struct withdrawal {
    landing_pair_t *pair;
    _Atomic bool done;
} withdrawal_t;

static void withdraw(void *arg)
{
    withdrawal_t *w = arg;
    weft_landing_withdraw(&w->pair->receive.port);
    atomic_store(&w->done, true);
}

static void an_owner_waits_for_the_slice_that_is_written(void **state)
{
    landing_pair_t p;
    withdrawal_t w = {.pair = &p};
    weft_os_thread_t *thread;
    (void)state;
    pair_open(&p);
    pair_offer(&p, 0);
    assert_non_null(weft_landing_begin(&p.send.port, SLICE, 4));
    assert_int_equal(weft_os_thread_start("owner", withdraw, &w, &thread), WEFT_OK);
    uint64_t begun = weft_os_clock_ns();
    while (atomic_load(&p.receive.control->landing.first) != 0) {
        weft_os_yield();
    }
    while (weft_os_clock_ns() - begun < WEFT_NS_PER_S / 50) {
        assert_false(atomic_load(&w.done));
    }
    weft_landing_end(&p.send.port);
    weft_os_thread_join(thread);
    assert_true(w.done);
    assert_null(weft_landing_begin(&p.send.port, SLICE, 4));
    pair_close(&p);
}

static void an_owner_does_not_wait_for_a_process_that_has_ended(void **state)
{
    landing_pair_t p;
    (void)state;
    pair_open(&p);
    pair_offer(&p, 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    atomic_store(&p.receive.control->writes, (uint32_t)child);
    uint64_t begun = weft_os_clock_ns();
    weft_landing_withdraw(&p.receive.port);
    assert_true(weft_os_clock_ns() - begun < WEFT_NS_PER_S / 2);
    pair_close(&p);
}

static void an_owner_does_not_wait_for_ever(void **state)
{
    landing_pair_t p;
    (void)state;
    pair_open(&p);
    pair_offer(&p, 0);
    assert_non_null(weft_landing_begin(&p.send.port, SLICE, 4));
    weft_landing_withdraw(&p.receive.port);
    weft_landing_withdraw(&p.receive.port); /* does nothing */
    weft_landing_end(&p.send.port);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_comes_to_its_place_slice_by_slice),
        cmocka_unit_test(a_whole_number_of_slices_has_none_behind),
        cmocka_unit_test(other_memory_is_not_offered),
        cmocka_unit_test(what_was_not_offered_cannot_have_come),
        cmocka_unit_test(an_offer_that_lies_is_not_used),
        cmocka_unit_test(offers_for_one_message_end_a_checked_process),
        cmocka_unit_test(an_owner_waits_for_the_slice_that_is_written),
        cmocka_unit_test(an_owner_does_not_wait_for_a_process_that_has_ended),
        cmocka_unit_test(an_owner_does_not_wait_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
