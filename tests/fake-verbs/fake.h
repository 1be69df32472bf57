/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Script of the fake verbs library: which adapters there are, and what goes wrong. A program
 * that links the library calls these functions; any other program sets FAKE_VERBS in its
 * environment, words separated by blanks:
 *
 *   devices=2 ports=8 link=ib|roce transport=ib|iwarp inline=64 reorder=SEED
 *   call:reg_mr:3=12          the third ibv_reg_mr fails with errno 12
 *   die:modify_qp:4=1         adapter fake1 fails as the fourth ibv_modify_qp begins
 *   status:write_imm:2=13     the second write with immediate fails with status 13, nothing moved
 *   after:write_imm:2=13      the same, but the data and the immediate arrived
 *   twice:recv:4              the fourth receive completes twice
 *   hold:write_imm:4          completions from the fourth on are kept back until fake_release()
 *   stall:write:1             the first write stays on its way until fake_release()
 *
 * Counters are those of the process and start at 1. Kinds: send write write_imm read recv any. */
#ifndef WEFT_TESTS_FAKE_VERBS_FAKE_H
#define WEFT_TESTS_FAKE_VERBS_FAKE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_DEVICES_MAX 40u
#define FAKE_PORTS_MAX 8u
#define FAKE_GIDS_MAX 16u

typedef struct fake_port {
    struct ibv_port_attr attr; /* gid_tbl_len is set by the library */
    uint32_t ngids;
    struct ibv_gid_entry gids[FAKE_GIDS_MAX]; /* port_num is set by the library */
} fake_port_t;

typedef struct fake_device {
    char name[IBV_SYSFS_NAME_MAX];
    enum ibv_transport_type transport;
    bool no_dmabuf; /* it cannot register dma-bufs */
    uint32_t nports;
    uint32_t max_inline;
    uint32_t vectors;            /* for interrupts of completion queues; 0: one */
    struct ibv_device_attr attr; /* phys_port_cnt is set by the library */
    fake_port_t ports[FAKE_PORTS_MAX];
} fake_device_t;

typedef enum fake_kind {
    FAKE_SEND,
    FAKE_WRITE,
    FAKE_WRITE_IMM,
    FAKE_READ,
    FAKE_RECV,
    FAKE_ANY,
    FAKE_KINDS
} fake_kind_t;

typedef enum fake_call {
    FAKE_FORK_INIT,
    FAKE_GET_DEVICE_LIST,
    FAKE_OPEN_DEVICE,
    FAKE_QUERY_DEVICE,
    FAKE_QUERY_PORT,
    FAKE_QUERY_GID_TABLE,
    FAKE_ALLOC_PD,
    FAKE_REG_MR,
    FAKE_REG_DMABUF,
    FAKE_CREATE_CHANNEL,
    FAKE_CREATE_CQ,
    FAKE_CREATE_QP,
    FAKE_MODIFY_QP,
    FAKE_POST_SEND,
    FAKE_POST_RECV,
    FAKE_POLL_CQ,
    FAKE_REQ_NOTIFY,
    FAKE_DEREG_MR,
    FAKE_CALLS
} fake_call_t;

typedef enum fake_act {
    FAKE_FAIL,
    FAKE_STATUS,
    FAKE_AFTER,
    FAKE_TWICE,
    FAKE_HOLD,
    FAKE_STALL,
    FAKE_DIE
} fake_act_t;

/* One fault, which happens once. */
typedef struct fake_fault {
    fake_act_t act;
    fake_call_t call; /* of FAKE_FAIL and FAKE_DIE */
    fake_kind_t kind; /* of the others */
    uint32_t nth;     /* from 1 */
    /* errno of FAKE_FAIL, index of the adapter of FAKE_DIE, enum ibv_wc_status of FAKE_STATUS and
     * FAKE_AFTER */
    int value;
} fake_fault_t;

/* Numbers of living objects. */
typedef struct fake_live {
    uint32_t lists, contexts, pds, mrs, channels, cqs, qps;
} fake_live_t;

/* Creates `count` equal adapters fake0, fake1, … with one active InfiniBand port each; no
 * adapter may be open. Also forgets faults and counters. */
void fake_setup(uint32_t count);
/* Returns an adapter, to be changed before it is opened. */
fake_device_t *fake_device(uint32_t index);
/* Gives the adapter `count` equal ports, with LIDs and GIDs of their own. */
void fake_device_ports(uint32_t index, uint32_t count);
/* Makes the port RoCE with the usual table: 0 and 1 link-local v1 and v2, 2 and 3 IPv4. */
void fake_port_roce(uint32_t index, uint32_t port);

void fake_fault(const fake_fault_t *fault);
/* Forgets all faults and sets all counters to 0. */
void fake_forget(void);
/* Returns whether the newest fault has happened. */
bool fake_happened(void);
/* Releases completions that were held back and requests that were stalled. */
void fake_release(void);
/* 0 keeps completions in order; with a seed those of different queues come in a random order. */
void fake_reorder(uint32_t seed);
uint32_t fake_count_kind(fake_kind_t kind);
uint32_t fake_count_call(fake_call_t call);
/* The number of vectors that completion queues of the adapter have had. */
uint32_t fake_count_vectors(uint32_t index);
/* The number of living registrations that have the access flags of verbs. */
uint32_t fake_count_access(int flags);
const char *fake_call_name(fake_call_t call);
const char *fake_kind_name(fake_kind_t kind);
void fake_living(fake_live_t *live);

/* Changes a port's state and raises the event for it. While the port is down nothing moves over
 * it. */
void fake_port_state(uint32_t index, uint32_t port, enum ibv_port_state state);
/* Raises an event of a port and does nothing else. */
void fake_port_event(uint32_t index, uint32_t port, enum ibv_event_type type);
/* Raises IBV_EVENT_DEVICE_FATAL; nothing moves from now on, nothing is made, and no table is read.
 * The descriptors for events stay readable, as those of an adapter that is taken out. */
void fake_device_fatal(uint32_t index);
/* Raises an event of the n-th living queue pair, or of its completion queue. */
void fake_qp_event(uint32_t nth, enum ibv_event_type type);
/* Puts the n-th living queue pair into the error state; its requests are flushed. */
void fake_qp_break(uint32_t nth);

/* Connects two queue pairs of iWARP adapters, by their numbers; the second may send only after
 * it has received from the first. Returns 0, or EINVAL if they cannot be connected. */
int fake_qp_join(uint32_t first, uint32_t first_port, uint32_t second, uint32_t second_port);
/* Ends the connection of a queue pair, by its number; an unknown number is no error. */
void fake_qp_cut(uint32_t number);

/* Faults of the connection manager (fake_cm.c); counts go down to 0. */
typedef struct fake_cm {
    uint32_t listens_busy;  /* rdma_listen() finds its port in use */
    uint32_t connects_busy; /* rdma_connect() finds its port in use */
    uint32_t strangers;     /* requests of strangers, before the first right one */
    bool no_address;        /* the peer's address is not resolved */
    bool no_answer;         /* … and nothing tells so */
    bool late_acceptor;     /* the acceptor is told that it is connected when this ends */
    uint32_t odd_nth;       /* before the n-th event comes one of type odd_event; 0: never */
    int odd_event;          /* enum rdma_cm_event_type */
    bool odd_instead;       /* … or in its place, unless it is a request */
} fake_cm_t;

void fake_cm(const fake_cm_t *script);
/* Whether the odd event has come. */
bool fake_cm_was_odd(void);
/* The number of living identifiers. */
uint32_t fake_cm_living(void);

#endif
