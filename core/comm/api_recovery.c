/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for going on after a failure. */
#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/grow.h"
#include "core/comm/group.h"
#include "core/comm/handle.h"
#include "core/comm/naming.h"
#include "core/comm/shrink.h"

typedef struct recovery_fd {
    int fd;
    weft_status_t status;
} recovery_fd_t;

static void recovery_ask_fd(weft_comm_state_t *state, void *arg)
{
    recovery_fd_t *asked = arg;
    asked->status = weft_failure_descriptor(&state->failure, &asked->fd);
}

weft_status_t weft_comm_error_fd(weft_comm_t *comm, int *fd_p)
{
    recovery_fd_t asked = {.fd = -1};
    weft_status_t status =
        fd_p != NULL ? weft_handle_visit(comm, "weft_comm_error_fd", recovery_ask_fd, &asked)
                     : weft_fail(WEFT_ERR_ARG, 0, "weft_comm_error_fd: fd_p is NULL");
    status = status == WEFT_OK ? asked.status : status;
    if (status == WEFT_OK) {
        *fd_p = asked.fd;
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_agree(weft_comm_t *comm, uint64_t *bits)
{
    weft_status_t status = weft_group_refuse("weft_comm_agree");
    if (status == WEFT_OK && bits == NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_comm_agree: bits is NULL");
    }
    status = status == WEFT_OK ? weft_agree(comm, bits) : status;
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_shrink(weft_comm_t *comm, const uint32_t *excluded, uint32_t count,
                               weft_comm_t **child_p)
{
    weft_status_t status = weft_group_refuse("weft_comm_shrink");
    if (status == WEFT_OK && (child_p == NULL || (excluded == NULL && count > 0))) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_comm_shrink: %s is NULL",
                           child_p == NULL ? "child_p" : "excluded");
    }
    status = status == WEFT_OK ? weft_shrink(comm, excluded, count, child_p) : status;
    if (status == WEFT_OK) {
        weft_naming_derive(comm, *child_p, "shrunk");
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_ticket(weft_comm_t *comm, const uint32_t *ranks, uint32_t count,
                               weft_ticket_t *tickets)
{
    weft_status_t status = tickets == NULL
                               ? weft_fail(WEFT_ERR_ARG, 0, "weft_comm_ticket: tickets is NULL")
                           : count == 0 ? weft_fail(WEFT_ERR_ARG, 0, "weft_comm_ticket: count is 0")
                                        : weft_grow_tickets(comm, ranks, count, tickets);
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_grow(weft_comm_t *comm, const weft_ticket_t *tickets, uint32_t count,
                             weft_comm_t **grown_p)
{
    weft_status_t status = weft_group_refuse("weft_comm_grow");
    if (status == WEFT_OK && (grown_p == NULL || (tickets == NULL && count > 0))) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_comm_grow: %s is NULL",
                           grown_p == NULL ? "grown_p" : "tickets");
    }
    status = status == WEFT_OK ? weft_grow(comm, tickets, count, grown_p) : status;
    if (status == WEFT_OK) {
        weft_naming_derive(comm, *grown_p, "grown");
    }
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}

weft_status_t weft_comm_join(weft_comm_t **comm_p, const weft_ticket_t *ticket,
                             const weft_comm_options_t *options)
{
    weft_status_t status = WEFT_OK;
    if (comm_p == NULL || ticket == NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_comm_join: %s is NULL",
                           comm_p == NULL ? "comm_p" : "ticket");
    }
    const char *name = weft_naming_option(options);
    if (status == WEFT_OK && name != NULL) {
        status = weft_naming_check("weft_comm_join", name);
    }
    status = status == WEFT_OK ? weft_grow_join(ticket, options, comm_p) : status;
    if (status == WEFT_OK && name != NULL) {
        status = weft_comm_set_name(*comm_p, name);
    }
    return status == WEFT_OK ? status : weft_api_error("init", status);
}
