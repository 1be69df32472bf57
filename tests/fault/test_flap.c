/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network that is away for longer than control connections live, and less than boot.unresponsive,
 * while ranks join and later: nobody is declared dead, and all go on soon after it is back. Exit
 * code 77: this machine has no namespaces. */
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "core/os/os.h"
#include "tests/support/sandbox.h"

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

/* The control connections break after 3 s, and are sought for 2 s at first. TCP left to itself
 * sends again 6.2 s and 12.6 s after the cable was pulled. */
enum { HOSTS = 2, AWAY_MS = 7000, JOIN_AWAY_MS = 5000, BACK_MS = 4000, EXIT_SKIPPED = 77 };

typedef struct board {
    _Atomic uint32_t apart[HOSTS], wired, named, joining, pulled, joined, rounds, stop;
    weft_unique_id_t id;
} board_t;

static const char *const settings[] = {"core.net=net-socket", "boot.interface==eth0",
                                       "boot.unresponsive=30s"};

/* Rank 0, where the root is, comes when nothing reaches rank 1 any more. */
static weft_status_t join(board_t *board, uint32_t rank, weft_comm_t **comm_p)
{
    const weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = settings, .settings_count = 3};
    weft_status_t status = WEFT_OK;
    if (rank == 0) {
        status = weft_unique_id_create(&board->id, &options);
        atomic_store(&board->named, 1);
    }
    if (!hosts_await(rank == 0 ? &board->pulled : &board->named, 1)) {
        status = WEFT_ERR_TIMEOUT;
    }
    atomic_fetch_add(&board->joining, rank == 1);
    status =
        status == WEFT_OK ? weft_comm_init_rank(comm_p, HOSTS, &board->id, rank, &options) : status;
    atomic_fetch_add(&board->joined, status == WEFT_OK);
    return status;
}

static weft_status_t work(board_t *board, uint32_t rank, weft_comm_t *comm)
{
    weft_status_t status = WEFT_OK;
    uint32_t stop = 0;
    while (status == WEFT_OK && stop == 0) {
        const uint32_t mine = atomic_load(&board->stop);
        status = weft_all_reduce(&mine, &stop, 1, WEFT_UINT32, WEFT_MAX, comm, NULL);
        atomic_fetch_add(&board->rounds, status == WEFT_OK && rank == 0);
    }
    return status;
}

static int rank_main(board_t *board, uint32_t rank)
{
    weft_comm_t *comm = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNET) != 0) {
        return 1;
    }
    atomic_store(&board->apart[rank], 1);
    weft_status_t status =
        hosts_await(&board->wired, 1) ? join(board, rank, &comm) : WEFT_ERR_TIMEOUT;
    status = status == WEFT_OK ? work(board, rank, comm) : status;
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        weft_last_error(&error);
        fprintf(stderr, "rank %u: %s: %s\n", rank, weft_status_name(status), error.text);
        return 1;
    }
    return weft_comm_destroy(comm) != WEFT_OK;
}

static bool wire(board_t *board, const pid_t *pids)
{
    for (uint32_t r = 0; r < HOSTS; r++) {
        if (!hosts_await(&board->apart[r], 1) || !hosts_connect(r, HOSTS, pids[r])) {
            return false;
        }
    }
    atomic_store(&board->wired, 1);
    return true;
}

static bool can_limit_waits(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ms = 1000;
    const bool can = setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &ms, sizeof ms) == 0;
    close(fd);
    if (!can) {
        printf("SKIPPED: how soon calls go on: this system has no TCP_RTO_MAX_MS (Linux 6.15)\n");
    }
    return can;
}

/* Pulls a cable and plugs it in again. Returns how many ms later the number was reached; < 0: it
 * was not. */
static double away(board_t *board, unsigned ms, const _Atomic uint32_t *number, uint32_t more)
{
    host_plug(1, false);
    atomic_store(&board->pulled, 1);
    usleep(ms * 1000);
    host_plug(1, true);
    const uint64_t back = weft_os_clock_ns();
    const bool on = hosts_await(number, atomic_load(number) + more);
    const double took_ms = (double)(weft_os_clock_ns() - back) / 1e6;
    printf("away for %u ms, back after %.0f ms more\n", ms, took_ms);
    return on ? took_ms : -1;
}

static bool flap_in_the_join(board_t *board)
{
    if (!hosts_await(&board->joining, 1)) {
        return false;
    }
    usleep(500 * 1000); /* it is known to the root, and waits for rank 0 */
    const double took_ms = away(board, JOIN_AWAY_MS, &board->joined, HOSTS);
    return took_ms >= 0 && took_ms < (double)BACK_MS;
}

static bool flap(board_t *board)
{
    if (!hosts_await(&board->rounds, 100)) {
        return false;
    }
    const double took_ms = away(board, AWAY_MS, &board->rounds, 1);
    return took_ms >= 0 && (took_ms < (double)BACK_MS || !can_limit_waits());
}

static bool all_well(const pid_t *pids)
{
    bool well = true;
    for (uint32_t r = 0; r < HOSTS; r++) {
        int status = 0;
        well = waitpid(pids[r], &status, 0) == pids[r] && status == 0 && well;
    }
    return well;
}

int main(void)
{
    pid_t pids[HOSTS] = {0};
    const char *why = sandbox_enter();
    why = why == NULL && !hosts_begin() ? "no virtual networks: they need ip and namespaces" : why;
    if (why != NULL) {
        printf("SKIPPED: %s\n", why);
        return EXIT_SKIPPED;
    }
    board_t *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (uint32_t r = 0; board != MAP_FAILED && r < HOSTS; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            _exit(rank_main(board, r));
        }
    }
    bool well = board != MAP_FAILED && wire(board, pids) && flap_in_the_join(board) && flap(board);
    if (board != MAP_FAILED) {
        atomic_store(&board->stop, 1);
    }
    return !(all_well(pids) && well);
}
