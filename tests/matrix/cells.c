/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is in each cell. */
#include <stddef.h>

#include "matrix.h"
#include <weft/status.h>

#define BIT(status) (1u << -(WEFT_ERR_##status))
#define LOST (BIT(PEER_DEAD) | BIT(PEER_UNRESPONSIVE) | BIT(LINK))
#define AT(moment) (1u << (moment))
#define EVER ((1u << MOMENTS) - 1)
#define ON(transport) (1u << (transport))
#define NATIVE (ON(SHM) | ON(TCP))
#define IB (ON(FAKE) | ON(RXE))
#define ALL (NATIVE | IB)

/* Later rows win. A row without `test` and `none` is run here. */
typedef struct row {
    fault_t fault;
    uint32_t transports, moments;
    const char *test, *none;
} row_t;

#define ONE_PROCESS                                                                                \
    "the fake adapters join ranks of one process, so no rank has this fault alone; rxe has it"
#define NOT_THE_ADAPTER "not the adapters' business: the join, control and memory are those of tcp"
#define NO_CABLE "ranks of one host talk through its kernel: there is no cable"
#define AT_JOIN                                                                                    \
    "compared once, when ranks join; who comes later is compared by weft_comm_grow (fault/grow)"

static const row_t rows[] = {
    {KILLED, NATIVE | ON(RXE), EVER, NULL, NULL},
    {KILLED, ON(FAKE), EVER, NULL, ONE_PROCESS},
    {STOPPED, NATIVE | ON(RXE), EVER, NULL, NULL},
    {STOPPED, ON(FAKE), EVER, NULL, ONE_PROCESS},
    {RESUMED, NATIVE | ON(RXE), EVER, NULL, NULL},
    {RESUMED, ON(FAKE), EVER, NULL, ONE_PROCESS},

    {HOST_GONE, ON(SHM), EVER, NULL, "the whole job is gone with its host"},
    {HOST_GONE, ON(TCP), EVER, NULL, NULL},
    {HOST_GONE, ON(FAKE), EVER, NULL, ONE_PROCESS},
    {HOST_GONE, ON(RXE), EVER, NULL,
     "stopping a machine takes a boot of two guests for each cell; the middle has one"},
    {HOST_GONE, ON(RXE), AT(MIDDLE), "guest/host_faults", NULL},

    {PARTITION, ON(SHM), EVER, NULL, NO_CABLE},
    {PARTITION, ON(TCP), EVER, NULL, NULL},
    {PARTITION, IB, EVER, NULL,
     "needs three hosts, the guests are two; between two it is the host that is gone"},

    {ONE_WAY, ON(SHM), EVER, NULL, NO_CABLE},
    {ONE_WAY, ON(TCP), EVER, NULL, NULL},
    {ONE_WAY, IB, EVER, NULL,
     "a connection of verbs does not live in one direction: it ends as by no answer at all"},
    {ONE_WAY, ON(FAKE), AT(MIDDLE), "fault/net-ib/completions", NULL},
    {ONE_WAY, ON(RXE), AT(MIDDLE), "guest/host_faults", NULL},

    {RESET, NATIVE, EVER, NULL, NULL},
    {RESET, IB, EVER, NULL, "queue pairs have no reset from outside; the nearest is a broken one"},
    {RESET, ON(FAKE), AT(MIDDLE), "fault/net-ib/failover", NULL},

    {FLAP, ON(SHM), EVER, NULL, NO_CABLE},
    {FLAP, ON(TCP), EVER, NULL, NULL},
    {FLAP, IB, EVER, NULL,
     "the port's event comes to open connections; before and after there is none"},
    {FLAP, ON(FAKE), AT(MIDDLE), "fault/net-ib/events", NULL},
    {FLAP, ON(RXE), AT(MIDDLE), "guest/faults", NULL},

    {CABLE, ON(SHM), EVER, NULL, NO_CABLE},
    {CABLE, ON(TCP), EVER, NULL, NULL},
    {CABLE, IB, EVER, NULL,
     "the port's event comes to open connections; before and after there is none"},
    {CABLE, ON(FAKE), AT(MIDDLE), "fault/net-ib/events", NULL},
    {CABLE, ON(RXE), AT(MIDDLE), "guest/faults", NULL},

    {COMPLETION, NATIVE, EVER, NULL, "there are no completion queues"},
    {COMPLETION, ON(FAKE), AT(JOIN), NULL, "no queue pair is made before the first call"},
    {COMPLETION, ON(FAKE), AT(FIRST), "fault/net-ib/calls", NULL},
    {COMPLETION, ON(FAKE), AT(MIDDLE), "fault/net-ib/completions", NULL},
    {COMPLETION, ON(FAKE), AT(SPLIT) | AT(SHRINK) | AT(LEAVE), NULL,
     "splitting, shrinking and leaving post no requests of their own"},
    {COMPLETION, ON(RXE), EVER, NULL,
     "Soft-RoCE makes no errors on request; those of cables and hosts are its rows above"},

    {FULL_SHM, NATIVE, EVER, NULL, NULL},
    {FULL_SHM, IB, EVER, NULL, NOT_THE_ADAPTER},
    {FULL_DISK, NATIVE, EVER, NULL, NULL},
    {FULL_DISK, IB, EVER, NULL, NOT_THE_ADAPTER},

    {DESCRIPTORS, NATIVE, EVER, NULL, NULL},
    {DESCRIPTORS, ON(FAKE), EVER, NULL, "verbs objects are the limit of adapters: the first call"},
    {DESCRIPTORS, ON(FAKE), AT(FIRST), "fault/net-ib/calls", NULL},
    {DESCRIPTORS, ON(RXE), EVER, NULL, "verbs objects are the limit of adapters: the first call"},
    {DESCRIPTORS, ON(RXE), AT(FIRST), "guest/faults", NULL},

    {MEMORY, NATIVE, EVER, NULL, NULL},
    {MEMORY, IB, EVER, NULL, "registered memory is the limit of adapters: the first call"},
    {MEMORY, ON(FAKE), AT(FIRST), "fault/net-ib/calls", NULL},
    {MEMORY, ON(RXE), AT(FIRST), "guest/faults", NULL},

    {CLOCK, NATIVE, EVER, NULL, NULL},
    {CLOCK, IB, EVER, NULL, NOT_THE_ADAPTER},
    {SIGNALS, NATIVE | ON(RXE), EVER, NULL, NULL},
    {SIGNALS, ON(FAKE), EVER, NULL, ONE_PROCESS},
    {FORK, NATIVE | ON(RXE), EVER, NULL, NULL},
    {FORK, ON(FAKE), EVER, NULL, ONE_PROCESS},

    {STRANGERS, NATIVE, EVER, NULL, NULL},
    {STRANGERS, IB, EVER, NULL, "the channel that sets up a connection refuses them at any moment"},
    {STRANGERS, ON(FAKE), AT(FIRST), "conformance-net-ib-fake", NULL},
    {STRANGERS, ON(RXE), AT(FIRST), "guest/conformance", NULL},
    {REPLAY, ON(SHM), EVER, NULL,
     "a Unix socket cannot be listened to by strangers; the TCP ports of its join are those of "
     "tcp"},
    {REPLAY, ON(TCP), EVER, NULL, NULL},
    {REPLAY, IB, EVER, NULL, "the channel that sets up a connection has the handshake of tcp"},

    {SLOW, NATIVE | ON(RXE), EVER, NULL, NULL},
    {SLOW, ON(FAKE), EVER, NULL, "completions that come late are this fault for an adapter"},
    {SLOW, ON(FAKE), AT(MIDDLE), "fault/net-ib/completions", NULL},

    {DUPLICATE, NATIVE, EVER, NULL, NULL},
    {DUPLICATE, IB, EVER, NULL, NOT_THE_ADAPTER},
    {VERSION, ALL, EVER, NULL, AT_JOIN},
    {VERSION, ALL, AT(JOIN), "unit/core/boot/unique_id", NULL},
    {MIXED, ALL, EVER, NULL, AT_JOIN},
    {MIXED, NATIVE, AT(JOIN), NULL, NULL},
    {PLUGIN, ALL, EVER, NULL,
     "plugins are loaded when a rank joins; what they do wrong in a call is the first call's cell"},
    {PLUGIN, ALL, AT(JOIN), "fault/joining", NULL},
    {PLUGIN, ALL, AT(FIRST) | AT(MIDDLE), "check/net-1", NULL},
};

/* What the rows that are run here promise. The times are seconds beyond which the cell is red: for
 * a death that a process can see, what a loaded machine takes; for others the limits that the cell
 * sets. */
typedef struct promised {
    promise_t promise;
    double bar;
    uint32_t statuses;
} promised_t;

#define SILENCE 3.0 /* boot.unresponsive of these cells */
#define INIT 6.0    /* boot.init_timeout of cells that strike the join */

static const promised_t promises[FAULTS] = {
    [KILLED] = {NAMED, 1, BIT(PEER_DEAD)},
    [STOPPED] = {NAMED, SILENCE + 1.5, BIT(PEER_UNRESPONSIVE)},
    [RESUMED] = {GOES_ON, 2.5, 0},
    [HOST_GONE] = {NAMED, SILENCE + 2, LOST},
    [PARTITION] = {SIDES, 2 * SILENCE + 1.5,
                   LOST}, /* one silent rank may be found after the other */
    [ONE_WAY] = {ONE_SIDE, 2 * SILENCE + 2, LOST},
    [RESET] = {ALL_NAMED, 1, BIT(LINK)},
    [FLAP] = {GOES_ON, 2.5, 0},
    [CABLE] = {NAMED, SILENCE + 2, LOST},
    [FULL_SHM] = {GOES_ON, 2, 0},
    [FULL_DISK] = {GOES_ON, 2, 0},
    [DESCRIPTORS] = {EITHER, 2, BIT(RESOURCE)},
    [MEMORY] = {EITHER, 2, BIT(RESOURCE)},
    [CLOCK] = {GOES_ON, 2, 0},
    [SIGNALS] = {GOES_ON, 2, 0},
    [FORK] = {GOES_ON, 2, 0},
    [STRANGERS] = {GOES_ON, 2, 0},
    [REPLAY] = {GOES_ON, 2, 0},
    [SLOW] = {GOES_ON, 2.5, 0},
    [DUPLICATE] = {GOES_ON, 2, 0},
    [MIXED] = {REFUSED, 2, BIT(MISMATCH) | BIT(CONFIG)},
};

/* While ranks join there is nobody to go on with: an error on all is the best there is. */
static void promise_join(cell_t *cell)
{
    switch (cell->fault) {
    case KILLED:
    case DESCRIPTORS:
    case MEMORY:
        break;
    case RESET:
        cell->promise = GOES_ON; /* control connections are made again; no others exist yet */
        cell->bar = 2;
        break;
    case STOPPED:
    case HOST_GONE:
    case PARTITION:
    case ONE_WAY:
    case CABLE:
        cell->bar = INIT + 2;
        cell->statuses |= BIT(TIMEOUT) | LOST;
        break;
    case FULL_DISK:
        cell->promise = REFUSED;
        cell->statuses = BIT(RESOURCE);
        break;
    case DUPLICATE:
        cell->promise = REFUSED;
        cell->statuses = BIT(ARG);
        break;
    default:
        break;
    }
}

/* One cell of each kind, in ctest: those that take little time. */
static bool is_quick(const cell_t *cell)
{
    switch (cell->fault) {
    case KILLED:
        return cell->transport != RXE;
    case STOPPED:
        return cell->transport == SHM && cell->moment == MIDDLE;
    case RESUMED:
    case SLOW:
        return cell->transport == TCP && cell->moment == MIDDLE;
    case PARTITION:
        return cell->moment == MIDDLE;
    case RESET:
    case DESCRIPTORS:
        return cell->transport == TCP && cell->moment <= MIDDLE;
    case FULL_DISK:
    case FULL_SHM:
    case CLOCK:
    case SIGNALS:
    case FORK:
        return cell->transport == SHM && cell->moment <= MIDDLE;
    case DUPLICATE:
    case STRANGERS:
        return cell->transport == TCP && (cell->moment == JOIN || cell->moment == MIDDLE);
    case MIXED:
        return cell->transport == SHM;
    case MEMORY:
        return cell->transport == SHM && cell->moment == MIDDLE;
    case REPLAY:
        return cell->moment == FIRST;
    default:
        return false;
    }
}

void cell_find(fault_t fault, transport_t transport, moment_t moment, cell_t *cell)
{
    const promised_t *promised = &promises[fault];
    *cell = (cell_t){.fault = fault,
                     .transport = transport,
                     .moment = moment,
                     .none = "nobody has said",
                     .promise = promised->promise,
                     .bar = promised->bar,
                     .statuses = promised->statuses};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].fault == fault && (rows[i].transports & ON(transport)) != 0 &&
            (rows[i].moments & AT(moment)) != 0) {
            cell->test = rows[i].test;
            cell->none = rows[i].none;
        }
    }
    if (moment == JOIN) {
        promise_join(cell);
    }
    if (fault == RESET && transport == SHM) {
        cell->promise = GOES_ON; /* only control connections are of TCP */
    }
    if (cell->promise == EITHER) {
        cell->statuses |= BIT(REVOKED); /* by those that have heard of the failure */
    }
    cell->quick = cell->test == NULL && cell->none == NULL && is_quick(cell);
}
