/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Payloads and headers with flags of their own, between a plan that sends and one that receives, on
 * devices that show stores late and in any order: where numbers wrap around, what is stale, torn,
 * missing or a lie, and stops in the middle. */
#include "tests/cuda/bench.h"

#include <time.h>

#include <weft/plugin/draft/ipc.h>

#include "tests/cuda/fake.h"

enum { WORDS_STRIDE = 2 * SLOT_BYTES, LINES_STRIDE = (SLOT_BYTES + 119) / 120 * 128 };
enum { HEADERS_AT = SLOTS * SLOT_BYTES, WORDS_AT = HEADERS_AT + SLOTS * 128 };
enum { LINES_AT = WORDS_AT + SLOTS * WORDS_STRIDE, BYTES = LINES_AT + SLOTS * LINES_STRIDE };
enum { CREDITS = 256, CREDITS_AT = 128 };

static _Alignas(4096) uint8_t fifo[2 * FIFO_BYTES];
static plan_t sender, receiver;

/* Memory of devices, as the core has it exported. */
static const weft_kernel_ipc_t *share;
static uint8_t *memory, *credits;

static void open_extensions(void)
{
    share = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_IPC);
    bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
    assert_true(share != NULL && bench.lanes != NULL);
}

static uint8_t *export(uint64_t bytes, uint64_t zeros)
{
    uint8_t handle[WEFT_IPC_HANDLE_BYTES];
    void *made = NULL;
    assert_int_equal(share->export_alloc(bench.kernel, bytes, zeros, &made, handle), WEFT_OK);
    return made;
}

static weft_lanes_port_t flagged_port(bool sends)
{
    weft_lanes_port_t port = fifo_port(fifo, sends);
    port.payloads = memory;
    port.on_device = 1;
    port.headers = memory + HEADERS_AT;
    port.released = (uint64_t *)(void *)(credits + CREDITS_AT);
    port.words = (weft_lanes_flagged_t){memory + WORDS_AT, WORDS_STRIDE, SLOT_BYTES};
    port.lines = (weft_lanes_flagged_t){memory + LINES_AT, LINES_STRIDE, SLOT_BYTES};
    return port;
}

/* Both ends, the next message being number `next`. */
static void open_pair(const char *protocol, uint64_t next)
{
    weft_lanes_port_t send, receive;
    assert_int_equal(bench_create(protocol), WEFT_OK);
    open_extensions();
    memory = export(BYTES, BYTES - HEADERS_AT);
    credits = export(CREDITS, CREDITS - CREDITS_AT);
    memset(fifo, 0, sizeof fifo);
    send = flagged_port(true);
    receive = flagged_port(false);
    plan_open_at(&sender, PLAN_SENDS, &send);
    plan_open_at(&receiver, PLAN_RECEIVES, &receive);
    bench.lanes->endpoint_seek(sender.end, next);
    bench.lanes->endpoint_seek(receiver.end, next);
    *(uint64_t *)fake_memory_real(send.released) = next;
}

static void close_pair(void)
{
    plan_close(&sender);
    plan_close(&receiver);
    share->export_free(bench.kernel, memory);
    share->export_free(bench.kernel, credits);
    bench.ops->destroy(bench.kernel);
    bench.kernel = NULL;
}

static float value(uint64_t n, uint32_t i)
{
    return (float)(n % 4093 * 1000 + i);
}

static void fill(uint64_t n)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        sender.in[i] = value(n, i);
        receiver.out[i] = -1;
    }
}

static void expect(uint64_t n, uint32_t count)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        if (receiver.out[i] != (i < count ? value(n, i) : -1)) {
            fail_msg("message %llu of %u elements: element %u is %g", (unsigned long long)n, count,
                     i, (double)receiver.out[i]);
        }
    }
}

static void set_count(uint32_t count)
{
    plan_t *const plans[] = {&sender, &receiver};
    for (int p = 0; p < 2; p++) {
        weft_lanes_segmentation_t *s = &plans[p]->call.segmentation;
        s->count = s->slice = s->chunk = s->pass = count;
    }
}

static const char *const protocols[] = {"protocol=ll", "protocol=ll128", "protocol=auto",
                                        "protocol=simple"};

/* Both run at once, so that what is late is waited for. */
static void messages_arrive_whole_and_in_order(void **state)
{
    static const uint32_t counts[] = {1, 8, 9, 10, 29, 30, 31, 250, 999, 1000};
    (void)state;
    for (uint32_t p = 0; p < 4; p++) {
        open_pair(protocols[p], 0);
        for (uint64_t n = 0; n < 40; n++) {
            const uint32_t count = counts[n * 7 % 10];
            uint64_t send = 0, receive = 0;
            set_count(count);
            fill(n);
            assert_int_equal(plan_start(&receiver, &receive), WEFT_OK);
            assert_int_equal(plan_start(&sender, &send), WEFT_OK);
            assert_int_equal(plan_finish(&receiver, receive), WEFT_OK);
            assert_int_equal(plan_finish(&sender, send), WEFT_OK);
            expect(n, count);
        }
        close_pair();
    }
}

/* A rank that came late is not named in the next run, which may wait for another. */
static void who_has_come_is_not_waited_for(void **state)
{
    uint64_t send = 0, receive = 0;
    weft_lanes_state_t found = {.blocked = 7};
    (void)state;
    open_pair("protocol=ll", 0);
    for (uint64_t n = 0; n < 2; n++) {
        set_count(n == 0 ? 8 : 100);
        fill(n);
        assert_int_equal(plan_start(&receiver, &receive), WEFT_OK);
        assert_int_equal(plan_look(&receiver, receive, &found), WEFT_IN_PROGRESS);
        assert_int_equal(found.blocked, -1);
        plan_wait_blocked(&receiver, receive);
        assert_int_equal(plan_start(&sender, &send), WEFT_OK);
        assert_int_equal(plan_finish(&receiver, receive), WEFT_OK);
        assert_int_equal(plan_finish(&sender, send), WEFT_OK);
        expect(n, n == 0 ? 8 : 100);
    }
    close_pair();
}

/* Flags are whole numbers of messages: none is that of memory which is zero, or of a message long
 * ago. */
static void numbers_pass_every_width(void **state)
{
    static const uint64_t edges[] = {UINT64_C(1) << 8, UINT64_C(1) << 31, UINT64_C(1) << 32,
                                     UINT64_C(1) << 63};
    (void)state;
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t e = 0; e < 4; e++) {
            open_pair(protocols[p], edges[e] - SLOTS - 2);
            for (uint64_t n = edges[e] - SLOTS - 2; n < edges[e] + SLOTS + 2; n++) {
                uint64_t run = 0;
                fill(n);
                assert_int_equal(plan_start(&receiver, &run), WEFT_OK);
                plan_wait_blocked(&receiver, run); /* nothing that is there looks like it */
                assert_int_equal(plan_run(&sender), WEFT_OK);
                assert_int_equal(plan_finish(&receiver, run), WEFT_OK);
                expect(n, COUNT);
            }
            close_pair();
        }
    }
}

/* What a test does in place of the sender's device --------------------------------------------- */

#define AROUND (UINT64_C(1) << 32) /* numbers that differ by it are not alike */

static uint64_t *units_of(uint64_t n, uint32_t form)
{
    const bool words = form == WEFT_FIFO_FORM_WORDS;
    uint8_t *base = fake_memory_real(memory);
    return (uint64_t *)(void *)(base + (words ? WORDS_AT : LINES_AT) +
                                n % SLOTS * (words ? WORDS_STRIDE : LINES_STRIDE));
}

static uint64_t *header_of(uint64_t n)
{
    uint8_t *base = fake_memory_real(memory);
    return (uint64_t *)(void *)(base + HEADERS_AT + n % SLOTS * 128);
}

static void put(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* All words but `missing`. */
static void tell(uint64_t n, uint64_t form, uint64_t bytes, uint32_t missing)
{
    for (uint32_t w = 0; w < WEFT_FIFO_FLAGGED_HEADER_WORDS; w++) {
        put(&header_of(n)[2 * w],
            w == WEFT_FIFO_FLAGGED_HEADER_FORM ? bytes << WEFT_FIFO_FORM_BITS | form : 0);
        if (w != missing) {
            put(&header_of(n)[2 * w + 1], n + 1);
        }
    }
}

static void nap(void)
{
    const struct timespec time = {.tv_nsec = 20000000};
    nanosleep(&time, NULL);
}

static void expect_waiting(uint64_t run)
{
    weft_lanes_state_t state = {.size = sizeof state};
    nap();
    assert_int_equal(plan_look(&receiver, run, &state), WEFT_IN_PROGRESS);
    plan_wait_blocked(&receiver, run);
}

static void a_header_is_taken_with_its_last_word(void **state)
{
    (void)state;
    for (uint32_t missing = 0; missing < WEFT_FIFO_FLAGGED_HEADER_WORDS; missing++) {
        uint64_t run = 0;
        open_pair("protocol=ll", AROUND);
        set_count(8);
        assert_int_equal(plan_start(&receiver, &run), WEFT_OK);
        put(&header_of(AROUND)[2 * missing + 1], 1);
        tell(AROUND, WEFT_FIFO_FORM_SLOT, 32, missing);
        expect_waiting(run);
        put(&header_of(AROUND)[2 * missing + 1], AROUND + 1);
        assert_int_equal(plan_finish(&receiver, run), WEFT_OK);
        close_pair();
    }
}

/* Its header is here, one unit is not, or is that of a message which had the slot: the device
 * waits, and names the port. */
static void a_payload_is_taken_with_its_last_unit(void **state)
{
    static const struct {
        uint32_t form, unit;
    } kinds[] = {{WEFT_FIFO_FORM_WORDS, 2}, {WEFT_FIFO_FORM_LINES, 16}};
    (void)state;
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t unit = kinds[k].unit, units = (COUNT * 4 / 8 + unit - 2) / (unit - 1);
        for (uint32_t missing = 0; missing < units; missing += units - 1) {
            for (uint32_t s = 0; s < 3; s++) {
                const uint64_t n = AROUND + 4 * SLOTS + 1;
                const uint64_t stale[] = {0, n + 1 - SLOTS, n + 1 - AROUND};
                uint64_t run = 0;
                open_pair(protocols[k], n);
                for (uint64_t u = 0; u < units; u++) {
                    memset(&units_of(n, kinds[k].form)[u * unit], 0x3f, unit * 8);
                    units_of(n, kinds[k].form)[u * unit + unit - 1] =
                        u != missing ? n + 1 : stale[s];
                }
                tell(n, kinds[k].form, COUNT * 4, UINT32_MAX);
                assert_int_equal(plan_start(&receiver, &run), WEFT_OK);
                expect_waiting(run);
                put(&units_of(n, kinds[k].form)[missing * unit + unit - 1], n + 1);
                assert_int_equal(plan_finish(&receiver, run), WEFT_OK);
                assert_memory_equal(receiver.out, &receiver.out[1], (COUNT - 1) * 4);
                assert_int_equal(bench.lanes->endpoint_next(receiver.end), n + 1);
                close_pair();
            }
        }
    }
}

/* It is not released, and the next run takes it. */
static void a_payload_that_never_comes_ends_with_the_run(void **state)
{
    uint64_t run = 0;
    (void)state;
    for (uint32_t p = 0; p < 2; p++) {
        open_pair(protocols[p], 0);
        tell(0, p == 0 ? WEFT_FIFO_FORM_WORDS : WEFT_FIFO_FORM_LINES, COUNT * 4, UINT32_MAX);
        assert_int_equal(plan_start(&receiver, &run), WEFT_OK);
        expect_waiting(run);
        bench.lanes->abort(receiver.handle);
        assert_int_equal(plan_finish(&receiver, run), WEFT_ERR_ABORTED);
        assert_int_equal(bench.lanes->endpoint_next(receiver.end), 0);
        assert_int_equal(*(uint64_t *)fake_memory_real(credits + CREDITS_AT), 0);
        fill(5);
        assert_int_equal(plan_run(&sender), WEFT_OK);
        assert_int_equal(plan_run(&receiver), WEFT_OK);
        expect(5, COUNT);
        close_pair();
    }
}

static void headers_that_lie_are_refused(void **state)
{
    static const struct {
        uint64_t form, bytes;
    } lies[] = {{WEFT_FIFO_FORM_WORDS, COUNT * 4 - 4},
                {WEFT_FIFO_FORM_LINES, COUNT * 4 + 4},
                {WEFT_FIFO_FORM_LINES + 1, COUNT * 4},
                {WEFT_FIFO_FORM_SLOT, 0},
                {UINT64_MAX, UINT64_MAX},
                {WEFT_FIFO_FORM_WORDS, UINT64_MAX >> 8}};
    (void)state;
    for (uint32_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        open_pair("protocol=auto", 0);
        tell(0, lies[i].form, lies[i].bytes, UINT32_MAX);
        assert_int_equal(plan_run(&receiver), WEFT_ERR_PROTO);
        close_pair();
    }
}

/* Between two devices: what it stores in memory of the other one, if that is asked for. */
static void send_to_another_device(uint32_t *words_p, uint32_t *lines_p)
{
    uint8_t handle[WEFT_IPC_HANDLE_BYTES];
    void *there = NULL, *here = NULL;
    assert_int_equal(bench_create("device=1"), WEFT_OK);
    weft_kernel_t *other = bench.kernel;
    assert_int_equal(bench_create("protocol=ll128"), WEFT_OK);
    open_extensions();
    assert_int_equal(share->export_alloc(other, BYTES, 64, &there, handle), WEFT_OK);
    assert_int_equal(share->import(bench.kernel, handle, BYTES, &here), WEFT_OK);
    memory = here;
    credits = export(CREDITS, CREDITS - CREDITS_AT);
    const weft_lanes_port_t port = flagged_port(true);
    plan_open_at(&sender, PLAN_SENDS, &port);
    atomic_store(&fake_cuda.words, 0);
    atomic_store(&fake_cuda.lines, 0);
    assert_int_equal(plan_run(&sender), WEFT_OK);
    *words_p = atomic_load(&fake_cuda.words);
    *lines_p = atomic_load(&fake_cuda.lines);
    plan_close(&sender);
    share->unimport(bench.kernel, here);
    share->export_free(bench.kernel, credits);
    share->export_free(other, there);
    bench.ops->destroy(other);
    bench.ops->destroy(bench.kernel);
    bench.kernel = NULL;
}

/* Where lines of 128 bytes come in parts they are not used, not even if they are asked for. */
static void lines_are_for_paths_that_keep_them_whole(void **state)
{
    uint32_t words = 0, lines = 0;
    (void)state;
    fake_cuda.counts = true;
    send_to_another_device(&words, &lines);
    assert_int_equal(words, WEFT_FIFO_FLAGGED_HEADER_WORDS);
    assert_int_equal(lines, (COUNT * 4 + 119) / 120 * 8);
    fake_cuda.no_nvlink = true;
    send_to_another_device(&words, &lines);
    assert_int_equal(words, WEFT_FIFO_FLAGGED_HEADER_WORDS + COUNT * 4 / 8);
    assert_int_equal(lines, 0);
}

static int reorder(void **state)
{
    (void)state;
    bench_reset();
    fake_cuda.reorders = true;
    return 0;
}

static int order(void **state)
{
    bench_reset();
    fake_cuda.reorders = fake_cuda.counts = fake_cuda.no_nvlink = false;
    return bench_close(state);
}

#define PROTOCOL(test) cmocka_unit_test_setup_teardown(test, reorder, order)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROTOCOL(messages_arrive_whole_and_in_order),
        PROTOCOL(who_has_come_is_not_waited_for),
        PROTOCOL(numbers_pass_every_width),
        PROTOCOL(a_header_is_taken_with_its_last_word),
        PROTOCOL(a_payload_is_taken_with_its_last_unit),
        PROTOCOL(a_payload_that_never_comes_ends_with_the_run),
        PROTOCOL(headers_that_lie_are_refused),
        PROTOCOL(lines_are_for_paths_that_keep_them_whole),
    };
    return bench_main(tests);
}
