/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that kernels of one process and of two lend each other: who reaches whom, what the tokens
 * open, what strangers may write into them, and that nothing is left behind. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/plugin/draft/ipc.h>

#include <weft/sdk/host_identity.h>

#include "tests/cuda/fake_cuda.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

enum { BYTES = 3 << 20 };

static const weft_plugin_t *plugin;
static const weft_kernel_ops_t *ops;
static fake_host_t fake;
static char words[512];

static weft_kernel_t *kernel_open(const char *setting)
{
    const char *settings[] = {setting, NULL};
    weft_kernel_t *kernel = NULL;
    void *config = fake_config_create(plugin, settings, words, sizeof words);
    if (config == NULL || ops->create(&fake.host, config, &kernel) != WEFT_OK) {
        abort();
    }
    fake_config_destroy(config);
    return kernel;
}

static const weft_kernel_ipc_t *share_of(weft_kernel_t *kernel)
{
    return ops->get_extension(kernel, WEFT_KERNEL_IPC);
}

/* The other process ---------------------------------------------------------------------------- */

/* What it is asked, and what it answers: it opens the memory `times` times, fills it, closes it. */
typedef struct ask {
    uint8_t place[WEFT_IPC_LOCATION_BYTES], token[WEFT_IPC_HANDLE_BYTES];
    uint64_t bytes;
    uint32_t times, hidden;
    bool no_peers, misroutes, refuses; /* the driver opens no memory */
} ask_t;

typedef struct told {
    weft_status_t reaches, opened;
    int left;  /* mappings afterwards */
    bool same; /* each opening gave the same address */
    char words[512];
} told_t;

static int to_other[2], from_other[2];

static told_t other_does(weft_kernel_t *kernel, const ask_t *ask)
{
    const weft_kernel_ipc_t *share = share_of(kernel);
    void *memory[4] = {NULL};
    told_t told = {.same = true};
    fake_cuda.hidden = ask->hidden;
    fake_cuda.no_peers = ask->no_peers;
    fake_cuda.misroutes = ask->misroutes;
    fake_cuda.fails = ask->refuses ? "cudaIpcOpenMemHandle" : NULL;
    fake_cuda.error = cudaErrorInvalidValue;
    told.reaches = share->can_access(kernel, ask->place);
    for (uint32_t i = 0; i < ask->times && told.opened == WEFT_OK; i++) {
        told.opened = share->import(kernel, ask->token, ask->bytes, &memory[i]);
        told.same = told.same && memory[i] == memory[0];
    }
    fake_host_take_error(&fake, told.words, sizeof told.words);
    for (uint32_t i = 0; i < ask->times && memory[i] != NULL; i++) {
        if (cudaMemsetAsync(memory[i], (int)(0x70 + i), ask->bytes, cudaStreamPerThread) !=
                cudaSuccess ||
            cudaStreamSynchronize(cudaStreamPerThread) != cudaSuccess) {
            abort();
        }
        share->unimport(kernel, memory[i]);
    }
    told.left = atomic_load(&fake_cuda.imported);
    return told;
}

static void other_serve(void)
{
    weft_kernel_t *kernel = kernel_open(NULL);
    ask_t ask;
    while (read(to_other[0], &ask, sizeof ask) == (ssize_t)sizeof ask) {
        told_t told = other_does(kernel, &ask);
        if (write(from_other[1], &told, sizeof told) != (ssize_t)sizeof told) {
            abort();
        }
    }
    ops->destroy(kernel);
    _exit(atomic_load(&fake_cuda.imported) != 0);
}

static told_t other_asked(const ask_t *ask)
{
    told_t told;
    assert_int_equal(write(to_other[1], ask, sizeof *ask), sizeof *ask);
    assert_int_equal(read(from_other[0], &told, sizeof told), sizeof told);
    return told;
}

/* This process --------------------------------------------------------------------------------- */

static weft_kernel_t *kernel[2]; /* devices 0 and 1 */
static const weft_kernel_ipc_t *share;

static int open_kernels(void **state)
{
    (void)state;
    kernel[0] = kernel_open("device=0");
    kernel[1] = kernel_open("device=1");
    share = share_of(kernel[0]);
    assert_non_null(share);
    return 0;
}

static int close_kernels(void **state)
{
    (void)state;
    fake_cuda.no_peers = fake_cuda.misroutes = false;
    fake_cuda.hidden = 0;
    fake_cuda.fails = NULL;
    ops->destroy(kernel[0]);
    ops->destroy(kernel[1]);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
    assert_int_equal(atomic_load(&fake_cuda.imported), 0);
    assert_int_equal(atomic_load(&fake.live), 0);
    return 0;
}

static void refused(weft_status_t status, weft_status_t wanted, const char *part)
{
    assert_int_equal(status, wanted);
    fake_host_take_error(&fake, words, sizeof words);
    assert_says(words, part);
}

/* Exports memory of device 0. */
static void *exported(ask_t *ask)
{
    void *memory = NULL;
    *ask = (ask_t){.bytes = BYTES, .times = 1};
    share->location(kernel[0], ask->place);
    assert_int_equal(share->export_alloc(kernel[0], BYTES, 64, &memory, ask->token), WEFT_OK);
    assert_int_equal((uintptr_t)memory % 256, 0);
    return memory;
}

static uint8_t byte_at(const void *memory, uint64_t at)
{
    uint8_t byte = 0;
    assert_int_equal(cudaMemcpy(&byte, (const uint8_t *)memory + at, 1, cudaMemcpyDefault),
                     cudaSuccess);
    return byte;
}

static void a_process_shares_pointers(void **state)
{
    ask_t ask;
    void *opened = NULL, *memory = exported(&ask);
    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(share->can_access(kernel[k], ask.place), WEFT_OK);
        assert_int_equal(share->import(kernel[k], ask.token, BYTES, &opened), WEFT_OK);
        assert_ptr_equal(opened, memory);
        share->unimport(kernel[k], opened);
    }
    share->export_free(kernel[0], memory);
}

static void devices_without_a_way_are_refused(void **state)
{
    ask_t ask;
    void *opened = NULL, *memory = exported(&ask);
    (void)state;
    fake_cuda.no_peers = true;
    assert_int_equal(share->can_access(kernel[0], ask.place), WEFT_OK);
    refused(share->can_access(kernel[1], ask.place), WEFT_ERR_UNSUPPORTED, "no way from device");
    refused(share->import(kernel[1], ask.token, BYTES, &opened), WEFT_ERR_UNSUPPORTED,
            "no way from device");
    fake_cuda.no_peers = false;
    fake_cuda.fails = "cudaDeviceEnablePeerAccess";
    fake_cuda.error = cudaErrorTooManyPeers;
    refused(share->import(kernel[1], ask.token, BYTES, &opened), WEFT_ERR_UNSUPPORTED,
            "memory of CUDA device 0");
    assert_null(opened);
    share->export_free(kernel[0], memory);
}

/* The driver says that there is a way, and it leads elsewhere. */
static void a_way_that_leads_elsewhere_is_found_out(void **state)
{
    ask_t ask;
    void *opened = NULL, *window = NULL, *memory = exported(&ask);
    (void)state;
    assert_int_equal(cudaMalloc(&window, BYTES), cudaSuccess);
    fake_cuda.misroutes = true;
    assert_int_equal(share->can_access(kernel[1], ask.place), WEFT_OK);
    for (int i = 0; i < 2; i++) {
        refused(share->import(kernel[1], ask.token, BYTES, &opened), WEFT_ERR_UNSUPPORTED,
                "does not arrive");
        assert_says(words, "IOMMU");
    }
    assert_null(opened);
    assert_int_equal(share->import(kernel[0], ask.token, BYTES, &opened), WEFT_OK);
    share->unimport(kernel[0], opened);
    /* Windows, which are not tried themselves, then have no way either. */
    assert_int_equal(share->export_range(kernel[0], window, BYTES, ask.token), WEFT_OK);
    refused(share->import(kernel[1], ask.token, BYTES, &opened), WEFT_ERR_UNSUPPORTED,
            "does not arrive");
    share->unexport_range(kernel[0], window);
    share->export_free(kernel[0], memory);
    cudaFree(window);
}

static void between_processes_too(void **state)
{
    ask_t ask = {.bytes = BYTES, .times = 1, .misroutes = true};
    const weft_kernel_ipc_t *second = share_of(kernel[1]);
    void *memory = NULL;
    (void)state;
    second->location(kernel[1], ask.place);
    assert_int_equal(second->export_alloc(kernel[1], BYTES, 64, &memory, ask.token), WEFT_OK);
    told_t told = other_asked(&ask);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_says(told.words, "does not arrive");
    assert_int_equal(told.left, 0);
    second->export_free(kernel[1], memory);
}

/* As many as three kernels, for the first slots between two devices only. */
static void a_way_is_tried_once(void **state)
{
    ask_t ask;
    void *opened = NULL, *memory = exported(&ask);
    (void)state;
    const uint32_t before = atomic_load(&fake_cuda.combines);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(share->import(kernel[1], ask.token, BYTES, &opened), WEFT_OK);
        share->unimport(kernel[1], opened);
    }
    assert_int_equal(atomic_load(&fake_cuda.combines), before + 3);
    fake_cuda.fails = "cuda_launch_combine";
    fake_cuda.error = cudaErrorLaunchFailure;
    weft_kernel_t *third = kernel_open("device=1");
    refused(share->import(third, ask.token, BYTES, &opened), WEFT_ERR_SYSTEM, "trying the path");
    assert_int_equal(share->import(third, ask.token, BYTES, &opened), WEFT_OK);
    share->unimport(third, opened);
    ops->destroy(third);
    share->export_free(kernel[0], memory);
}

static void processes_share_memory(void **state)
{
    ask_t ask;
    void *memory = exported(&ask);
    (void)state;
    ask.times = 3;
    told_t told = other_asked(&ask);
    assert_int_equal(told.reaches, WEFT_OK);
    assert_int_equal(told.opened, WEFT_OK);
    assert_true(told.same);
    assert_int_equal(told.left, 0);
    assert_int_equal(byte_at(memory, 0), 0x72);
    assert_int_equal(byte_at(memory, BYTES - 1), 0x72);
    share->export_free(kernel[0], memory);
}

/* As where each process sees the device of its rank only: the driver opens such memory
 * nevertheless. */
static void memory_of_a_device_that_the_other_process_does_not_see_is_opened(void **state)
{
    ask_t ask;
    void *memory = exported(&ask);
    (void)state;
    ask.hidden = 1;
    told_t told = other_asked(&ask);
    assert_int_equal(told.reaches, WEFT_OK);
    assert_int_equal(told.opened, WEFT_OK);
    assert_int_equal(told.left, 0);
    assert_int_equal(byte_at(memory, BYTES - 1), 0x70);
    share->export_free(kernel[0], memory);
}

static void unless_the_driver_refuses_it(void **state)
{
    ask_t ask;
    void *memory = exported(&ask);
    (void)state;
    ask.hidden = 1;
    ask.refuses = true;
    told_t told = other_asked(&ask);
    assert_int_equal(told.reaches, WEFT_OK);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_int_equal(told.left, 0);
    assert_says(told.words, "does not see that device");
    share->export_free(kernel[0], memory);
}

static void processes_that_take_turns_on_a_device_are_told_the_remedy(void **state)
{
    ask_t ask;
    void *memory = exported(&ask);
    (void)state;
    ask.place[WEFT_HOST_IDENTITY_BYTES] ^= 1; /* another process, the same device */
    assert_int_equal(share->can_access(kernel[0], ask.place), WEFT_OK);
    assert_null(strstr(fake.log, "MPS"));
    fake_cuda.no_mps = true;
    assert_int_equal(share->can_access(kernel[0], ask.place), WEFT_OK);
    const char *told = strstr(fake.log, "share CUDA device 0 without MPS");
    assert_non_null(told);
    assert_non_null(strstr(told, "nvidia-cuda-mps-control"));
    assert_int_equal(share->can_access(kernel[0], ask.place), WEFT_OK);
    assert_null(strstr(told + 1, "share CUDA device 0")); /* once */
    fake_cuda.no_mps = false;
    share->export_free(kernel[0], memory);
}

static void what_strangers_write_is_refused(void **state)
{
    uint8_t place[WEFT_IPC_LOCATION_BYTES] = {0}, token[WEFT_IPC_HANDLE_BYTES] = {0};
    void *opened = NULL;
    ask_t ask;
    void *memory = exported(&ask);
    (void)state;
    refused(share->can_access(kernel[0], place), WEFT_ERR_UNSUPPORTED, "another host");
    memcpy(place, ask.place, sizeof place);
    place[0] ^= 1;
    refused(share->can_access(kernel[0], place), WEFT_ERR_UNSUPPORTED, "another host");
    memcpy(place, ask.place, sizeof place);
    memset(place + 32, 0xff, sizeof place - 32);
    refused(share->can_access(kernel[0], place), WEFT_ERR_UNSUPPORTED, "no address on the bus");
    memcpy(place, ask.place, sizeof place);
    place[WEFT_HOST_IDENTITY_BYTES + 8 + 5] = 'f'; /* "0001:f…", of this process */
    refused(share->can_access(kernel[0], place), WEFT_ERR_UNSUPPORTED, "does not see that device");
    /* Of this process, but nothing of it: neither another address nor more than there is. */
    memcpy(token, ask.token, sizeof token);
    token[8] ^= 0x40;
    refused(share->import(kernel[0], token, BYTES, &opened), WEFT_ERR_UNSUPPORTED,
            "names no memory");
    refused(share->import(kernel[0], ask.token, BYTES << 1, &opened), WEFT_ERR_UNSUPPORTED,
            "names no memory");
    share->export_free(kernel[0], memory);
    refused(share->import(kernel[0], ask.token, BYTES, &opened), WEFT_ERR_UNSUPPORTED,
            "names no memory");
    srand(7);
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < WEFT_IPC_HANDLE_BYTES; i++) {
            token[i] = (uint8_t)(round % 2 == 0 || i > 32 ? rand() : ask.token[i]);
        }
        assert_true(share->import(kernel[0], token, BYTES, &opened) < 0);
    }
    assert_null(opened);
}

static void what_strangers_write_between_processes_is_refused(void **state)
{
    ask_t ask, lie;
    void *memory = exported(&ask);
    (void)state;
    lie = ask;
    lie.bytes = 64u << 20;
    told_t told = other_asked(&lie);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_says(told.words, "shorter than it says");
    assert_int_equal(told.left, 0);
    srand(8);
    for (int round = 0; round < 300; round++) {
        lie = ask;
        for (int i = 40; i < WEFT_IPC_HANDLE_BYTES; i++) {
            lie.token[i] = (uint8_t)rand();
        }
        told = other_asked(&lie);
        assert_true(told.opened < 0);
        assert_int_equal(told.left, 0);
    }
    share->export_free(kernel[0], memory);
}

/* cudaFree() waits for kernels that wait for ranks. */
static void memory_given_back_serves_the_next_export(void **state)
{
    ask_t ask;
    void *memory = exported(&ask);
    (void)state;
    void *second = exported(&ask);
    assert_ptr_not_equal(second, memory);
    share->export_free(kernel[0], memory);
    share->export_free(kernel[0], second);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 2);
    void *again = exported(&ask);
    assert_true(again == memory || again == second);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 2);
    share->export_free(kernel[0], again);
}

static void memory_outlives_its_kernel_as_long_as_it_is_open(void **state)
{
    uint8_t token[WEFT_IPC_HANDLE_BYTES];
    void *memory = NULL, *opened = NULL;
    weft_kernel_t *third = kernel_open("device=0");
    (void)state;
    assert_int_equal(share->export_alloc(third, BYTES, 64, &memory, token), WEFT_OK);
    assert_int_equal(share->import(kernel[1], token, BYTES, &opened), WEFT_OK);
    ops->destroy(third);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 1);
    assert_int_equal(byte_at(opened, 5), byte_at(memory, 5));
    refused(share->import(kernel[0], token, BYTES, &memory), WEFT_ERR_UNSUPPORTED,
            "names no memory");
    share->unimport(kernel[1], opened);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
}

static void failures_are_typed_and_leave_nothing(void **state)
{
    uint8_t token[WEFT_IPC_HANDLE_BYTES];
    void *memory = NULL;
    (void)state;
    fake_cuda.fails = "cudaMalloc";
    fake_cuda.error = cudaErrorMemoryAllocation;
    refused(share->export_alloc(kernel[0], BYTES, 64, &memory, token), WEFT_ERR_RESOURCE,
            "CUDA device 0 has no memory left");
    fake_cuda.fails = "cudaSetDevice";
    fake_cuda.error = cudaErrorDevicesUnavailable;
    refused(share->export_alloc(kernel[0], BYTES, 64, &memory, token), WEFT_ERR_SYSTEM, "current");
    assert_null(memory);
    assert_int_equal(atomic_load(&fake_cuda.allocated), 0);
}

/* A driver without handles serves the ranks of one process. */
static void without_handles_only_the_process_shares(void **state)
{
    ask_t ask;
    void *opened = NULL;
    (void)state;
    fake_cuda.fails = "cudaIpcGetMemHandle";
    fake_cuda.error = cudaErrorNotSupported;
    void *memory = exported(&ask);
    told_t told = other_asked(&ask);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_says(told.words, "no handles");
    assert_int_equal(share->import(kernel[1], ask.token, BYTES, &opened), WEFT_OK);
    share->unimport(kernel[1], opened);
    share->export_free(kernel[0], memory);
}

/* Part of an allocation of device 0 that the plugin did not make. */
static uint8_t *lent(ask_t *ask, uint8_t **all_p)
{
    void *all = NULL;
    *ask = (ask_t){.bytes = BYTES, .times = 2};
    assert_int_equal(cudaMalloc(&all, BYTES + 5000), cudaSuccess);
    assert_int_equal(cudaMemsetAsync(all, 0xd5, BYTES + 5000, cudaStreamPerThread), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    uint8_t *memory = (uint8_t *)all + 4096;
    share->location(kernel[0], ask->place);
    assert_int_equal(share->export_range(kernel[0], memory, BYTES, ask->token), WEFT_OK);
    *all_p = all;
    return memory;
}

static void memory_of_the_caller_is_lent(void **state)
{
    ask_t ask, lie;
    void *opened = NULL;
    uint8_t *all, *memory = lent(&ask, &all);
    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(share->import(kernel[k], ask.token, BYTES, &opened), WEFT_OK);
        assert_ptr_equal(opened, memory);
        share->unimport(kernel[k], opened);
    }
    told_t told = other_asked(&ask);
    assert_int_equal(told.opened, WEFT_OK);
    assert_true(told.same);
    assert_int_equal(told.left, 0);
    assert_int_equal(byte_at(memory, 0), 0x71);
    assert_int_equal(byte_at(memory, BYTES - 1), 0x71);
    /* Not a byte more. */
    assert_int_equal(byte_at(all, 4095), 0xd5);
    assert_int_equal(byte_at(memory, BYTES), 0xd5);
    lie = ask;
    lie.bytes = BYTES + 1000;
    told = other_asked(&lie);
    assert_int_equal(told.opened, WEFT_ERR_UNSUPPORTED);
    assert_int_equal(told.left, 0);
    refused(share->import(kernel[1], ask.token, BYTES + 1, &opened), WEFT_ERR_UNSUPPORTED,
            "names no memory");
    share->unexport_range(kernel[0], memory);
    refused(share->import(kernel[1], ask.token, BYTES, &opened), WEFT_ERR_UNSUPPORTED,
            "names no memory");
    cudaFree(all);
}

static void only_memory_of_the_device_is_lent(void **state)
{
    uint8_t token[WEFT_IPC_HANDLE_BYTES], here[64];
    void *memory = NULL;
    (void)state;
    refused(share->export_range(kernel[0], here, sizeof here, token), WEFT_ERR_UNSUPPORTED,
            "no memory of CUDA device 0");
    assert_int_equal(cudaMalloc(&memory, 4096), cudaSuccess);
    refused(share->export_range(kernel[1], memory, 4096, token), WEFT_ERR_UNSUPPORTED,
            "no memory of CUDA device 1");
    refused(share->export_range(kernel[0], memory, 4097, token), WEFT_ERR_UNSUPPORTED,
            "ends before 4097");
    cudaFree(memory);
}

static void share_no_takes_the_extension_away(void **state)
{
    weft_kernel_t *lonely = kernel_open("share=no");
    (void)state;
    assert_null(share_of(lonely));
    ops->destroy(lonely);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_shares_pointers, open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(devices_without_a_way_are_refused, open_kernels,
                                        close_kernels),
        cmocka_unit_test_setup_teardown(a_way_that_leads_elsewhere_is_found_out, open_kernels,
                                        close_kernels),
        cmocka_unit_test_setup_teardown(between_processes_too, open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(a_way_is_tried_once, open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(processes_share_memory, open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(
            memory_of_a_device_that_the_other_process_does_not_see_is_opened, open_kernels,
            close_kernels),
        cmocka_unit_test_setup_teardown(unless_the_driver_refuses_it, open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(processes_that_take_turns_on_a_device_are_told_the_remedy,
                                        open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(what_strangers_write_is_refused, open_kernels,
                                        close_kernels),
        cmocka_unit_test_setup_teardown(what_strangers_write_between_processes_is_refused,
                                        open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(memory_given_back_serves_the_next_export, open_kernels,
                                        close_kernels),
        cmocka_unit_test_setup_teardown(memory_outlives_its_kernel_as_long_as_it_is_open,
                                        open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(failures_are_typed_and_leave_nothing, open_kernels,
                                        close_kernels),
        cmocka_unit_test_setup_teardown(without_handles_only_the_process_shares, open_kernels,
                                        close_kernels),
        cmocka_unit_test_setup_teardown(memory_of_the_caller_is_lent, open_kernels, close_kernels),
        cmocka_unit_test_setup_teardown(only_memory_of_the_device_is_lent, open_kernels,
                                        close_kernels),
        cmocka_unit_test_setup_teardown(share_no_takes_the_extension_away, open_kernels,
                                        close_kernels),
    };
    int code = 1;
    plugin = fake_plugin_open(WEFT_KERNEL_CUDA_FILE, WEFT_KIND_KERNEL, words, sizeof words);
    if (plugin == NULL || pipe(to_other) != 0 || pipe(from_other) != 0) {
        return 1;
    }
    ops = plugin->ops;
    fake_host_init(&fake, "kernel-cuda");
    pid_t other = fork(); /* before either uses the runtime */
    if (other == 0) {
        close(to_other[1]);
        other_serve();
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    close(to_other[1]);
    return failed != 0 || waitpid(other, &code, 0) != other || code != 0;
}
