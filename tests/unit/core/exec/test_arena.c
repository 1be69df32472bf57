/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arena: what is handed out, what another process sees of it, and whom it does not believe. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/exec/arena.h"
#include "tests/support/unit.h"

static uint8_t *take(uint64_t bytes)
{
    void *memory = NULL;
    assert_true(weft_arena_alloc(bytes, &memory));
    return memory;
}

static void blocks_do_not_overlap_and_gaps_are_used_again(void **state)
{
    static const uint64_t bytes[] = {0, 1, 5000, 3 << 20, 4096, 2 << 20, 100};
    uint8_t *block[7];
    (void)state;
    for (int i = 0; i < 7; i++) {
        block[i] = take(bytes[i]);
        assert_int_equal((uintptr_t)block[i] % weft_os_page_bytes(), 0);
        memset(block[i], i + 1, bytes[i]);
    }
    for (int i = 0; i < 7; i++) {
        for (uint64_t k = 0; k < bytes[i]; k++) {
            assert_int_equal(block[i][k], i + 1);
        }
    }
    assert_true(weft_arena_free(block[3]));
    uint8_t *again = take(3 << 20);
    assert_ptr_equal(again, block[3]);
    for (uint64_t k = 0; k < bytes[3]; k++) {
        assert_int_equal(again[k], 0);
    }
    for (int i = 0; i < 7; i++) {
        assert_true(weft_arena_free(block[i]));
        assert_false(weft_arena_free(block[i]));
    }
}

static void only_memory_of_the_arena_is_found(void **state)
{
    uint8_t *block = take(10000), here[8];
    weft_arena_offer_t offer;
    uint64_t offset = 0, next = 0;
    (void)state;
    assert_true(weft_arena_find(block, 10000, &offset, &offer));
    assert_true(weft_arena_find(block + 7, 1, &next, &offer));
    assert_int_equal(next, offset + 7);
    assert_int_equal(offer.pid, getpid());
    assert_false(weft_arena_find(here, sizeof here, &offset, &offer));
    assert_false(weft_arena_find(block, UINT64_MAX, &offset, &offer));
    assert_false(weft_arena_free(here));
    assert_true(weft_arena_free(block));
}

/* In a child: looks at the parent's block by way of an import. */
static void look(const weft_arena_offer_t *offer, uint64_t offset, int to_parent, int from_parent)
{
    char byte;
    weft_arena_import_t *import = weft_arena_import(offer);
    int bad = import == NULL || weft_arena_import(offer) != import;
    bad += !bad && !weft_arena_reach(import, offset + 100001);
    bad += !bad && import->shared.base[offset + 100000] != 42;
    bad += write(to_parent, "1", 1) != 1 || read(from_parent, &byte, 1) != 1;
    bad += import != NULL && import->shared.base[offset + 100000] != 0;
    weft_arena_unimport(import);
    weft_arena_unimport(import);
    /* The child's own arena is another one. */
    void *own = NULL;
    weft_arena_offer_t mine;
    bad += !weft_arena_alloc(8, &own) || !weft_arena_find(own, 8, &offset, &mine);
    bad += mine.token == offer->token || mine.pid != getpid();
    _exit(bad != 0);
}

static void another_process_sees_it_also_after_it_was_freed(void **state)
{
    int up[2], down[2], status = 0;
    char byte;
    uint64_t offset = 0;
    weft_arena_offer_t offer;
    uint8_t *block = take(200000);
    (void)state;
    assert_int_equal(pipe(up) | pipe(down), 0);
    assert_true(weft_arena_find(block, 200000, &offset, &offer));
    block[100000] = 42;
    pid_t child = fork();
    if (child == 0) {
        look(&offer, offset, up[1], down[0]);
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    assert_true(weft_arena_free(block));
    assert_int_equal(write(down[1], "1", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(up[0]), close(up[1]), close(down[0]), close(down[1]);
}

/* The pages are the parent's: a child that gave them back would take them from it. */
static void a_child_leaves_the_memory_of_its_parent_alone(void **state)
{
    (void)state;
    for (int has_own = 0; has_own < 2; has_own++) {
        int status = 0;
        uint8_t *block = take(10000);
        block[5000] = 42;
        pid_t child = fork();
        if (child == 0) {
            void *own = NULL;
            _exit((has_own && !weft_arena_alloc(8, &own)) || weft_arena_free(block));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(block[5000], 42);
        assert_true(weft_arena_free(block));
    }
}

static void offers_that_lie_are_refused(void **state)
{
    uint64_t offset = 0;
    weft_arena_offer_t offer, lie;
    uint8_t *block = take(1);
    (void)state;
    assert_true(weft_arena_find(block, 1, &offset, &offer));
    lie = offer;
    lie.token ^= 2;
    assert_null(weft_arena_import(&lie));
    int fds[] = {-1, 1 << 20, open("/dev/zero", O_RDWR | O_CLOEXEC),
                 memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    assert_int_equal(ftruncate(fds[3], 1 << 20), 0); /* not sealed: its owner could cut it */
    for (int i = 0; i < 4; i++) {
        lie = offer;
        lie.fd = fds[i];
        assert_null(weft_arena_import(&lie));
    }
    lie = offer;
    lie.pid = -1;
    assert_null(weft_arena_import(&lie));
    weft_arena_import_t *import = weft_arena_import(&offer);
    assert_non_null(import);
    weft_arena_unimport(import);
    close(fds[2]);
    close(fds[3]);
    assert_true(weft_arena_free(block));
}

static void what_is_too_large_is_not_given(void **state)
{
    void *memory = NULL;
    (void)state;
    assert_false(weft_arena_alloc(UINT64_C(1) << 50, &memory));
    assert_false(weft_arena_alloc(UINT64_MAX, &memory));
    assert_null(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_do_not_overlap_and_gaps_are_used_again),
        cmocka_unit_test(only_memory_of_the_arena_is_found),
        cmocka_unit_test(another_process_sees_it_also_after_it_was_freed),
        cmocka_unit_test(a_child_leaves_the_memory_of_its_parent_alone),
        cmocka_unit_test(offers_that_lie_are_refused),
        cmocka_unit_test(what_is_too_large_is_not_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
