/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages and their digests. */
#include "core/check/check_net_traffic.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"

#define ONCE "every posted operation completes exactly once"
#define ORDER "completions of a direction come in the order of the posts"
#define PAIRS "the n-th receive takes the n-th send"
enum { BATCH = 16 };

static weft_check_t *traffic_check(const weft_net_conn_t *conn)
{
    return conn->device->net->check;
}

static weft_check_op_t *traffic_at(weft_check_queue_t *queue, uint32_t number)
{
    return &queue->ops[number % WEFT_CHECK_OPEN];
}

static weft_check_digest_t *traffic_digest(weft_check_queue_t *queue, uint32_t number)
{
    return &queue->digests[number / 2 % (WEFT_CHECK_OPEN / 2)];
}

/* Memory of the digests ------------------------------------------------------------------------ */

static weft_status_t traffic_begin(weft_net_conn_t *conn)
{
    const weft_net_ops_t *own = traffic_check(conn)->own.net;
    size_t bytes = WEFT_CHECK_OPEN * sizeof *conn->memory;
    if (conn->memory != NULL) {
        return WEFT_OK;
    }
    conn->memory = weft_os_alloc(bytes, 4096);
    if (conn->memory == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to check messages");
    }
    conn->send.digests = conn->memory;
    conn->receive.digests = conn->memory + WEFT_CHECK_OPEN / 2;
    return WEFT_HAS(own, weft_net_ops_t, reg)
               ? own->reg(conn->device->own, conn->memory, bytes, WEFT_MEMORY_HOST, &conn->region)
               : WEFT_OK;
}

void weft_check_net_end(weft_net_conn_t *conn)
{
    if (conn->region != NULL) {
        traffic_check(conn)->own.net->dereg(conn->region);
    }
    weft_os_free(conn->memory);
}

/* Posts ---------------------------------------------------------------------------------------- */

/* The part of a message in the buffer, then the part apart from it. */
static uint64_t traffic_sum(const weft_check_op_t *op, uint64_t bytes)
{
    bool placed = op->payload != NULL && bytes == op->header + op->apart;
    uint64_t here = placed ? op->header : bytes;
    uint64_t sum = weft_check_sum(WEFT_CHECK_SUM_BEGIN, op->op.buffer, here);
    return placed ? weft_check_sum(sum, op->payload, op->apart) : sum;
}

static uint64_t traffic_bytes(const weft_check_op_t *op)
{
    return op->op.bytes + (op->op.kind == WEFT_NET_SEND ? op->apart : 0);
}

/* Fills the next slot with the core's operation, and the one behind it with its digest. */
static weft_check_op_t *traffic_prepare(weft_net_conn_t *conn, weft_check_queue_t *queue,
                                        const weft_net_op_t *op, const void *payload,
                                        uint64_t apart)
{
    weft_check_op_t *slot = traffic_at(queue, queue->tail);
    weft_check_op_t *behind = traffic_at(queue, queue->tail + 1);
    weft_check_digest_t *digest = traffic_digest(queue, queue->tail);
    *slot = (weft_check_op_t){.op = *op,
                              .payload = payload,
                              .apart = apart,
                              .header = payload != NULL ? op->bytes : 0,
                              .on_host = op->region == NULL || op->region->on_host};
    *digest = (weft_check_digest_t){.magic = 0};
    if (op->kind == WEFT_NET_SEND) {
        slot->sum = slot->on_host ? traffic_sum(slot, op->bytes + apart) : 0;
        *digest = (weft_check_digest_t){.magic = WEFT_CHECK_DIGEST,
                                        .number = queue->tail / 2,
                                        .bytes = op->bytes + apart,
                                        .sum = slot->sum,
                                        .summed = slot->on_host};
    }
    *behind = (weft_check_op_t){.op = {.kind = op->kind,
                                       .buffer = digest,
                                       .bytes = sizeof *digest,
                                       .region = conn->region,
                                       .context = behind},
                                .on_host = true};
    return slot;
}

/* The status of post(), and the number that it stored, of `count` operations. */
static weft_status_t traffic_judge_post(const weft_check_call_t *call, weft_status_t status,
                                        uint32_t count, uint32_t posted)
{
    status = weft_check_end(call, status, WEFT_CHECK_FAILURES | WEFT_CHECK_AGAIN);
    if (posted > count) {
        return weft_check_breach(call->check, call->method, "*posted_p is at most count",
                                 "it stored %u in *posted_p, of %u operations", posted, count);
    }
    if ((status == WEFT_OK && posted < count) || (status == WEFT_AGAIN && posted == count)) {
        return weft_check_breach(call->check, call->method,
                                 "OK if all were taken, AGAIN if fewer were",
                                 "it returned %s with %u of %u operations taken",
                                 weft_status_name(status), posted, count);
    }
    return status;
}

static weft_status_t traffic_post_own(weft_net_conn_t *conn, weft_check_queue_t *queue,
                                      uint32_t first, uint32_t count, uint32_t *posted_p)
{
    weft_net_op_t ops[2];
    weft_check_t *check = traffic_check(conn);
    for (uint32_t i = 0; i < count; i++) {
        weft_check_op_t *slot = traffic_at(queue, first + i);
        ops[i] = slot->op;
        ops[i].context = slot;
        if (slot->op.context != slot && slot->op.region != NULL) {
            ops[i].region = slot->op.region->own;
        }
    }
    weft_check_call_t call = weft_check_enter(check, "post");
    weft_status_t status = check->own.net->post(conn->own, ops, count, posted_p);
    return traffic_judge_post(&call, status, count, *posted_p);
}

/* Posts the digest that is behind. AGAIN: it still is. */
static weft_status_t traffic_pay(weft_net_conn_t *conn, weft_check_queue_t *queue)
{
    uint32_t posted = 0;
    if (!queue->owes) {
        return WEFT_OK;
    }
    weft_status_t status = traffic_post_own(conn, queue, queue->tail - 1, 1, &posted);
    queue->owes = posted == 0;
    return status;
}

static weft_status_t traffic_post_pair(weft_net_conn_t *conn, const weft_net_op_t *op, bool *took)
{
    uint32_t posted = 0;
    weft_check_queue_t *queue = op->kind == WEFT_NET_SEND ? &conn->send : &conn->receive;
    weft_status_t status = traffic_pay(conn, queue);
    *took = false;
    if (status != WEFT_OK || queue->tail - queue->head > WEFT_CHECK_OPEN - 2) {
        return status != WEFT_OK ? status : WEFT_AGAIN;
    }
    (void)traffic_prepare(conn, queue, op, NULL, 0);
    status = traffic_post_own(conn, queue, queue->tail, 2, &posted);
    if (posted > 0 && posted <= 2) {
        *took = true;
        queue->tail += 2;
        queue->owes = posted == 1;
        status = status == WEFT_AGAIN ? WEFT_OK : status;
    }
    return status;
}

weft_status_t weft_check_net_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                  uint32_t *posted_p)
{
    weft_status_t status = traffic_begin(conn);
    *posted_p = 0;
    for (uint32_t i = 0; status == WEFT_OK && i < count; i++) {
        bool took;
        status = traffic_post_pair(conn, &ops[i], &took);
        *posted_p += took;
    }
    return status;
}

static weft_status_t traffic_send_apart(weft_net_conn_t *conn, const weft_net_op_t *op,
                                        const void *payload, uint64_t bytes)
{
    weft_check_t *check = traffic_check(conn);
    weft_check_queue_t *queue = &conn->send;
    weft_status_t status = traffic_begin(conn);
    status = status == WEFT_OK ? traffic_pay(conn, queue) : status;
    if (status != WEFT_OK || queue->tail - queue->head > WEFT_CHECK_OPEN - 2) {
        return status != WEFT_OK ? status : WEFT_AGAIN;
    }
    weft_check_op_t *slot = traffic_prepare(conn, queue, op, payload, bytes);
    weft_net_op_t own = *op;
    own.context = slot;
    own.region = op->region != NULL ? op->region->own : NULL;
    weft_check_call_t call = weft_check_enter(check, "payload.send");
    status =
        weft_check_end(&call, conn->device->net->own_payload->send(conn->own, &own, payload, bytes),
                       WEFT_CHECK_FAILURES | WEFT_CHECK_AGAIN);
    if (status == WEFT_OK) {
        queue->tail += 2;
        queue->owes = true;
        status = traffic_pay(conn, queue);
        status = status == WEFT_AGAIN ? WEFT_OK : status;
    }
    return status;
}

static weft_status_t traffic_place(weft_net_conn_t *conn, const void *context, uint64_t header,
                                   void *payload, uint64_t bytes)
{
    weft_check_queue_t *queue = &conn->receive;
    for (uint32_t number = queue->head; number != queue->tail; number += 2) {
        weft_check_op_t *slot = traffic_at(queue, number);
        if (slot->op.context != context || slot->done) {
            continue;
        }
        weft_check_call_t call = weft_check_enter(traffic_check(conn), "payload.place");
        weft_status_t status = weft_check_end(
            &call, conn->device->net->own_payload->place(conn->own, slot, header, payload, bytes),
            WEFT_CHECK_AGAIN);
        if (status == WEFT_OK) {
            slot->payload = payload;
            slot->apart = bytes;
            slot->header = header;
        }
        return status;
    }
    return WEFT_AGAIN;
}

const weft_net_payload_t weft_check_net_payload = {
    .size = sizeof weft_check_net_payload, .send = traffic_send_apart, .place = traffic_place};

/* Completions ---------------------------------------------------------------------------------- */

/* The connection and the queue whose open operation has that context. */
static weft_net_conn_t *traffic_find(const weft_net_device_t *device, const void *context,
                                     weft_check_queue_t **queue_p)
{
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        for (uint32_t i = 0; i < 2; i++) {
            weft_check_queue_t *queue = i == 0 ? &conn->send : &conn->receive;
            uintptr_t at = (uintptr_t)context - (uintptr_t)queue->ops;
            if (at < sizeof queue->ops && at % sizeof queue->ops[0] == 0) {
                *queue_p = queue;
                return conn;
            }
        }
    }
    return NULL;
}

static weft_status_t traffic_judge_status(const weft_net_conn_t *conn,
                                          const weft_net_completion_t *came)
{
    switch (came->status) {
    case WEFT_OK:
    case WEFT_ERR_LINK:
    case WEFT_ERR_PEER_DEAD:
    case WEFT_ERR_PROTO:
        return WEFT_OK;
    case WEFT_ERR_ABORTED:
        if (conn->cancelled != 0) {
            return WEFT_OK;
        }
        return weft_check_breach(traffic_check(conn), "poll", "ERR_ABORTED: cancelled",
                                 "it aborted an operation that nobody cancelled");
    default:
        return weft_check_breach(traffic_check(conn), "poll",
                                 "OK, ERR_ABORTED, ERR_LINK, ERR_PEER_DEAD or ERR_PROTO",
                                 "a completion has the status %d", (int)came->status);
    }
}

/* The fields that a completion repeats. */
static weft_status_t traffic_judge_fields(const weft_net_conn_t *conn, const weft_check_op_t *op,
                                          const weft_net_completion_t *came)
{
    weft_check_t *check = traffic_check(conn);
    if (came->kind != op->op.kind) {
        return weft_check_breach(check, "poll", "kind: as posted",
                                 "a completion has kind %u, posted was %u", came->kind,
                                 op->op.kind);
    }
    if (came->conn != conn->own) {
        return weft_check_breach(check, "poll", "conn: connection of the operation",
                                 "a completion names another connection");
    }
    uint64_t most = op->op.kind == WEFT_NET_SEND ? traffic_bytes(op) : op->op.bytes;
    bool fits = op->op.kind == WEFT_NET_SEND ? came->bytes == most : came->bytes <= most;
    if (came->status == WEFT_OK && !fits) {
        return weft_check_breach(check, "poll", "bytes transferred",
                                 "a %s of %llu bytes completed with %llu",
                                 op->op.kind == WEFT_NET_SEND ? "send" : "receive",
                                 (unsigned long long)most, (unsigned long long)came->bytes);
    }
    return traffic_judge_status(conn, came);
}

static bool traffic_is_digest(const weft_check_op_t *op)
{
    return op->op.context == op;
}

/* What is in the memory of an operation that is done. */
static weft_status_t traffic_judge_memory(const weft_net_conn_t *conn, const weft_check_op_t *op,
                                          uint32_t number)
{
    weft_check_t *check = traffic_check(conn);
    if (op->op.kind == WEFT_NET_SEND && !traffic_is_digest(op) && op->on_host &&
        traffic_sum(op, traffic_bytes(op)) != op->sum) {
        return weft_check_breach(check, "post", "a send does not write to its buffer",
                                 "message %u changed between post and completion", number / 2);
    }
    uint64_t magic = 0;
    if (op->op.kind == WEFT_NET_RECV && !traffic_is_digest(op) && op->on_host &&
        op->got == sizeof(weft_check_digest_t)) {
        memcpy(&magic, op->op.buffer, sizeof magic);
    }
    if (magic == WEFT_CHECK_DIGEST) {
        return weft_check_breach(check, "poll", PAIRS,
                                 "a message is missing: in place of message %u came what follows "
                                 "it",
                                 number / 2);
    }
    return WEFT_OK;
}

/* Compares a message with the digest behind it. */
static weft_status_t traffic_judge_message(const weft_net_conn_t *conn, weft_check_queue_t *queue,
                                           uint32_t number)
{
    weft_check_t *check = traffic_check(conn);
    const weft_check_op_t *op = traffic_at(queue, number), *behind = op + 1;
    const weft_check_digest_t *digest = traffic_digest(queue, number);
    if (op->op.kind != WEFT_NET_RECV || op->status != WEFT_OK || behind->status != WEFT_OK) {
        return WEFT_OK;
    }
    if (digest->magic != WEFT_CHECK_DIGEST || behind->got != sizeof *digest) {
        return weft_check_breach(check, "poll", PAIRS,
                                 "behind message %u came one that was not sent there: doubled, "
                                 "cut, or changed",
                                 number / 2);
    }
    if (digest->number != number / 2) {
        return weft_check_breach(check, "poll", PAIRS, "message %llu came in place of message %u",
                                 (unsigned long long)digest->number, number / 2);
    }
    if (digest->bytes != op->got) {
        return weft_check_breach(check, "poll", "bytes transferred",
                                 "message %u was sent with %llu bytes, and came with %llu",
                                 number / 2, (unsigned long long)digest->bytes,
                                 (unsigned long long)op->got);
    }
    if (digest->summed != 0 && op->on_host && traffic_sum(op, op->got) != digest->sum) {
        return weft_check_breach(check, "poll", "OK: a receive's bytes are there",
                                 "message %u of %llu bytes came with other bytes than were sent",
                                 number / 2, (unsigned long long)op->got);
    }
    return WEFT_OK;
}

/* A message that follows one which was lost or doubled is longer than the room for the digest. */
static weft_status_t traffic_judge_failed(const weft_net_conn_t *conn, weft_check_queue_t *queue,
                                          const weft_check_op_t *op)
{
    if (op->status == WEFT_ERR_PROTO && op->op.kind == WEFT_NET_RECV && traffic_is_digest(op)) {
        return weft_check_breach(traffic_check(conn), "poll", PAIRS,
                                 "behind message %u came one that was not sent there: a message is "
                                 "missing or doubled",
                                 queue->done / 2);
    }
    return WEFT_OK;
}

static weft_status_t traffic_complete(weft_net_device_t *device, const weft_net_completion_t *came)
{
    weft_check_t *check = device->net->check;
    weft_check_queue_t *queue = NULL;
    weft_net_conn_t *conn = traffic_find(device, came->context, &queue);
    if (conn == NULL) {
        return weft_check_breach(check, "poll", "context: as posted",
                                 "a completion has the context %p, which no open operation has",
                                 came->context);
    }
    weft_check_op_t *op = came->context, *due = traffic_at(queue, queue->done);
    bool open = false;
    for (uint32_t number = queue->done; number != queue->tail; number++) {
        open = open || (traffic_at(queue, number) == op && !op->done);
    }
    if (!open || (queue->owes && op == traffic_at(queue, queue->tail - 1))) {
        return weft_check_breach(check, "poll", ONCE, "a %s completed twice",
                                 came->kind == WEFT_NET_SEND ? "send" : "receive");
    }
    if (op != due) {
        return weft_check_breach(check, "poll", ORDER,
                                 "a %s completed before an older one, which is late or lost",
                                 op->op.kind == WEFT_NET_SEND ? "send" : "receive");
    }
    weft_status_t status = traffic_judge_fields(conn, op, came);
    op->done = true;
    op->status = came->status;
    op->got = came->bytes;
    op->since = weft_os_clock_ns();
    if (status == WEFT_OK) {
        status = came->status == WEFT_OK ? traffic_judge_memory(conn, op, queue->done)
                                         : traffic_judge_failed(conn, queue, op);
    }
    queue->done++;
    return status;
}

/* The digest is posted with its message: it comes at once, or never. */
static weft_status_t traffic_judge_waiting(const weft_net_conn_t *conn, const weft_check_op_t *op,
                                           uint32_t number)
{
    weft_check_t *check = traffic_check(conn);
    if (!op->done || check->patience_ns == 0 ||
        weft_os_clock_ns() - op->since < check->patience_ns / 2) {
        return WEFT_OK;
    }
    return weft_check_breach(check, "poll", ONCE,
                             "message %u was %s, but not what follows it: a %s is lost", number / 2,
                             op->op.kind == WEFT_NET_SEND ? "sent" : "received",
                             op->op.kind == WEFT_NET_SEND ? "completion" : "message");
}

/* Gives the core what is complete with its digest. What follows a failure has no digest. */
static weft_status_t traffic_give(weft_net_conn_t *conn, weft_check_queue_t *queue,
                                  weft_net_completion_t *completions, uint32_t max,
                                  uint32_t *count_p)
{
    while (*count_p < max && queue->head != queue->tail) {
        const weft_check_op_t *op = traffic_at(queue, queue->head), *behind = op + 1;
        bool alone =
            op->done && op->status != WEFT_OK && queue->owes && queue->head + 2 == queue->tail;
        if (!op->done || (!behind->done && !alone)) {
            return traffic_judge_waiting(conn, op, queue->head);
        }
        weft_status_t status = traffic_judge_message(conn, queue, queue->head);
        if (status != WEFT_OK) {
            return status;
        }
        if (alone) {
            queue->owes = false;
            queue->done++;
        }
        completions[(*count_p)++] = (weft_net_completion_t){.context = op->op.context,
                                                            .status = op->status,
                                                            .kind = op->op.kind,
                                                            .bytes = op->got,
                                                            .conn = conn};
        queue->head += 2;
    }
    return WEFT_OK;
}

static weft_status_t traffic_give_all(weft_net_device_t *device, weft_net_completion_t *completions,
                                      uint32_t max, uint32_t *count_p)
{
    weft_status_t status = WEFT_OK;
    for (weft_net_conn_t *conn = device->conns; conn != NULL && status == WEFT_OK;
         conn = conn->next) {
        status = traffic_give(conn, &conn->send, completions, max, count_p);
        if (status == WEFT_OK) {
            status = traffic_give(conn, &conn->receive, completions, max, count_p);
        }
        if (status == WEFT_OK && conn->memory != NULL) {
            status = traffic_pay(conn, &conn->send);
            status = status >= 0 ? traffic_pay(conn, &conn->receive) : status;
            /* The completions tell what became of a connection. */
            status = status == WEFT_ERR_PLUGIN ? status : WEFT_OK;
        }
        if (status == WEFT_OK && conn->cancelled != 0 && conn->send.done != conn->send.tail &&
            weft_os_clock_ns() - conn->cancelled > WEFT_NS_PER_S) {
            status = weft_check_breach(device->net->check, "cancel",
                                       "the next polls return the completions within 100 ms",
                                       "a send is still open after a second");
        }
    }
    return status;
}

weft_status_t weft_check_net_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                                  uint32_t max, uint32_t *count_p)
{
    weft_net_completion_t came[BATCH + 1];
    uint32_t count = 0;
    weft_check_t *check = device->net->check;
    memset(&came[BATCH], 0xa5, sizeof came[BATCH]);
    weft_net_completion_t beyond = came[BATCH];
    *count_p = 0;
    weft_check_call_t call = weft_check_enter(check, "poll");
    weft_status_t status = weft_check_end(
        &call, check->own.net->poll(device->own, came, BATCH, &count), WEFT_CHECK_FAILURES);
    if (status != WEFT_OK) {
        return status;
    }
    if (count > BATCH || memcmp(&beyond, &came[BATCH], sizeof beyond) != 0) {
        return weft_check_breach(check, "poll", "up to max completions",
                                 "it stored %u in *count_p, of at most %d", count, BATCH);
    }
    weft_os_lock(&device->lock);
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        status = traffic_complete(device, &came[i]);
    }
    status = status == WEFT_OK ? traffic_give_all(device, completions, max, count_p) : status;
    weft_os_unlock(&device->lock);
    return status;
}
