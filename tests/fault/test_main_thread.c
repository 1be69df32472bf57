/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs whose main thread ends before their ranks do, by pthread_exit(). The kernel then shows
 * little of such a process under its number. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { RANKS = 3, COUNT = 1 << 17, PATIENCE_S = 40 };

typedef struct board {
    weft_unique_id_t id;
    _Atomic int ready;
} board_t;

static board_t *board;
static uint32_t self;

static weft_status_t come(weft_comm_t **comm_p)
{
    const char *settings[] = {"core.net=net-shm", "boot.init_timeout=20"};
    const weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = settings, .settings_count = 2};
    weft_status_t status = WEFT_OK;
    if (self == 0) {
        status = weft_unique_id_create(&board->id, &options);
        atomic_store(&board->ready, 1);
    }
    while (atomic_load(&board->ready) == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    return status == WEFT_OK ? weft_comm_init_rank(comm_p, RANKS, &board->id, self, &options)
                             : status;
}

static int add(weft_comm_t *comm, void *memory)
{
    int wrong = 0;
    const uint32_t rank = self;
    uint32_t *value = memory;
    for (uint32_t i = 0; i < COUNT; i++) {
        value[i] = rank + i;
    }
    NEED(weft_all_reduce(value, value, COUNT, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    for (uint32_t i = 0; i < COUNT && wrong == 0; i++) {
        NEED(value[i] == RANKS * i + RANKS * (RANKS - 1) / 2);
    }
    return wrong;
}

static int live(void)
{
    int wrong = 0;
    const uint32_t rank = self;
    static uint32_t plain[COUNT];
    void *shared = NULL;
    weft_comm_t *comm = NULL, *copy = NULL;
    NEED(come(&comm) == WEFT_OK);
    if (wrong > 0) {
        return wrong;
    }
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    NEED(weft_mem_alloc(NULL, sizeof plain, &shared) == WEFT_OK);
    wrong += add(comm, plain) + add(copy, shared);
    NEED(weft_mem_free(NULL, shared) == WEFT_OK);
    NEED(weft_comm_destroy(comm) == WEFT_OK && weft_comm_destroy(copy) == WEFT_OK);
    return wrong;
}

static void *live_alone(void *arg)
{
    struct stat facts;
    alarm(PATIENCE_S);
    while (stat("/proc/self/ns/net", &facts) == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    _exit(live() != 0);
    return arg;
}

static pid_t start_rank(uint32_t rank)
{
    pthread_t thread;
    pid_t child = fork();
    if (child == 0) {
        self = rank;
        if (pthread_create(&thread, NULL, live_alone, NULL) != 0) {
            _exit(2);
        }
        pthread_exit(NULL);
    }
    return child;
}

static void ranks_share_memory_without_their_main_threads(void **state)
{
    (void)state;
    pid_t pids[RANKS];
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(board, MAP_FAILED);
    for (uint32_t r = 0; r < RANKS; r++) {
        pids[r] = start_rank(r);
        assert_true(pids[r] > 0);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        int status = -1;
        assert_int_equal(waitpid(pids[r], &status, 0), pids[r]);
        assert_int_equal(status, 0);
    }
    munmap(board, sizeof *board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_share_memory_without_their_main_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
