/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that processes share: only what is used takes memory. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os_shared.h"
#include "tests/support/unit.h"

#define BYTES (32 * WEFT_OS_HUGE_PAGE)

enum { FITS, TAKES_ALL, FAILS, SKIPS };

static int64_t bytes_taken(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 ? (int64_t)file.st_blocks * 512 : -1;
}

/* Maps it as the owner and as a peer, which use its first page. */
static int map_locked(int before, int after)
{
    weft_os_shared_t own, seen;
    if ((before != 0 && mlockall(before) != 0) || weft_os_shared_create(BYTES, &own) != WEFT_OK) {
        return SKIPS; /* it may lock less */
    }
    if (weft_os_shared_commit(&own, 0, 4096) != WEFT_OK) {
        return FAILS;
    }
    own.base[1] = 7;
    if (!weft_os_shared_attach((int32_t)getpid(), own.fd, &seen) ||
        !weft_os_shared_open(&seen, 0, WEFT_OS_HUGE_PAGE) || seen.base[1] != 7) {
        return FAILS;
    }
    seen.base[2] = 9; /* may be written to */
    if (after != 0 && mlockall(after) != 0) {
        return SKIPS;
    }
    const int64_t taken = bytes_taken(own.fd);
    return taken >= 0 && taken <= 2 * (int64_t)WEFT_OS_HUGE_PAGE ? FITS : TAKES_ALL;
}

/* Programs lock all their memory at their start, or when they have what they need. An arena is as
 * large as the memory of the host. */
static void locking_takes_what_is_used(int before, int after)
{
    int code = -1;
    const pid_t child = fork();
    if (child == 0) {
        _exit(map_locked(before, after));
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    if (WEXITSTATUS(code) == SKIPS) {
        skip();
    }
    assert_int_equal(WEXITSTATUS(code), FITS);
}

static void an_arena_takes_no_memory_of_a_program_that_locks_all(void **state)
{
    (void)state;
    locking_takes_what_is_used(MCL_FUTURE, 0);
}

static void nor_of_one_that_locks_later(void **state)
{
    (void)state;
    locking_takes_what_is_used(0, MCL_CURRENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_takes_no_memory_of_a_program_that_locks_all),
        cmocka_unit_test(nor_of_one_that_locks_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
