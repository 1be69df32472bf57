/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as processes. */
#include "family.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/boot/boot_state.h"
#include "core/boot/join.h"
#include "core/boot/id_create.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

typedef struct child {
    weft_boot_t *boot;
    family_t *family;
    uint32_t rank;
    family_record_t *record;
    int links[WEFT_TREE_LINKS]; /* copies of the control connections' descriptors */
} child_t;

static void on_failed(void *arg, uint64_t comm_id, const weft_error_t *error)
{
    child_t *child = arg;
    (void)comm_id;
    if (atomic_load(&child->record->failed) != 0) {
        return; /* the first failure counts */
    }
    child->record->error = *error;
    child->record->failed_at = weft_os_clock_ns();
    atomic_fetch_add(&child->record->failed, 1);
    weft_os_futex_wake(&child->record->failed);
}

static void on_died(void *arg, uint64_t comm_id, const weft_error_t *error)
{
    child_t *child = arg;
    atomic_store(&child->record->dead[error->peer], 1);
    weft_os_futex_wake(&child->record->dead[error->peer]);
    on_failed(arg, comm_id, error);
}

static void on_reported(void *arg, uint64_t comm_id, const weft_error_t *error,
                        const weft_missing_t *missing)
{
    child_t *child = arg;
    (void)missing;
    if (comm_id == FAMILY_COMM) {
        atomic_fetch_add(&child->record->reports, 1);
        weft_os_futex_wake(&child->record->reports);
        return;
    }
    on_failed(arg, comm_id, error);
}

static void on_asked(void *arg, uint64_t comm_id, uint32_t from, const weft_signature_t *theirs)
{
    child_t *child = arg;
    child->record->asked_in = comm_id;
    weft_health_answer(child->boot, comm_id, from,
                       &(weft_answer_t){.comm_id = 77, .signature = *theirs, .waits_for = 3});
    child->record->asked = *theirs;
    atomic_store(&child->record->asked_by, from + 1);
    weft_os_futex_wake(&child->record->asked_by);
}

static void on_answered(void *arg, uint64_t comm_id, uint32_t from, const weft_answer_t *answer)
{
    child_t *child = arg;
    child->record->answer = *answer;
    child->record->answered_in = comm_id;
    atomic_store(&child->record->answered_by, from + 1);
    weft_os_futex_wake(&child->record->answered_by);
}

static void on_left(void *arg, uint64_t comm_id, uint32_t rank, const weft_leave_t *leave)
{
    child_t *child = arg;
    if (comm_id == 0) {
        atomic_store(&child->record->gone[rank], 1);
        return;
    }
    atomic_store(&child->record->left[rank], (uint32_t)leave->sequence + 1);
    weft_os_futex_wake(&child->record->left[rank]);
}

int family_wait(_Atomic uint32_t *word, double seconds)
{
    uint64_t until = weft_os_deadline(seconds);
    while (atomic_load(word) == 0 && weft_os_clock_ns() < until) {
        weft_os_futex_wait(word, 0, 50 * WEFT_NS_PER_MS);
    }
    return atomic_load(word) != 0;
}

/* A frame of no known type to every neighbour, behind the back of the health thread. */
static void send_rubbish(const child_t *child, const weft_boot_t *boot)
{
    uint8_t header[WEFT_WIRE_HEADER];
    weft_frame_t frame = {.type = 77, .from = child->rank, .comm_id = weft_boot_comm_id(boot)};
    weft_frame_encode(&frame, header);
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        ssize_t sent = send(child->links[i], header, sizeof header, MSG_NOSIGNAL);
        (void)sent;
    }
}

/* A child of the rank, as a data loader is one, that holds copies of its connections. */
static void bequeath(child_t *child)
{
    pid_t pid = fork();
    if (pid == 0) {
        sleep(20);
        _exit(0);
    }
    atomic_store(&child->record->heir, (uint32_t)pid);
    weft_os_futex_wake(&child->record->heir);
}

static void obey(child_t *child, weft_boot_t *boot)
{
    _Atomic uint32_t *order = &child->family->shared->order[child->rank];
    for (;;) {
        uint32_t now = atomic_load(order);
        weft_error_t error;
        weft_error_clear(&error);
        switch (now) {
        case FAMILY_LEAVE:
            if (boot != NULL) {
                weft_health_leave_comm(boot, weft_boot_comm_id(boot),
                                       &(weft_leave_t){.sequence = 41 + child->rank});
                weft_health_leave_family(boot);
            }
            return;
        case FAMILY_STOP:
            return;
        case FAMILY_FORK:
            bequeath(child);
            break;
        case FAMILY_EXIT:
            _exit(0);
        case FAMILY_REPORT:
            error.status = WEFT_ERR_ABORTED;
            memcpy(error.text, "aborted by the test", 20);
            error.peer = (int32_t)child->rank;
            error.peer_pid = (int32_t)getpid();
            memcpy(error.peer_host, "here", 5);
            weft_health_report(boot, weft_boot_comm_id(boot), &error, NULL);
            break;
        case FAMILY_ASK_LAST:
            weft_health_ask(boot, FAMILY_COMM, child->family->count - 1,
                            &(weft_signature_t){.coll = WEFT_REDUCE, .count = 12345, .root = 2});
            break;
        case FAMILY_REPORT_OTHER:
            error.status = WEFT_ERR_LINK;
            error.peer = 0;
            weft_health_report(boot, FAMILY_COMM, &error, NULL);
            break;
        case FAMILY_LEAVE_OTHER:
            weft_health_leave_comm(boot, FAMILY_COMM, &(weft_leave_t){.sequence = 6});
            break;
        case FAMILY_OPEN_OTHER:
            weft_health_open(boot, FAMILY_COMM);
            break;
        case FAMILY_RUBBISH:
            send_rubbish(child, boot);
            break;
        default:
            break;
        }
        if (now != FAMILY_WAIT) {
            /* The next order may have come meanwhile. */
            atomic_compare_exchange_strong(order, &now, FAMILY_WAIT);
        }
        weft_os_futex_wait(order, FAMILY_WAIT, 50 * WEFT_NS_PER_MS);
    }
}

/* What a rank does whose join fails at the very end, when others have it behind them. Its process
 * lives. */
static void quit_at_order(child_t *child)
{
    _Atomic uint32_t *order = &child->family->shared->order[child->rank];
    while (atomic_load(order) == FAMILY_WAIT) {
        weft_os_futex_wait(order, FAMILY_WAIT, 50 * WEFT_NS_PER_MS);
    }
    uint32_t now = FAMILY_GIVE_UP;
    if (atomic_compare_exchange_strong(order, &now, FAMILY_WAIT)) {
        weft_fail(WEFT_ERR_RESOURCE, 0, "out of luck");
        weft_boot_give_up(child->boot);
        weft_boot_leave(child->boot);
        child->boot = NULL;
    }
}

static int child_main(child_t *child)
{
    static const weft_health_callbacks_t events = {.failed = on_reported,
                                                   .died = on_died,
                                                   .asked = on_asked,
                                                   .answered = on_answered,
                                                   .left = on_left};
    family_t *family = child->family;
    family_shared_t *shared = family->shared;
    weft_boot_t *boot = NULL;
    weft_status_t status = WEFT_OK;
    if (child->rank == 0) {
        status = weft_boot_id_create(&family->settings, &shared->id);
        atomic_store(&shared->has_id, 1);
        weft_os_futex_wake(&shared->has_id);
    } else if (!family_wait(&shared->has_id, 10)) {
        status = weft_fail(WEFT_ERR_TIMEOUT, 0, "no id");
    }
    if (status == WEFT_OK) {
        status = weft_boot_join(&family->settings, family->count, &shared->id, child->rank, &boot);
    }
    for (uint32_t i = 0; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        child->links[i] = boot->links[i].fd >= 0 ? dup(boot->links[i].fd) : -1;
    }
    child->boot = boot;
    if (status == WEFT_OK && child->rank != family->quitter) {
        status = weft_health_prepare(boot, &events, child);
        status = status == WEFT_OK ? weft_health_start(boot) : status;
    }
    if (status != WEFT_OK) {
        child->record->error = *weft_error_record();
    }
    atomic_store(&child->record->joined, status == WEFT_OK ? 1 : 2);
    weft_os_futex_wake(&child->record->joined);
    if (status == WEFT_OK && child->rank == family->quitter) {
        quit_at_order(child);
        boot = child->boot;
    }
    /* Rank 0 stays even if its join failed: the root thread is in its process. */
    obey(child, boot);
    uint64_t start = weft_os_clock_ns();
    weft_boot_leave(boot);
    atomic_store(&child->record->leave_us, 1 + (uint32_t)((weft_os_clock_ns() - start) / 1000));
    weft_os_futex_wake(&child->record->leave_us);
    return 0;
}

static void family_run(family_t *family, uint32_t count, uint32_t quitter, double heartbeat,
                       double unresponsive)
{
    memset(family, 0, sizeof *family);
    family->count = count;
    family->quitter = quitter;
    family->settings = (weft_boot_settings_t){.init_timeout = FAMILY_JOIN_S,
                                              .connect_timeout = 5,
                                              .heartbeat = heartbeat,
                                              .late = 1,
                                              .unresponsive = unresponsive,
                                              .interface = "=lo",
                                              .rendezvous = ""};
    family->shared = mmap(NULL, sizeof *family->shared, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(family->shared != MAP_FAILED);
    for (uint32_t i = 0; i < count; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            child_t child = {.family = family, .rank = i, .record = &family->shared->records[i]};
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(27 + FAMILY_JOIN_S);
            _exit(child_main(&child));
        }
        family->pids[i] = pid;
    }
}

void family_start(family_t *family, uint32_t count, double heartbeat, double unresponsive)
{
    family_run(family, count, FAMILY_MOST, heartbeat, unresponsive);
}

void family_start_quitting(family_t *family, uint32_t count, uint32_t quitter, double unresponsive)
{
    family_run(family, count, quitter, 0.1, unresponsive);
}

void family_order(family_t *family, uint32_t rank, uint32_t order)
{
    atomic_store(&family->shared->order[rank], order);
    weft_os_futex_wake(&family->shared->order[rank]);
}

void family_wait_joined(family_t *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        assert_true(family_wait(&f->shared->records[i].joined, 7 + FAMILY_JOIN_S));
        if (f->shared->records[i].joined != 1) {
            fail_msg("rank %u: %s", i, f->shared->records[i].error.text);
        }
    }
}

uint64_t family_assert_verdict(family_t *f, uint32_t culprit, weft_status_t status, uint64_t start)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        family_record_t *record = &f->shared->records[i];
        if (i == culprit || record->left[culprit] != 0 || f->pids[i] == 0) {
            continue;
        }
        assert_true(family_wait(&record->failed, 10));
        if (record->error.status != status || record->error.peer != (int32_t)culprit) {
            fail_msg("rank %u: %s", i, record->error.text);
        }
        assert_int_equal(record->failed, 1);
        assert_int_equal(record->error.peer_pid, f->pids[culprit]);
        assert_true(record->error.peer_host[0] != '\0');
        longest = record->failed_at - start > longest ? record->failed_at - start : longest;
    }
    return longest;
}

void family_stop(family_t *f, uint32_t rank)
{
    int how = 0;
    kill(f->pids[rank], SIGSTOP);
    assert_int_equal(waitpid(f->pids[rank], &how, WUNTRACED), f->pids[rank]);
    assert_true(WIFSTOPPED(how));
}

uint32_t family_end(family_t *family)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < family->count; i++) {
        family_order(family, i, FAMILY_LEAVE);
    }
    for (uint32_t i = 0; i < family->count; i++) {
        int how = 0;
        kill(family->pids[i], SIGCONT);
        waitpid(family->pids[i], &how, 0);
        if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
            if (how != SIGKILL) {
                print_message("rank %u ended with status 0x%x\n", i, (unsigned)how);
            }
            bad++;
        }
    }
    munmap(family->shared, sizeof *family->shared);
    return bad;
}
