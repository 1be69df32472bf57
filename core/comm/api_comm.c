/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for communicators: their life, their failure, their properties. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/utf8.h"
#include "core/boot/id_create.h"
#include "core/boot/unique_id.h"
#include "core/comm/args_check.h"
#include "core/comm/call.h"
#include "core/comm/comm_create.h"
#include "core/comm/create_group.h"
#include "core/comm/engine.h"
#include "core/comm/family_setup.h"
#include "core/comm/group.h"
#include "core/comm/handle.h"
#include "core/comm/naming.h"
#include "core/comm/progress.h"
#include "core/comm/select.h"
#include "core/comm/select_price.h"
#include "core/comm/side_calls.h"
#include "core/comm/split.h"
#include "core/comm/streams.h"
#include "core/comm/vectors.h"

/* More than an explanation has: a plan's reason, the windows, and a name. */
#define EXPLANATION_BYTES 1024

/* Errors --------------------------------------------------------------------------------------- */

/* Copies as much of the record as the caller's struct holds. */
static weft_status_t comm_copy_error(weft_error_t *to, const weft_error_t *from, const char *call)
{
    size_t size = to->size;
    if (size < sizeof(weft_error_t)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "%s: error.size is %zu, set it to sizeof(weft_error_t) = %zu", call, size,
                         sizeof(weft_error_t));
    }
    *to = *from;
    to->size = size;
    return WEFT_OK;
}

weft_status_t weft_last_error(weft_error_t *error)
{
    if (error == NULL) {
        return WEFT_ERR_ARG;
    }
    weft_error_t last = *weft_error_record();
    weft_status_t status = comm_copy_error(error, &last, "weft_last_error");
    if (status != WEFT_OK) {
        (void)weft_api_error("error", status);
        *weft_error_record() = last; /* whoever asks again finds it */
    }
    return status;
}

typedef struct comm_copy {
    weft_error_t failure;
    weft_family_t *family; /* retained if it may still have to tell the others; or NULL */
} comm_copy_t;

static void comm_copy_failure(weft_comm_state_t *state, void *arg)
{
    comm_copy_t *copy = arg;
    if (weft_failure_copy(&state->failure, &copy->failure) != NULL) {
        copy->family = state->self.family;
        weft_family_retain(copy->family);
    }
}

/* Behind the visit, which holds up the calls for all handles. */
static void comm_await_told(weft_family_t *family)
{
    weft_error_t kept = *weft_error_record();
    weft_health_await(family->boot);
    weft_family_release(family);
    *weft_error_record() = kept;
}

weft_status_t weft_comm_error(weft_comm_t *comm, weft_error_t *error)
{
    comm_copy_t copy = {.family = NULL};
    if (error == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_comm_error: error is NULL");
    }
    weft_status_t status = weft_handle_visit(comm, "weft_comm_error", comm_copy_failure, &copy);
    if (copy.family != NULL) {
        comm_await_told(copy.family);
    }
    return status == WEFT_OK ? comm_copy_error(error, &copy.failure, "weft_comm_error") : status;
}

typedef struct comm_missing {
    uint32_t *ranks;
    uint32_t max, count;
} comm_missing_t;

static void comm_list_missing(weft_comm_state_t *state, void *arg)
{
    comm_missing_t *missing = arg;
    missing->count = weft_failure_missing(&state->failure, missing->ranks, missing->max);
}

weft_status_t weft_comm_missing(weft_comm_t *comm, uint32_t *ranks, uint32_t max, uint32_t *count_p)
{
    comm_missing_t missing = {.ranks = ranks, .max = max};
    if (count_p == NULL || (ranks == NULL && max > 0)) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_comm_missing: %s is NULL",
                         count_p == NULL ? "count_p" : "ranks");
    }
    weft_status_t status =
        weft_handle_visit(comm, "weft_comm_missing", comm_list_missing, &missing);
    if (status == WEFT_OK) {
        *count_p = missing.count;
    }
    return status;
}

/* Life ----------------------------------------------------------------------------------------- */

static weft_status_t comm_create_id(weft_unique_id_t *id, const weft_comm_options_t *options)
{
    weft_config_t *config = NULL;
    weft_settings_t settings;
    weft_os_open_standard();
    weft_status_t status = weft_config_load(options, &config);
    if (status == WEFT_OK) {
        status = weft_settings_read(config, &settings);
    }
    if (status == WEFT_OK) {
        weft_log_set_level((weft_log_level_t)settings.core.log);
        weft_log_set_timed(settings.core.log_time);
        status = weft_boot_id_create(&settings.boot, id);
    }
    weft_config_destroy(config);
    return status;
}

weft_status_t weft_unique_id_create(weft_unique_id_t *id, const weft_comm_options_t *options)
{
    weft_status_t status = id == NULL
                               ? weft_fail(WEFT_ERR_ARG, 0, "weft_unique_id_create: id is NULL")
                               : comm_create_id(id, options);
    return status == WEFT_OK ? status : weft_api_error("init", status);
}

weft_status_t weft_unique_id_check(const weft_unique_id_t *id)
{
    weft_id_t opened;
    if (id == NULL) {
        return weft_api_error("init",
                              weft_fail(WEFT_ERR_ARG, 0, "weft_unique_id_check: id is NULL"));
    }
    weft_status_t status = weft_id_decode(id, &opened);
    weft_id_wipe(&opened);
    return status == WEFT_OK ? status : weft_api_error("init", status);
}

weft_status_t weft_comm_init_rank(weft_comm_t **comm_p, uint32_t nranks, const weft_unique_id_t *id,
                                  uint32_t rank, const weft_comm_options_t *options)
{
    weft_comm_state_t *state = NULL;
    weft_status_t status = WEFT_OK;
    if (comm_p == NULL || id == NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_comm_init_rank: %s is NULL",
                           comm_p == NULL ? "comm_p" : "id");
    } else if (nranks == 0 || rank >= nranks) {
        status =
            weft_fail(WEFT_ERR_ARG, 0, "weft_comm_init_rank: rank %u is out of range for %u ranks",
                      rank, nranks);
    } else if (weft_naming_option(options) != NULL) {
        status = weft_naming_check("weft_comm_init_rank", options->name);
    }
    if (status == WEFT_OK) {
        status = weft_comm_create(nranks, id, rank, options, NULL, &state);
    }
    if (status == WEFT_OK) {
        if (weft_naming_option(options) != NULL) {
            weft_failure_set_name(&state->failure, options->name);
        }
        status = weft_handle_add(state, comm_p);
        if (status != WEFT_OK) {
            weft_comm_free(state);
        }
    }
    return status == WEFT_OK ? status : weft_api_error("init", status);
}

weft_status_t weft_comm_init_launcher(weft_comm_t **comm_p, const weft_comm_options_t *options)
{
    weft_launcher_t launcher = {.size = sizeof launcher};
    weft_unique_id_t id;
    weft_status_t status =
        comm_p == NULL ? weft_fail(WEFT_ERR_ARG, 0, "weft_comm_init_launcher: comm_p is NULL")
                       : weft_launcher_detect(&launcher);
    if (status == WEFT_OK && weft_naming_option(options) != NULL) {
        status = weft_naming_check("weft_comm_init_launcher", options->name);
    }
    if (status == WEFT_OK && launcher.rank == 0) {
        status = comm_create_id(&id, options);
    }
    if (status == WEFT_OK && launcher.nranks > 1) {
        status = weft_launcher_exchange_id(&launcher, &id, options);
    }
    return status == WEFT_OK
               ? weft_comm_init_rank(comm_p, launcher.nranks, &id, launcher.rank, options)
               : weft_api_error("init", status);
}

static weft_status_t comm_enter_and_split(weft_comm_t *comm, const char *call, int32_t color,
                                          int32_t key, weft_comm_t **child_p, uint64_t *number_p)
{
    weft_comm_state_t *parent;
    if (child_p == NULL || color < WEFT_COLOR_NONE) {
        weft_status_t wrong =
            child_p == NULL
                ? weft_fail(WEFT_ERR_ARG, 0, "%s: the place for the new communicator is NULL", call)
                : weft_fail(WEFT_ERR_ARG, 0, "%s: color %d, allowed are 0 and up, and %d for none",
                            call, color, WEFT_COLOR_NONE);
        return weft_api_error("comm", wrong);
    }
    weft_status_t status = weft_group_refuse(call);
    status = status == WEFT_OK ? weft_comm_enter(comm, call, &parent) : status;
    if (status != WEFT_OK) {
        return weft_api_error("comm", status);
    }
    bool logged = weft_comm_has_failed(parent);
    if (logged) {
        status = weft_comm_failure(parent);
    } else {
        status = weft_split(parent, color, key, child_p);
        logged = weft_comm_has_failed(parent);
        *number_p = parent->queue.sequence;
    }
    weft_comm_leave(parent);
    return status == WEFT_OK || logged ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_split(weft_comm_t *comm, int32_t color, int32_t key, weft_comm_t **child_p)
{
    uint64_t number = 0;
    weft_status_t status =
        comm_enter_and_split(comm, "weft_comm_split", color, key, child_p, &number);
    if (status == WEFT_OK) {
        weft_naming_derive(comm, *child_p, "split%" PRIu64 ":%d", number, color);
    }
    return status;
}

weft_status_t weft_comm_dup(weft_comm_t *comm, weft_comm_t **copy_p)
{
    uint64_t number = 0;
    weft_status_t status = comm_enter_and_split(comm, "weft_comm_dup", 0, 0, copy_p, &number);
    if (status == WEFT_OK) {
        weft_naming_derive(comm, *copy_p, "dup%" PRIu64, number);
    }
    return status;
}

weft_status_t weft_comm_create_group(weft_comm_t *parent, const uint32_t *ranks, uint32_t count,
                                     uint32_t tag, weft_comm_t **child_p)
{
    weft_group_wish_t wish = {.ranks = ranks, .count = count, .tag = tag};
    weft_status_t status = weft_group_refuse("weft_comm_create_group");
    if (status == WEFT_OK && (child_p == NULL || ranks == NULL || count == 0)) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_comm_create_group: %s",
                           child_p == NULL ? "child_p is NULL"
                           : ranks == NULL ? "ranks is NULL"
                                           : "a communicator has at least one rank");
    }
    status = status == WEFT_OK ? weft_create_group(parent, &wish, child_p) : status;
    if (status == WEFT_OK) {
        weft_naming_derive(parent, *child_p, "group%u", tag);
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_destroy(weft_comm_t *comm)
{
    weft_comm_state_t *state;
    if (comm == NULL) {
        return WEFT_OK;
    }
    weft_status_t status = weft_comm_enter(comm, "weft_comm_destroy", &state);
    if (status != WEFT_OK) {
        return weft_api_error("comm", status);
    }
    const char *voting = weft_side_calls_voting(&state->self);
    if (voting != NULL) {
        weft_comm_leave(state);
        return weft_api_error(
            "comm", weft_fail(WEFT_ERR_STATE, 0,
                              "weft_comm_destroy: another thread is inside %s of this "
                              "communicator; wait for it, or end it with weft_comm_abort()",
                              voting));
    }
    weft_group_tell_lost(comm);
    weft_streams_leave(state);
    weft_engine_drive_all(state);
    weft_handle_remove(comm);
    /* The progress thread may be looking: it lets go when it finds the owner taken. */
    weft_progress_detach(state);
    weft_comm_tell_leave(state);
    weft_comm_free(state);
    return WEFT_OK;
}

/* How a rank ends the calls of all. */
typedef struct comm_ending {
    const char *call;
    weft_status_t status;
} comm_ending_t;

static void comm_end_now(weft_comm_state_t *state, void *arg)
{
    const comm_ending_t *ending = arg;
    weft_error_t error;
    weft_error_clear(&error);
    error.status = ending->status;
    error.peer = (int32_t)state->self.rank;
    snprintf(error.text, sizeof error.text, "rank %u called %s", state->self.rank, ending->call);
    weft_failure_set(&state->failure, &state->self, &error, NULL, true);
    weft_os_lock(&state->self.family->lock);
    weft_side_calls_stop(state->self.family, state->self.id, ending->status, error.peer,
                         ending->call);
    if (ending->status == WEFT_ERR_REVOKED) {
        weft_side_calls_tell_revoke(state->self.family, state->self.id, &error);
    }
    weft_os_unlock(&state->self.family->lock);
}

static weft_status_t comm_end(weft_comm_t *comm, comm_ending_t ending)
{
    weft_status_t status = weft_handle_visit(comm, ending.call, comm_end_now, &ending);
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_abort(weft_comm_t *comm)
{
    return comm_end(comm, (comm_ending_t){"weft_comm_abort", WEFT_ERR_ABORTED});
}

weft_status_t weft_comm_revoke(weft_comm_t *comm)
{
    return comm_end(comm, (comm_ending_t){"weft_comm_revoke", WEFT_ERR_REVOKED});
}

/* Properties ----------------------------------------------------------------------------------- */

static void comm_copy_rank(weft_comm_state_t *state, void *arg)
{
    *(uint32_t *)arg = state->self.rank;
}

static void comm_copy_size(weft_comm_state_t *state, void *arg)
{
    *(uint32_t *)arg = state->self.nranks;
}

weft_status_t weft_comm_rank(weft_comm_t *comm, uint32_t *rank)
{
    return rank == NULL ? weft_fail(WEFT_ERR_ARG, 0, "weft_comm_rank: rank is NULL")
                        : weft_handle_visit(comm, "weft_comm_rank", comm_copy_rank, rank);
}

weft_status_t weft_comm_size(weft_comm_t *comm, uint32_t *nranks)
{
    return nranks == NULL ? weft_fail(WEFT_ERR_ARG, 0, "weft_comm_size: nranks is NULL")
                          : weft_handle_visit(comm, "weft_comm_size", comm_copy_size, nranks);
}

/* Describes how a checked call would run. */
static weft_status_t comm_explain(weft_comm_state_t *state, weft_args_t *args, char *text,
                                  size_t bytes)
{
    weft_prepared_t *prepared;
    const bool alone = state->self.nranks == 1;
    if (alone || (args->coll == WEFT_SEND_RECV && args->root == state->self.rank)) {
        snprintf(text, bytes, "%s: a copy by kernel %s", alone ? "one rank" : "send_recv to itself",
                 state->self.family->kernel.props.variant);
        return WEFT_OK;
    }
    if (args->coll == WEFT_SEND_RECV) {
        snprintf(text, bytes, "send_recv in slices of %llu bytes, %u at a time, over %s%s",
                 (unsigned long long)state->self.family->slot_bytes, state->self.family->slots,
                 weft_links_transport_name(state->links, args->root),
                 weft_links_is_gpudirect(state->links, args->root) ? ", slots on the device" : "");
        return WEFT_OK;
    }
    weft_status_t status = weft_select(state, args, &prepared);
    if (status == WEFT_OK) {
        snprintf(text, bytes, "%s", prepared->program.reason);
    }
    return status;
}

/* How many other ranks read a window of this one in place. */
static uint32_t comm_count_readers(const weft_comm_state_t *state)
{
    const weft_windows_t *shared = &state->windows.shared;
    uint32_t readers = 0;
    for (uint32_t r = 0; shared->reach != NULL && r < state->self.nranks; r++) {
        bool reads = false;
        for (uint32_t i = 0; i < WEFT_LANES_WINDOWS; i++) {
            reads = reads || (state->windows.own[i] != NULL && shared->reach[r].mine[i].bytes > 0);
        }
        readers += reads && r != state->self.rank;
    }
    return readers;
}

/* Adds the windows of this rank, and where all of this holds. */
static void comm_explain_place(weft_comm_state_t *state, char *text, size_t bytes)
{
    char name[WEFT_COMM_NAME_BYTES];
    const size_t used = strlen(text);
    uint64_t sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < WEFT_LANES_WINDOWS; i++) {
        const weft_window_t *window = state->windows.own[i];
        count += window != NULL;
        sum += window != NULL ? window->bytes : 0;
    }
    weft_failure_name(&state->failure, name, sizeof name);
    if (count > 0) {
        snprintf(text + used, bytes - used,
                 "; %u window%s of %" PRIu64
                 " bytes here, read in place by %u of %u other ranks; in %s",
                 count, count > 1 ? "s" : "", sum, comm_count_readers(state),
                 state->self.nranks - 1, name);
    } else {
        snprintf(text + used, bytes - used, "; no windows here; in %s", name);
    }
}

/* Predicts how long a checked call would take. */
static weft_status_t comm_predict(weft_comm_state_t *state, const weft_args_t *args,
                                  double *seconds_p)
{
    weft_prepared_t *prepared;
    if (weft_vectors_need(args->coll) == WEFT_VECTOR_PAIRS) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "weft_comm_predict: %s: no rank knows the lengths of all blocks",
                         weft_coll_name(args->coll));
    }
    if (state->self.nranks == 1) {
        double bytes = (double)args->count * (double)weft_dtype_size(args->dtype);
        *seconds_p = bytes / (double)state->self.family->kernel.props.bandwidth;
        return WEFT_OK;
    }
    if (args->coll == WEFT_SEND_RECV) {
        *seconds_p = weft_price_message(state, args->root,
                                        args->count * (uint64_t)weft_dtype_size(args->dtype));
        return WEFT_OK;
    }
    weft_status_t status = weft_select(state, args, &prepared);
    if (status == WEFT_OK) {
        *seconds_p = prepared->seconds;
    }
    return status;
}

/* Drops what the call has no argument for: a plan of its own would be made for each value. */
static void comm_drop_unasked(weft_args_t *args)
{
    if (args->coll == WEFT_BARRIER) {
        args->count = 0;
        args->dtype = WEFT_UINT8;
    }
    if (!weft_coll_reduces(args->coll)) {
        args->op = WEFT_SUM;
    }
    if (!weft_coll_is_rooted(args->coll) && args->coll != WEFT_SEND_RECV) {
        args->root = 0;
    }
}

/* Checks what a question about a call has of its arguments: those of its base collective, as there
 * are no vectors. */
static weft_status_t comm_check_asked_args(const weft_comm_state_t *state, weft_args_t *args)
{
    const weft_call_t call = {.size = sizeof call, .scalar = ""};
    weft_coll_t coll = args->coll;
    comm_drop_unasked(args);
    args->coll = weft_coll_base(coll);
    args->sends = coll == WEFT_SEND_RECV;
    weft_status_t status = weft_args_check_numbers(&state->self, &state->user_ops, args, &call);
    if (status == WEFT_OK && coll == WEFT_SEND_RECV) {
        status = weft_args_check_peer(&state->self, args, &call, true);
    }
    args->coll = coll;
    args->count = weft_coll_has_vectors(coll) ? weft_vectors_class(coll, args->count) : args->count;
    return status;
}

/* `missing`: what the answer has no place for, in words; NULL: nothing. */
static weft_status_t comm_check_question(const weft_comm_state_t *state, const char *call,
                                         const char *missing, weft_args_t *args)
{
    if (missing != NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: %s", call, missing);
    }
    if ((unsigned)args->coll >= WEFT_COLL_COUNT) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: unknown collective %d, known are 0 … %d", call,
                         (int)args->coll, WEFT_COLL_COUNT - 1);
    }
    if (weft_engine_is_busy(state)) {
        return weft_fail(WEFT_ERR_STATE, 0, "%s: asynchronous calls are under way", call);
    }
    return comm_check_asked_args(state, args);
}

/* Takes the communicator to ask about a call, and logs why it cannot. The caller leaves it after
 * OK. */
static weft_status_t comm_enter_to_ask(weft_comm_t *comm, const char *call, const char *missing,
                                       weft_args_t *args, weft_comm_state_t **state_p)
{
    weft_status_t status = weft_comm_enter(comm, call, state_p);
    if (status != WEFT_OK) {
        return weft_api_error("comm", status);
    }
    bool logged = weft_comm_has_failed(*state_p);
    status =
        logged ? weft_comm_failure(*state_p) : comm_check_question(*state_p, call, missing, args);
    if (status != WEFT_OK) {
        weft_comm_leave(*state_p);
    }
    return status == WEFT_OK || logged ? status : weft_api_error("comm", status);
}

/* Leaves the communicator with the answer. What another rank tells is not logged here. */
static weft_status_t comm_leave_after_asking(weft_comm_state_t *state, weft_status_t status)
{
    bool told = !weft_failure_speaks(&state->self, status);
    weft_comm_leave(state);
    return status == WEFT_OK || told ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_explain(weft_comm_t *comm, weft_coll_t coll, uint64_t count,
                                weft_dtype_t dtype, weft_op_t op, uint32_t root, char *text,
                                size_t bytes)
{
    weft_comm_state_t *state;
    char whole[EXPLANATION_BYTES];
    weft_args_t args = {.coll = coll, .count = count, .dtype = dtype, .op = op, .root = root};
    const char *missing = text == NULL ? "text is NULL" : bytes == 0 ? "bytes is 0" : NULL;
    weft_status_t status = comm_enter_to_ask(comm, "weft_comm_explain", missing, &args, &state);
    if (status != WEFT_OK) {
        return status;
    }
    status = comm_explain(state, &args, whole, sizeof whole);
    if (status == WEFT_OK) {
        comm_explain_place(state, whole, sizeof whole);
        weft_utf8_copy(text, bytes, whole);
    }
    return comm_leave_after_asking(state, status);
}

weft_status_t weft_comm_predict(weft_comm_t *comm, weft_coll_t coll, uint64_t count,
                                weft_dtype_t dtype, weft_op_t op, uint32_t root, double *seconds_p)
{
    weft_comm_state_t *state;
    weft_args_t args = {.coll = coll, .count = count, .dtype = dtype, .op = op, .root = root};
    const char *missing = seconds_p == NULL ? "seconds_p is NULL" : NULL;
    weft_status_t status = comm_enter_to_ask(comm, "weft_comm_predict", missing, &args, &state);
    if (status != WEFT_OK) {
        return status;
    }
    return comm_leave_after_asking(state, comm_predict(state, &args, seconds_p));
}
