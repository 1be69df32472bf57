/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Private parts of the fake verbs library. Everything lives in one world per process behind one
 * lock: the library stands for hardware, and a process has only one of that. */
#ifndef WEFT_TESTS_FAKE_VERBS_WORLD_H
#define WEFT_TESTS_FAKE_VERBS_WORLD_H

#include "fake.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#undef ibv_reg_mr
#undef ibv_query_port
#undef ibv_get_device_list

#define SGE_MAX 4
#define INLINE_MAX 1024u
#define FAULTS_MAX 16u
#define EVENTS_MAX 64u
#define QP_FIRST 0x100u

typedef struct vdevice {
    struct ibv_device base;
    fake_device_t spec;
    bool fatal;
    uint64_t vectors; /* bit mask of those that completion queues have had */
} vdevice_t;

typedef struct vcontext {
    struct vcontext *next;
    uint32_t users; /* protection domains, queues and channels */
    uint32_t nevents;
    struct ibv_async_event events[EVENTS_MAX];
    struct verbs_context verbs; /* last: the base grows up */
} vcontext_t;

typedef struct vpd {
    struct ibv_pd base;
    uint32_t users;
} vpd_t;

typedef struct vmr {
    struct ibv_mr base;
    int access;
    uint8_t *at; /* the memory, as this library accesses it */
    void *map;   /* of a dma-buf: the mapping of its file */
    size_t map_bytes;
} vmr_t;

typedef struct vqp vqp_t;

typedef struct vcqe {
    struct ibv_wc wc;
    vqp_t *qp;
    bool recv;
    uint32_t end; /* once it was polled, slots of the queue before this one are free */
} vcqe_t;

typedef struct vcq {
    struct ibv_cq base;
    vcqe_t *entries;
    uint32_t count, room;
    uint32_t users;
    bool armed, overrun;
    uint32_t events_got; /* of the channel, taken by the program */
    uint32_t asyncs_got;
} vcq_t;

typedef struct vchannel {
    struct ibv_comp_channel base;
    vcq_t **ready;
    uint32_t count, room;
} vchannel_t;

typedef struct fault {
    fake_fault_t what;
    bool happened, released;
} fault_t;

typedef struct vsend {
    uint64_t wr_id, remote;
    enum ibv_wr_opcode opcode;
    unsigned flags;
    uint32_t imm, rkey, bytes;
    int nsge;
    struct ibv_sge sge[SGE_MAX];
    bool met;
    bool not_ready; /* the peer has no receive */
    fault_t *fault;
    uint64_t stalled_ns;
    uint8_t data[INLINE_MAX];
} vsend_t;

typedef struct vrecv {
    uint64_t wr_id;
    int nsge;
    struct ibv_sge sge[SGE_MAX];
} vrecv_t;

struct vqp {
    struct ibv_qp base;
    struct vqp *next;
    struct ibv_qp_cap cap;
    struct ibv_qp_attr attr;
    bool signal_all;
    bool silent;  /* iWARP: must not send before it has received from its peer */
    bool held[2]; /* completions of sends, of receives */
    vsend_t *sends;
    vrecv_t *recvs;
    uint32_t send_head, send_run, send_tail;
    uint32_t recv_head, recv_run, recv_tail;
    uint32_t asyncs_got;
};

typedef struct world {
    pthread_mutex_t lock;
    pthread_cond_t acked;
    bool ready;
    pid_t pid; /* of the process that created the adapters */
    uint32_t ndevices;
    vdevice_t devices[FAKE_DEVICES_MAX];
    vcontext_t *contexts;
    vqp_t *qps;
    uint32_t next_qp;
    vmr_t **mrs;
    uint8_t *generations;
    uint32_t nmrs;
    fault_t faults[FAULTS_MAX];
    uint32_t nfaults;
    uint32_t kinds[FAKE_KINDS];
    uint32_t calls[FAKE_CALLS];
    uint32_t reorder;
    fake_live_t live;
} world_t;

extern world_t world;

void world_enter(void);
void world_leave(void);
void *world_alloc(size_t bytes);
uint64_t world_now_ns(void);

static inline vdevice_t *device_of(struct ibv_context *context)
{
    return (vdevice_t *)context->device;
}

static inline vcontext_t *context_of(struct ibv_context *context)
{
    return (vcontext_t *)((char *)context - offsetof(vcontext_t, verbs.context));
}

/* fake_device.c */
int device_query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr,
                      size_t bytes);
const fake_port_t *device_port(const vdevice_t *device, uint32_t number);

/* fake_event.c: lock held. */
/* Makes a descriptor of events readable once more. */
void descriptor_raise(int fd);
void event_raise(vcontext_t *context, const struct ibv_async_event *event);
void event_forget(struct ibv_context *context, const void *object);
/* Waits until `got` events were acknowledged; ends the program if that never happens. */
void event_settle(const uint32_t *got, const uint32_t *acknowledged, const char *what);

/* fake_memory.c: lock held. Return NULL if the access is not allowed. */
void *memory_local(const struct ibv_pd *pd, const struct ibv_sge *sge, bool write);
void *memory_remote(const struct ibv_pd *pd, uint64_t address, uint32_t key, uint64_t bytes,
                    int access);

/* fake_request.c */
vqp_t *qp_find(uint32_t number);
bool qp_is_iwarp(const vqp_t *qp);

/* fake_queue.c: lock held, except in the two entry points. */
int queue_poll(struct ibv_cq *cq, int max, struct ibv_wc *list);
int queue_arm(struct ibv_cq *cq, int solicited_only);
void queue_push(vcq_t *cq, const vcqe_t *entry);
void queue_drop(vcq_t *cq, const vqp_t *qp);
void queue_notify(vcq_t *cq);

/* fake_engine.c: lock held, except in the two entry points. */
int engine_post_send(struct ibv_qp *qp, struct ibv_send_wr *list, struct ibv_send_wr **bad_p);
int engine_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *list, struct ibv_recv_wr **bad_p);
void engine_run(void);
void engine_fail(vqp_t *qp);

/* fake_request.c: lock held. Runs one request. Returns its status, or REQUEST_WAITS. */
#define REQUEST_WAITS (-1)
int request_run(vqp_t *qp, vsend_t *send);
void world_device_fatal(uint32_t index); /* lock held; see fake_device_fatal() */

/* fake_script.c: lock held. */
/* Returns the errno with which this call fails, or 0. */
int script_call(fake_call_t call);
/* The same for a call that makes something on an adapter: a failed one makes nothing. */
int script_make(fake_call_t call, struct ibv_context *context);
/* Returns the fault of this request or receive, or NULL. */
fault_t *script_meet(fake_kind_t kind);
void script_parse(const char *text);
/* Applies HOLD and TWICE to a completion of `qp` that is about to be pushed. */
void script_push(vcq_t *cq, const vcqe_t *entry, const fault_t *fault);

#endif
