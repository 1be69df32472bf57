/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that processes share: only what is used takes memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/os/os_shared.h"

#define BYTES (32 * WEFT_OS_HUGE_PAGE)

enum { FITS, TAKES_ALL, FAILS, SKIPS };

static int64_t bytes_taken(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 ? (int64_t)file.st_blocks * 512 : -1;
}

/* Maps of it what the owner and a peer do. */
static int map_locked(void)
{
    weft_os_shared_t own, seen;
    if (mlockall(MCL_FUTURE) != 0 || weft_os_shared_create(BYTES, &own) != WEFT_OK) {
        return SKIPS; /* it may lock less */
    }
    if (weft_os_shared_commit(&own, 0, 4096) != WEFT_OK) {
        return FAILS;
    }
    own.base[1] = 7;
    if (!weft_os_shared_attach((int32_t)getpid(), own.fd, &seen) || seen.base[1] != 7) {
        return FAILS;
    }
    seen.base[BYTES - 1] = 9; /* may be written to */
    const int64_t taken = bytes_taken(own.fd);
    return taken >= 0 && taken <= 2 * (int64_t)WEFT_OS_HUGE_PAGE ? FITS : TAKES_ALL;
}

/* Programs that lock all their memory do so at their start. An arena is a multiple of what a host has. */
static void an_arena_takes_no_memory_of_a_program_that_locks_all(void **state)
{
    int code = -1;
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        _exit(map_locked());
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    if (WEXITSTATUS(code) == SKIPS) {
        skip();
    }
    assert_int_equal(WEXITSTATUS(code), FITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_takes_no_memory_of_a_program_that_locks_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
