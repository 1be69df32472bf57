/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two instances of net-ib on fake adapters, one connection, and a fixed exchange of messages
 * over it. The exchange records everything that a test may ask about, and checks what must
 * always hold: each posted operation completes exactly once, received bytes are right, nothing
 * is left behind. */
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
    weft_status_t refused;     /* the status of a post that failed */
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
    /* The messages lie in memory of a device, registered by its dma-buf; the addresses that name it
     * must not be accessed. */
    bool on_device;
    uint8_t *here, *there; /* where the test has that memory, and those addresses */
    int area;              /* its dma-buf */
} traffic_t;

/* Opens both sides and connects them. `settings` ends with NULL. Returns OK or the first
 * failure; call traffic_end() in any case. */
weft_status_t traffic_begin(traffic_t *traffic, const char *const *settings);
/* The same with settings of its own for each side. */
weft_status_t traffic_begin_sides(traffic_t *traffic, const char *const *first,
                                  const char *const *second);
/* Makes one more connection between the two sides: its ends go to `conns`, which holds two. Returns
 * OK or the first failure, and then NULL for an end that there is not. */
weft_status_t traffic_connect(traffic_t *traffic, weft_net_conn_t **conns);
/* Closes the connection of a finished exchange, makes another one, and forgets the exchange. */
weft_status_t traffic_again(traffic_t *traffic);
/* Registers the memory of the device anew at both sides. */
weft_status_t traffic_register(traffic_t *traffic);
/* Posts all messages, in both directions, as far as the sides take them. */
void traffic_post(traffic_t *traffic);
/* Polls until every posted operation is done. Returns false if that takes longer. */
bool traffic_wait(traffic_t *traffic, double seconds);
void traffic_poll(traffic_t *traffic, uint32_t times);
/* Checks received bytes, and that no completion comes again. */
void traffic_verify(traffic_t *traffic);
/* Checks that all messages arrived, all operations succeeded; `what` and `nth` say which exchange
 * it was. */
void traffic_check_all(traffic_t *traffic, const char *what, uint32_t nth);
/* Whether the logs of both sides contain these words. */
bool traffic_log_says(const traffic_t *traffic, const char *words);
/* Closes everything and checks that nothing is left: allocations, descriptors, verbs objects. */
void traffic_end(traffic_t *traffic);
/* Does all of the above. Returns the status of the set-up. */
weft_status_t traffic_run(traffic_t *traffic, const char *const *settings);

/* Opens an instance alone, on all adapters that the settings admit. */
weft_status_t side_open(traffic_side_t *side, const char *const *settings);
void side_close(traffic_side_t *side);
/* Opens an instance with one setting, checks how many devices it has and that its log says `said`
 * and not `unsaid`, and closes it. */
void side_check_log(const char *setting, uint32_t devices, const char *said, const char *unsaid);
/* Whether a sleep on the device ends within this time. */
bool side_wakes(const traffic_side_t *side, int ms);
/* Puts one more TCP address before those of the listener, with this port; 0: with the first
 * one's. */
void side_add_address(traffic_side_t *side, uint16_t port);
const weft_net_ops_t *traffic_ops(void);
double traffic_now(void);
/* A clock for a side, by which it is so much later. */
extern uint64_t traffic_later_by_ns;
uint64_t traffic_later(const weft_host_t *host);

#endif
