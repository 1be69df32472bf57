/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Growing: who comes, who does not, who dies meanwhile, and what is refused. The newcomers are
 * ranks of a larger communicator, over which they get their tickets; it has nothing else to do with
 * it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { MOST = 8 };

static const char *const shm[] = {"core.net=net-shm"};
static const char *const tcp[] = {"core.net=net-socket"};
static const char *const patient[] = {"core.net=net-shm", "boot.init_timeout=30"};
static const char *const soon[] = {"core.net=net-shm", RANKS_SOON};

static weft_comm_options_t options_of(const char *const *settings, uint32_t count)
{
    return (weft_comm_options_t){.size = sizeof(weft_comm_options_t),
                                 .config = "/dev/null",
                                 .settings = (const char *const *)settings,
                                 .settings_count = count};
}

static int run_processes(uint32_t nranks, ranks_work_t work, const char *const *settings,
                         uint32_t count, int killed)
{
    return ranks_run_processes(
        &(ranks_job_t){
            .nranks = nranks, .settings = settings, .settings_count = count, .work = work},
        120, killed);
}

static void run_with(uint32_t nranks, ranks_work_t work, const char *const *settings,
                     uint32_t count)
{
    const ranks_job_t job = {
        .nranks = nranks, .settings = settings, .settings_count = count, .work = work};
    assert_int_equal(ranks_run_both(&job), 0);
}

/* Every rank gives a bit of its own number, so who has which number counts as well. */
static int numbers_are_right(weft_comm_t *comm, uint32_t rank, uint32_t nranks)
{
    uint32_t mine = UINT32_MAX, size = 0, sum = 0;
    int wrong = 0;
    NEED(weft_comm_rank(comm, &mine) == WEFT_OK && mine == rank);
    NEED(weft_comm_size(comm, &size) == WEFT_OK && size == nranks);
    uint32_t bit = 1u << mine % 32;
    NEED(weft_all_reduce(&bit, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(sum == (1u << nranks) - 1);
    return wrong == 0;
}

static bool is_called(weft_comm_t *comm, const char *wanted)
{
    char name[WEFT_COMM_NAME_BYTES] = "";
    return weft_comm_name(comm, name, sizeof name) == WEFT_OK && strcmp(name, wanted) == 0;
}

static int tell(weft_comm_t *all, weft_ticket_t *tickets, uint32_t count)
{
    return weft_broadcast(tickets, tickets, count * sizeof *tickets, WEFT_UINT8, 0, all, NULL) ==
           WEFT_OK;
}

/* The first `members` of `all` make a communicator of their own. */
static weft_comm_t *members_of(weft_comm_t *all, uint32_t rank, uint32_t members)
{
    weft_comm_t *comm = NULL;
    return weft_comm_split(all, rank < members ? 0 : WEFT_COLOR_NONE, 0, &comm) == WEFT_OK ? comm
                                                                                           : NULL;
}

/* Two newcomers come to n − 2 members, behind them. What was there before goes on, and may end
 * first. */
static int come_behind(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_ticket_t tickets[2];
    weft_comm_t *comm = members_of(all, rank, n - 2), *grown = NULL;
    weft_comm_options_t options = options_of(arg != NULL ? arg : shm, 1);
    int wrong = 0;
    if (rank == 0) {
        NEED(weft_comm_ticket(comm, NULL, 2, tickets) == WEFT_OK);
    }
    NEED(tell(all, tickets, 2));
    if (comm != NULL) {
        NEED(weft_comm_grow(comm, rank == 0 ? tickets : NULL, rank == 0 ? 2 : 0, &grown) ==
             WEFT_OK);
        NEED(numbers_are_right(comm, rank, n - 2));
        NEED(numbers_are_right(grown, rank, n));
        NEED(weft_comm_destroy(comm) == WEFT_OK);
    } else {
        NEED(weft_comm_join(&grown, &tickets[rank - (n - 2)], &options) == WEFT_OK);
        NEED(numbers_are_right(grown, rank, n));
    }
    NEED(is_called(grown, rank < n - 2 ? "world/split1:0/grown" : "world"));
    NEED(numbers_are_right(grown, rank, n));
    NEED(weft_comm_destroy(grown) == WEFT_OK);
    return wrong;
}

static void newcomers_come_behind_the_members(void **state)
{
    (void)state;
    run_with(5, come_behind, shm, 1);
    assert_int_equal(ranks_run_threads(&(ranks_job_t){.nranks = 4,
                                                      .settings = tcp,
                                                      .settings_count = 1,
                                                      .work = come_behind,
                                                      .arg = (void *)(uintptr_t)tcp}),
                     0);
}

static void one_rank_grows(void **state)
{
    (void)state;
    run_with(3, come_behind, shm, 1);
}

/* Newcomers with the numbers 0 and 2 come to two members, which are 1 and 3 then; and the grown one
 * grows again. */
static int come_between(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t numbers[2] = {2, 0}, place[4] = {1, 3, 2, 0};
    weft_ticket_t tickets[2], last;
    weft_comm_t *comm = members_of(all, rank, 2), *grown = NULL, *more = NULL;
    weft_comm_options_t options = options_of(shm, 1);
    int wrong = 0;
    (void)arg;
    if (rank == 1) {
        NEED(weft_comm_ticket(comm, numbers, 2, tickets) == WEFT_OK);
    }
    NEED(weft_broadcast(tickets, tickets, sizeof tickets, WEFT_UINT8, 1, all, NULL) == WEFT_OK);
    if (rank < 2) {
        NEED(weft_comm_grow(comm, rank == 1 ? tickets : NULL, rank == 1 ? 2 : 0, &grown) ==
             WEFT_OK);
    } else if (rank < 4) {
        NEED(weft_comm_join(&grown, &tickets[rank - 2], &options) == WEFT_OK);
    }
    if (rank < 4) {
        NEED(numbers_are_right(grown, place[rank], 4));
    }
    if (rank == 0) {
        NEED(weft_comm_ticket(grown, NULL, 1, &last) == WEFT_OK);
    }
    NEED(tell(all, &last, 1));
    if (rank < 4) {
        NEED(weft_comm_grow(grown, rank == 0 ? &last : NULL, rank == 0, &more) == WEFT_OK);
        NEED(numbers_are_right(more, place[rank], n));
    } else {
        NEED(weft_comm_join(&more, &last, &options) == WEFT_OK);
        NEED(numbers_are_right(more, 4, n));
    }
    NEED(weft_comm_destroy(grown) == WEFT_OK && weft_comm_destroy(comm) == WEFT_OK);
    NEED(weft_comm_destroy(more) == WEFT_OK);
    return wrong;
}

static void newcomers_get_the_numbers_of_their_tickets(void **state)
{
    (void)state;
    run_with(5, come_between, shm, 1);
}

/* Rank 2 dies, rank 4 takes its place: the others have their numbers again. */
static int replace(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t dead = 2;
    weft_ticket_t ticket;
    weft_comm_t *comm = members_of(all, rank, n - 1), *fewer = NULL, *grown = NULL;
    weft_comm_t *last = NULL; /* over which the ticket goes */
    weft_comm_options_t options = options_of(shm, 1);
    int wrong = 0;
    (void)arg;
    struct pollfd entry = {.fd = -1, .events = POLLIN};
    uint64_t bits = 1;
    if (rank < n - 1) {
        NEED(weft_comm_error_fd(comm, &entry.fd) == WEFT_OK && poll(&entry, 1, 0) == 0);
    }
    /* All have looked. Agreeing goes through the death that follows. */
    NEED(weft_comm_agree(all, &bits) == WEFT_OK);
    if (rank == dead) {
        kill(getpid(), SIGKILL);
    }
    if (rank < n - 1) {
        NEED(poll(&entry, 1, 20000) == 1); /* told without a call */
        NEED(weft_barrier(comm, NULL) == WEFT_ERR_PEER_DEAD);
        NEED(weft_comm_grow(comm, NULL, 0, &grown) == WEFT_ERR_PEER_DEAD && grown == NULL);
        NEED(weft_comm_shrink(comm, NULL, 0, &fewer) == WEFT_OK);
        NEED(weft_comm_destroy(comm) == WEFT_OK);
    }
    NEED(weft_comm_shrink(all, NULL, 0, &last) == WEFT_OK);
    if (rank == 0) {
        NEED(weft_comm_ticket(fewer, &dead, 1, &ticket) == WEFT_OK);
    }
    NEED(tell(last, &ticket, 1));
    if (rank == n - 1) {
        NEED(weft_comm_join(&grown, &ticket, &options) == WEFT_OK);
    } else {
        NEED(weft_comm_grow(fewer, rank == 0 ? &ticket : NULL, rank == 0, &grown) == WEFT_OK);
    }
    NEED(numbers_are_right(grown, rank == n - 1 ? dead : rank, n - 1));
    NEED(weft_comm_destroy(fewer) == WEFT_OK && weft_comm_destroy(grown) == WEFT_OK);
    NEED(weft_comm_destroy(last) == WEFT_OK);
    return wrong;
}

static void a_dead_rank_is_replaced_under_its_number(void **state)
{
    (void)state;
    assert_int_equal(run_processes(5, replace, shm, 1, 2), 0);
}

/* Of two newcomers one stays away. */
static int stay_away(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_ticket_t tickets[2];
    weft_comm_t *comm = members_of(all, rank, n - 2), *grown = NULL;
    weft_comm_options_t options = options_of(soon, 2);
    int wrong = 0;
    (void)arg;
    if (rank == 0) {
        NEED(weft_comm_ticket(comm, NULL, 2, tickets) == WEFT_OK);
    }
    NEED(tell(all, tickets, 2));
    if (comm != NULL) {
        NEED(weft_comm_grow(comm, rank == 0 ? tickets : NULL, rank == 0 ? 2 : 0, &grown) ==
             WEFT_ERR_TIMEOUT);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "1 of 4 ranks did not join"));
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "rank 3"));
        NEED(numbers_are_right(comm, rank, n - 2));
        NEED(weft_comm_destroy(comm) == WEFT_OK);
    } else if (rank == n - 2) {
        NEED(weft_comm_join(&grown, &tickets[0], &options) == WEFT_ERR_TIMEOUT);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "rank 3"));
    }
    NEED(grown == NULL);
    NEED(weft_barrier(all, NULL) == WEFT_OK);
    if (rank == n - 1) {
        NEED(weft_comm_join(&grown, &tickets[1], &options) == WEFT_ERR_STATE);
        NEED(ranks_error_says(WEFT_ERR_STATE, "stale"));
    }
    NEED(weft_barrier(all, NULL) == WEFT_OK);
    return wrong;
}

static void who_does_not_come_is_named(void **state)
{
    (void)state;
    run_with(4, stay_away, soon, 2);
}

/* No descriptor can be opened any more. */
static bool use_up_descriptors(void)
{
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct rlimit limit = {.rlim_cur = (rlim_t)next, .rlim_max = (rlim_t)next};
    return next >= 0 && close(next) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool error_names(int32_t rank, int32_t pid)
{
    weft_error_t error = {.size = sizeof error};
    return weft_last_error(&error) == WEFT_OK && error.peer == rank && error.peer_pid == pid &&
           (error.peer_host[0] != '\0') == (pid >= 0);
}

/* Member 1 cannot even begin to join. The root knows its number only, and so does the newcomer. */
static int cannot_begin(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_ticket_t ticket;
    weft_comm_t *comm = members_of(all, rank, n - 1), *grown = NULL;
    weft_comm_options_t options = options_of(soon, 2);
    int32_t pid = getpid(), pids[MOST];
    int wrong = 0;
    (void)arg;
    if (rank == 0) {
        NEED(weft_comm_ticket(comm, NULL, 1, &ticket) == WEFT_OK);
    }
    NEED(tell(all, &ticket, 1));
    NEED(weft_all_gather(&pid, pids, 1, WEFT_INT32, all, NULL) == WEFT_OK);
    NEED(comm == NULL || weft_barrier(comm, NULL) == WEFT_OK);
    NEED(rank != 1 || use_up_descriptors());
    if (rank == 1) {
        NEED(weft_comm_grow(comm, NULL, 0, &grown) != WEFT_OK);
    } else if (comm != NULL) {
        NEED(weft_comm_grow(comm, rank == 0 ? &ticket : NULL, rank == 0, &grown) ==
             WEFT_ERR_TIMEOUT);
        NEED(error_names(1, pids[1]));
    } else {
        NEED(weft_comm_join(&grown, &ticket, &options) == WEFT_ERR_TIMEOUT);
        NEED(error_names(1, -1));
    }
    NEED(grown == NULL);
    NEED(comm == NULL || weft_comm_destroy(comm) == WEFT_OK);
    NEED(weft_barrier(all, NULL) == WEFT_OK);
    return wrong;
}

static void the_other_members_know_who_cannot_begin(void **state)
{
    (void)state;
    assert_int_equal(run_processes(4, cannot_begin, soon, 2, -1), 0);
}

/* Member 1 does not call it. */
static int do_not_call(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_ticket_t ticket;
    weft_comm_t *comm = members_of(all, rank, n), *grown = NULL;
    weft_error_t error = {.size = sizeof error};
    int wrong = 0;
    (void)arg;
    if (rank == 0) {
        NEED(weft_comm_ticket(comm, NULL, 1, &ticket) == WEFT_OK);
    }
    if (rank != 1) {
        NEED(weft_comm_grow(comm, rank == 0 ? &ticket : NULL, rank == 0, &grown) ==
             WEFT_ERR_TIMEOUT);
        NEED(weft_comm_error(comm, &error) == WEFT_OK && error.peer == 1);
    }
    NEED(weft_barrier(all, NULL) == WEFT_OK);
    NEED(weft_comm_destroy(comm) == WEFT_OK);
    return wrong;
}

static void a_member_that_does_not_call_is_named(void **state)
{
    (void)state;
    run_with(3, do_not_call, soon, 2);
}

/* The call of a member or of the newcomer, which gets no communicator. Rank 0 of the members has
 * the ticket. */
static weft_status_t grow_or_join(weft_comm_t *comm, const weft_ticket_t *ticket,
                                  const weft_comm_options_t *options)
{
    weft_comm_t *grown = NULL;
    uint32_t rank = 0;
    weft_status_t status = WEFT_OK;
    if (comm == NULL) {
        status = weft_comm_join(&grown, ticket, options);
    } else {
        (void)weft_comm_rank(comm, &rank);
        status = weft_comm_grow(comm, rank == 0 ? ticket : NULL, rank == 0, &grown);
    }
    return grown == NULL ? status : WEFT_OK;
}

/* The communicator fails after the tickets were made: the newcomer, which takes the first number,
 * hears why, and who among the new ranks it was. */
static int fail_before(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t first = 0;
    weft_ticket_t ticket;
    weft_comm_t *comm = members_of(all, rank, n - 1);
    weft_comm_options_t options = options_of(patient, 2);
    weft_error_t error = {.size = sizeof error};
    int32_t pid = getpid(), pids[MOST];
    int wrong = 0;
    (void)arg;
    NEED(weft_all_gather(&pid, pids, 1, WEFT_INT32, all, NULL) == WEFT_OK);
    if (rank == 0) {
        NEED(weft_comm_ticket(comm, &first, 1, &ticket) == WEFT_OK);
    }
    NEED(tell(all, &ticket, 1));
    if (rank == 1) {
        NEED(weft_comm_revoke(comm) == WEFT_OK);
    }
    NEED(grow_or_join(comm, &ticket, &options) == WEFT_ERR_REVOKED);
    NEED(weft_last_error(&error) == WEFT_OK && error.peer_pid == pids[1]);
    NEED(error.peer == (comm == NULL ? 2 : 1));
    NEED(comm != NULL || ranks_error_says(WEFT_ERR_REVOKED, "of 2 ranks there, rank 1 is rank 2"));
    NEED(comm == NULL || weft_comm_destroy(comm) == WEFT_OK);
    NEED(weft_barrier(all, NULL) == WEFT_OK);
    return wrong;
}

static void a_newcomer_hears_that_the_communicator_failed_before(void **state)
{
    (void)state;
    run_with(3, fail_before, patient, 2);
}

#define REVOKE_S 0.5

static void revoke_soon(void *arg)
{
    weft_os_sleep_ns((uint64_t)(REVOKE_S * 1e9));
    (void)weft_comm_revoke(arg);
}

/* The communicator fails while all of its members are at the join, where a newcomer is missing:
 * those that wait hear why, although whoever failed it has come. */
static int fail_meanwhile(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    weft_ticket_t tickets[2];
    weft_os_thread_t *revoker = NULL;
    weft_comm_t *comm = members_of(all, rank, n - 2);
    weft_comm_options_t options = options_of(patient, 2);
    const uint32_t who = *(const uint32_t *)arg;
    int wrong = 0;
    if (rank == 0) {
        NEED(weft_comm_ticket(comm, NULL, 2, tickets) == WEFT_OK);
    }
    NEED(tell(all, tickets, 2));
    if (rank == who) {
        NEED(weft_os_thread_start("revoker", revoke_soon, comm, &revoker) == WEFT_OK);
    }
    if (comm != NULL) {
        weft_comm_t *grown = NULL;
        NEED(weft_comm_grow(comm, rank == 0 ? tickets : NULL, rank == 0 ? 2 : 0, &grown) ==
             WEFT_ERR_REVOKED);
    } else if (rank == n - 2) {
        NEED(grow_or_join(NULL, &tickets[0], &options) == WEFT_ERR_REVOKED);
        NEED(ranks_error_says(WEFT_ERR_REVOKED, "the communicator that was to grow failed"));
    }
    weft_os_thread_join(revoker);
    NEED(comm == NULL || weft_comm_destroy(comm) == WEFT_OK);
    NEED(weft_barrier(all, NULL) == WEFT_OK);
    return wrong;
}

static void a_newcomer_hears_that_the_communicator_fails_meanwhile(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 2; who++) {
        ranks_job_t job = {.nranks = 4,
                           .settings = patient,
                           .settings_count = 2,
                           .work = fail_meanwhile,
                           .arg = &who};
        assert_int_equal(ranks_run_both(&job), 0);
    }
}

/* Stops this process, for ever. A child ends it if nobody else does. */
static void stop(void)
{
    pid_t self = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int s = 0; s < 60 && getppid() == self; s++) {
            sleep(1);
        }
        if (getppid() != self) {
            _exit(0); /* its number may be another process's */
        }
        kill(self, SIGKILL);
        _exit(0);
    }
    raise(SIGSTOP);
}

/* Rank 0 has made the ticket and stops; rank 1 gives it, and can tell no newcomer of that. */
static int stop_maker(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    struct {
        weft_ticket_t ticket;
        pid_t pid;
    } told = {.pid = getpid()};
    weft_comm_t *grown = NULL;
    int wrong = 0;
    (void)n, (void)arg;
    NEED(rank != 0 || weft_comm_ticket(comm, NULL, 1, &told.ticket) == WEFT_OK);
    NEED(weft_broadcast(&told, &told, sizeof told, WEFT_UINT8, 0, comm, NULL) == WEFT_OK);
    if (rank == 0) {
        stop();
    }
    uint64_t late = weft_os_deadline(atoi(RANKS_SOON_S) + 3);
    NEED(weft_comm_grow(comm, &told.ticket, 1, &grown) == WEFT_ERR_PEER_UNRESPONSIVE);
    NEED(weft_os_clock_ns() < late && error_names(0, told.pid));
    kill(told.pid, SIGKILL);
    return wrong;
}

static void a_stopped_maker_of_tickets_is_not_waited_for(void **state)
{
    static const char *const settings[] = {"core.net=net-shm", RANKS_SOON, "boot.unresponsive=1"};
    (void)state;
    assert_int_equal(run_processes(2, stop_maker, settings, 3, 0), 0);
}

/* Another configuration: the error says which option, and the members have what they had. */
static int differ(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    static const char *const other[] = {"core.net=net-shm", "boot.label=other"};
    weft_ticket_t ticket;
    weft_comm_t *comm = members_of(all, rank, n - 1);
    weft_comm_options_t options = options_of(other, 2);
    int wrong = 0;
    (void)arg;
    if (rank == 0) {
        NEED(weft_comm_ticket(comm, NULL, 1, &ticket) == WEFT_OK);
    }
    NEED(tell(all, &ticket, 1));
    NEED(grow_or_join(comm, &ticket, &options) == WEFT_ERR_MISMATCH);
    if (comm != NULL) {
        NEED(ranks_error_says(WEFT_ERR_MISMATCH, "boot.label"));
        NEED(numbers_are_right(comm, rank, n - 1));
        NEED(weft_comm_destroy(comm) == WEFT_OK);
    }
    NEED(weft_barrier(all, NULL) == WEFT_OK);
    return wrong;
}

static void a_newcomer_configured_otherwise_is_refused(void **state)
{
    (void)state;
    run_with(3, differ, shm, 1);
}

/* What cannot be right from the beginning. All members hear of it, and nothing is broken. */
static int refuse(weft_comm_t *all, uint32_t rank, uint32_t n, void *arg)
{
    const uint32_t twice[2] = {1, 1}, beyond[1] = {9};
    int32_t pid = getpid();
    weft_ticket_t tickets[2], foreign, bad[1];
    weft_comm_t *comm = NULL, *grown = NULL;
    int wrong = 0, fd = -1;
    (void)arg;
    NEED(weft_comm_dup(all, &comm) == WEFT_OK);
    NEED(weft_broadcast(&pid, &pid, 1, WEFT_INT32, 0, all, NULL) == WEFT_OK);
    NEED(weft_comm_error_fd(NULL, &fd) == WEFT_ERR_ARG);
    NEED(weft_comm_error_fd(comm, NULL) == WEFT_ERR_ARG);
    NEED(weft_comm_ticket(comm, NULL, 0, tickets) == WEFT_ERR_ARG);
    NEED(weft_comm_ticket(comm, NULL, 1, NULL) == WEFT_ERR_ARG);
    NEED(weft_comm_ticket(comm, twice, 2, tickets) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "rank 1 is given to two newcomers"));
    NEED(weft_comm_ticket(comm, beyond, 1, tickets) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "ranks[0] is 9"));
    NEED(weft_comm_ticket(comm, NULL, UINT32_MAX, tickets) == WEFT_ERR_ARG);
    NEED(weft_comm_grow(comm, NULL, 1, &grown) == WEFT_ERR_ARG);
    NEED(weft_comm_grow(comm, NULL, 0, NULL) == WEFT_ERR_ARG);
    NEED(weft_comm_join(NULL, tickets, NULL) == WEFT_ERR_ARG);
    memset(bad, 0x5a, sizeof bad);
    NEED(weft_comm_join(&grown, bad, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "no ticket of weft"));
    /* Nobody gives tickets. */
    NEED(weft_comm_grow(comm, NULL, 0, &grown) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "0 ranks gave tickets"));
    /* All give them. */
    NEED(weft_comm_ticket(comm, NULL, 2, tickets) == WEFT_OK);
    NEED(weft_comm_grow(comm, tickets, 2, &grown) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "gave tickets, exactly one must"));
    /* Rank 0 gives bytes, one of two, and one of another communicator. */
    NEED(weft_comm_ticket(all, NULL, 1, &foreign) == WEFT_OK);
    const weft_ticket_t *given[3] = {bad, tickets, &foreign};
    const char *const words[3] = {"no ticket of weft", "given are 1", "another communicator"};
    for (int i = 0; i < 3; i++) {
        NEED(weft_comm_grow(comm, rank == 0 ? given[i] : NULL, rank == 0, &grown) == WEFT_ERR_ARG);
        NEED(ranks_error_says(WEFT_ERR_ARG,
                              rank == 0 ? words[i] : "rank 0 gave tickets that cannot"));
        NEED(rank == 0 || error_names(0, pid));
    }
    NEED(numbers_are_right(comm, rank, n) && grown == NULL);
    NEED(weft_comm_destroy(comm) == WEFT_OK);
    return wrong;
}

static void bad_tickets_are_refused(void **state)
{
    (void)state;
    run_with(3, refuse, soon, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First those whose ranks are processes: TSan forks none that has had threads. */
        cmocka_unit_test(a_dead_rank_is_replaced_under_its_number),
        cmocka_unit_test(the_other_members_know_who_cannot_begin),
        cmocka_unit_test(a_stopped_maker_of_tickets_is_not_waited_for),
        cmocka_unit_test(newcomers_come_behind_the_members),
        cmocka_unit_test(one_rank_grows),
        cmocka_unit_test(newcomers_get_the_numbers_of_their_tickets),
        cmocka_unit_test(who_does_not_come_is_named),
        cmocka_unit_test(a_member_that_does_not_call_is_named),
        cmocka_unit_test(a_newcomer_hears_that_the_communicator_failed_before),
        cmocka_unit_test(a_newcomer_hears_that_the_communicator_fails_meanwhile),
        cmocka_unit_test(a_newcomer_configured_otherwise_is_refused),
        cmocka_unit_test(bad_tickets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
