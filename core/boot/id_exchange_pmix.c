/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMIx: put by rank 0, one fence, get by the others. The library counts its users in a process, so
 * an MPI library may have it open too. weft closes its use at once, since mpirun takes a process
 * that ends with one open for crashed. It stays open until the process exits where closing does
 * harm: Open MPI 4 finds nothing in a PMIx that was closed before MPI_Init, and PMIx 5 aborts when
 * it is closed for a second time. Open MPI 5 does not begin in a PMIx that is or was open, so there
 * a process of weft's own speaks to the server while MPI has yet to come. */
#include "core/boot/id_exchange_pmix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/claim_round.h"
#include "core/boot/launcher.h"
#include "core/boot/mpi_library.h"
#include "core/config/env.h"
#include "core/os/os_fork.h"
#include "core/os/os_apart.h"
#include "core/os/os_cancel.h"

#define KEY_BYTES 32

/* How late it is noticed that a join was cancelled. */
#define PIECE_NS (50 * WEFT_NS_PER_MS)

/* The end of a fence. It outlives the call that gave up waiting for it. */
typedef struct fence {
    _Atomic uint32_t done;
    int status;
} fence_t;

typedef struct session {
    const weft_pmix_t *pmix;
    const weft_id_exchange_job_t *job;
    weft_pmix_proc_t self;
    bool fence_pending; /* then the library cannot be closed: it would wait for the others too */
} session_t;

/* Every rank counts the same exchanges, so that keys are new. One that fails counts too. */
static struct {
    weft_os_process_mutex_t lock;
    uint32_t exchanges;
    fence_t *pending; /* that a call gave up waiting for; the library is open for it */
    int (*finalize)(const weft_pmix_info_t *info, size_t ninfo); /* at exit; NULL: not needed */
    uint32_t generation;                                         /* process that is to call it */
} use;

static void id_exchange_pmix_at_exit(void)
{
    if (use.finalize != NULL && use.generation == weft_os_fork_generation()) {
        (void)use.finalize(NULL, 0);
    }
}

/* 0: the text names no version. */
static long id_exchange_pmix_major_of(const char *version)
{
    const char *digit = strpbrk(version, "0123456789");
    return digit != NULL ? strtol(digit, NULL, 10) : 0;
}

static long id_exchange_pmix_major(const weft_pmix_t *pmix)
{
    return id_exchange_pmix_major_of(pmix->version());
}

static void id_exchange_pmix_close(const weft_pmix_t *pmix)
{
    weft_mpi_library_t mpi = weft_mpi_library();
    bool stays = mpi == WEFT_MPI_IDLE ||
                 (mpi == WEFT_MPI_ABSENT && id_exchange_pmix_major(pmix) >= WEFT_PMIX_CLOSES_ONCE);
    /* One open use is enough. */
    if (!stays || use.finalize != NULL) {
        (void)pmix->finalize(NULL, 0);
    } else if (atexit(id_exchange_pmix_at_exit) == 0) {
        use.generation = weft_os_fork_generation();
        use.finalize = pmix->finalize;
    }
}

static bool id_exchange_pmix_has_server(void)
{
    static const char *const names[] = {"PMIX_SERVER_URI",   "PMIX_SERVER_URI2",
                                        "PMIX_SERVER_URI21", "PMIX_SERVER_URI3",
                                        "PMIX_SERVER_URI4",  "PMIX_SERVER_URI41"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (weft_env(names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Slurm's PMIx counts its tasks. Ranks by other variables, such as those of a starter on each host,
 * may be more of them; then none of them has a server, also the one whose number is a task's. Below
 * an mpirun that started its daemons with srun, the variable counts the daemons, and the server is
 * not Slurm's. */
static const char *id_exchange_pmix_other_count(const weft_launcher_t *launcher)
{
    static const char variable[] = "SLURM_STEP_NUM_TASKS";
    const char *space = weft_env("PMIX_NAMESPACE");
    const bool may =
        space != NULL && strncmp(space, "slurm.pmix.", strlen("slurm.pmix.")) == 0 &&
        (strcmp(launcher->name, "torchrun") == 0 || strcmp(launcher->name, "environment") == 0);
    uint64_t tasks;
    return may && weft_env_number(variable, &tasks) && tasks != launcher->nranks ? variable : NULL;
}

static bool id_exchange_pmix_applies(const weft_id_exchange_job_t *job, char *why, size_t bytes)
{
    uint64_t rank;
    char trouble[200];
    const char *space = weft_env("PMIX_NAMESPACE");
    if (space == NULL || !id_exchange_pmix_has_server()) {
        snprintf(why, bytes, "%s is not set",
                 space == NULL ? "PMIX_NAMESPACE" : "PMIX_SERVER_URI4");
        return false;
    }
    if (weft_launcher_is_elastic(job->launcher)) {
        snprintf(why, bytes,
                 "PMIX_NAMESPACE is that of another launcher: torchrun's agent stands between");
        return false;
    }
    const char *count = id_exchange_pmix_other_count(job->launcher);
    if (count != NULL) {
        snprintf(why, bytes, "the server of PMIX_NAMESPACE counts %s = %.20s ranks", count,
                 weft_env(count));
        return false;
    }
    if (weft_env_number("PMIX_RANK", &rank) && rank != job->launcher->rank) {
        snprintf(why, bytes, "PMIX_RANK = %llu is another rank", (unsigned long long)rank);
        return false;
    }
    if (weft_os_dl_open(WEFT_PMIX_LIBRARY, trouble, sizeof trouble) == NULL) {
        snprintf(why, bytes, "PMIx is there, but its library is not: %s", trouble);
        return false;
    }
    snprintf(why, bytes, "PMIX_NAMESPACE = %.100s", space);
    return true;
}

bool weft_pmix_version_is_known(const char *version)
{
    long major = id_exchange_pmix_major_of(version);
    return major >= WEFT_PMIX_OLDEST && major <= WEFT_PMIX_NEWEST;
}

/* The library stays loaded: its threads and MPI libraries may use it. */
static weft_status_t id_exchange_pmix_load(weft_pmix_t *pmix)
{
    char why[200];
    const struct {
        const char *name;
        void *slot;
    } functions[] = {
        {"PMIx_Get_version", &pmix->version},
        {"PMIx_Error_string", &pmix->error_text},
        {"PMIx_Init", &pmix->init},
        {"PMIx_Get", &pmix->get},
        {"PMIx_Put", &pmix->put},
        {"PMIx_Commit", &pmix->commit},
        {"PMIx_Fence_nb", &pmix->fence},
        {"PMIx_Finalize", &pmix->finalize},
    };
    void *library = weft_os_dl_open(WEFT_PMIX_LIBRARY, why, sizeof why);
    if (library == NULL) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "%s", why);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = weft_os_dl_symbol(library, functions[i].name, why, sizeof why);
        if (symbol == NULL) {
            return weft_fail(WEFT_ERR_UNSUPPORTED, 0, WEFT_PMIX_LIBRARY ": %s", why);
        }
        /* A data pointer does not convert to a function pointer in C; POSIX says the bits do. */
        memcpy(functions[i].slot, &symbol, sizeof symbol);
    }
    return WEFT_OK;
}

static weft_status_t id_exchange_pmix_fail(const session_t *s, weft_status_t status,
                                           const char *call, int code)
{
    return weft_fail(status, 0, "the PMIx server of %s: %s: %s (%d)", s->job->launcher->name, call,
                     s->pmix->error_text(code), code);
}

/* The server must count the ranks as the launcher's variables do. */
static weft_status_t id_exchange_pmix_check_ranks(const session_t *s)
{
    weft_pmix_value_t *value = NULL;
    weft_pmix_proc_t all = s->self;
    const weft_launcher_t *launcher = s->job->launcher;
    all.rank = WEFT_PMIX_ANY_RANK;
    int code = s->pmix->get(&all, WEFT_PMIX_JOB_SIZE, NULL, 0, &value);
    if (code != WEFT_PMIX_SUCCESS || value == NULL) {
        return id_exchange_pmix_fail(s, WEFT_ERR_PROTO, "PMIx_Get of the number of ranks", code);
    }
    uint32_t size = value->type == WEFT_PMIX_UINT32 ? value->data.uint32 : 0;
    weft_os_free(value);
    if (size != launcher->nranks || s->self.rank != launcher->rank) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "PMIx says rank %u of %u, the variables of %s say rank %u of %u",
                         s->self.rank, size, launcher->name, launcher->rank, launcher->nranks);
    }
    return WEFT_OK;
}

static weft_status_t id_exchange_pmix_put(const session_t *s, const char *key,
                                          const weft_unique_id_t *id)
{
    uint8_t bytes[WEFT_UNIQUE_ID_BYTES];
    weft_pmix_value_t value = {.type = WEFT_PMIX_BYTES};
    memcpy(bytes, id->bytes, sizeof bytes);
    value.data.bytes = (weft_pmix_bytes_t){.bytes = (char *)bytes, .size = sizeof bytes};
    int code = s->pmix->put(WEFT_PMIX_GLOBAL, key, &value);
    if (code != WEFT_PMIX_SUCCESS) {
        return id_exchange_pmix_fail(s, WEFT_ERR_PROTO, "PMIx_Put", code);
    }
    code = s->pmix->commit();
    return code == WEFT_PMIX_SUCCESS
               ? WEFT_OK
               : id_exchange_pmix_fail(s, WEFT_ERR_PROTO, "PMIx_Commit", code);
}

static void id_exchange_pmix_fence_ended(int status, void *arg)
{
    fence_t *fence = arg;
    fence->status = status;
    atomic_store_explicit(&fence->done, 1, memory_order_release);
    weft_os_futex_wake(&fence->done);
}

/* Waits for all ranks, until the deadline. */
static weft_status_t id_exchange_pmix_wait_for_fence(const session_t *s, fence_t *fence)
{
    while (atomic_load_explicit(&fence->done, memory_order_acquire) == 0) {
        uint64_t now = weft_os_clock_ns();
        weft_status_t cancelled = weft_os_cancelled();
        if (cancelled != WEFT_OK) {
            return cancelled;
        }
        if (now >= s->job->until) {
            return weft_fail(WEFT_ERR_TIMEOUT, 0,
                             "the PMIx server of %s did not end its fence before init_timeout: "
                             "not all %u ranks came to it",
                             s->job->launcher->name, s->job->launcher->nranks);
        }
        uint64_t left = s->job->until - now;
        weft_os_futex_wait(&fence->done, 0, left < PIECE_NS ? left : PIECE_NS);
    }
    return WEFT_OK;
}

static weft_status_t id_exchange_pmix_fence(session_t *s)
{
    weft_pmix_info_t info = {.key = WEFT_PMIX_COLLECT};
    info.value.type = WEFT_PMIX_BOOL;
    info.value.data.flag = true;
    fence_t *fence = weft_os_alloc(sizeof *fence, 0);
    if (fence == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for a fence");
    }
    int code = s->pmix->fence(NULL, 0, &info, 1, id_exchange_pmix_fence_ended, fence);
    if (code == WEFT_PMIX_SUCCESS) {
        weft_status_t status = id_exchange_pmix_wait_for_fence(s, fence);
        if (status != WEFT_OK) {
            s->fence_pending = true;
            use.pending = fence;
            return status;
        }
        code = fence->status;
    }
    weft_os_free(fence);
    return code == WEFT_PMIX_SUCCESS || code == WEFT_PMIX_DONE_AT_ONCE
               ? WEFT_OK
               : id_exchange_pmix_fail(s, WEFT_ERR_PROTO, "PMIx_Fence", code);
}

static weft_status_t id_exchange_pmix_get(const session_t *s, const char *key, weft_unique_id_t *id)
{
    weft_pmix_value_t *value = NULL;
    weft_pmix_proc_t root = s->self;
    weft_pmix_info_t info = {.key = WEFT_PMIX_TIMEOUT};
    uint64_t now = weft_os_clock_ns(),
             left = s->job->until > now ? (s->job->until - now) / WEFT_NS_PER_S : 0;
    info.value.type = WEFT_PMIX_INT;
    info.value.data.integer = left < 86400 ? (int)left + 1 : 86400;
    root.rank = 0;
    int code = s->pmix->get(&root, key, &info, 1, &value);
    if (code != WEFT_PMIX_SUCCESS || value == NULL) {
        return id_exchange_pmix_fail(s, WEFT_ERR_PROTO, "PMIx_Get of the id of rank 0", code);
    }
    weft_status_t status = WEFT_OK;
    const bool has_bytes = value->type == WEFT_PMIX_BYTES && value->data.bytes.bytes != NULL;
    const size_t bytes = has_bytes ? value->data.bytes.size : 0;
    if (bytes == sizeof id->bytes) {
        memcpy(id->bytes, value->data.bytes.bytes, sizeof id->bytes);
    } else {
        status = weft_fail(WEFT_ERR_PROTO, 0,
                           "the PMIx server of %s gave a value of type %u and %zu bytes; a unique "
                           "id is of type %d and has %zu",
                           s->job->launcher->name, value->type, bytes, WEFT_PMIX_BYTES,
                           sizeof id->bytes);
    }
    if (value->type == WEFT_PMIX_BYTES) {
        weft_os_free(value->data.bytes.bytes);
    }
    weft_os_free(value);
    return status;
}

static weft_status_t id_exchange_pmix_talk(session_t *s, const char *key, weft_unique_id_t *id)
{
    weft_status_t status = id_exchange_pmix_check_ranks(s);
    if (status == WEFT_OK && s->self.rank == 0) {
        status = id_exchange_pmix_put(s, key, id);
    }
    if (status == WEFT_OK) {
        status = id_exchange_pmix_fence(s);
    }
    if (status == WEFT_OK && s->self.rank != 0) {
        status = id_exchange_pmix_get(s, key, id);
    }
    return status;
}

/* Whether this process may open PMIx now. */
static weft_status_t id_exchange_pmix_check_turn(const session_t *s)
{
    const char *launcher = s->job->launcher->name;
    weft_mpi_library_t mpi = weft_mpi_library();
    if (use.pending != NULL) {
        if (atomic_load_explicit(&use.pending->done, memory_order_acquire) == 0) {
            return weft_fail(WEFT_ERR_STATE, 0,
                             "a fence of the PMIx server of %s that was given up has not ended yet",
                             launcher);
        }
        weft_os_free(use.pending);
        use.pending = NULL;
        id_exchange_pmix_close(s->pmix);
    }
    if (mpi == WEFT_MPI_ENDED) {
        return weft_fail(WEFT_ERR_STATE, 0,
                         "MPI_Finalize has ended the conversation with the PMIx server of %s: make "
                         "communicators before it, or set boot.exchange",
                         launcher);
    }
    return WEFT_OK;
}

/* What a process of weft's own has heard. */
typedef struct apart_answer {
    weft_status_t status;
    weft_error_t error;
    weft_unique_id_t id;
} apart_answer_t;

typedef struct apart {
    session_t *session;
    const char *key;
} apart_t;

/* In that process: it is the rank for the server, which lets a rank come again. */
static void id_exchange_pmix_speak_apart(void *arg, void *out)
{
    const apart_t *apart = arg;
    apart_answer_t *answer = out;
    session_t *s = apart->session;
    int code = s->pmix->init(&s->self, NULL, 0);
    answer->status = code != WEFT_PMIX_SUCCESS
                         ? id_exchange_pmix_fail(s, WEFT_ERR_LINK, "PMIx_Init", code)
                         : id_exchange_pmix_talk(s, apart->key, &answer->id);
    if (code == WEFT_PMIX_SUCCESS && !s->fence_pending) {
        (void)s->pmix->finalize(NULL, 0);
    }
    answer->error = *weft_error_record();
}

/* An MPI library that has yet to begin must find PMIx as if weft had not been there. */
static weft_status_t id_exchange_pmix_go_apart(session_t *s, const char *key, weft_unique_id_t *id)
{
    apart_t apart = {.session = s, .key = key};
    apart_answer_t answer = {.status = WEFT_ERR_INTERNAL, .id = *id};
    uint64_t until = s->job->until == WEFT_NEVER ? WEFT_NEVER : s->job->until + WEFT_NS_PER_S;
    weft_status_t status =
        weft_os_run_apart(id_exchange_pmix_speak_apart, &apart, &answer, sizeof answer, until);
    if (status == WEFT_OK && answer.status != WEFT_OK) {
        *weft_error_record() = answer.error;
    }
    status = status == WEFT_OK ? answer.status : status;
    if (status == WEFT_OK) {
        *id = answer.id;
    }
    return status;
}

static weft_status_t id_exchange_pmix_converse(session_t *s, weft_unique_id_t *id)
{
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "weft.id.%u", use.exchanges++);
    weft_status_t turn = id_exchange_pmix_check_turn(s);
    if (turn != WEFT_OK) {
        return turn;
    }
    if (weft_mpi_library() == WEFT_MPI_IDLE &&
        id_exchange_pmix_major(s->pmix) >= WEFT_PMIX_CLOSES_ONCE) {
        return id_exchange_pmix_go_apart(s, key, id);
    }
    int code = s->pmix->init(&s->self, NULL, 0);
    if (code != WEFT_PMIX_SUCCESS) {
        return id_exchange_pmix_fail(s, WEFT_ERR_LINK, "PMIx_Init", code);
    }
    weft_status_t status = id_exchange_pmix_talk(s, key, id);
    if (!s->fence_pending) {
        id_exchange_pmix_close(s->pmix);
    }
    return status;
}

weft_status_t weft_pmix_carry(const weft_pmix_t *pmix, const weft_id_exchange_job_t *job,
                              weft_unique_id_t *id)
{
    session_t session = {.pmix = pmix, .job = job};
    if (!weft_pmix_version_is_known(pmix->version())) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         WEFT_PMIX_LIBRARY " is \"%.80s\"; weft knows versions %d to %d",
                         pmix->version(), WEFT_PMIX_OLDEST, WEFT_PMIX_NEWEST);
    }
    weft_os_process_lock(&use.lock);
    weft_status_t status = id_exchange_pmix_converse(&session, id);
    weft_os_process_unlock(&use.lock);
    return status;
}

static weft_status_t id_exchange_pmix_run(const weft_id_exchange_job_t *job, weft_unique_id_t *id)
{
    weft_pmix_t pmix;
    weft_status_t status = id_exchange_pmix_load(&pmix);
    if (status == WEFT_OK) {
        status = weft_pmix_carry(&pmix, job, id);
    }
    return status == WEFT_OK
               ? weft_claim_round(id, job->launcher->rank, job->launcher->nranks, job->until)
               : status;
}

const weft_id_exchange_t weft_id_exchange_pmix = {
    .name = "pmix", .applies = id_exchange_pmix_applies, .exchange = id_exchange_pmix_run};
