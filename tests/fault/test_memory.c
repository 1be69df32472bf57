/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process without memory: the join says so, a call says so to all, and the process lives on. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

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

/* No allocation succeeds from now on. Returns the memory that was left, as a list. */
static void **take_all_memory(void)
{
    rlim_t bytes = bytes_mapped();
    void **list = NULL;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, RLIM_INFINITY}) != 0) {
        _exit(3);
    }
    for (size_t size = MIB; size >= 2 * sizeof(void *); size /= 2) {
        for (void **one; (one = malloc(size)) != NULL; list = one) {
            *one = list;
        }
    }
    return list;
}

static void give_back(void **list)
{
    while (list != NULL) {
        void **next = *list;
        free(list);
        list = next;
    }
    (void)setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
}

/* Rank 1 needs memory for its first call, and has none until the others have heard of it. */
static int call_without_memory(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static uint64_t in[1000], out[1000];
    weft_error_t error = {.size = sizeof error};
    void **list = rank == 1 ? take_all_memory() : NULL;
    (void)n;
    (void)arg;
    weft_status_t status = weft_all_reduce(in, out, 1000, WEFT_UINT64, WEFT_SUM, comm, NULL);
    if (rank == 1) {
        sleep(2);
        give_back(list);
        return status != WEFT_ERR_RESOURCE;
    }
    (void)weft_last_error(&error);
    if (status != WEFT_ERR_RESOURCE || error.peer != 1) {
        fprintf(stderr, "rank %u: %s, peer %d: %s\n", rank, weft_status_name(status), error.peer,
                error.text);
    }
    return status != WEFT_ERR_RESOURCE || error.peer != 1;
}

static void a_call_without_memory_fails_everywhere(void **unused)
{
    (void)unused;
    static const char *const settings[][2] = {{"core.net=net-shm", "exec.op_timeout=30"},
                                              {"core.net=net-socket", "exec.op_timeout=30"}};
    for (int i = 0; i < 2; i++) {
        ranks_job_t job = {
            .nranks = 4, .settings = settings[i], .settings_count = 2, .work = call_without_memory};
        assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_without_memory_is_refused),
        cmocka_unit_test(a_call_without_memory_fails_everywhere),
    };
    return cmocka_run_group_tests_name("fault/memory", tests, NULL, NULL);
}
