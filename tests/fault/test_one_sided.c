/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that die or are stopped in the middle of puts: who waits for them hears it, soon, and by
 * name, and no window of others stays in use. Ranks are processes. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/denied.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { BYTES = 64 << 20, SOURCE = 1, SECONDS = 100, GIVE_UP_S = 30 };

static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};

/* Rank 1 may be killed. */
static void run(uint32_t nranks, ranks_work_t work, void *arg)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        const char *const settings[] = {nets[i], "boot.unresponsive=2s"};
        ranks_job_t job = {
            .nranks = nranks, .settings = settings, .settings_count = 2, .work = work, .arg = arg};
        assert_int_equal(ranks_run_processes(&job, SECONDS, SOURCE), 0);
    }
}

static bool failed_with(weft_comm_t *comm, weft_status_t status)
{
    weft_error_t error = {.size = sizeof error};
    return weft_comm_error(comm, &error) == WEFT_OK && error.status == status &&
           error.peer == SOURCE;
}

/* Rank 1 is the target of one, and another waits for its signals. */
static int die_in_the_middle(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint8_t *memory = calloc(1, BYTES);
    weft_window_t *window = NULL;
    weft_status_t status = WEFT_OK;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_window_register_local(comm, memory, BYTES, &window) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    if (rank == SOURCE) {
        (void)weft_put_signal(memory, BYTES, WEFT_UINT8, 2, window, 0, comm, NULL);
        raise(SIGKILL);
    }
    while (rank == 0 && status == WEFT_OK) {
        status = weft_put_signal(memory, BYTES, WEFT_UINT8, SOURCE, window, 0, comm, NULL);
    }
    if (rank == 2) {
        status = weft_wait_signal(SOURCE, 1, comm, NULL);
        NEED(status == WEFT_OK || status == WEFT_ERR_PEER_DEAD);
        status = weft_wait_signal(SOURCE, 1, comm, NULL);
    }
    NEED(status == WEFT_ERR_PEER_DEAD && failed_with(comm, WEFT_ERR_PEER_DEAD));
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    free(memory);
    return wrong;
}

static void who_dies_is_named_to_those_who_put_and_wait(void **state)
{
    (void)state;
    run(3, die_in_the_middle, NULL);
}

/* Rank 1 puts one number after the other all over the window, until it is killed. */
static void put_for_ever(weft_comm_t *comm, uint8_t *memory, weft_window_t *window)
{
    weft_status_t status = WEFT_OK;
    for (uint8_t number = 1; status == WEFT_OK && number < 255; number++) {
        memset(memory, number, BYTES);
        status = weft_put_signal(memory, BYTES, WEFT_UINT8, 0, window, 0, comm, NULL);
    }
    pause();
}

static uint8_t byte_at(const uint8_t *at)
{
    return atomic_load_explicit((const _Atomic uint8_t *)at, memory_order_acquire);
}

/* Stops rank 1 when a put has begun to arrive and has not ended. The progress thread takes its
 * bytes. */
static bool stop_in_the_middle(weft_comm_t *comm, const uint8_t *memory, pid_t source)
{
    const time_t until = time(NULL) + GIVE_UP_S;
    for (uint8_t number = 1; number < 255; number++) {
        while (byte_at(memory) != number && time(NULL) < until) {
            usleep(100);
        }
        kill(source, SIGSTOP);
        usleep(200000);
        if (byte_at(memory) == number && byte_at(memory + BYTES - 1) != number) {
            return true;
        }
        kill(source, SIGCONT);
        if (weft_wait_signal(SOURCE, 1, comm, NULL) != WEFT_OK) {
            return false;
        }
    }
    return false;
}

/* A stopped process hears no alarm. */
static void *kill_later(void *arg)
{
    sleep(GIVE_UP_S);
    kill(*(const pid_t *)arg, SIGKILL);
    return NULL;
}

static int end_a_window_of_a_stopped_rank(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint8_t *memory = calloc(1, BYTES);
    weft_window_t *window = NULL;
    pid_t source = getpid();
    pthread_t thread;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_window_register_local(comm, memory, BYTES, &window) == WEFT_OK);
    NEED(weft_broadcast(&source, &source, sizeof source, WEFT_UINT8, SOURCE, comm, NULL) ==
         WEFT_OK);
    if (rank == SOURCE) {
        put_for_ever(comm, memory, window);
        return 1;
    }
    NEED(pthread_create(&thread, NULL, kill_later, &source) == 0);
    NEED(stop_in_the_middle(comm, memory, source));
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    NEED(failed_with(comm, WEFT_ERR_PEER_UNRESPONSIVE));
    kill(source, SIGKILL);
    free(memory);
    return wrong;
}

static void a_window_does_not_wait_for_a_stopped_rank(void **state)
{
    (void)state;
    run(2, end_a_window_of_a_stopped_rank, NULL);
}

/* Rank 0 puts what it has unmapped: over TCP the system says so. Checks of the core would read
 * it. */
static int put_what_is_no_memory(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    void *none = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *memory = calloc(1, BYTES);
    weft_error_t error = {.size = sizeof error};
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_window_register_local(comm, memory, BYTES, &window) == WEFT_OK);
    if (rank == 0) {
        NEED(weft_put_signal(none, BYTES, WEFT_UINT8, 1, window, 0, comm, NULL) == WEFT_ERR_SYSTEM);
        NEED(ranks_error_says(WEFT_ERR_SYSTEM, "the memory of a message"));
    } else {
        NEED(weft_wait_signal(0, 1, comm, NULL) == WEFT_ERR_SYSTEM);
        NEED(ranks_error_says(WEFT_ERR_SYSTEM, "rank 0 of host"));
    }
    NEED(weft_comm_error(comm, &error) == WEFT_OK && error.peer == (rank == 0 ? -1 : 0));
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    free(memory);
    munmap(none, BYTES);
    return wrong;
}

static void who_puts_what_is_no_memory_is_named(void **state)
{
    const char *const settings[] = {"core.net=net-socket", "core.check=no"};
    ranks_job_t job = {
        .nranks = 2, .settings = settings, .settings_count = 2, .work = put_what_is_no_memory};
    (void)state;
    assert_int_equal(ranks_run_processes(&job, SECONDS, -1), 0);
}

/* Rank 1 can start no thread, and so have no window, for which the others would wait. It ends its
 * process as soon as it knows, and the others shall hear why. */
static int lack_threads(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static uint8_t memory[64];
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    if (rank == SOURCE) {
        NEED(denied_call(SYS_clone, EAGAIN) && denied_call(SYS_clone3, EAGAIN));
    }
    NEED(weft_window_register(comm, memory, sizeof memory, &window) == WEFT_ERR_RESOURCE);
    NEED(ranks_error_says(WEFT_ERR_RESOURCE, "cannot start thread weft-progress"));
    if (rank == SOURCE) {
        fflush(stderr);
        _exit(wrong);
    }
    NEED(window == NULL && failed_with(comm, WEFT_ERR_RESOURCE));
    return wrong;
}

static void who_can_have_no_window_is_named(void **state)
{
    (void)state;
    run(3, lack_threads, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_dies_is_named_to_those_who_put_and_wait),
        cmocka_unit_test(a_window_does_not_wait_for_a_stopped_rank),
        cmocka_unit_test(who_puts_what_is_no_memory_is_named),
        cmocka_unit_test(who_can_have_no_window_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
