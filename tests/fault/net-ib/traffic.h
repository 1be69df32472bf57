/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two instances of net-ib on fake adapters, one connection, and a fixed exchange of messages over it. The
 * exchange records everything that a test may ask about; what must hold always is checked in it: each
 * posted operation completes exactly once, received bytes are right, nothing is left behind. */
#ifndef WEFT_TESTS_FAULT_NET_IB_TRAFFIC_H
#define WEFT_TESTS_FAULT_NET_IB_TRAFFIC_H

#include <stdbool.h>

#include <weft/plugin/net.h>

#include "fake.h"
#include "tests/support/fake_host.h"

#define TRAFFIC_MESSAGES 10u
#define TRAFFIC_LARGEST 200000u

/* One instance, its device, and its end of the connection. */
typedef struct traffic_side {
    fake_host_t fake;
    void *config;
    weft_net_t *net;
    weft_net_device_t *device;
    weft_net_listener_t *listener;
    weft_net_address_t address;
    weft_net_conn_t *conn;
    weft_net_region_t *region; /* of the device's memory, or NULL */
    char cause[512];           /* text of the first error after the connection was ready */
    weft_status_t refused;     /* what a post answered when it failed */
} traffic_side_t;

typedef struct traffic_op {
    uint32_t kind;
    bool posted, done;
    weft_status_t status;
    uint64_t bytes;
} traffic_op_t;

typedef struct traffic {
    const weft_net_ops_t *ops;
    traffic_side_t sides[2]; /* 0 connects, 1 accepts */
    traffic_op_t sends[TRAFFIC_MESSAGES], recvs[TRAFFIC_MESSAGES];
    uint8_t *out[TRAFFIC_MESSAGES], *in[TRAFFIC_MESSAGES];
    uint32_t posted, done, failed;
    bool wait; /* the exchange uses wait_fd too */
    bool
        apart; /* the messages are memory of a device, registered by its dma-buf: at the addresses by which
                   it is named nobody may read or write */
    uint8_t *here, *there; /* of the test, and those addresses */
} traffic_t;

/* What: `settings` ends with NULL. OK, or the first failure; traffic_end() is due in any case. */
weft_status_t traffic_begin(traffic_t *traffic, const char *const *settings);
/* What: the same with settings of its own for each side. */
weft_status_t traffic_begin_sides(traffic_t *traffic, const char *const *first,
                                  const char *const *second);
/* What: posts all messages, in both directions, as far as the sides take them. */
void traffic_post(traffic_t *traffic);
/* What: polls until all that was posted is done; false: not within the time. */
bool traffic_wait(traffic_t *traffic, double seconds);
void traffic_poll(traffic_t *traffic, uint32_t times);
/* What: checks received bytes, and that no completion comes again. */
void traffic_verify(traffic_t *traffic);
/* What: closes and checks that nothing is left: allocations, descriptors, verbs objects. */
void traffic_end(traffic_t *traffic);
/* What: all of the above. Returns the status of the set-up. */
weft_status_t traffic_run(traffic_t *traffic, const char *const *settings);

/* What: an instance alone, on all adapters that the settings admit. */
weft_status_t side_open(traffic_side_t *side, const char *const *settings);
void side_close(traffic_side_t *side);
const weft_net_ops_t *traffic_ops(void);
double traffic_now(void);

#endif
