/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What makes a rail count as lost: its adapter, its port, an event or a completion of its queue pairs. */
#include "ib.h"

#define FLUSH_WAIT_NS UINT64_C(20000000) /* for the cause of a flushed request to show */

/* Errors of the way or the adapter; others would come again on every rail. */
static bool status_is_of_rail(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_WR_FLUSH_ERR:
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_REM_ABORT_ERR:
    case IBV_WC_FATAL_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_GENERAL_ERR:
        return true;
    default:
        return false;
    }
}

static bool event_is_of_rail(uint32_t event)
{
    return event == IBV_EVENT_QP_FATAL || event == IBV_EVENT_CQ_ERR ||
           event == IBV_EVENT_PATH_MIG_ERR;
}

const char *ib_rail_cause(const ib_rail_t *rail, uint64_t now, uint64_t *since_p)
{
    uint64_t down = atomic_load(&rail->port->down_ns);
    uint32_t event = atomic_load(&rail->event);
    bool flushed = rail->bad.status == IBV_WC_WR_FLUSH_ERR;
    *since_p = rail->bad_ns != 0 ? rail->bad_ns : now;
    if (atomic_load(&rail->port->hca->fatal)) {
        return "the adapter failed";
    }
    if (down != 0) {
        *since_p = down < *since_p ? down : *since_p;
        return "the port is down";
    }
    if (event != 0 && event_is_of_rail(event - 1)) {
        return ib_event_text((enum ibv_event_type)(event - 1));
    }
    if (rail->bad_ns == 0 || !status_is_of_rail(rail->bad.status) ||
        (flushed && now - rail->bad_ns < FLUSH_WAIT_NS)) {
        return NULL;
    }
    return ib_cause_of(rail->bad.status)->name;
}

uint32_t ib_rails_up(const weft_net_conn_t *conn)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        mask |= conn->rails[i].state == IB_RAIL_UP ? 1u << i : 0;
    }
    return mask;
}
