/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process without memory: the join says so, and the process lives on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <weft/weft.h>

/* So many ranks take some hundred MiB, and more descriptors than a process may have. */
#define RANKS (1u << 20)
#define MIB (1ul << 20)
#define STEP_MIB 8u
#define MOST_MIB 400u

/* The address space of this process now, in bytes. */
static rlim_t bytes_mapped(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Joins with `mib` left to map. Exits with 0 when the refusal is the right one. */
static void join_with(const weft_unique_id_t *id, rlim_t mib)
{
    rlim_t bytes = bytes_mapped() + mib * MIB;
    weft_comm_t *comm = NULL;
    const char *settings[] = {"core.log=error", "boot.init_timeout=20"};
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = settings, .settings_count = 2};
    if (freopen("/dev/null", "w", stderr) == NULL ||
        setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) != 0) {
        _exit(2);
    }
    weft_status_t status = weft_comm_init_rank(&comm, RANKS, id, 5, &options);
    _exit(status == WEFT_ERR_RESOURCE && comm == NULL ? 0 : 1);
}

static void a_join_without_memory_is_refused(void **unused)
{
    (void)unused;
    weft_unique_id_t id;
    weft_comm_options_t options = {.size = sizeof options, .config = "/dev/null"};
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    for (rlim_t mib = 0; mib < MOST_MIB; mib += STEP_MIB) {
        int status = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            join_with(&id, mib);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fail_msg("with %lu MiB the join ended with wait status 0x%x", (unsigned long)mib,
                     (unsigned)status);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_without_memory_is_refused),
    };
    return cmocka_run_group_tests_name("fault/memory", tests, NULL, NULL);
}
