/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the application's pools for other processes: what opens, what does not and why, that
 * the instances of a process have it once, and that its owner may free it as soon as they have
 * closed it. */
#include <stdlib.h>

#include "tests/cuda/other.h"

enum { BEFORE = 4096, RANGE = 3 << 20, BYTES = RANGE + 2 * BEFORE, FABRIC = 8 };

/* The application ------------------------------------------------------------------------------ */

typedef struct pool {
    cudaMemPool_t pool;
    uint8_t *at;
} pool_t;

/* Memory of device 0, of a pool with handles of these types. */
static void pool_make(pool_t *pool, uint32_t types, uint64_t bytes)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = (enum cudaMemAllocationHandleType)types};
    void *at = NULL;
    props.location.type = cudaMemLocationTypeDevice;
    assert_int_equal(cudaMemPoolCreate(&pool->pool, &props), cudaSuccess);
    assert_int_equal(cudaMallocFromPoolAsync(&at, bytes, pool->pool, cudaStreamPerThread),
                     cudaSuccess);
    pool->at = at;
}

/* The runtime ends this process if another one still has the memory. */
static void pool_free(const pool_t *pool)
{
    assert_int_equal(cudaFreeAsync(pool->at, cudaStreamPerThread), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    assert_int_equal(cudaMemPoolDestroy(pool->pool), cudaSuccess);
}

static const weft_kernel_ipc_t *share(void)
{
    return bench.ops->get_extension(bench.kernel, WEFT_KERNEL_IPC);
}

/* The range in the middle, for the other process. */
static other_ask_t asks_for(const pool_t *pool)
{
    other_ask_t ask = {.who = OTHER_FIRST, .times = 1, .bytes = RANGE};
    assert_int_equal(share()->export_range(bench.kernel, pool->at + BEFORE, RANGE, ask.token),
                     WEFT_OK);
    return ask;
}

static void ends(const pool_t *pool)
{
    share()->unexport_range(bench.kernel, pool->at + BEFORE);
    pool_free(pool);
}

static void nothing_is_left(const other_told_t *told)
{
    assert_int_equal(told->imported, 0);
    assert_int_equal(told->pools, 0);
}

static void is_refused(const other_ask_t *ask, const char *why)
{
    other_told_t told = other_asked(ask);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_says(told.words, why);
    nothing_is_left(&told);
}

/* Tests ---------------------------------------------------------------------------------------- */

static void opens(const pool_t *pool, other_ask_t *ask)
{
    other_fill(pool->at, 0x11, BYTES);
    other_fill(pool->at + BEFORE, 0x22, 1);
    other_fill(pool->at + BEFORE + RANGE / 2, 0x33, 1);
    other_fill(pool->at + BEFORE + RANGE - 1, 0x44, 1);
    for (int round = 0; round < 2; round++) {
        other_told_t told = other_asked(ask);
        assert_int_equal(told.opened, WEFT_OK);
        assert_int_equal(told.first, round == 0 ? 0x22 : 0x77);
        assert_int_equal(told.middle, round == 0 ? 0x33 : 0x77);
        assert_int_equal(told.last, round == 0 ? 0x44 : 0x77);
        nothing_is_left(&told);
        assert_int_equal(other_byte_at(pool->at + BEFORE + RANGE - 1), 0x77);
        assert_int_equal(other_byte_at(pool->at + BEFORE - 1), 0x11);
        assert_int_equal(other_byte_at(pool->at + BEFORE + RANGE), 0x11);
    }
}

static void another_process_opens_what_was_made_for_it(void **state)
{
    pool_t pool;
    (void)state;
    pool_make(&pool, cudaMemHandleTypePosixFileDescriptor, BYTES);
    other_ask_t ask = asks_for(&pool);
    opens(&pool, &ask);
    /* Not more than there is, and nothing once it has ended. */
    ask.bytes = BYTES;
    is_refused(&ask, "shorter than it says");
    ask.bytes = RANGE;
    ends(&pool);
    is_refused(&ask, "gives no descriptor");
}

static void pools_of_the_fabric_need_a_channel(void **state)
{
    pool_t pool;
    (void)state;
    fake_cuda.fabric = true;
    pool_make(&pool, FABRIC, BYTES);
    other_ask_t ask = asks_for(&pool);
    ask.fabric = true;
    opens(&pool, &ask);
    ask.fabric = false;
    is_refused(&ask, "the driver opens no pool by its handle");
    ends(&pool);
    fake_cuda.fabric = false;
    pool_make(&pool, FABRIC, BYTES);
    ask = asks_for(&pool);
    is_refused(&ask, "made for one process");
    assert_says(bench.fake.log, "cudaMemHandleTypePosixFileDescriptor");
    ends(&pool);
}

/* The driver counts no imports: the first free would end those of all. */
static void instances_of_a_process_have_it_once(void **state)
{
    pool_t pool;
    (void)state;
    pool_make(&pool, cudaMemHandleTypePosixFileDescriptor, BYTES);
    other_ask_t ask = asks_for(&pool);
    ask.who = OTHER_FIRST | OTHER_SECOND | OTHER_APART;
    for (ask.times = 1; ask.times < 4; ask.times++) {
        other_told_t told = other_asked(&ask);
        assert_int_equal(told.opened, WEFT_OK);
        assert_true(told.same);
        assert_true(told.granted);
        nothing_is_left(&told);
    }
    ends(&pool);
}

/* Other memory is kept until no kernel waits for a rank; that of a pool has to be closed at
 * once. */
static void it_is_closed_beside_kernels_that_wait(void **state)
{
    pool_t pool;
    (void)state;
    pool_make(&pool, cudaMemHandleTypePosixFileDescriptor, BYTES);
    other_ask_t ask = asks_for(&pool);
    ask.busy = true;
    other_told_t told = other_asked(&ask);
    assert_int_equal(told.opened, WEFT_OK);
    assert_int_equal(told.imported, 0);
    ends(&pool);
}

static void two_ranges_of_a_pool_are_two_imports(void **state)
{
    pool_t pool;
    void *second = NULL;
    (void)state;
    pool_make(&pool, cudaMemHandleTypePosixFileDescriptor, BYTES);
    assert_int_equal(cudaMallocFromPoolAsync(&second, RANGE, pool.pool, cudaStreamPerThread),
                     cudaSuccess);
    other_fill(second, 0x55, RANGE);
    other_ask_t ask = asks_for(&pool), more = ask;
    assert_int_equal(share()->export_range(bench.kernel, second, RANGE, more.token), WEFT_OK);
    other_fill(pool.at, 0x11, BYTES);
    assert_int_equal(other_asked(&ask).middle, 0x11);
    assert_int_equal(other_asked(&more).middle, 0x55);
    share()->unexport_range(bench.kernel, second);
    assert_int_equal(cudaFreeAsync(second, cudaStreamPerThread), cudaSuccess);
    ends(&pool);
}

/* The remedy is in the log, at INFO. */
static void is_private(const pool_t *pool, const char *why)
{
    bench.fake.log[0] = '\0';
    other_ask_t ask = asks_for(pool);
    assert_says(bench.fake.log, "other processes cannot open the memory of CUDA device 0");
    assert_says(bench.fake.log, why);
    is_refused(&ask, "made for one process");
    void *opened = NULL; /* by others of this process it can */
    assert_int_equal(share()->import(bench.kernel, ask.token, RANGE, &opened), WEFT_OK);
    assert_ptr_equal(opened, pool->at + BEFORE);
    share()->unimport(bench.kernel, opened);
}

static void what_was_made_for_one_process_stays_there(void **state)
{
    static const char *const remedy =
        "cudaMemPoolCreate() with cudaMemHandleTypePosixFileDescriptor";
    pool_t pool;
    void *at = NULL;
    (void)state;
    pool_make(&pool, cudaMemHandleTypeNone, BYTES);
    is_private(&pool, remedy);
    ends(&pool);
    /* The driver's own, which cudaMallocAsync() uses. */
    assert_int_equal(cudaMallocAsync(&at, BYTES, cudaStreamPerThread), cudaSuccess);
    pool.at = at;
    is_private(&pool, remedy);
    share()->unexport_range(bench.kernel, pool.at + BEFORE);
    assert_int_equal(cudaFreeAsync(at, cudaStreamPerThread), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
}

static void a_refusal_of_the_drivers_is_told(void **state)
{
    static const char *const refusals[][2] = {
        {"cudaMemPoolImportFromShareableHandle", "the driver opens no pool by its handle"},
        {"cudaMemPoolImportPointer", "the driver opens its pool, but not the pointer"},
        {"cudaMemPoolSetAccess", "the driver gives this device no access to its pool"}};
    pool_t pool;
    (void)state;
    pool_make(&pool, cudaMemHandleTypePosixFileDescriptor, BYTES);
    fake_cuda.fails = "cudaMemPoolExportPointer";
    fake_cuda.error = cudaErrorInvalidValue;
    is_private(&pool, "the driver exports its pool, but not the pointer");
    share()->unexport_range(bench.kernel, pool.at + BEFORE);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    other_ask_t ask = asks_for(&pool);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        strcpy(ask.fails, refusals[i][0]);
        is_refused(&ask, refusals[i][1]);
    }
    ask.fails[0] = '\0';
    ask.who = OTHER_APART;
    ask.no_peers = true;
    is_refused(&ask, "the driver knows no way from device to device");
    ask.no_peers = false;
    other_told_t told = other_asked(&ask);
    assert_int_equal(told.opened, WEFT_OK);
    assert_true(told.granted);
    ends(&pool);
}

/* It would crash the driver of who imports it. */
static void a_very_long_allocation_is_not_exported(void **state)
{
    pool_t pool;
    (void)state;
    pool_make(&pool, cudaMemHandleTypePosixFileDescriptor, UINT64_C(5249) << 20);
    is_private(&pool, "longer than 4 GiB");
    ends(&pool);
}

/* Strangers' words in any part of the handle: it opens or not, and nothing stays. */
static void a_wrong_handle_is_refused(void **state)
{
    pool_t pool;
    (void)state;
    pool_make(&pool, cudaMemHandleTypePosixFileDescriptor, BYTES);
    other_ask_t ask = asks_for(&pool);
    srand(9);
    for (int round = 0; round < 200; round++) {
        other_ask_t lie = ask;
        lie.token[rand() % 72] ^= (uint8_t)(1 + rand() % 255);
        other_told_t told = other_asked(&lie);
        assert_true(told.opened == WEFT_OK || told.opened == WEFT_ERR_UNSUPPORTED);
        nothing_is_left(&told);
    }
    assert_int_equal(other_asked(&ask).opened, WEFT_OK);
    ends(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(another_process_opens_what_was_made_for_it),
        BENCH(pools_of_the_fabric_need_a_channel),
        BENCH(instances_of_a_process_have_it_once),
        BENCH(it_is_closed_beside_kernels_that_wait),
        BENCH(two_ranges_of_a_pool_are_two_imports),
        BENCH(what_was_made_for_one_process_stays_there),
        BENCH(a_refusal_of_the_drivers_is_told),
        BENCH(a_very_long_allocation_is_not_exported),
        BENCH(a_wrong_handle_is_refused),
    };
    if (!other_start()) {
        return 1;
    }
    const int failed = bench_main(tests);
    return !other_end() || failed != 0;
}
