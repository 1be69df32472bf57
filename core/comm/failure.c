/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The failure of a communicator: kept, logged, told. */
#include "core/comm/failure.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/utf8.h"
#include "core/os/os_socket.h"

void weft_failure_init(weft_failure_t *failure, weft_flight_comm_t *flight)
{
    failure->flight = flight;
    weft_error_clear(&failure->error);
    snprintf(failure->name, sizeof failure->name, "world");
    weft_flight_name(flight, failure->name);
    failure->fd = -1;
}

void weft_failure_set_name(weft_failure_t *failure, const char *name)
{
    weft_os_lock(&failure->lock);
    weft_utf8_copy(failure->name, sizeof failure->name, name);
    failure->named = true;
    weft_flight_name(failure->flight, name);
    weft_os_unlock(&failure->lock);
}

void weft_failure_name(weft_failure_t *failure, char *text, size_t bytes)
{
    weft_os_lock(&failure->lock);
    snprintf(text, bytes, "%s", failure->name);
    weft_os_unlock(&failure->lock);
}

const char *weft_failure_place(weft_failure_t *failure, char text[WEFT_FAILURE_PLACE])
{
    text[0] = '\0';
    weft_os_lock(&failure->lock);
    if (strcmp(failure->flight->name, "world") != 0) {
        snprintf(text, WEFT_FAILURE_PLACE, "in %s: ", failure->flight->name);
    }
    weft_os_unlock(&failure->lock);
    return text;
}

void weft_failure_fini(weft_failure_t *failure)
{
    weft_os_close(failure->fd);
    failure->fd = -1;
}

static void failure_fill_culprit(const weft_comm_identity_t *self, weft_error_t *error)
{
    error->comm_id = self->id;
    error->rank = (int32_t)self->rank;
    if (error->peer >= 0 && (uint32_t)error->peer < self->nranks) {
        const weft_boot_peer_t *peer =
            &weft_boot_peers(self->family->boot)[self->family_rank[error->peer]];
        error->peer_pid = peer->pid;
        snprintf(error->peer_host, sizeof error->peer_host, "%s", peer->host_name);
    }
}

/* The caller holds the lock. */
static void failure_keep(weft_failure_t *failure, const weft_comm_identity_t *self,
                         const weft_error_t *error, const weft_missing_t *missing)
{
    weft_os_mutex_assert_held(&failure->lock);
    failure->error = *error;
    if (missing != NULL) {
        failure->missing = *missing;
    }
    failure->error.size = sizeof failure->error;
    failure_fill_culprit(self, &failure->error);
    if (failure->named) {
        /* The others get the text without it, and put their own name before it. */
        snprintf(failure->error.text, sizeof failure->error.text, "in %s: %.440s", failure->name,
                 error->text);
    }
    weft_flight_fail(&self->family->survival.flight, failure->flight, &failure->error);
    atomic_store_explicit(&failure->failed, 1, memory_order_release);
    if (failure->fd >= 0) {
        weft_os_wake(failure->fd);
    }
}

bool weft_failure_speaks(const weft_comm_identity_t *self, weft_status_t status)
{
    return status != WEFT_ERR_PLAN || self->rank == 0;
}

/* What this rank's own system refused. */
static bool failure_is_of_system(weft_status_t status)
{
    return status == WEFT_ERR_RESOURCE || status == WEFT_ERR_SYSTEM;
}

/* What the others hear of a failure that is this rank's own. */
static void failure_name_self(const weft_comm_identity_t *self, weft_error_t *error)
{
    char text[sizeof error->text];
    error->peer = (int32_t)self->rank;
    failure_fill_culprit(self, error);
    if (failure_is_of_system(error->status)) {
        snprintf(text, sizeof text, "%s", error->text);
        snprintf(error->text, sizeof error->text, "rank %u of host %s, pid %d: %.360s", self->rank,
                 error->peer_host, (int)error->peer_pid, text);
    }
}

/* Tells the others of the failure that is kept, with its text as it was: they put their own name of
 * the communicator before it. The caller holds the lock, so that whoever reads the failure finds it
 * told. */
static void failure_tell(weft_failure_t *failure, const weft_comm_identity_t *self,
                         const char *text, const weft_missing_t *missing)
{
    weft_error_t told = failure->error;
    weft_os_mutex_assert_held(&failure->lock);
    memcpy(told.text, text, sizeof told.text);
    if (told.peer < 0) {
        failure_name_self(self, &told);
    }
    failure->telling = self->family->boot;
    weft_health_report(failure->telling, self->id, &told, missing);
}

void weft_failure_set(weft_failure_t *failure, const weft_comm_identity_t *self,
                      const weft_error_t *error, const weft_missing_t *missing, bool tell)
{
    weft_os_lock(&failure->lock);
    bool first = !weft_failure_is_set(failure);
    weft_error_t mine = *error;
    if (tell && failure_is_of_system(error->status)) {
        mine.peer = -1; /* whoever it was about, what is lacking is lacking here */
    }
    if (first) {
        failure_keep(failure, self, &mine, missing);
    }
    weft_error_t kept = failure->error;
    if (first && tell) {
        failure_tell(failure, self, error->text, missing);
    }
    weft_os_unlock(&failure->lock);
    if (first) {
        weft_log(weft_failure_speaks(self, kept.status) ? WEFT_LOG_ERROR : WEFT_LOG_INFO, "comm",
                 "rank %u of %u: %s: %s", self->rank, self->nranks, weft_status_name(kept.status),
                 kept.text);
    }
}

weft_boot_t *weft_failure_copy(weft_failure_t *failure, weft_error_t *error)
{
    weft_os_lock(&failure->lock);
    weft_boot_t *telling = failure->telling;
    *error = failure->error;
    weft_os_unlock(&failure->lock);
    return telling;
}

void weft_failure_get(weft_failure_t *failure, weft_error_t *error)
{
    weft_boot_t *telling = weft_failure_copy(failure, error);
    if (telling == NULL) {
        return;
    }
    weft_health_await(telling);
    weft_os_lock(&failure->lock);
    failure->telling = NULL;
    weft_os_unlock(&failure->lock);
}

weft_status_t weft_failure_descriptor(weft_failure_t *failure, int *fd_p)
{
    weft_os_lock(&failure->lock);
    bool asked = failure->fd >= 0;
    weft_status_t status = asked ? WEFT_OK : weft_os_wake_open(&failure->fd);
    if (status == WEFT_OK && !asked && weft_failure_is_set(failure)) {
        weft_os_wake(failure->fd);
    }
    *fd_p = status == WEFT_OK ? failure->fd : *fd_p;
    weft_os_unlock(&failure->lock);
    return status;
}

weft_status_t weft_failure_raise(weft_failure_t *failure)
{
    weft_failure_get(failure, weft_error_record());
    return weft_error_record()->status;
}

uint32_t weft_failure_missing(weft_failure_t *failure, uint32_t *ranks, uint32_t max)
{
    weft_os_lock(&failure->lock);
    uint32_t listed = weft_missing_list(&failure->missing, ranks, max);
    weft_os_unlock(&failure->lock);
    return listed;
}
