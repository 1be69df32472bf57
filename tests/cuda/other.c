/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See other.h. */
#include "tests/cuda/other.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

static int to_other[2], from_other[2];
static pid_t other;
static weft_kernel_t *instances[OTHER_INSTANCES];

void other_fill(void *at, int value, uint64_t bytes)
{
    assert_int_equal(cudaMemsetAsync(at, value, bytes, cudaStreamPerThread), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
}

uint8_t other_byte_at(const void *at)
{
    uint8_t byte = 0;
    assert_int_equal(cudaMemcpy(&byte, at, 1, cudaMemcpyDefault), cudaSuccess);
    return byte;
}

/* The other process ---------------------------------------------------------------------------- */

static const weft_kernel_ipc_t *other_share(void)
{
    return bench.ops->get_extension(instances[0], WEFT_KERNEL_IPC);
}

typedef struct opening {
    weft_kernel_t *kernel;
    int device;
    void *memory;
} opening_t;

static _Alignas(4096) uint8_t fifo[FIFO_BYTES];
static plan_t plan;

/* Opens the memory as often as asked; returns how often it could. */
static uint32_t other_opens(const other_ask_t *ask, opening_t *openings, other_told_t *told)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ask->times * OTHER_INSTANCES; i++) {
        if ((ask->who >> i % OTHER_INSTANCES & 1) == 0) {
            continue;
        }
        openings[n].kernel = instances[i % OTHER_INSTANCES];
        openings[n].device = 1 << i % OTHER_INSTANCES == OTHER_APART;
        told->opened =
            other_share()->import(openings[n].kernel, ask->token, ask->bytes, &openings[n].memory);
        if (told->opened != WEFT_OK) {
            break;
        }
        n++;
    }
    bench_take_error();
    memcpy(told->words, bench.error, sizeof told->words);
    return n;
}

static void other_uses(const other_ask_t *ask, const opening_t *openings, uint32_t n,
                       other_told_t *told)
{
    const uint8_t *bytes = openings[0].memory;
    told->first = other_byte_at(bytes);
    told->middle = other_byte_at(bytes + ask->bytes / 2);
    told->last = other_byte_at(bytes + ask->bytes - 1);
    other_fill(openings[0].memory, 0x77, ask->bytes);
    told->same = told->granted = true;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i; j < n; j++) {
            const uint8_t *theirs = openings[j].memory;
            told->same = told->same && other_byte_at(theirs + ask->bytes / 3) == 0x77;
        }
        told->granted =
            told->granted && fake_memory_granted(openings[i].memory, openings[i].device);
        other_share()->unimport(openings[i].kernel, openings[i].memory);
    }
}

static other_told_t other_does(const other_ask_t *ask)
{
    opening_t openings[16];
    const int pools = atomic_load(&fake_cuda.pools);
    uint64_t run = 0;
    other_told_t told = {.opened = WEFT_OK};
    if (ask->busy) {
        plan_open(&plan, PLAN_RECEIVES, fifo);
        assert_int_equal(plan_start(&plan, &run), WEFT_OK);
        plan_wait_blocked(&plan, run);
    }
    fake_cuda.fabric = ask->fabric;
    fake_cuda.no_peers = ask->no_peers;
    fake_cuda.error = cudaErrorInvalidValue;
    fake_cuda.fails = ask->fails[0] != '\0' ? ask->fails : NULL;
    const uint32_t n = other_opens(ask, openings, &told);
    if (told.opened == WEFT_OK) {
        other_uses(ask, openings, n, &told);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            other_share()->unimport(openings[i].kernel, openings[i].memory);
        }
    }
    fake_cuda.fails = NULL;
    told.reserved = atomic_load(&fake_cuda.reserved);
    told.imported = atomic_load(&fake_cuda.imported);
    told.pools = atomic_load(&fake_cuda.pools) - pools;
    if (ask->busy) {
        fifo_send(fifo, 0, 0);
        assert_int_equal(plan_finish(&plan, run), WEFT_OK);
        plan_close(&plan);
    }
    return told;
}

/* Each has made a pool of its own, which it does once. */
static void instances_open(void)
{
    static const char *const settings[OTHER_INSTANCES] = {"device=0", "device=0", "device=1"};
    void *memory = NULL;
    uint8_t byte;
    bench_reset();
    assert_int_equal(cudaMalloc(&memory, 1), cudaSuccess);
    for (uint32_t i = 0; i < OTHER_INSTANCES; i++) {
        assert_int_equal(bench_create(settings[i]), WEFT_OK);
        instances[i] = bench.kernel;
        assert_int_equal(other_share()->read(bench.kernel, &byte, memory, 1), WEFT_OK);
    }
    assert_int_equal(cudaFree(memory), cudaSuccess);
    bench.kernel = instances[0];
    bench.lanes = bench.ops->get_extension(bench.kernel, WEFT_KERNEL_LANES);
}

static int other_serve(void)
{
    other_ask_t ask;
    instances_open();
    while (read(to_other[0], &ask, sizeof ask) == (ssize_t)sizeof ask) {
        other_told_t told = other_does(&ask);
        if (write(from_other[1], &told, sizeof told) != (ssize_t)sizeof told) {
            abort();
        }
    }
    for (uint32_t i = 1; i < OTHER_INSTANCES; i++) {
        bench.ops->destroy(instances[i]);
    }
    (void)bench_close(NULL);
    return atomic_load(&fake_cuda.imported) + atomic_load(&fake_cuda.reserved);
}

/* This process --------------------------------------------------------------------------------- */

bool other_start(void)
{
    if (pipe(to_other) != 0 || pipe(from_other) != 0) {
        return false;
    }
    other = fork();
    if (other == 0) {
        close(to_other[1]);
        close(from_other[0]);
        _exit(!bench_load() || other_serve() != 0);
    }
    /* So that its end is seen. */
    close(to_other[0]);
    close(from_other[1]);
    signal(SIGPIPE, SIG_IGN);
    return other > 0;
}

other_told_t other_asked(const other_ask_t *ask)
{
    other_told_t told;
    assert_int_equal(write(to_other[1], ask, sizeof *ask), sizeof *ask);
    assert_int_equal(read(from_other[0], &told, sizeof told), sizeof told);
    return told;
}

bool other_end(void)
{
    int code = 1;
    close(to_other[1]);
    return waitpid(other, &code, 0) == other && code == 0;
}
