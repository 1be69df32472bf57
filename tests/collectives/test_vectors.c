/* SPDX-License-Identifier: BSD-3-Clause
 *
 * V-forms: blocks of equal, growing, random and no length, packed, with gaps and in reverse order,
 * out of place and in place, bit-exact. What lies between and behind the blocks must stay as it
 * was. First with what the tuner takes, also with all buffers in windows, then with each algorithm
 * that can.
 *   test-collectives-vectors NET tuner|windows|each RANKS… */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/collectives/algos.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"
#include "tests/support/values.h"

#define RANKS_MAX 32u
#define FILL 0x5a

enum { EQUAL, GROWING, ZEROS, LAST, RANDOM, NOTHING, PATTERNS };
enum { PACKED, EXPLICIT, GAPS, REVERSED, STYLES };

typedef struct vector_case {
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root, n, rank;
    int pattern, style, in_place;
} vector_case_t;

/* One side of a call. */
typedef struct side {
    uint64_t counts[RANKS_MAX], displs[RANKS_MAX];
    uint64_t extent; /* elements from the first to behind the last */
} side_t;

typedef struct call_buffers {
    uint8_t *memory[2], *expected;
    uint8_t *send, *recv;
    uint64_t recv_bytes, bytes; /* bytes: of each area */
    weft_window_t *windows[2];
} call_buffers_t;

static bool in_windows;

static const weft_coll_t colls[] = {WEFT_ALL_GATHER_V, WEFT_REDUCE_SCATTER_V, WEFT_ALL_TO_ALL_V,
                                    WEFT_GATHER_V, WEFT_SCATTER_V};
#define COLLS (sizeof colls / sizeof colls[0])

static uint32_t scramble(uint32_t a, uint32_t b)
{
    uint32_t h = (a * 2654435761u) ^ (b * 40503u + 77u);
    return (h ^ h >> 13) * 2246822519u >> 7;
}

/* Elements from `from` to `to`; with from = 0 the vector of the forms that have one. */
static uint64_t length(const vector_case_t *c, uint32_t from, uint32_t to)
{
    switch (c->pattern) {
    case EQUAL:
        return 11;
    case GROWING:
        return 3 * (from + to) + 1;
    case ZEROS:
        return (from + to) % 2 == 0 ? 9 : 0;
    case LAST:
        return to == c->n - 1 ? 700 : 0;
    case RANDOM:
        return scramble(from, to) % 300;
    default:
        return 0;
    }
}

/* `from` and `to` may be swapped without a change. */
static bool is_symmetric(const vector_case_t *c)
{
    return c->pattern != LAST && c->pattern != RANDOM;
}

static void set_displs(const vector_case_t *c, side_t *s)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t b = c->style == REVERSED ? c->n - 1 - i : i;
        at += c->style == GAPS ? 1 + i % 3 : 0;
        s->displs[b] = at;
        at += s->counts[b];
    }
    s->extent = at;
}

static bool is_pairwise(weft_coll_t coll)
{
    return coll == WEFT_ALL_TO_ALL_V;
}

static void set_sides(const vector_case_t *c, side_t *send, side_t *recv)
{
    for (uint32_t r = 0; r < c->n; r++) {
        send->counts[r] = is_pairwise(c->coll) ? length(c, c->rank, r) : length(c, 0, r);
        recv->counts[r] = is_pairwise(c->coll) ? length(c, r, c->rank) : length(c, 0, r);
    }
    set_displs(c, send);
    set_displs(c, recv);
}

static double moved_value(uint32_t from, uint32_t to, uint64_t j)
{
    return (double)((from * 13 + to * 5 + j * 3) % 97);
}

/* Number of a reduced element, whatever lies between the blocks. */
static uint64_t reduced_index(const side_t *s, uint32_t block, uint64_t j)
{
    for (uint32_t b = 0; b < block; b++) {
        j += s->counts[b];
    }
    return j;
}

static bool has_vector_send(weft_coll_t coll)
{
    return coll == WEFT_REDUCE_SCATTER_V || coll == WEFT_ALL_TO_ALL_V || coll == WEFT_SCATTER_V;
}

static bool has_vector_recv(weft_coll_t coll)
{
    return coll == WEFT_ALL_GATHER_V || coll == WEFT_ALL_TO_ALL_V || coll == WEFT_GATHER_V;
}

static bool is_rooted(weft_coll_t coll)
{
    return coll == WEFT_GATHER_V || coll == WEFT_SCATTER_V;
}

static double send_value(const vector_case_t *c, const side_t *s, uint32_t block, uint64_t j)
{
    if (c->coll == WEFT_REDUCE_SCATTER_V) {
        return values_input(c->dtype, c->op, c->n, c->rank, reduced_index(s, block, j));
    }
    return moved_value(c->rank, is_pairwise(c->coll) || c->coll == WEFT_SCATTER_V ? block : 0, j);
}

static void fill_send(const vector_case_t *c, const side_t *s, uint8_t *send)
{
    uint32_t first = has_vector_send(c->coll) ? 0 : c->rank;
    uint32_t last = has_vector_send(c->coll) ? c->n - 1 : c->rank;
    if (c->coll == WEFT_SCATTER_V && c->rank != c->root) {
        return;
    }
    for (uint32_t b = first; b <= last; b++) {
        uint64_t at = has_vector_send(c->coll) ? s->displs[b] : 0;
        for (uint64_t j = 0; j < s->counts[b]; j++) {
            values_put(send, at + j, c->dtype, send_value(c, s, b, j));
        }
    }
}

static double recv_value(const vector_case_t *c, const side_t *s, uint32_t block, uint64_t j)
{
    switch (c->coll) {
    case WEFT_REDUCE_SCATTER_V:
        return values_reduced(c->dtype, c->op, c->n, reduced_index(s, c->rank, j));
    case WEFT_SCATTER_V:
        return moved_value(c->root, c->rank, j);
    case WEFT_ALL_TO_ALL_V:
        return moved_value(block, c->rank, j);
    default:
        return moved_value(block, 0, j);
    }
}

static void fill_expected(const vector_case_t *c, const side_t *s, uint8_t *expected)
{
    uint32_t first = has_vector_recv(c->coll) ? 0 : c->rank;
    uint32_t last = has_vector_recv(c->coll) ? c->n - 1 : c->rank;
    if (c->coll == WEFT_GATHER_V && c->rank != c->root) {
        return;
    }
    for (uint32_t b = first; b <= last; b++) {
        uint64_t at = has_vector_recv(c->coll) ? s->displs[b] : 0;
        for (uint64_t j = 0; j < s->counts[b]; j++) {
            values_put(expected, at + j, c->dtype, recv_value(c, s, b, j));
        }
    }
}

static uint8_t *take(uint64_t bytes)
{
    uint8_t *memory = malloc(bytes + 64);
    assert_non_null(memory);
    memset(memory, FILL, bytes + 64);
    return memory;
}

static bool shares(const vector_case_t *c)
{
    return c->in_place && (!is_rooted(c->coll) || c->rank == c->root) &&
           (!is_pairwise(c->coll) || is_symmetric(c));
}

/* `expected` begins as what the receive buffer holds before the call. */
static void prepare(const vector_case_t *c, const side_t *send, const side_t *recv,
                    call_buffers_t *b)
{
    size_t elem = weft_dtype_size(c->dtype);
    uint64_t most = send->extent > recv->extent ? send->extent : recv->extent;
    uint64_t place = has_vector_send(c->coll) ? send->displs[c->rank] : recv->displs[c->rank];
    b->bytes = most * elem + 64;
    b->memory[0] = take(most * elem);
    b->memory[1] = take(most * elem);
    b->expected = take(most * elem);
    b->recv = b->memory[0];
    b->send = b->memory[1];
    if (shares(c)) {
        b->send = b->memory[0] + (has_vector_send(c->coll) ? 0 : place * elem);
        b->recv = b->memory[0] + (has_vector_recv(c->coll) ? 0 : place * elem);
    }
    fill_send(c, send, b->send);
    b->recv_bytes = (has_vector_recv(c->coll) ? recv->extent : recv->counts[c->rank]) * elem;
    memcpy(b->expected, b->recv, b->recv_bytes);
    fill_expected(c, recv, b->expected);
}

/* Where the blocks are, and for those that are empty what a program has never set. */
static const uint64_t *given_displs(const vector_case_t *c, const side_t *side, uint64_t garbage,
                                    uint64_t displs[RANKS_MAX])
{
    for (uint32_t b = 0; b < c->n; b++) {
        displs[b] = side->counts[b] > 0 ? side->displs[b] : garbage - b;
    }
    return c->style == PACKED ? NULL : displs;
}

static weft_status_t call(const vector_case_t *c, const side_t *send, const side_t *recv,
                          const call_buffers_t *b, weft_comm_t *comm)
{
    uint64_t displs[2][RANKS_MAX];
    uint8_t scalar[8];
    const weft_call_t o = {.size = sizeof o, .scalar = scalar};
    const uint64_t *out = given_displs(c, send, UINT64_MAX, displs[0]);
    const uint64_t *in = given_displs(c, recv, UINT64_MAX / 2, displs[1]);
    const weft_blocks_t s = {send->counts, out};
    const weft_blocks_t r = {recv->counts, in};
    values_put(scalar, 0, c->dtype, values_scalar(c->rank));
    switch (c->coll) {
    case WEFT_ALL_GATHER_V:
        return weft_all_gather_v(b->send, b->recv, recv->counts, in, c->dtype, comm, &o);
    case WEFT_REDUCE_SCATTER_V:
        return weft_reduce_scatter_v(b->send, b->recv, send->counts, out, c->dtype, c->op, comm,
                                     &o);
    case WEFT_ALL_TO_ALL_V:
        return weft_all_to_all_v(b->send, &s, b->recv, &r, c->dtype, comm, &o);
    case WEFT_GATHER_V:
        return weft_gather_v(b->send, send->counts[c->rank], b->recv, &r, c->dtype, c->root, comm,
                             &o);
    default:
        return weft_scatter_v(b->send, &s, b->recv, recv->counts[c->rank], c->dtype, c->root, comm,
                              &o);
    }
}

/* The call with both areas in windows, if all are to lie in some. */
static weft_status_t call_in_windows(const vector_case_t *c, const side_t *send, const side_t *recv,
                                     call_buffers_t *b, weft_comm_t *comm)
{
    weft_status_t status = WEFT_OK;
    for (int i = 0; in_windows && i < 2 && status == WEFT_OK; i++) {
        status = weft_window_register(comm, b->memory[i], b->bytes, &b->windows[i]);
    }
    status = status == WEFT_OK ? call(c, send, recv, b, comm) : status;
    for (int i = 0; i < 2; i++) {
        weft_status_t ended = weft_window_deregister(comm, b->windows[i]);
        status = status == WEFT_OK ? ended : status;
    }
    return status;
}

static int run_case(const vector_case_t *c, weft_comm_t *comm)
{
    static const char *const patterns[] = {"equal", "growing", "zeros",
                                           "last",  "random",  "nothing"};
    static const char *const styles[] = {"packed", "explicit", "gaps", "reversed"};
    side_t send = {{0}, {0}, 0};
    side_t recv = {{0}, {0}, 0};
    call_buffers_t b = {.windows = {NULL}};
    set_sides(c, &send, &recv);
    prepare(c, &send, &recv, &b);
    weft_status_t status = call_in_windows(c, &send, &recv, &b, comm);
    int wrong = status != WEFT_OK || memcmp(b.recv, b.expected, b.recv_bytes) != 0;
    wrong |= !shares(c) && b.recv[b.recv_bytes] != FILL;
    if (wrong) {
        fprintf(stderr, "rank %u of %u: %s %s %s %s %s root %u in place %d: %s\n", c->rank, c->n,
                weft_coll_name(c->coll), weft_dtype_name(c->dtype), weft_op_name(c->op),
                patterns[c->pattern], styles[c->style], c->root, c->in_place,
                status == WEFT_OK ? "wrong result" : weft_status_name(status));
    }
    free(b.memory[0]);
    free(b.memory[1]);
    free(b.expected);
    return wrong;
}

static int run_coll(weft_coll_t coll, weft_comm_t *comm, uint32_t rank, uint32_t n)
{
    static const weft_dtype_t dtypes[] = {WEFT_FP32, WEFT_UINT8, WEFT_BF16, WEFT_INT64};
    int wrong = 0;
    for (uint32_t i = 0; i < PATTERNS * STYLES * 2 && wrong == 0; i++) {
        vector_case_t c = {.coll = coll, .n = n, .rank = rank, .root = i * 7 % n};
        c.pattern = (int)(i % PATTERNS);
        c.style = (int)(i / PATTERNS % STYLES);
        c.in_place = i >= PATTERNS * STYLES;
        c.dtype = dtypes[(i + n) % 4];
        c.op = coll == WEFT_REDUCE_SCATTER_V ? (weft_op_t)((i + n) % WEFT_OP_COUNT) : WEFT_SUM;
        c.op = weft_op_has_dtype(c.op, c.dtype) ? c.op : WEFT_SUM;
        wrong += run_case(&c, comm);
    }
    return wrong;
}

static int work(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const bool *claims = arg;
    int wrong = 0;
    for (size_t i = 0; i < COLLS && wrong == 0; i++) {
        wrong += claims[i] ? run_coll(colls[i], comm, rank, n) : 0;
    }
    return wrong;
}

static char net_setting[128];
static uint32_t ranks[RANKS_MAX];
static size_t nranks;

static void run_job(const char *name, uint32_t n, bool *claims)
{
    char forced[128];
    snprintf(forced, sizeof forced, "plan.algo=%s", name);
    const char *settings[] = {net_setting,          algos_setting(), algos_option(),
                              "exec.slot_bytes=1K", forced,          "core.log=debug"};
    ranks_job_t job = {.nranks = n,
                       .settings = settings,
                       .settings_count = in_windows ? 6 : 5,
                       .work = work,
                       .arg = claims};
    if (ranks_run_threads(&job) != 0) {
        fail_msg("%s, %s, %u ranks", net_setting, name[0] != '\0' ? name : "the tuner's choice", n);
    }
}

static void what_the_tuner_takes_is_right(void **state)
{
    bool claims[COLLS] = {true, true, true, true, true};
    (void)state;
    for (size_t i = 0; i < nranks; i++) {
        run_job("", ranks[i], claims);
    }
}

static void run_algorithm(uint32_t index)
{
    uint32_t runs[COLLS] = {0};
    char why[160];
    for (size_t i = 0; i < nranks; i++) {
        bool claims[COLLS];
        bool any = false;
        for (size_t c = 0; c < COLLS; c++) {
            claims[c] = algos_claim(index, colls[c], ranks[i], why, sizeof why);
            runs[c] += claims[c];
            any = any || claims[c];
        }
        if (any) {
            run_job(algos_name(index), ranks[i], claims);
        }
    }
    print_message("%s:", algos_name(index));
    for (size_t c = 0; c < COLLS; c++) {
        print_message(runs[c] > 0 ? " %s" : " (not %s)", weft_coll_name(colls[c]));
    }
    print_message("\n");
}

static void every_algorithm_with_plans_for_vectors_is_right(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < algos_count(); i++) {
        run_algorithm(i);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tuner[] = {cmocka_unit_test(what_the_tuner_takes_is_right)};
    const struct CMUnitTest each[] = {
        cmocka_unit_test(every_algorithm_with_plans_for_vectors_is_right)};
    if (argc < 4) {
        fprintf(stderr, "usage: %s NET tuner|windows|each RANKS…\n", argv[0]);
        return 2;
    }
    snprintf(net_setting, sizeof net_setting, "core.net=%s", argv[1]);
    for (int i = 3; i < argc && nranks < RANKS_MAX; i++) {
        ranks[nranks] = (uint32_t)strtoul(argv[i], NULL, 10);
        if (ranks[nranks] < 1 || ranks[nranks] > RANKS_MAX) {
            fprintf(stderr, "%s: ranks are 1 to %u\n", argv[i], RANKS_MAX);
            return 2;
        }
        nranks++;
    }
    if (!algos_open()) {
        return 1;
    }
    in_windows = strcmp(argv[2], "windows") == 0;
    int failures = strcmp(argv[2], "each") != 0 ? cmocka_run_group_tests(tuner, NULL, NULL)
                                                : cmocka_run_group_tests(each, NULL, NULL);
    algos_close();
    return failures != 0;
}
