/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs that fork, at whatever point their other threads are: a child has communicators of its
 * own, and an error for those of its parent. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/boot/auth.h"
#include "core/os/crash.h"
#include "core/os/os.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

/* A child is done in some milliseconds. One that waits for ever is killed. */
enum { FORKS = 60, PATIENCE_S = 20 };

#define CHILD(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d, child %d: %s\n", __LINE__, (int)getpid(), #condition);       \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static weft_comm_t *parents; /* a communicator of the parent, or NULL */

static weft_comm_t *make_alone(void)
{
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    if (weft_unique_id_create(&id, NULL) != WEFT_OK ||
        weft_comm_init_rank(&comm, 1, &id, 0, NULL) != WEFT_OK) {
        return NULL;
    }
    return comm;
}

/* An asynchronous call that only the progress thread brings to its end. */
static int call_and_read(weft_comm_t *comm)
{
    uint32_t one = 1, sum = 0, count = 0;
    weft_completion_t entry;
    weft_completion_queue_t *queue = NULL;
    CHILD(weft_completion_queue_create(&queue) == WEFT_OK);
    weft_call_t call = {.size = sizeof call, .queue = queue};
    CHILD(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, &call) == WEFT_OK);
    CHILD(weft_completion_queue_wait(queue, &entry, 1, &count, PATIENCE_S / 2) == WEFT_OK);
    CHILD(count == 1 && entry.status == WEFT_OK && sum == 1);
    CHILD(weft_completion_queue_destroy(queue) == WEFT_OK);
    return 0;
}

static int use_memory(void)
{
    void *memory = NULL;
    CHILD(weft_mem_alloc(NULL, 100000, &memory) == WEFT_OK);
    *(char *)memory = 1;
    CHILD(weft_mem_free(NULL, memory) == WEFT_OK);
    return 0;
}

/* Everything that a child does: what is the parent's is refused, and its own works. */
static int live_as_child(void)
{
    uint32_t rank;
    int wrong = use_memory();
    if (parents != NULL) {
        CHILD(weft_comm_rank(parents, &rank) == WEFT_ERR_STATE);
        CHILD(weft_barrier(parents, NULL) == WEFT_ERR_STATE);
        CHILD(weft_comm_destroy(parents) == WEFT_ERR_STATE);
    }
    weft_comm_t *own = make_alone(), *copy = NULL;
    CHILD(own != NULL && weft_comm_dup(own, &copy) == WEFT_OK);
    wrong += call_and_read(own) + call_and_read(copy);
    CHILD(weft_comm_destroy(copy) == WEFT_OK && weft_comm_destroy(own) == WEFT_OK);
    return wrong;
}

/* Returns how the child ended: 0 if all was well. */
static int fork_and_wait(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        _exit(live_as_child());
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static void a_child_makes_calls_of_its_own(void **state)
{
    (void)state;
    parents = make_alone();
    assert_non_null(parents);
    assert_int_equal(fork_and_wait(), 0);
    assert_int_equal(call_and_read(parents), 0); /* the parent has a progress thread now */
    assert_int_equal(fork_and_wait(), 0);
    assert_int_equal(call_and_read(parents), 0);
    assert_int_equal(weft_comm_destroy(parents), WEFT_OK);
}

static _Atomic int stop;

static void ask(void *arg)
{
    int *wrong = arg;
    uint32_t rank;
    while (!atomic_load(&stop)) {
        *wrong += weft_comm_rank(parents, &rank) != WEFT_OK;
    }
}

static void use_queues(void *arg)
{
    int *wrong = arg;
    while (!atomic_load(&stop)) {
        weft_completion_queue_t *queue = NULL;
        *wrong += weft_completion_queue_create(&queue) != WEFT_OK ||
                  weft_completion_queue_destroy(queue) != WEFT_OK;
    }
}

/* What every plugin that is loaded asks the linker, and every handshake libsodium. */
static void ask_the_linker(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        weft_crash_add_object("test", &parents);
        weft_crash_remove_object(&parents);
    }
}

static void derive_keys(void *arg)
{
    uint8_t key[32] = {0};
    (void)arg;
    while (!atomic_load(&stop)) {
        weft_auth_derive(key, "test", key);
    }
}

static void allocate(void *arg)
{
    int *wrong = arg;
    while (!atomic_load(&stop)) {
        *wrong += use_memory();
    }
}

/* Communicators come and go, and with them the progress thread; and plugins, if there is no other
 * communicator. */
static void make_calls(void *arg)
{
    int *wrong = arg;
    while (!atomic_load(&stop)) {
        weft_comm_t *comm = make_alone();
        *wrong += comm == NULL || call_and_read(comm) != 0 || weft_comm_destroy(comm) != WEFT_OK;
    }
}

/* The parent keeps a communicator meanwhile, or none. */
static void fork_beside(void (*busy)(void *arg), bool keeps)
{
    weft_os_thread_t *thread;
    int wrong = 0, failed = 0;
    parents = keeps ? make_alone() : NULL;
    assert_true(!keeps || parents != NULL);
    atomic_store(&stop, 0);
    assert_int_equal(weft_os_thread_start("busy", busy, &wrong, &thread), WEFT_OK);
    for (int i = 0; i < FORKS && failed == 0; i++) {
        failed = fork_and_wait();
        weft_os_sleep_ns((uint64_t)i * 10000);
    }
    atomic_store(&stop, 1);
    weft_os_thread_join(thread);
    assert_int_equal(failed, 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(weft_comm_destroy(parents), WEFT_OK);
}

static void a_child_finds_nothing_locked(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    print_message(
        "SKIPPED: ASan's allocator does not see to forks: a child waits for its locks where "
        "a thread allocated, or began\n");
    skip();
#endif
    fork_beside(ask, true);
    fork_beside(use_queues, true);
    fork_beside(ask_the_linker, true);
    fork_beside(derive_keys, true);
    fork_beside(allocate, true);
    fork_beside(make_calls, true);
    for (int i = 0; i < 3; i++) {
        fork_beside(make_calls, false);
    }
}

/* An operator may fork: of the thread that calls, or of the progress thread. */
static void add_in_a_fork(void *inout, const void *in, uint64_t count, weft_dtype_t dtype,
                          void *arg)
{
    (void)dtype;
    *(int *)arg += fork_and_wait() != 0;
    for (uint64_t i = 0; i < count; i++) {
        ((uint32_t *)inout)[i] += ((const uint32_t *)in)[i];
    }
}

static int reduce_and_fork(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0, failed = 0;
    uint32_t value = 1;
    weft_op_t op;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    (void)arg;
    parents = rank == 0 ? comm : parents;
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_op_create(comm, add_in_a_fork, &failed, &op) == WEFT_OK);
    NEED(weft_all_reduce(&value, &value, 1, WEFT_UINT32, op, comm, NULL) == WEFT_OK);
    NEED(value == n);
    NEED(weft_all_reduce(&value, &value, 1, WEFT_UINT32, op, comm, &call) == WEFT_OK);
    weft_os_sleep_ns(50 * WEFT_NS_PER_MS);
    NEED(weft_request_wait(&request) == WEFT_OK);
    NEED(value == n * n && failed == 0);
    NEED(weft_op_destroy(comm, op) == WEFT_OK);
    return wrong;
}

static void an_operator_may_fork(void **state)
{
    ranks_job_t job = {.nranks = 2, .work = reduce_and_fork};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_makes_calls_of_its_own),
        cmocka_unit_test(a_child_finds_nothing_locked),
        cmocka_unit_test(an_operator_may_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
