/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends, receives and groups: whatever the order of calls, of ranks and of communicators, a group
 * ends with the right data; what cannot end says whom it waited for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/collectives/sweep_case.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#define CHECK(condition)                                                                           \
    ((condition) ? 0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), 1))

static const char *const all_nets[] = {"core.net=net-shm", "core.net=net-socket"};
static const char *const *nets = all_nets;
static int nnets = sizeof all_nets / sizeof all_nets[0];

/* More than all slots of a port together. */
enum { LARGE = 3 << 20, MESSAGES = 1000 };

static int32_t mark(uint32_t from, uint32_t to, uint64_t i)
{
    return (int32_t)(from * 1000003 + to * 10007 + i * 31 + 1);
}

static int32_t *marked(uint32_t from, uint32_t to, uint64_t count)
{
    int32_t *data = malloc((count + 1) * sizeof *data);
    for (uint64_t i = 0; i < count; i++) {
        data[i] = mark(from, to, i);
    }
    return data;
}

static int is_marked(const int32_t *data, uint32_t from, uint32_t to, uint64_t count)
{
    uint64_t i = 0;
    while (i < count && data[i] == mark(from, to, i)) {
        i++;
    }
    return i == count;
}

static int says(weft_comm_t *comm, weft_status_t got, weft_status_t wanted, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    weft_comm_error(comm, &error);
    if (got == wanted && strstr(error.text, words) != NULL) {
        return 0;
    }
    fprintf(stderr, "got %s \"%s\", wanted %s with \"%s\"\n", weft_status_name(got), error.text,
            weft_status_name(wanted), words);
    return 1;
}

/* Everybody to everybody, large; even ranks go up and send first, odd ones go down and receive
 * first. */
static int opposite_orders(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNT = LARGE / 4 };
    int32_t **out = calloc(n, sizeof *out);
    int32_t **in = calloc(n, sizeof *in);
    int bad = CHECK(weft_group_start() == WEFT_OK);
    (void)arg;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t peer = rank % 2 == 0 ? i : n - 1 - i;
        out[peer] = marked(rank, peer, COUNT);
        in[peer] = calloc(COUNT, sizeof(int32_t));
        if (rank % 2 == 0) {
            bad += CHECK(weft_send(out[peer], COUNT, WEFT_INT32, peer, comm, NULL) == WEFT_OK);
        }
        bad += CHECK(weft_recv(in[peer], COUNT, WEFT_INT32, peer, comm, NULL) == WEFT_OK);
        if (rank % 2 != 0) {
            bad += CHECK(weft_send(out[peer], COUNT, WEFT_INT32, peer, comm, NULL) == WEFT_OK);
        }
    }
    bad += CHECK(weft_group_end() == WEFT_OK);
    for (uint32_t peer = 0; peer < n; peer++) {
        bad += CHECK(is_marked(in[peer], peer, rank, COUNT));
        free(in[peer]);
        free(out[peer]);
    }
    free(in);
    free(out);
    return bad;
}

/* A second communicator of the same ranks, made on its own. */
static weft_comm_t *second(weft_comm_t *comm, uint32_t rank, uint32_t n, const char *net)
{
    weft_unique_id_t id;
    weft_comm_t *other = NULL;
    const weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = &net, .settings_count = 1};
    memset(&id, 0, sizeof id);
    if ((rank == 0 && weft_unique_id_create(&id, &options) != WEFT_OK) ||
        weft_broadcast(&id, &id, sizeof id, WEFT_UINT8, 0, comm, NULL) != WEFT_OK ||
        weft_comm_init_rank(&other, n, &id, rank, &options) != WEFT_OK) {
        return NULL;
    }
    return other;
}

static int sum_is(int32_t got, uint32_t n, int32_t base)
{
    return got == (int32_t)n * base + (int32_t)(n * (n - 1) / 2);
}

/* Two communicators: odd ranks name them the other way round. */
static int opposite_communicators(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNT = 200000 };
    weft_comm_t *comms[2] = {comm, second(comm, rank, n, arg)};
    int32_t *data[2];
    if (comms[1] == NULL) {
        return CHECK(comms[1] != NULL);
    }
    int bad = 0;
    for (int round = 0; round < 3; round++) {
        bad += CHECK(weft_group_start() == WEFT_OK);
        for (int i = 0; i < 2; i++) {
            int which = rank % 2 == 0 ? i : 1 - i;
            data[which] = malloc(COUNT * sizeof(int32_t));
            for (int j = 0; j < COUNT; j++) {
                data[which][j] = (int32_t)rank + 100 * which + round;
            }
            bad += CHECK(weft_all_reduce(data[which], data[which], COUNT, WEFT_INT32, WEFT_SUM,
                                         comms[which], NULL) == WEFT_OK);
        }
        bad += CHECK(weft_group_end() == WEFT_OK);
        for (int i = 0; i < 2; i++) {
            bad += CHECK(sum_is(data[i][0], n, 100 * i + round));
            bad += CHECK(sum_is(data[i][COUNT - 1], n, 100 * i + round));
            free(data[i]);
        }
    }
    bad += CHECK(weft_comm_destroy(comms[1]) == WEFT_OK);
    return bad;
}

static int self_send(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t *out = marked(rank, rank, 50000);
    int32_t *in = calloc(50000, sizeof *in);
    int bad = CHECK(weft_group_start() == WEFT_OK);
    (void)n;
    (void)arg;
    bad += CHECK(weft_recv(in, 50000, WEFT_INT32, rank, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_send(out, 50000, WEFT_INT32, rank, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(is_marked(in, rank, rank, 50000));
    bad += CHECK(weft_send(out, 1, WEFT_INT32, rank, comm, NULL) == WEFT_ERR_ARG);
    free(in);
    free(out);
    return bad;
}

/* One end is asynchronous, and first; the other one blocks. A receive from any rank may be that
 * end. */
static int self_meets(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t out = mark(rank, rank, 1), in[3] = {0};
    uint32_t from = n;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request, .source_p = &from};
    int bad = 0;
    (void)arg;
    for (uint32_t i = 0; i < 3; i++) {
        bad += CHECK(weft_recv(&in[0], 1, WEFT_INT32, rank, comm, NULL) == WEFT_ERR_ARG);
        bad += CHECK(ranks_error_says(WEFT_ERR_ARG, "since no weft_send of its own was called"));
        bad += CHECK(weft_send(&out, 1, WEFT_INT32, rank, comm, &call) == WEFT_OK);
        bad += CHECK(weft_recv(&in[0], 1, WEFT_INT32, rank, comm, NULL) == WEFT_OK);
        bad += CHECK(weft_request_wait(&request) == WEFT_OK);
        bad += CHECK(weft_send(&out, 1, WEFT_INT32, rank, comm, NULL) == WEFT_ERR_ARG);
        bad += CHECK(ranks_error_says(WEFT_ERR_ARG, "since no weft_recv of its own was called"));
        bad += CHECK(weft_recv(&in[1], 1, WEFT_INT32, rank, comm, &call) == WEFT_OK);
        bad += CHECK(weft_send(&out, 1, WEFT_INT32, rank, comm, NULL) == WEFT_OK);
        bad += CHECK(weft_request_wait(&request) == WEFT_OK);
        bad += CHECK(weft_recv(&in[2], 1, WEFT_INT32, WEFT_ANY_RANK, comm, &call) == WEFT_OK);
        bad += CHECK(weft_send(&out, 1, WEFT_INT32, rank, comm, NULL) == WEFT_OK);
        bad += CHECK(weft_request_wait(&request) == WEFT_OK && from == rank);
        bad += CHECK(in[0] == out && in[1] == out && in[2] == out);
    }
    return bad;
}

/* A ring of messages around collectives, with a user operator among them. */
static int mixed(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNT = 300000 };
    uint32_t next = (rank + 1) % n;
    uint32_t before = (rank + n - 1) % n;
    int32_t *out = marked(rank, next, COUNT);
    int32_t *in = calloc(COUNT, sizeof *in);
    int32_t sum = (int32_t)rank + 5;
    int32_t user = (int32_t)rank + 7;
    int32_t root = rank == n - 1 ? 4711 : 0;
    weft_op_t op = WEFT_SUM; /* of a kernel on a device, which takes no functions of the host */
    (void)arg;
    weft_status_t made = weft_op_create(comm, sweep_user_add, NULL, &op);
    int bad = CHECK(made == WEFT_OK || made == WEFT_ERR_UNSUPPORTED);
    bad += CHECK(weft_group_start() == WEFT_OK);
    if (rank % 2 == 0) {
        bad += CHECK(weft_send(out, COUNT, WEFT_INT32, next, comm, NULL) == WEFT_OK);
    }
    bad += CHECK(weft_all_reduce(&sum, &sum, 1, WEFT_INT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_recv(in, COUNT, WEFT_INT32, before, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_broadcast(&root, &root, 1, WEFT_INT32, n - 1, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_all_reduce(&user, &user, 1, WEFT_INT32, op, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_barrier(comm, NULL) == WEFT_OK);
    if (rank % 2 != 0) {
        bad += CHECK(weft_send(out, COUNT, WEFT_INT32, next, comm, NULL) == WEFT_OK);
    }
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(is_marked(in, before, rank, COUNT));
    bad += CHECK(sum_is(sum, n, 5)) + CHECK(sum_is(user, n, 7)) + CHECK(root == 4711);
    bad += CHECK(made != WEFT_OK || weft_op_destroy(comm, op) == WEFT_OK);
    free(in);
    free(out);
    return bad;
}

static void take_larger(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg)
{
    int32_t *larger = inout;
    const int32_t *other = in;
    (void)dtype;
    (void)arg;
    for (uint64_t i = 0; i < count; i++) {
        larger[i] = other[i] > larger[i] ? other[i] : larger[i];
    }
}

/* Ends of a group with a call that uses the operator. */
typedef enum held_end { HELD_AWAITED, HELD_ASYNC, HELD_FAILED, HELD_ENDS } held_end_t;

static int held_operator_once(weft_comm_t *comm, uint32_t rank, uint32_t n, held_end_t end)
{
    weft_op_t op = WEFT_SUM;
    int32_t largest = (int32_t)rank;
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    if (weft_op_create(comm, take_larger, NULL, &op) == WEFT_ERR_UNSUPPORTED) {
        return 0; /* the kernel is a device's */
    }
    int bad = CHECK(weft_group_start() == WEFT_OK);
    bad += CHECK(weft_all_reduce(&largest, &largest, 1, WEFT_INT32, op, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_op_destroy(comm, op) == WEFT_ERR_ARG);
    bad += CHECK(ranks_error_says(WEFT_ERR_ARG, "in use by a call of a group that is open"));
    if (end == HELD_FAILED) {
        bad += CHECK(weft_barrier(NULL, NULL) == WEFT_ERR_ARG);
        bad += CHECK(weft_group_end() == WEFT_ERR_ARG);
    } else if (end == HELD_ASYNC) {
        bad += CHECK(weft_group_end_async(&call) == WEFT_OK);
        bad += CHECK(weft_request_wait(&request) == WEFT_OK);
    } else {
        bad += CHECK(weft_group_end() == WEFT_OK);
    }
    bad += CHECK(largest == (int32_t)(end == HELD_FAILED ? rank : n - 1));
    return bad + CHECK(weft_op_destroy(comm, op) == WEFT_OK);
}

/* An operator that ended would combine nothing, or by the function that has its number now. */
static int held_operator(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int bad = 0;
    (void)arg;
    for (held_end_t end = HELD_AWAITED; end < HELD_ENDS; end++) {
        bad += held_operator_once(comm, rank, n, end);
    }
    return bad;
}

/* A factor that is read late is what it is when its operation begins, not when it is called. */
static int late_factor(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float factor = 5, in = 2, out[3] = {0};
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .scalar = &factor, .scalar_read = WEFT_SCALAR_AT_RUN};
    weft_call_t async = call;
    (void)rank;
    (void)arg;
    async.request_p = &request;
    int bad =
        CHECK(weft_all_reduce(&in, &out[0], 1, WEFT_FP32, WEFT_PREMULSUM, comm, &call) == WEFT_OK);
    bad +=
        CHECK(weft_all_reduce(&in, &out[1], 1, WEFT_FP32, WEFT_PREMULSUM, comm, &async) == WEFT_OK);
    bad += CHECK(weft_request_wait(&request) == WEFT_OK);
    bad += CHECK(weft_group_start() == WEFT_OK);
    bad +=
        CHECK(weft_all_reduce(&in, &out[2], 1, WEFT_FP32, WEFT_PREMULSUM, comm, &call) == WEFT_OK);
    factor = 7;
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(out[0] == 10 * (float)n) + CHECK(out[1] == 10 * (float)n);
    return bad + CHECK(out[2] == 14 * (float)n);
}

static int zero_counts(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t next = (rank + 1) % n;
    uint32_t before = (rank + n - 1) % n;
    int32_t out = mark(rank, next, 0);
    int32_t in = 0;
    (void)arg;
    int bad = CHECK(weft_group_start() == WEFT_OK);
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(weft_group_start() == WEFT_OK);
    bad += CHECK(weft_send(NULL, 0, WEFT_FP32, next, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_recv(NULL, 0, WEFT_FP32, before, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_all_reduce(NULL, NULL, 0, WEFT_FP32, WEFT_SUM, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_send(&out, 1, WEFT_INT32, next, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_recv(&in, 1, WEFT_INT32, before, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(in == mark(before, rank, 0));
    return bad;
}

/* Messages of 0 … 16 elements arrive in the order in which they were sent. */
static int many_messages(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t next = (rank + 1) % n;
    uint32_t before = (rank + n - 1) % n;
    int32_t *out = marked(rank, next, MESSAGES * 17);
    int32_t *in = calloc(MESSAGES * 17, sizeof *in);
    uint64_t at = 0;
    (void)arg;
    int bad = CHECK(weft_group_start() == WEFT_OK);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        bad += CHECK(weft_send(out + at, i % 17, WEFT_INT32, next, comm, NULL) == WEFT_OK);
        bad += CHECK(weft_recv(in + at, i % 17, WEFT_INT32, before, comm, NULL) == WEFT_OK);
        at += i % 17;
    }
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(is_marked(in, before, rank, at));
    free(in);
    free(out);
    return bad;
}

static weft_status_t test_until_done(weft_request_t **request)
{
    weft_status_t status = WEFT_IN_PROGRESS;
    while (status == WEFT_IN_PROGRESS) {
        status = weft_request_test(request);
    }
    return status;
}

/* Requests come to life at the end of the group. */
static int async_requests(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { COUNT = 100000 };
    uint32_t next = (rank + 1) % n;
    uint32_t before = (rank + n - 1) % n;
    weft_request_t *requests[3] = {NULL};
    int32_t *out = marked(rank, next, COUNT);
    int32_t *in = calloc(COUNT, sizeof *in);
    int32_t sum = (int32_t)rank;
    int32_t blocking = (int32_t)rank + 1;
    weft_call_t calls[3];
    (void)arg;
    for (int i = 0; i < 3; i++) {
        calls[i] = (weft_call_t){.size = sizeof calls[i], .request_p = &requests[i]};
    }
    int bad = CHECK(weft_group_start() == WEFT_OK);
    bad += CHECK(weft_recv(in, COUNT, WEFT_INT32, before, comm, &calls[0]) == WEFT_OK);
    bad += CHECK(weft_all_reduce(&sum, &sum, 1, WEFT_INT32, WEFT_SUM, comm, &calls[1]) == WEFT_OK);
    bad += CHECK(weft_send(out, COUNT, WEFT_INT32, next, comm, &calls[2]) == WEFT_OK);
    bad += CHECK(weft_all_reduce(&blocking, &blocking, 1, WEFT_INT32, WEFT_SUM, comm, NULL) ==
                 WEFT_OK);
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(sum_is(blocking, n, 1));
    bad += CHECK(test_until_done(&requests[2]) == WEFT_OK);
    bad += CHECK(weft_request_wait(&requests[1]) == WEFT_OK);
    bad += CHECK(weft_request_wait(&requests[0]) == WEFT_OK);
    bad += CHECK(requests[0] == NULL && requests[1] == NULL && requests[2] == NULL);
    bad += CHECK(is_marked(in, before, rank, COUNT)) + CHECK(sum_is(sum, n, 0));
    free(in);
    free(out);
    return bad;
}

/* If an inner end started the receive, it would wait for ever: the send is named after it. */
static int nested(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const weft_call_t call = {.size = sizeof call, .timeout = 20};
    int32_t out = mark(rank, rank, 3);
    int32_t in = 0;
    (void)n;
    (void)arg;
    int bad = CHECK(weft_group_start() == WEFT_OK);
    bad += CHECK(weft_group_start() == WEFT_OK);
    bad += CHECK(weft_recv(&in, 1, WEFT_INT32, rank, comm, &call) == WEFT_OK);
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(in == 0);
    bad += CHECK(weft_send(&out, 1, WEFT_INT32, rank, comm, &call) == WEFT_OK);
    bad += CHECK(in == 0);
    bad += CHECK(weft_group_end() == WEFT_OK);
    bad += CHECK(in == out);
    bad += CHECK(weft_group_end() == WEFT_ERR_ARG);
    return bad;
}

/* A bad call spoils its group on this rank, and nothing else. The end tells of the first one. */
static int bad_call(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_error_t error = {.size = sizeof error};
    int32_t out = mark(rank, 0, 9);
    int32_t in = 0;
    (void)arg;
    int bad = CHECK(weft_group_start() == WEFT_OK);
    bad += CHECK(weft_send(&out, 1, WEFT_INT32, (rank + 1) % n, comm, NULL) == WEFT_OK);
    bad += CHECK(weft_send(&out, 1, WEFT_INT32, n, comm, NULL) == WEFT_ERR_ARG);
    bad +=
        CHECK(weft_recv(&in, 1, WEFT_INT32, (rank + n - 1) % n, comm, NULL) == WEFT_OK || in == 0);
    bad += CHECK(weft_recv(NULL, 1, WEFT_INT32, rank, comm, NULL) == WEFT_ERR_ARG);
    bad += CHECK(weft_group_end() == WEFT_ERR_ARG);
    bad += CHECK(weft_last_error(&error) == WEFT_OK && strstr(error.text, "out of range") != NULL);
    bad += CHECK(in == 0);
    bad += CHECK(weft_barrier(comm, NULL) == WEFT_OK);
    return bad + zero_counts(comm, rank, n, NULL);
}

/* A group that is cancelled starts nothing, and what is around it neither. Its requests end. */
static int cancelled(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t out = mark(rank, 0, 9), in = 0;
    weft_request_t *request = NULL;
    const weft_call_t call = {.size = sizeof call, .request_p = &request};
    int bad = 0;
    (void)arg;
    for (int inner = 0; inner < 2; inner++) {
        bad += CHECK(weft_group_start() == WEFT_OK && (!inner || weft_group_start() == WEFT_OK));
        bad += CHECK(weft_send(&out, 1, WEFT_INT32, (rank + 1) % n, comm, &call) == WEFT_OK);
        bad += CHECK(weft_recv(&in, 1, WEFT_INT32, WEFT_ANY_RANK, comm, NULL) == WEFT_OK);
        bad += CHECK(weft_group_cancel() == WEFT_OK);
        bad += CHECK(!inner || weft_group_end() == WEFT_ERR_STATE);
        bad += CHECK(weft_request_wait(&request) == WEFT_ERR_STATE && request == NULL && in == 0);
    }
    return bad + CHECK(weft_group_cancel() == WEFT_ERR_ARG) + zero_counts(comm, rank, n, NULL);
}

/* 100 elements are sent where 120 are expected. */
static int mismatched(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t data[120] = {0};
    weft_status_t status;
    (void)n;
    (void)arg;
    if (rank == 0) {
        status = weft_send(data, 100, WEFT_INT32, 1, comm, NULL);
        /* The message may have been taken by the transport before the receiver saw it. */
        return CHECK(status == WEFT_OK || status == WEFT_ERR_MISMATCH);
    }
    status = weft_recv(data, 120, WEFT_INT32, 0, comm, NULL);
    return says(comm, status, WEFT_ERR_MISMATCH, "from rank 0 (there) to rank 1 (here)") +
           says(comm, status, WEFT_ERR_MISMATCH, "count 120 here, 100 there");
}

static int other_type(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int32_t data[8] = {0};
    weft_status_t status;
    (void)n;
    (void)arg;
    if (rank == 0) {
        status = weft_send(data, 8, WEFT_INT32, 1, comm, NULL);
        return CHECK(status == WEFT_OK || status == WEFT_ERR_MISMATCH);
    }
    status = weft_recv(data, 8, WEFT_FP32, 0, comm, NULL);
    return says(comm, status, WEFT_ERR_MISMATCH, "data type float here, int32 there");
}

/* Nobody receives what rank 0 sends: more than the slots hold. */
static int no_receiver(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const weft_call_t call = {.size = sizeof call, .timeout = 0.3};
    weft_error_t error = {.size = sizeof error};
    (void)arg;
    if (rank != 0) {
        while (error.status == WEFT_OK) {
            weft_comm_error(comm, &error);
        }
        return CHECK(error.status == WEFT_ERR_TIMEOUT);
    }
    uint8_t *data = calloc(1, 64 << 20);
    weft_status_t status = weft_send(data, 64 << 20, WEFT_UINT8, n - 1, comm, &call);
    char words[64];
    snprintf(words, sizeof words, "rank 0 waits for rank %u", n - 1);
    int bad = says(comm, status, WEFT_ERR_TIMEOUT, words);
    weft_comm_error(comm, &error);
    free(data);
    return bad + CHECK(error.peer == (int32_t)n - 1);
}

static int no_sender(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const weft_call_t call = {.size = sizeof call, .timeout = 0.3};
    weft_error_t error = {.size = sizeof error};
    int32_t in;
    (void)arg;
    if (rank != 0) {
        while (error.status == WEFT_OK) {
            weft_comm_error(comm, &error);
        }
        return CHECK(error.status == WEFT_ERR_TIMEOUT);
    }
    int bad = CHECK(weft_group_start() == WEFT_OK);
    bad += CHECK(weft_recv(&in, 1, WEFT_INT32, n - 1, comm, &call) == WEFT_OK);
    char words[64];
    snprintf(words, sizeof words, "rank 0 waits for rank %u", n - 1);
    return bad + says(comm, weft_group_end(), WEFT_ERR_TIMEOUT, words);
}

static void run_ranks(ranks_work_t work, uint32_t first, uint32_t last)
{
    for (int i = 0; i < nnets; i++) {
        for (uint32_t n = first; n <= last; n++) {
            ranks_job_t job = {
                .nranks = n, RANKS_SET(nets[i]), .work = work, .arg = (void *)(uintptr_t)nets[i]};
            if (ranks_run_threads(&job) != 0) {
                fail_msg("%s, %u ranks", nets[i], n);
            }
        }
    }
}

#define CASE(name, work, first, last)                                                              \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        run_ranks(work, first, last);                                                              \
    }
CASE(opposite_orders_of_large_messages_end, opposite_orders, 1, 5)
CASE(opposite_orders_of_communicators_end, opposite_communicators, 2, 4)
CASE(a_rank_sends_to_itself_in_a_group, self_send, 1, 3)
CASE(a_rank_sends_to_itself_with_the_first_end_asynchronous, self_meets, 1, 3)
CASE(messages_and_collectives_mix, mixed, 1, 5)
CASE(an_operator_stays_while_its_group_is_open, held_operator, 2, 3)
CASE(a_factor_is_read_when_its_operation_begins, late_factor, 1, 2)
CASE(empty_messages_and_empty_groups_are_legal, zero_counts, 1, 4)
CASE(a_thousand_messages_arrive_in_order, many_messages, 1, 4)
CASE(requests_of_a_group_live_on, async_requests, 1, 4)
CASE(only_the_outermost_end_starts, nested, 1, 3)
CASE(a_bad_call_spoils_only_its_group, bad_call, 2, 3)
CASE(a_cancelled_group_starts_nothing, cancelled, 2, 3)
CASE(a_mismatched_count_names_both_ranks, mismatched, 2, 2)
CASE(a_mismatched_type_names_both_types, other_type, 2, 2)
CASE(a_missing_receiver_is_named, no_receiver, 2, 3)
CASE(a_missing_sender_is_named, no_sender, 2, 3)

static void an_end_without_a_start_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(weft_group_end(), WEFT_ERR_ARG);
}

/* Over the transports that are named, as settings, or over all. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        nets = (const char *const *)argv + 1;
        nnets = argc - 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_without_a_start_is_an_error),
        cmocka_unit_test(opposite_orders_of_large_messages_end),
        cmocka_unit_test(opposite_orders_of_communicators_end),
        cmocka_unit_test(a_rank_sends_to_itself_in_a_group),
        cmocka_unit_test(a_rank_sends_to_itself_with_the_first_end_asynchronous),
        cmocka_unit_test(messages_and_collectives_mix),
        cmocka_unit_test(an_operator_stays_while_its_group_is_open),
        cmocka_unit_test(a_factor_is_read_when_its_operation_begins),
        cmocka_unit_test(empty_messages_and_empty_groups_are_legal),
        cmocka_unit_test(a_thousand_messages_arrive_in_order),
        cmocka_unit_test(requests_of_a_group_live_on),
        cmocka_unit_test(only_the_outermost_end_starts),
        cmocka_unit_test(a_bad_call_spoils_only_its_group),
        cmocka_unit_test(a_cancelled_group_starts_nothing),
        cmocka_unit_test(a_mismatched_count_names_both_ranks),
        cmocka_unit_test(a_mismatched_type_names_both_types),
        cmocka_unit_test(a_missing_receiver_is_named),
        cmocka_unit_test(a_missing_sender_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
