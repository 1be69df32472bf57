/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory by need: what is committed, when, by which end, and what the limits of a process
 * do to it. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm_memory.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

#define PAGES 64u

static uint64_t page(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns the pages that exist. */
static uint32_t resident(const shm_memory_t *memory)
{
    struct stat file;
    assert_int_equal(fstat(memory->fd, &file), 0);
    return (uint32_t)((uint64_t)file.st_blocks * 512 / page());
}

static bool can_populate(void)
{
#ifdef MADV_POPULATE_WRITE
    return madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;
#else
    return false;
#endif
}

static void only_the_beginning_is_committed(void **state)
{
    fake_host_t *fake = *state;
    shm_memory_t memory;
    assert_int_equal(shm_memory_create(&fake->host, PAGES * page(), 1, &memory), WEFT_OK);
    assert_int_equal(resident(&memory), can_populate() ? 1 : PAGES);
    shm_memory_release(&memory);
    assert_int_equal(shm_memory_create(&fake->host, PAGES * page(), UINT64_MAX, &memory), WEFT_OK);
    assert_int_equal(resident(&memory), PAGES);
    shm_memory_release(&memory);
}

static void both_ends_commit_and_see_the_same_bytes(void **state)
{
    fake_host_t *fake = *state;
    shm_memory_t memory, other;
    assert_int_equal(shm_memory_create(&fake->host, PAGES * page(), 1, &memory), WEFT_OK);
    assert_int_equal(shm_memory_attach(&fake->host, dup(memory.fd), PAGES * page(), &other),
                     WEFT_OK);
    assert_int_equal(shm_memory_commit(&fake->host, &other, 10 * page() + 5, page()), WEFT_OK);
    if (can_populate()) {
        assert_int_equal(resident(&memory), 3); /* the first, and the two that the range touches */
    }
    ((uint8_t *)other.base)[10 * page() + 5] = 42;
    assert_int_equal(((uint8_t *)memory.base)[10 * page() + 5], 42);
    assert_int_equal(shm_memory_commit(&fake->host, &memory, 10 * page(), page()), WEFT_OK);
    assert_int_equal(((uint8_t *)memory.base)[10 * page() + 5], 42);
    shm_memory_release(&other);
    shm_memory_release(&memory);
}

static void whole_pages_are_given_back(void **state)
{
    fake_host_t *fake = *state;
    shm_memory_t memory;
    if (!can_populate()) {
        skip();
    }
    assert_int_equal(shm_memory_create(&fake->host, PAGES * page(), 1, &memory), WEFT_OK);
    assert_int_equal(shm_memory_commit(&fake->host, &memory, 8 * page(), 8 * page()), WEFT_OK);
    assert_int_equal(resident(&memory), 9);
    shm_memory_discard(&memory, 8 * page() + 1, 3 * page());
    assert_int_equal(resident(&memory), 7); /* pages 9 and 10 are gone, 8 and 11 are partly ours */
    shm_memory_discard(&memory, 8 * page(), 8 * page());
    assert_int_equal(resident(&memory), 1);
    assert_int_equal(shm_memory_commit(&fake->host, &memory, 8 * page(), page()), WEFT_OK);
    assert_int_equal(((uint8_t *)memory.base)[8 * page()], 0);
    shm_memory_release(&memory);
}

static void ranges_outside_are_refused(void **state)
{
    fake_host_t *fake = *state;
    shm_memory_t memory;
    assert_int_equal(shm_memory_create(&fake->host, PAGES * page(), 1, &memory), WEFT_OK);
    assert_int_equal(shm_memory_commit(&fake->host, &memory, PAGES * page(), 1), WEFT_ERR_ARG);
    assert_int_equal(shm_memory_commit(&fake->host, &memory, 1, UINT64_MAX), WEFT_ERR_ARG);
    shm_memory_release(&memory);
}

static void the_limit_of_file_sizes_is_an_error_and_no_signal(void **state)
{
    fake_host_t *fake = *state;
    struct rlimit before, small;
    shm_memory_t memory;
    char text[512];
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = page();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    weft_status_t status = shm_memory_create(&fake->host, 2 * page(), 1, &memory);
    small.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const char *refused = shm_memory_refused();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(refused); /* a limit is no filter of calls */
    assert_null(shm_memory_refused());
    assert_int_equal(status, WEFT_ERR_RESOURCE);
    fake_host_take_error(fake, text, sizeof text);
    assert_non_null(strstr(text, "ulimit -f"));
}

/* A control group with a limit of memory, and one in it for the process. */
typedef struct group {
    char limited[200], inner[220];
} group_t;

static bool group_write(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    (void)close(fd);
    return written;
}

static void group_remove(const group_t *group)
{
    (void)rmdir(group->inner);
    (void)rmdir(group->limited);
}

/* False: this machine has none, or it is not ours to make. */
static bool group_make(group_t *group, const char *limit)
{
    static const char *const roots[][2] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                           {"/sys/fs/cgroup", "memory.max"}};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        snprintf(group->limited, sizeof group->limited, "%s/weft-test-%d", roots[i][0], getpid());
        snprintf(group->inner, sizeof group->inner, "%s/inner", group->limited);
        if (mkdir(group->limited, 0700) == 0 && mkdir(group->inner, 0700) == 0 &&
            group_write(group->limited, roots[i][1], limit)) {
            return true;
        }
        group_remove(group);
    }
    return false;
}

/* Exit code of a process in the group: 0 as it should be. */
static int take_more_than_there_is(fake_host_t *fake, const group_t *group)
{
    shm_memory_t memory;
    const uint64_t bytes = UINT64_C(256) << 20;
    if (!group_write(group->inner, "cgroup.procs", "0")) {
        return 77;
    }
    if (shm_memory_create(&fake->host, bytes, UINT64_MAX, &memory) != WEFT_ERR_RESOURCE) {
        return 1;
    }
    if (!can_populate()) {
        return 0;
    }
    return shm_memory_create(&fake->host, bytes, 1, &memory) == WEFT_OK &&
                   shm_memory_commit(&fake->host, &memory, 0, bytes / 16) == WEFT_OK &&
                   shm_memory_commit(&fake->host, &memory, 0, bytes) == WEFT_ERR_RESOURCE
               ? 0
               : 2;
}

static void a_control_group_without_room_is_an_error_and_no_signal(void **state)
{
    group_t group;
    int how = 0;
    if (!group_make(&group, "100M")) {
        print_message("may not make a control group with a limit of memory\n");
        skip();
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(take_more_than_there_is(*state, &group));
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    group_remove(&group);
    if (WIFEXITED(how) && WEXITSTATUS(how) == 77) {
        print_message("may not enter the control group\n");
        skip();
    }
    assert_int_equal(how, 0);
}

static int setup(void **state)
{
    fake_host_t *fake = calloc(1, sizeof *fake);
    fake_host_init(fake, "net-shm");
    *state = fake;
    return 0;
}

static int teardown(void **state)
{
    fake_host_fini(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_beginning_is_committed, setup, teardown),
        cmocka_unit_test_setup_teardown(both_ends_commit_and_see_the_same_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(whole_pages_are_given_back, setup, teardown),
        cmocka_unit_test_setup_teardown(ranges_outside_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_limit_of_file_sizes_is_an_error_and_no_signal, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_control_group_without_room_is_an_error_and_no_signal,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
