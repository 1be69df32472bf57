/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of the cache of registrations, with a pinner that only counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ib_cache.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

typedef struct pinner {
    fake_host_t fake;
    ib_cache_t cache;
    uint32_t pins, unpins;
    uint32_t fail_at; /* pin() with this number fails */
} pinner_t;

static int count_pin(void *owner, ib_pin_t *pin)
{
    pinner_t *pinner = owner;
    if (++pinner->pins == pinner->fail_at) {
        return ENOMEM;
    }
    pin->local_key = pinner->pins;
    pin->remote_key = 1000 + pinner->pins;
    return 0;
}

static void count_unpin(void *owner, ib_pin_t *pin)
{
    (void)pin;
    ((pinner_t *)owner)->unpins++;
}

static void pinner_init(pinner_t *pinner)
{
    memset(pinner, 0, sizeof *pinner);
    fake_host_init(&pinner->fake, "test");
    ib_pinner_t calls = {.pin = count_pin, .unpin = count_unpin, .owner = pinner};
    assert_int_equal(ib_cache_init(&pinner->cache, &pinner->fake.host, &calls), WEFT_OK);
}

static void pinner_fini(pinner_t *pinner)
{
    assert_int_equal(pinner->cache.count, 0);
    ib_cache_fini(&pinner->cache);
    assert_int_equal(atomic_load(&pinner->fake.live), 0);
    fake_host_fini(&pinner->fake);
}

static ib_pin_t *get(pinner_t *pinner, uintptr_t at, uint64_t bytes, uint32_t access)
{
    ib_pin_t *pin = NULL;
    /* Addresses are only compared. */
    int cause = 0;
    assert_int_equal(ib_cache_get(&pinner->cache, (void *)at, bytes, access, &pin, &cause),
                     WEFT_OK);
    return pin;
}

static void memory_within_a_registration_shares_it(void **state)
{
    (void)state;
    pinner_t p;
    pinner_init(&p);
    ib_pin_t *whole = get(&p, 0x10000, 0x4000, IB_PIN_WRITE);
    ib_pin_t *part = get(&p, 0x11000, 100, IB_PIN_WRITE);
    ib_pin_t *read = get(&p, 0x12000, 100, IB_PIN_READ);
    assert_ptr_equal(whole, part);
    assert_ptr_equal(whole, read);
    assert_int_equal(p.pins, 1);
    ib_cache_put(&p.cache, whole);
    ib_cache_put(&p.cache, part);
    assert_int_equal(p.unpins, 0);
    ib_cache_put(&p.cache, read);
    assert_int_equal(p.unpins, 1);
    pinner_fini(&p);
}

static void read_only_memory_is_never_given_to_the_peer(void **state)
{
    (void)state;
    pinner_t p;
    pinner_init(&p);
    ib_pin_t *read = get(&p, 0x10000, 0x4000, IB_PIN_READ);
    ib_pin_t *write = get(&p, 0x11000, 100, IB_PIN_WRITE);
    assert_ptr_not_equal(read, write);
    assert_int_equal(write->start, 0x11000);
    assert_int_equal(write->end, 0x11000 + 100);
    ib_cache_put(&p.cache, read);
    ib_cache_put(&p.cache, write);
    assert_int_equal(p.unpins, 2);
    pinner_fini(&p);
}

static void what_is_read_is_registered_by_pages(void **state)
{
    (void)state;
    pinner_t p;
    pinner_init(&p);
    ib_pin_t *one = get(&p, 0x10010, 8, IB_PIN_READ);
    assert_int_equal(one->start, 0x10000);
    assert_int_equal(one->end, 0x11000);
    assert_ptr_equal(one, get(&p, 0x10ff8, 8, IB_PIN_READ));
    ib_pin_t *across = get(&p, 0x10ff8, 16, IB_PIN_READ);
    assert_int_equal(across->end, 0x12000);
    ib_cache_put(&p.cache, across);
    ib_cache_put(&p.cache, one);
    ib_cache_put(&p.cache, one);
    pinner_fini(&p);
}

static void many_stay_sorted_in_any_order_of_coming_and_going(void **state)
{
    (void)state;
    enum { N = 200 };
    pinner_t p;
    ib_pin_t *pins[N];
    pinner_init(&p);
    for (uint32_t i = 0; i < N; i++) {
        pins[i] = get(&p, 0x100000 + (i * 37u % N) * 0x1000u, 0x800, IB_PIN_WRITE);
    }
    assert_int_equal(p.cache.count, N);
    for (uint32_t i = 1; i < N; i++) {
        assert_true(p.cache.pins[i - 1]->start < p.cache.pins[i]->start);
    }
    for (uint32_t i = 0; i < N; i++) {
        ib_cache_put(&p.cache, pins[i * 61u % N]);
        for (uint32_t k = 1; k < p.cache.count; k++) {
            assert_true(p.cache.pins[k - 1]->start < p.cache.pins[k]->start);
        }
    }
    assert_int_equal(p.unpins, N);
    pinner_fini(&p);
}

static void refused_registration_leaves_nothing(void **state)
{
    (void)state;
    pinner_t p;
    pinner_init(&p);
    p.fail_at = 2;
    ib_pin_t *one = get(&p, 0x10000, 100, IB_PIN_WRITE), *none = NULL;
    int cause = 0;
    assert_int_equal(
        ib_cache_get(&p.cache, (void *)(uintptr_t)0x20000, 8, IB_PIN_WRITE, &none, &cause),
        WEFT_ERR_RESOURCE);
    assert_int_equal(cause, ENOMEM);
    assert_null(none);
    assert_int_equal(p.cache.count, 1);
    ib_cache_put(&p.cache, one);
    pinner_fini(&p);
}

static void no_memory_now_is_again(void **state)
{
    (void)state;
    pinner_t p;
    ib_pin_t *none = NULL;
    int cause = 0;
    pinner_init(&p);
    for (uint64_t n = 1; n <= 2; n++) {
        atomic_store(&p.fake.fail_at, n);
        assert_int_equal(
            ib_cache_get(&p.cache, (void *)(uintptr_t)0x20000, 8, IB_PIN_READ, &none, &cause),
            WEFT_AGAIN);
        assert_int_equal(cause, 0);
    }
    assert_int_equal(p.pins, 0);
    pinner_fini(&p);
}

static void adopted_registration_is_ended_once(void **state)
{
    (void)state;
    pinner_t p;
    ib_pin_t *pin = NULL;
    pinner_init(&p);
    assert_int_equal(ib_cache_adopt(&p.cache, &p, 3, 4, &pin), WEFT_OK);
    assert_int_equal(pin->local_key, 3);
    assert_int_equal(pin->remote_key, 4);
    ib_cache_put(&p.cache, pin);
    assert_int_equal(p.unpins, 1);
    pinner_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_within_a_registration_shares_it),
        cmocka_unit_test(read_only_memory_is_never_given_to_the_peer),
        cmocka_unit_test(what_is_read_is_registered_by_pages),
        cmocka_unit_test(many_stay_sorted_in_any_order_of_coming_and_going),
        cmocka_unit_test(refused_registration_leaves_nothing),
        cmocka_unit_test(no_memory_now_is_again),
        cmocka_unit_test(adopted_registration_is_ended_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
