/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How messages are cut into stripes and slices. */
#include <pthread.h>

#include "core/comm/peer_status.h"
#include "core/comm/stripes.h"
#include "tests/support/unit.h"

static void check(uint64_t bytes, uint32_t most, uint32_t count, uint64_t slice)
{
    weft_stripes_t cut = weft_stripes_cut(bytes, most, 65536, 262144);
    assert_int_equal(cut.count, count);
    assert_int_equal(cut.slice, slice);
}

static void a_stripe_has_at_least_the_bytes_of_a_channel(void **state)
{
    (void)state;
    check(0, 16, 1, 262144);
    check(131071, 16, 1, 262144);
    check(131072, 16, 2, 65536);
    check(262143, 16, 2, 131072);
    check(262144, 16, 4, 65536);
    check(1048576, 16, 16, 65536);
    check(1048577, 16, 16, 65600);
}

static void stripes_are_a_power_of_two_within_what_is_allowed(void **state)
{
    (void)state;
    check(1 << 30, 1, 1, 262144);
    check(1 << 30, 0, 1, 262144);
    check(1 << 30, 2, 2, 262144);
    check(1 << 30, 3, 2, 262144);
    check(1 << 30, 31, 16, 262144);
    check(1 << 30, 128, 128, 262144);
}

static void slices_are_lines_and_fit_a_slot(void **state)
{
    (void)state;
    for (uint64_t bytes = 1; bytes < 100000; bytes += bytes / 7 + 1) {
        weft_stripes_t cut = weft_stripes_cut(bytes, 8, 1, 1024);
        assert_int_equal(cut.slice % WEFT_LINE, 0);
        assert_in_range(cut.slice, WEFT_LINE, 1024);
        assert_true(cut.slice == 1024 || cut.slice * cut.count >= bytes);
    }
}

static void stripes_have_links_apart_from_those_of_plans(void **state)
{
    (void)state;
    assert_int_equal(weft_stripe_link(0, WEFT_P2P_CHANNEL), WEFT_P2P_CHANNEL);
    for (uint32_t s = 1; s < 128; s++) {
        assert_int_equal(weft_link_without_way(weft_stripe_link(s, WEFT_P2P_CHANNEL)),
                         weft_stripe_link(s, WEFT_P2P_CHANNEL));
        assert_int_not_equal(weft_stripe_link(s, WEFT_P2P_CHANNEL),
                             weft_stripe_link(s - 1, WEFT_P2P_CHANNEL));
        assert_int_equal(weft_stripe_link(s, WEFT_P2P_CHANNEL) & WEFT_P2P_CHANNEL,
                         WEFT_P2P_CHANNEL);
    }
}

/* Messages 1 and 2, noted in turns, of 100 and 200 bytes in 2 and 4 stripes. */
static weft_peer_cut_t cut;
static _Atomic bool over;

static void *note_on(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; !atomic_load(&over); i++) {
        weft_peer_cut_set(&cut, 1 + i % 2, 2 + 2 * (i % 2), 100 + 100 * (i % 2));
    }
    return NULL;
}

static void a_note_is_of_one_message(void **state)
{
    enum { FOUND = 2000 };
    pthread_t thread;
    uint64_t bytes;
    uint32_t found = 0;
    (void)state;
    assert_int_equal(weft_peer_cut_get(&cut, 0, &bytes), 0);
    assert_int_equal(weft_peer_cut_get(&cut, 1, &bytes), 0);
    assert_int_equal(pthread_create(&thread, NULL, note_on, NULL), 0);
    while (found < FOUND) {
        uint32_t count = weft_peer_cut_get(&cut, 1 + found % 2, &bytes);
        if (count != 0) {
            assert_int_equal(count, 2 + 2 * (found % 2));
            assert_int_equal(bytes, 100 + 100 * (found % 2));
            found++;
        }
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stripe_has_at_least_the_bytes_of_a_channel),
        cmocka_unit_test(stripes_are_a_power_of_two_within_what_is_allowed),
        cmocka_unit_test(slices_are_lines_and_fit_a_slot),
        cmocka_unit_test(stripes_have_links_apart_from_those_of_plans),
        cmocka_unit_test(a_note_is_of_one_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
