/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress thread: started by the first asynchronous operation, ended with the last
 * communicator that used it. It holds a communicator for one round at a time and keeps away from
 * those whose user drives them: the user wakes it when leaving operations behind. Without any it
 * sleeps, for ever. */
#include "core/comm/progress.h"

#include "core/base/error.h"
#include "core/comm/engine.h"
#include "core/comm/puts.h"
#include "core/comm/streams.h"
#include "core/exec/traffic.h"
#include "core/os/os_fork.h"
#include "core/os/os_socket.h"

#define MEMBERS 4096u
#define RESTLESS 100u /* rounds without movement that only give way, where cores are spare */
/* Naps while peers are waited for: an eighth of the time waited so far, within these limits. */
#define NAP_LEAST_NS (UINT64_C(20) * 1000)
#define NAP_MOST_NS WEFT_NS_PER_MS
#define NAP_MOST_IN_STREAMS_NS (UINT64_C(50) * 1000)
/* From here on the thread sleeps on the links in place of napping: nothing streams any more. */
#define NAP_PATIENT_NS (UINT64_C(50) * 1000)
/* Naps after a device worked: its user may be putting the next call into the stream, and would have
 * to wake the thread each time. */
#define WATCHES 20u
/* The scheduler is asked for turns of this length, so that a thread that computes is interrupted at
 * once, and briefly. */
#define TURN_NS (UINT64_C(100) * 1000)

/* One life of the thread: a new one may start while the last is being joined. */
typedef struct runner {
    weft_os_thread_t *thread;
    _Atomic uint32_t stop;
    uint32_t ranks; /* of this host, each of which may compute meanwhile */
    bool spare;     /* there are cores for these and for their progress threads */
    uint32_t cpu;   /* without them: the CPU that it keeps to */
    bool patient;   /* it has waited for long: what ends its next sleep is worth asking for */
    bool called;    /* peers connect … */
    bool answered;  /* … and did in the last round */
    /* What does, of the one communicator that waits in this round: descriptors behind `wake`, or
     * words of ports behind progress.kicks. */
    uint32_t waiting, watched, words;
    struct pollfd watch[1 + WEFT_LINKS_WATCHED];
    weft_os_futex_t word[1 + WEFT_BLOCKED_PORTS];
    int wake; /* descriptor for kicks; −1: there is none */
} runner_t;

typedef struct progress {
    weft_os_process_mutex_t lock; /* guards members and runner */
    weft_comm_state_t *member[MEMBERS];
    uint32_t members;
    runner_t *runner;
    _Atomic uint32_t kicks;    /* futex word: work was added */
    _Atomic uint32_t kicker;   /* CPU that the last kick came from */
    _Atomic uint32_t sleeping; /* threads that sleep until a kick: two while one life ends */
    _Atomic uint32_t napping;  /* threads that sleep briefly, none of which is among them */
    _Atomic uint32_t polling;  /* threads that sleep on links, neither */
} progress_t;

static void progress_forked(bool held);
static progress_t progress = {.lock = {.forked = progress_forked}};

/* The thread and its members are the parent's: the child starts its own. */
static void progress_forked(bool held)
{
    (void)held;
    progress.members = 0;
    if (progress.runner != NULL) {
        weft_os_thread_forget(progress.runner->thread);
        weft_os_close(progress.runner->wake);
        weft_os_free(progress.runner);
        progress.runner = NULL;
    }
    atomic_store_explicit(&progress.sleeping, 0, memory_order_relaxed);
    atomic_store_explicit(&progress.napping, 0, memory_order_relaxed);
    atomic_store_explicit(&progress.polling, 0, memory_order_relaxed);
}

/* The result of a round over one communicator; the largest of all decides how to go on. */
typedef enum found {
    FOUND_NOTHING = 0,
    FOUND_LISTENING, /* nothing under way, but a graph may be launched */
    FOUND_ON_DEVICE, /* a device works, and needs nobody: it is looked after now and then */
    FOUND_WAITING,
    FOUND_IN_STREAMS, /* a device works, and may need the host to pass messages on */
    FOUND_MOVED
} found_t;

/* Looks at what a communicator has to do. The thread owns it. */
static found_t progress_find(const weft_comm_state_t *state)
{
    bool busy = weft_engine_is_busy(state);
    return busy && !weft_engine_needs_host(state) ? FOUND_ON_DEVICE
           : weft_streams_are_busy(state)         ? FOUND_IN_STREAMS
           : busy                                 ? FOUND_WAITING
           : weft_streams_listen(state)           ? FOUND_LISTENING
           : weft_puts_listen(state)              ? FOUND_LISTENING
                                                  : FOUND_NOTHING;
}

/* Asks for what ends the next sleep, where one communicator waits. The thread owns it, and gives it
 * back before it sleeps: an event that its user takes meanwhile ends that sleep in vain. */
static void progress_watch(runner_t *runner, weft_comm_state_t *state)
{
    runner->watched = runner->words = 0;
    if (runner->waiting++ > 0 || !runner->patient) {
        return;
    }
    weft_blocked_t blocked;
    weft_blocked_init(&blocked);
    weft_engine_find_blocked(state, &blocked);
    if (weft_blocked_is_whole(&blocked) && !weft_links_are_mixed(state->links)) {
        runner->words = weft_mapped_ports_watch(blocked.port, blocked.count, runner->word + 1);
    } else if (runner->wake >= 0) {
        runner->watched = weft_links_watch(state->links, runner->watch + 1);
    }
}

/* Advances a communicator in which `found` was found, and gives it back. */
static found_t progress_advance(runner_t *runner, weft_comm_state_t *state, found_t found)
{
    /* Whoever puts calls into the stream wants the communicator back. */
    const int most = found == FOUND_ON_DEVICE ? 1 : 16;
    bool moved = false;
    for (int i = 0; i < most && (i == 0 || weft_engine_is_busy(state)); i++) {
        moved |= weft_engine_step(state);
    }
    runner->called |= weft_links_are_called(state->links);
    if (found == FOUND_WAITING && !moved) {
        weft_submit_look_soon(state); /* as before each sleep of a blocking call */
        progress_watch(runner, state);
    }
    weft_comm_disown(state);
    return moved && found != FOUND_ON_DEVICE ? FOUND_MOVED : found;
}

/* Sleeps until the next kick after `seen`, at most `timeout_ns`. */
static void progress_sleep(uint32_t seen, uint64_t timeout_ns)
{
    _Atomic uint32_t *asleep =
        timeout_ns <= NAP_MOST_IN_STREAMS_NS ? &progress.napping : &progress.sleeping;
    /* Sequentially consistent with weft_progress_kick(): it sees this thread, or this the kick. */
    atomic_fetch_add_explicit(asleep, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&progress.kicks, memory_order_seq_cst) == seen) {
        weft_os_futex_wait(&progress.kicks, seen, timeout_ns);
    }
    atomic_fetch_sub_explicit(asleep, 1, memory_order_relaxed);
}

/* Sleeps until something comes over the links, or the next kick after `seen`. */
static void progress_sleep_on_links(runner_t *runner, uint32_t seen)
{
    runner->watch[0] = (struct pollfd){.fd = runner->wake, .events = POLLIN};
    atomic_fetch_add_explicit(&progress.polling, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&progress.kicks, memory_order_seq_cst) == seen) {
        weft_os_poll(runner->watch, 1 + runner->watched, weft_os_clock_ns() + NAP_MOST_NS);
    }
    atomic_fetch_sub_explicit(&progress.polling, 1, memory_order_relaxed);
    if (runner->watch[0].revents != 0) {
        weft_os_wake_clear(runner->wake);
    }
}

/* The same for slices in shared memory. The communicator may end meanwhile, and its memory with it.
 * Returns false, at once, where the system cannot. */
static bool progress_sleep_on_ports(runner_t *runner, uint32_t seen)
{
    bool able = true;
    runner->word[0] = (weft_os_futex_t){.word = &progress.kicks, .seen = seen};
    atomic_fetch_add_explicit(&progress.sleeping, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&progress.kicks, memory_order_seq_cst) == seen) {
        able = weft_os_futex_wait_any(runner->word, 1 + runner->words, NAP_MOST_NS);
    }
    atomic_fetch_sub_explicit(&progress.sleeping, 1, memory_order_relaxed);
    return able;
}

/* Gives way where nobody else wants the core, then naps, longer and longer. `idle` rounds have
 * found no movement, since `since`, or 0 in the first one. */
static void progress_rest(runner_t *runner, found_t found, uint32_t idle, uint64_t *since,
                          uint32_t seen)
{
    if (found == FOUND_ON_DEVICE) {
        progress_sleep(seen, NAP_MOST_IN_STREAMS_NS);
        return;
    }
    if (runner->spare && idle < RESTLESS) {
        weft_os_yield();
        return;
    }
    uint64_t now = weft_os_clock_ns();
    *since = *since != 0 ? *since : now;
    if (runner->called && !runner->answered) {
        *since = now; /* who begins to connect has more to say soon */
        runner->watched = runner->words = 0;
    }
    uint64_t nap = (now - *since) / 8;
    uint64_t most = found == FOUND_IN_STREAMS ? NAP_MOST_IN_STREAMS_NS : NAP_MOST_NS;
    nap = nap > NAP_LEAST_NS ? nap : NAP_LEAST_NS;
    runner->patient = nap >= NAP_PATIENT_NS;
    if (found == FOUND_WAITING && runner->watched > 0) {
        progress_sleep_on_links(runner, seen);
    } else if (found != FOUND_WAITING || runner->words == 0 ||
               !progress_sleep_on_ports(runner, seen)) {
        progress_sleep(seen, nap < most ? nap : most);
    }
}

/* A thread inherits the CPUs of the one that starts it. Where that one is bound to its core, the
 * progress thread would take turns with it while other cores idle: it goes wherever the system lets
 * this process go, if that is at least two CPUs for each rank here. */
static void progress_place(runner_t *runner)
{
    weft_os_cpu_set_t inherited;
    weft_os_thread_cpus(&inherited);
    if (weft_os_cpus() < 2 * runner->ranks) {
        weft_os_thread_use_all_cpus();
        if (weft_os_cpus() < 2 * runner->ranks) {
            weft_os_thread_use_cpus(&inherited);
        }
    }
    runner->spare = weft_os_cpus() >= 2 * runner->ranks;
    runner->cpu = UINT32_MAX;
    weft_os_thread_take_turns(TURN_NS);
}

/* Where every core has a rank that may compute, each rank's messages cost time of its own core.
 * Elsewhere two progress threads would share one core, and its rank come last in the next
 * collective. */
static void progress_follow(runner_t *runner)
{
    uint32_t cpu = atomic_load_explicit(&progress.kicker, memory_order_relaxed);
    if (!runner->spare && runner->cpu != cpu) {
        runner->cpu = cpu;
        weft_os_thread_use_cpu(cpu);
    }
}

/* Takes the next member below *index_p that has something to do, or returns NULL. The caller holds
 * progress.lock. */
static weft_comm_state_t *progress_take(uint32_t *index_p, found_t *found_p, found_t *best_p)
{
    weft_os_mutex_assert_held(&progress.lock.mutex);
    while (*index_p > 0) {
        weft_comm_state_t *state = progress.member[--*index_p];
        uint32_t owner;
        if (!weft_comm_own(state, WEFT_OWNER_PROGRESS, &owner)) {
            /* Its user drives it, and kicks when leaving work behind. For those who may put to it,
             * it does not: one nap more costs less than a wake at each call. */
            if (weft_puts_are_on(state) && *best_p < FOUND_LISTENING) {
                *best_p = FOUND_LISTENING;
            }
            continue;
        }
        *found_p = progress_find(state);
        if (*found_p != FOUND_NOTHING) {
            return state;
        }
        weft_comm_disown(state);
    }
    return NULL;
}

/* Members are advanced without the lock: an operator of the program may wait for a thread that
 * makes an asynchronous call elsewhere. Only its owner detaches a member, so one that this thread
 * owns stays. From the last to the first: whoever leaves meanwhile is replaced by one that had its
 * turn. */
static found_t progress_round(runner_t *runner)
{
    found_t best = FOUND_NOTHING, found;
    weft_comm_state_t *state;
    runner->waiting = runner->watched = runner->words = 0;
    runner->answered = runner->called;
    runner->called = false;
    weft_os_process_lock(&progress.lock);
    uint32_t i = progress.members;
    while ((state = progress_take(&i, &found, &best)) != NULL) {
        weft_os_process_unlock(&progress.lock);
        found = progress_advance(runner, state, found);
        best = found > best ? found : best;
        weft_os_process_lock(&progress.lock);
        i = i < progress.members ? i : progress.members;
    }
    weft_os_process_unlock(&progress.lock);
    return best;
}

static void progress_main(void *arg)
{
    runner_t *runner = arg;
    uint32_t idle = 0, watches = 0;
    uint64_t since = 0;
    progress_place(runner);
    for (;;) {
        /* First: who ends this thread sets `stop` and then kicks, so a kick that is seen here has
         * its `stop` seen below, and any other keeps this thread awake. */
        uint32_t seen = atomic_load_explicit(&progress.kicks, memory_order_acquire);
        if (atomic_load_explicit(&runner->stop, memory_order_acquire) != 0) {
            return;
        }
        found_t best = progress_round(runner);
        if (best == FOUND_ON_DEVICE) {
            watches = WATCHES;
        } else if (best == FOUND_NOTHING && watches > 0) {
            watches--;
            best = FOUND_ON_DEVICE;
        }
        if (best == FOUND_MOVED) {
            idle = 0;
            since = 0;
            runner->patient = false;
        } else if (best == FOUND_NOTHING) {
            progress_sleep(seen, WEFT_NEVER);
            progress_follow(runner);
            idle = 0;
            since = 0;
        } else {
            progress_rest(runner, best, ++idle, &since, seen);
        }
    }
}

/* The caller holds progress.lock. */
static weft_status_t progress_start_runner(uint32_t ranks)
{
    weft_os_mutex_assert_held(&progress.lock.mutex);
    runner_t *runner = weft_os_alloc(sizeof *runner, 0);
    if (runner == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "cannot start the progress thread");
    }
    runner->ranks = ranks;
    if (weft_os_wake_open(&runner->wake) != WEFT_OK) {
        runner->wake = -1; /* it naps */
    }
    weft_status_t status =
        weft_os_thread_start("weft-progress", progress_main, runner, &runner->thread);
    if (status != WEFT_OK) {
        weft_os_close(runner->wake);
        weft_os_free(runner);
        return status;
    }
    progress.runner = runner;
    return WEFT_OK;
}

weft_status_t weft_progress_attach(weft_comm_state_t *state)
{
    weft_status_t status = WEFT_OK;
    weft_assert_owner(state);
    if (state->has_progress) {
        return WEFT_OK;
    }
    weft_os_process_lock(&progress.lock);
    if (progress.members == MEMBERS) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0,
                           "more than %u communicators with asynchronous calls", MEMBERS);
    } else if (progress.runner == NULL) {
        status = progress_start_runner(state->self.family->here.ranks);
    }
    if (status == WEFT_OK) {
        progress.member[progress.members++] = state;
        state->has_progress = true;
    }
    weft_os_process_unlock(&progress.lock);
    if (status == WEFT_OK && weft_puts_are_on(state)) {
        weft_progress_kick(WEFT_PROGRESS_NOW); /* it may sleep for ever */
    }
    return status;
}

/* The lock keeps the descriptor open. */
static void progress_wake_poller(void)
{
    weft_os_process_lock(&progress.lock);
    if (progress.runner != NULL && progress.runner->wake >= 0) {
        weft_os_wake(progress.runner->wake);
    }
    weft_os_process_unlock(&progress.lock);
}

void weft_progress_kick(weft_progress_need_t need)
{
    atomic_store_explicit(&progress.kicker, weft_os_cpu_here(), memory_order_relaxed);
    atomic_fetch_add_explicit(&progress.kicks, 1, memory_order_seq_cst);
    /* One who naps looks soon enough for what is not urgent. The two are looked at apart: their
     * difference could be that of two moments, and hide a sleeper. */
    if (atomic_load_explicit(&progress.sleeping, memory_order_seq_cst) != 0 ||
        (need == WEFT_PROGRESS_NOW &&
         atomic_load_explicit(&progress.napping, memory_order_seq_cst) != 0)) {
        weft_os_futex_wake(&progress.kicks);
    }
    if (atomic_load_explicit(&progress.polling, memory_order_seq_cst) != 0) {
        progress_wake_poller();
    }
}

weft_progress_need_t weft_progress_need(const weft_comm_state_t *state)
{
    weft_assert_owner(state);
    if (!state->has_progress || !(weft_engine_is_busy(state) || weft_streams_listen(state))) {
        return WEFT_PROGRESS_NOTHING;
    }
    return weft_engine_needs_host(state) ? WEFT_PROGRESS_NOW : WEFT_PROGRESS_SOON;
}

void weft_progress_detach(weft_comm_state_t *state)
{
    runner_t *ended = NULL;
    if (!state->has_progress) {
        return;
    }
    weft_os_process_lock(&progress.lock);
    for (uint32_t i = 0; i < progress.members; i++) {
        if (progress.member[i] == state) {
            progress.member[i] = progress.member[--progress.members];
        }
    }
    if (progress.members == 0) {
        ended = progress.runner;
        progress.runner = NULL;
    }
    weft_os_process_unlock(&progress.lock);
    state->has_progress = false;
    if (ended != NULL) {
        atomic_store_explicit(&ended->stop, 1, memory_order_release);
        weft_progress_kick(WEFT_PROGRESS_NOW);
        if (ended->wake >= 0) {
            weft_os_wake(ended->wake);
        }
        weft_os_thread_join(ended->thread);
        weft_os_close(ended->wake);
        weft_os_free(ended);
    }
}
