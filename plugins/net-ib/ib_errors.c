/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of completion statuses and asynchronous events: what they usually mean, and what to do. */
#include "ib_errors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Indexed by enum ibv_wc_status. */
static const ib_cause_t causes[] = {
    [IBV_WC_SUCCESS] = {"success", "no error", "none", WEFT_OK},
    [IBV_WC_LOC_LEN_ERR] = {"local length error",
                            "a request is longer than the adapter or the receive allows",
                            "report it with the adapter's name and firmware", WEFT_ERR_LINK},
    [IBV_WC_LOC_QP_OP_ERR] = {"local queue pair operation error",
                              "the adapter found the queue pair inconsistent",
                              "update driver and firmware; look at dmesg", WEFT_ERR_LINK},
    [IBV_WC_LOC_EEC_OP_ERR] = {"local end-to-end context error", "unused with RC queue pairs",
                               "update driver and firmware", WEFT_ERR_LINK},
    [IBV_WC_LOC_PROT_ERR] = {"local protection error",
                             "a buffer is not covered by its registration, or its pages changed "
                             "after fork or unmap",
                             "do not free or remap registered memory while it is in use",
                             WEFT_ERR_LINK},
    [IBV_WC_WR_FLUSH_ERR] = {"request flushed",
                             "the queue pair had failed before; this is never the cause",
                             "look for the first error of this rank and of the peer",
                             WEFT_ERR_LINK},
    [IBV_WC_MW_BIND_ERR] = {"memory window bind error", "memory windows are not used here",
                            "update driver and firmware", WEFT_ERR_LINK},
    [IBV_WC_BAD_RESP_ERR] = {"bad response", "the peer's adapter answered out of protocol",
                             "compare firmware and driver versions of both hosts; check cables",
                             WEFT_ERR_LINK},
    [IBV_WC_LOC_ACCESS_ERR] = {"local access error",
                               "the peer wrote outside the memory it was granted",
                               "check that all ranks run the same version of weft", WEFT_ERR_PROTO},
    [IBV_WC_REM_INV_REQ_ERR] = {"remote invalid request",
                                "the peer's adapter refused the request: too long, or an "
                                "operation its queue pair does not allow",
                                "check that all ranks run the same version and options of net-ib",
                                WEFT_ERR_PROTO},
    [IBV_WC_REM_ACCESS_ERR] = {"remote access error",
                               "the peer's memory is no longer registered, e.g. it freed the "
                               "buffer or ended the operation",
                               "look for the first error of the peer", WEFT_ERR_LINK},
    [IBV_WC_REM_OP_ERR] = {"remote operation error",
                           "the peer's adapter failed while it served the request",
                           "look at dmesg and the adapter's counters on the peer", WEFT_ERR_LINK},
    [IBV_WC_RETRY_EXC_ERR] = {"transport retry counter exceeded",
                              "the peer did not acknowledge: it died, the network lost the "
                              "packets, or the GIDs do not route to each other",
                              "check the peer and the port; on RoCE check gid_index, roce_version "
                              "and that the MTU passes the switches; raise timeout and retry",
                              WEFT_ERR_LINK},
    [IBV_WC_RNR_RETRY_EXC_ERR] = {"receiver-not-ready retries exceeded",
                                  "the peer has no receive posted, its process may be stopped",
                                  "set rnr_retry = 7 (without end)", WEFT_ERR_LINK},
    [IBV_WC_LOC_RDD_VIOL_ERR] = {"local reliable-datagram violation", "unused with RC queue pairs",
                                 "update driver and firmware", WEFT_ERR_LINK},
    [IBV_WC_REM_INV_RD_REQ_ERR] = {"remote invalid reliable-datagram request",
                                   "unused with RC queue pairs", "update driver and firmware",
                                   WEFT_ERR_LINK},
    [IBV_WC_REM_ABORT_ERR] = {"remote aborted", "the peer's adapter gave the request up",
                              "look at dmesg on the peer", WEFT_ERR_LINK},
    [IBV_WC_INV_EECN_ERR] = {"invalid end-to-end context", "unused with RC queue pairs",
                             "update driver and firmware", WEFT_ERR_LINK},
    [IBV_WC_INV_EEC_STATE_ERR] = {"invalid end-to-end context state", "unused with RC queue pairs",
                                  "update driver and firmware", WEFT_ERR_LINK},
    [IBV_WC_FATAL_ERR] = {"fatal error", "the adapter failed",
                          "look at dmesg; reset the adapter or exclude it with devices = ^NAME",
                          WEFT_ERR_LINK},
    [IBV_WC_RESP_TIMEOUT_ERR] = {"response timeout", "the peer's adapter did not answer in time",
                                 "check the peer and the fabric; raise timeout", WEFT_ERR_LINK},
    [IBV_WC_GENERAL_ERR] = {"general error", "the adapter or its driver failed",
                            "look at dmesg and the adapter's counters", WEFT_ERR_LINK},
    [IBV_WC_TM_ERR] = {"tag matching error", "tag matching is not used here",
                       "update driver and firmware", WEFT_ERR_LINK},
    [IBV_WC_TM_RNDV_INCOMPLETE] = {"tag matching rendezvous incomplete",
                                   "tag matching is not used here", "update driver and firmware",
                                   WEFT_ERR_LINK},
};

const ib_cause_t *ib_cause_of(enum ibv_wc_status status)
{
    static const ib_cause_t unknown = {"unknown completion status", "the driver is newer than weft",
                                       "look at dmesg", WEFT_ERR_LINK};
    bool known = (uint32_t)status < sizeof causes / sizeof causes[0] && causes[status].name != NULL;
    return known ? &causes[status] : &unknown;
}

const char *ib_event_text(enum ibv_event_type type)
{
    static const struct {
        enum ibv_event_type type;
        const char *text;
    } texts[] = {
        {IBV_EVENT_CQ_ERR, "its completion queue overran or failed"},
        {IBV_EVENT_QP_FATAL, "its queue pair failed; look at dmesg"},
        {IBV_EVENT_QP_REQ_ERR, "the peer sent an invalid request"},
        {IBV_EVENT_QP_ACCESS_ERR, "the peer touched memory it was not granted"},
        {IBV_EVENT_PATH_MIG_ERR, "its path could not migrate"},
        {IBV_EVENT_DEVICE_FATAL, "the adapter failed; look at dmesg"},
        {IBV_EVENT_PORT_ERR, "the port is down: cable, switch, or an administrator"},
        {IBV_EVENT_PORT_ACTIVE, "the port is up again"},
        {IBV_EVENT_LID_CHANGE,
         "the port's LID changed; connections that began before do not go on over it"},
        {IBV_EVENT_PKEY_CHANGE, "the port's partition keys changed"},
        {IBV_EVENT_SM_CHANGE, "the subnet manager changed"},
        {IBV_EVENT_GID_CHANGE, "the port's GID table changed"},
        {IBV_EVENT_CLIENT_REREGISTER, "the subnet manager asks to register again"},
    };
    for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].type == type) {
            return texts[i].text;
        }
    }
    return "an event that needs nothing";
}
