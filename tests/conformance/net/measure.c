/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency, time per message, bandwidth, and how many messages of which size reach it, between two
 * processes that poll all the time. Both make the same calls, so nothing but the data is
 * exchanged. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 2000u
#define WINDOW_MAX 16u
#define VOLUME (UINT64_C(32) << 20)
#define SMALL 8u
#define SIZE_LEAST (UINT64_C(16) << 10)
#define SIZE_MOST (UINT64_C(4) << 20)

/* One end: it sends or receives the data, and answers. */
typedef struct measure_end {
    kit_end_t end;
    bool sends;
    uint32_t window_most;
    uint64_t size_most;
    uint8_t *buffer;
} measure_end_t;

static void transfer(measure_end_t *m, bool sends, uint64_t bytes)
{
    kit_done_t done;
    if (sends) {
        end_send(&m->end, m->buffer, bytes, &done);
    } else {
        end_receive(&m->end, m->buffer, bytes, &done);
    }
    sides_wait(m->end.side, NULL, &done);
    REQUIRE(done.status == WEFT_OK);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns half the median time of a message there and back. */
static double measure_latency(measure_end_t *m)
{
    static double times[ROUNDS];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint64_t start = kit_now_ns();
        transfer(m, m->sends, SMALL);
        transfer(m, !m->sends, SMALL);
        times[i] = (double)(kit_now_ns() - start) / 2;
    }
    qsort(times, ROUNDS, sizeof times[0], compare);
    return times[ROUNDS / 2];
}

/* Returns the nanoseconds of `count` messages, `window` of which may be on their way. */
static double measure_train(measure_end_t *m, uint32_t count, uint64_t bytes, uint32_t window)
{
    kit_done_t done[WINDOW_MAX];
    uint64_t start = kit_now_ns();
    window = window < m->window_most ? window : m->window_most;
    for (uint32_t i = 0; i < count + window; i++) {
        kit_done_t *mine = &done[i % window];
        if (i >= window) {
            sides_wait(m->end.side, NULL, mine);
            REQUIRE(mine->status == WEFT_OK);
        }
        if (i < count && m->sends) {
            end_send(&m->end, m->buffer, bytes, mine);
        } else if (i < count) {
            end_receive(&m->end, m->buffer, bytes, mine);
        } else {
            *mine = (kit_done_t){.done = true, .status = WEFT_OK};
        }
    }
    transfer(m, !m->sends, 1);
    return (double)(kit_now_ns() - start);
}

/* Bytes per second: the better of two tries. */
static double measure_rate(measure_end_t *m, uint64_t bytes, uint32_t window)
{
    uint32_t count = (uint32_t)(VOLUME / bytes);
    double best = 0;
    for (int i = 0; i < 2; i++) {
        double rate = (double)count * (double)bytes / measure_train(m, count, bytes, window) * 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

typedef struct measure_result {
    double latency_ns, overhead_ns, bandwidth;
    uint64_t slot_bytes; /* the smallest that reaches 80 % of the bandwidth */
    uint32_t slots;      /* the fewest that reach 90 % of what the most do */
} measure_result_t;

static measure_result_t measure_all(measure_end_t *m)
{
    measure_result_t result = {.slots = 2};
    double rates[16] = {0};
    uint32_t sizes = 0;
    (void)measure_train(m, ROUNDS, SMALL, WINDOW_MAX); /* both are awake now */
    result.latency_ns = measure_latency(m);
    result.overhead_ns = measure_train(m, ROUNDS, SMALL, WINDOW_MAX) / ROUNDS;
    for (uint64_t bytes = SIZE_LEAST; bytes <= m->size_most; bytes *= 2) {
        rates[sizes] = measure_rate(m, bytes, 4);
        result.bandwidth = rates[sizes] > result.bandwidth ? rates[sizes] : result.bandwidth;
        sizes++;
    }
    uint32_t first = 0;
    while (rates[first] < 0.8 * result.bandwidth) {
        first++;
    }
    result.slot_bytes = SIZE_LEAST << first;
    /* At the size that the properties give. The ends see different times: both measure every
     * window, whatever they have found, because each waits for the other's messages. */
    uint64_t bytes = m->end.side->props.slot_bytes;
    bytes = bytes < m->size_most ? bytes : m->size_most;
    double most = measure_rate(m, bytes, WINDOW_MAX);
    bool reached = false;
    for (uint32_t window = 2; window <= WINDOW_MAX; window *= 2) {
        double rate = measure_rate(m, bytes, window);
        reached = reached || rate >= 0.9 * most;
        result.slots = reached ? result.slots : window * 2;
    }
    return result;
}

static void measure_end_init(measure_end_t *m, kit_side_t *side, bool sends)
{
    const weft_net_props_t *props = &side->props;
    m->sends = sends;
    m->window_most = props->max_outstanding < WINDOW_MAX ? props->max_outstanding : WINDOW_MAX;
    m->size_most = props->max_message < SIZE_MOST ? props->max_message : SIZE_MOST;
    m->buffer = calloc(1, SIZE_MOST);
    REQUIRE(m->buffer != NULL);
}

static void measure_child(kit_side_t *side, const weft_net_address_t *address, void *arg)
{
    measure_end_t m;
    (void)arg;
    measure_end_init(&m, side, false);
    REQUIRE(end_connect(side, address, 0, &m.end) == WEFT_OK);
    (void)measure_all(&m);
    end_close(&m.end);
    free(m.buffer);
}

static void measure_row(const char *name, double props, double measured, const char *unit)
{
    double times = props > measured ? props / measured : measured / props;
    printf("%-12s %12.4g %12.4g %-5s", name, props, measured, unit);
    printf(times > 4 ? "   %.0f times apart\n" : "\n", times);
}

void measure_print(const kit_t *kit)
{
    kit_side_t side;
    measure_end_t m;
    if ((kit->ops->caps & WEFT_NET_CAP_MESSAGES) == 0) {
        kit_skip("WEFT_NET_CAP_MESSAGES (post and poll)");
    }
    int child = kit_spawn(kit, &side, measure_child, NULL);
    measure_end_init(&m, &side, true);
    end_accept(&side, &m.end);
    const measure_result_t found = measure_all(&m);
    kit_reap(child);
    end_close(&m.end);
    const weft_net_props_t *props = &side.props;
    uint64_t told = props->local_overhead_ns != 0 ? props->local_overhead_ns : props->overhead_ns;
    double overhead = (double)(told != 0 ? told : props->latency_ns / 4);
    uint64_t rate = props->local_bandwidth != 0 ? props->local_bandwidth : props->bandwidth;
    printf("%-12s %12s %12s   two processes of this host\n", "", "props", "measured");
    measure_row("latency", (double)props->latency_ns / 1e3, found.latency_ns / 1e3, "us");
    measure_row("overhead", overhead / 1e3, found.overhead_ns / 1e3, "us");
    measure_row("bandwidth", (double)rate / 1e9, found.bandwidth / 1e9, "GB/s");
    measure_row("slot_bytes", (double)props->slot_bytes / 1024, (double)found.slot_bytes / 1024,
                "KiB");
    measure_row("slots", props->slots, found.slots, "");
    side_close(&side);
    free(m.buffer);
}
