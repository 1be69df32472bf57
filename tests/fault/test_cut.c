/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections that are cut while all ranks live: an error that names a rank, on every rank, and
 * soon. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/ranks.h"
#include "tests/support/unit.h"

enum { DESCRIPTORS = 1024, ELEMENTS = 20000, CUTTER = 1, STOPPED = 2 };

typedef struct cut {
    unsigned after_us;
    uint32_t which; /* of the connections that the first operation made */
    int fd, other;  /* other: −1, or one that is cut as well */
} cut_t;

/* Descriptors come again when they were closed, inodes do not. */
typedef struct socket_id {
    int fd;
    ino_t inode;
} socket_id_t;

static bool is_tcp(int fd, socket_id_t *id)
{
    struct sockaddr_storage peer;
    struct stat of;
    socklen_t bytes = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &bytes) != 0 || fstat(fd, &of) != 0) {
        return false;
    }
    *id = (socket_id_t){fd, of.st_ino};
    return peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
}

/* TCP connections, but for those in `known`. */
static uint32_t list_sockets(socket_id_t ids[DESCRIPTORS], const socket_id_t *known,
                             uint32_t nknown)
{
    uint32_t count = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        bool old = !is_tcp(fd, &ids[count]);
        for (uint32_t i = 0; i < nknown && !old; i++) {
            old = known[i].inode == ids[count].inode;
        }
        count += !old;
    }
    return count;
}

static void *cut_later(void *arg)
{
    const cut_t *cut = arg;
    usleep(cut->after_us);
    shutdown(cut->fd, SHUT_RDWR);
    if (cut->other >= 0) {
        shutdown(cut->other, SHUT_RDWR);
    }
    return NULL;
}

static int check_cut(weft_comm_t *comm, uint32_t rank, weft_status_t status, double took)
{
    weft_error_t error = {.size = sizeof error};
    weft_comm_error(comm, &error);
    fprintf(stderr, "rank %u: %s, peer %d, after %.0f ms: %s\n", rank, weft_status_name(status),
            error.peer, took * 1e3, error.text);
    bool named = status == WEFT_ERR_LINK || status == WEFT_ERR_PEER_DEAD;
    /* All ranks hear the text: who lost the connection to whom. */
    char to[64];
    snprintf(to, sizeof to, " to rank %d over net-socket: ", (int)error.peer);
    named = named && (status != WEFT_ERR_LINK || strstr(error.text, to) != NULL);
    return !named || error.peer < 0 || took > 6;
}

static int be_cut(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    cut_t *cut = arg;
    static float in[ELEMENTS], out[ELEMENTS];
    socket_id_t before[DESCRIPTORS], links[DESCRIPTORS];
    pthread_t thread;
    (void)n;
    uint32_t nbefore = list_sockets(before, NULL, 0);
    weft_status_t status = weft_all_reduce(in, out, ELEMENTS, WEFT_FP32, WEFT_SUM, comm, NULL);
    uint32_t nlinks = list_sockets(links, before, nbefore);
    cut->fd = nlinks > 0 ? links[cut->which % nlinks].fd : -1;
    if (status != WEFT_OK || cut->fd < 0 ||
        (rank == CUTTER && pthread_create(&thread, NULL, cut_later, cut) != 0)) {
        fprintf(stderr, "rank %u has no connection to cut\n", rank);
        return 1;
    }
    double last = ranks_now();
    for (int i = 0; status == WEFT_OK; i++) {
        last = ranks_now();
        status = weft_all_reduce(in, out, i % 2 ? 2 : ELEMENTS, WEFT_FP32, WEFT_SUM, comm, NULL);
    }
    double took = ranks_now() - last;
    if (rank == CUTTER) {
        pthread_join(thread, NULL);
    }
    return check_cut(comm, rank, status, took);
}

static void a_connection_that_is_cut_is_named(void **state)
{
    static const char *const algos[] = {"core.algo=algo-ring", "core.algo=algo-tree",
                                        "core.algo=algo-direct algo-flat"};
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        const char *settings[] = {"core.net=net-socket", algos[i % 3]};
        cut_t cut = {.after_us = 1000 + i * 7919u % 40000, .which = i / 3, .fd = -1, .other = -1};
        ranks_job_t job = {
            .nranks = 4, .settings = settings, .settings_count = 2, .work = be_cut, .arg = &cut};
        assert_int_equal(ranks_run_processes(&job, 30, -1), 0);
    }
}

/* Until the failure is heard of, in no call: the link is for the other rank to miss. */
static weft_status_t hear_of_failure(weft_comm_t *comm)
{
    weft_error_t error = {.size = sizeof error};
    double begun = ranks_now();
    while (weft_comm_error(comm, &error) == WEFT_OK && error.status == WEFT_OK &&
           ranks_now() - begun < 10) {
        usleep(1000);
    }
    return error.status;
}

/* One message connects the two; the next one is waited for from any rank. */
static int be_cut_in_any(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    cut_t *cut = arg;
    socket_id_t before[DESCRIPTORS], links[DESCRIPTORS];
    const weft_call_t call = {.size = sizeof call, .timeout = 10};
    uint32_t value = 0;
    pthread_t thread;
    (void)n;
    uint32_t nbefore = list_sockets(before, NULL, 0);
    weft_status_t status = rank != CUTTER
                               ? weft_send(&value, 1, WEFT_UINT32, CUTTER, comm, &call)
                               : weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, &call);
    uint32_t nlinks = list_sockets(links, before, nbefore);
    if (status != WEFT_OK || nlinks == 0) {
        fprintf(stderr, "rank %u has no connection to cut\n", rank);
        return 1;
    }
    double begun = ranks_now();
    if (rank != CUTTER) {
        status = hear_of_failure(comm);
        return check_cut(comm, rank, status, ranks_now() - begun);
    }
    cut->fd = links[0].fd; /* a stream for each direction */
    cut->other = links[nlinks - 1].fd;
    if (pthread_create(&thread, NULL, cut_later, cut) != 0) {
        return 1;
    }
    status = weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, &call);
    double took = ranks_now() - begun;
    pthread_join(thread, NULL);
    return check_cut(comm, rank, status, took);
}

/* What its peer sent over it, and takes for received, never comes. */
static void who_receives_from_any_rank_misses_a_link_too(void **state)
{
    const char *settings[] = {"core.net=net-socket"};
    cut_t cut = {.after_us = 50000, .fd = -1, .other = -1};
    ranks_job_t job = {
        .nranks = 2, .settings = settings, .settings_count = 1, .work = be_cut_in_any, .arg = &cut};
    (void)state;
    assert_int_equal(ranks_run_processes(&job, 30, -1), 0);
}

/* Has every listener of this process listen elsewhere: who connects to it is refused. */
static bool listen_elsewhere(void)
{
    bool all = true;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        int listens = 0, domain = 0;
        socklen_t bytes = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0 ||
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0) {
            continue;
        }
        int other = socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        all = all && other >= 0 && listen(other, 1) == 0 && dup2(other, fd) == fd;
        close(other);
    }
    return all;
}

/* The cutter puts into rank 0, which alone can connect the two, and cannot. `arg`: rank 0 waits for
 * the signal; else it is in no call. */
static int be_refused(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const bool *waits = arg;
    const weft_call_t call = {.size = sizeof call, .timeout = 10};
    uint64_t number = 0;
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)n;
    NEED(weft_window_register_local(comm, &number, sizeof number, &window) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK); /* is connected */
    NEED(rank != CUTTER || listen_elsewhere());
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    double begun = ranks_now();
    weft_status_t status = rank == CUTTER
                               ? weft_put_signal(&number, 1, WEFT_UINT64, 0, window, 0, comm, &call)
                           : *waits ? weft_wait_signal(CUTTER, 1, comm, &call)
                                    : hear_of_failure(comm);
    wrong += check_cut(comm, rank, status, ranks_now() - begun);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    return wrong;
}

static void who_puts_and_cannot_be_reached_is_named(void **state)
{
    const char *settings[] = {"core.net=net-socket"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool waits = i == 0;
        ranks_job_t job = {.nranks = 2,
                           .settings = settings,
                           .settings_count = 1,
                           .work = be_refused,
                           .arg = &waits};
        assert_int_equal(ranks_run_processes(&job, 30, -1), 0);
    }
}

static bool is_stopped(int pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    const char *end =
        file != NULL && fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    if (file != NULL) {
        fclose(file);
    }
    return end != NULL && end[2] == 'T';
}

/* Cuts what connects it to rank 2, which is stopped by then, and receives from that. */
static weft_status_t receive_from_stopped(weft_comm_t *comm, const _Atomic int *stopped)
{
    static socket_id_t before[DESCRIPTORS], links[DESCRIPTORS];
    uint32_t value = 0, nbefore = list_sockets(before, NULL, 0);
    weft_status_t status = weft_send(&value, 1, WEFT_UINT32, STOPPED, comm, NULL);
    uint32_t nlinks = list_sockets(links, before, nbefore);
    while (status == WEFT_OK && !is_stopped(atomic_load(stopped))) {
        usleep(1000);
    }
    for (uint32_t i = 0; i < nlinks; i++) {
        shutdown(links[i].fd, SHUT_RDWR);
    }
    return status == WEFT_OK ? weft_recv(&value, 1, WEFT_UINT32, STOPPED, comm, NULL) : status;
}

static int be_stopped(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    _Atomic int *stopped = arg;
    uint32_t value = 0;
    int wrong = 0;
    (void)n;
    if (rank == STOPPED) {
        NEED(weft_recv(&value, 1, WEFT_UINT32, CUTTER, comm, NULL) == WEFT_OK);
        atomic_store(stopped, getpid());
        raise(SIGSTOP);
        return wrong;
    }
    const weft_status_t status =
        rank == CUTTER ? receive_from_stopped(comm, stopped) : hear_of_failure(comm);
    weft_error_t error = {.size = sizeof error};
    weft_comm_error(comm, &error);
    fprintf(stderr, "rank %u: %s, peer %d: %s\n", rank, weft_status_name(status), error.peer,
            error.text);
    NEED(status == WEFT_ERR_PEER_UNRESPONSIVE && error.peer == STOPPED);
    NEED(strstr(error.text, " is connected but has not answered for 3.0 s") != NULL);
    kill(atomic_load(stopped), SIGCONT);
    return wrong;
}

/* Its kernel takes what is sent to it, and nobody says that it has ended. */
static void a_rank_that_is_stopped_behind_a_broken_link_is_named(void **state)
{
    const char *settings[] = {"core.net=net-socket", "boot.unresponsive=3s"};
    (void)state;
    _Atomic int *stopped =
        mmap(NULL, sizeof *stopped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(stopped != MAP_FAILED);
    ranks_job_t job = {
        .nranks = 3, .settings = settings, .settings_count = 2, .work = be_stopped, .arg = stopped};
    assert_int_equal(ranks_run_processes(&job, 30, -1), 0);
    munmap(stopped, sizeof *stopped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_that_is_cut_is_named),
        cmocka_unit_test(who_receives_from_any_rank_misses_a_link_too),
        cmocka_unit_test(a_rank_that_is_stopped_behind_a_broken_link_is_named),
        cmocka_unit_test(who_puts_and_cannot_be_reached_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
