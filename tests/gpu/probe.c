/* SPDX-License-Identifier: BSD-3-Clause
 *
 * probe [NAME [NUMBER]]: what only a device can tell of how the driver and the memory behave, a
 * line each. Every question has a process of its own with a limit of time: a hang costs seconds and
 * is an answer. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/gpu/line.h"
#include "tests/gpu/probe.h"

void probe_must(cudaError_t error, const char *call)
{
    if (error != cudaSuccess) {
        line_answer(call, "FAILED", (double)error, cudaGetErrorName(error));
        _exit(1);
    }
}

double probe_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

probe_words_t *probe_words(void)
{
    probe_words_t *words = NULL;
    PROBE_OK(
        cudaHostAlloc((void **)&words, sizeof *words, cudaHostAllocPortable | cudaHostAllocMapped));
    memset(words, 0, sizeof *words);
    return words;
}

cudaStream_t probe_stream(void)
{
    cudaStream_t stream = NULL;
    PROBE_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static bool word_comes(const uint64_t *word, double ms)
{
    for (double end = probe_us() + 1e3 * ms; probe_us() < end; usleep(50)) {
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 0) {
            return true;
        }
    }
    return false;
}

void probe_wait_begin(probe_words_t *words, cudaStream_t stream)
{
    const probe_job_t job = {.what = PROBE_WAIT, .words = words};
    PROBE_OK(probe_launch(&job, 1, 1, stream));
    if (!word_comes(&words->begun, 2000)) {
        line_answer("a kernel that waits has not begun in 2 s", "FAILED", 0, "-");
        _exit(1);
    }
}

void probe_wait_end(probe_words_t *words)
{
    __atomic_store_n(&words->go, 1, __ATOMIC_RELEASE);
}

/* Facts ---------------------------------------------------------------------------------------- */

static void facts_of_driver(void)
{
    static const struct {
        const char *name;
        CUdevice_attribute which;
    } list[] = {
        {"exports dma-bufs", CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED},
        {"memory by virtual addresses", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
        {"handles by file descriptors",
         CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
        {"handles of a fabric", CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED},
        {"multicast", CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED}};
    CUresult (*ask)(int *value, CUdevice_attribute which, CUdevice device) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbol = library != NULL ? dlsym(library, "cuDeviceGetAttribute") : NULL;
    memcpy(&ask, &symbol, sizeof symbol); /* ISO C has no cast between them */
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        int value = 0;
        const bool known = ask != NULL && ask(&value, list[i].which, 0) == CUDA_SUCCESS;
        line_answer(list[i].name, known ? "ok" : "left out", value,
                    ask != NULL ? "-" : "no libcuda.so.1");
    }
}

static void probe_facts(int unused)
{
    static const struct {
        const char *name;
        enum cudaDeviceAttr which;
    } list[] = {{"multiprocessors", cudaDevAttrMultiProcessorCount},
                {"second cache, bytes", cudaDevAttrL2CacheSize},
                {"copy engines", cudaDevAttrAsyncEngineCount},
                {"compute mode", cudaDevAttrComputeMode},
                {"MPS", cudaDevAttrMpsEnabled},
                {"plain memory of the host (HMM)", cudaDevAttrPageableMemoryAccess},
                {"the same by its page tables", cudaDevAttrPageableMemoryAccessUsesHostPageTables},
                {"registered memory has one address", cudaDevAttrCanUseHostPointerForRegisteredMem},
                {"memory pools", cudaDevAttrMemoryPoolsSupported},
                {"GPUDirect RDMA", cudaDevAttrGPUDirectRDMASupported},
                {"order of an adapter's writes", cudaDevAttrGPUDirectRDMAWritesOrdering},
                {"flushes of them", cudaDevAttrGPUDirectRDMAFlushWritesOptions}};
    int value = 0, least = 0, greatest = 0;
    (void)unused;
    PROBE_OK(cudaFree(NULL));
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const cudaError_t error = cudaDeviceGetAttribute(&value, list[i].which, 0);
        line_answer(list[i].name, error == cudaSuccess ? "ok" : "left out", value, "-");
    }
    PROBE_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    line_answer("priorities of streams", "ok", least - greatest + 1, "-");
    PROBE_OK(cudaDriverGetVersion(&value));
    line_answer("CUDA of the driver", "ok", value, "-");
    facts_of_driver();
}

/* Streams -------------------------------------------------------------------------------------- */

/* Whether a query that says "not ready" is left for cudaGetLastError(), where others take it for
 * theirs. */
static void probe_last_error(int unused)
{
    probe_words_t *words = probe_words();
    cudaStream_t stream = probe_stream();
    (void)unused;
    probe_wait_begin(words, stream);
    const cudaError_t asked = cudaStreamQuery(stream), left = cudaGetLastError();
    probe_wait_end(words);
    line_answer("cudaErrorNotReady is not left as the last error",
                asked != cudaErrorNotReady ? "FAILED"
                : left == cudaSuccess      ? "ok"
                                           : "IT IS",
                left, "error left");
    PROBE_OK(cudaDeviceSynchronize());
}

/* Processes ------------------------------------------------------------------------------------ */

enum { PROCESS_ROUNDS = 50, PROCESS_ARRIVED = 208, PROCESS_HANDLE = 216 };

static void process_handle(uint64_t *shared, int number)
{
    cudaIpcMemHandle_t *handle = (cudaIpcMemHandle_t *)(void *)(shared + PROCESS_HANDLE + 1);
    void *memory = NULL;
    if (number == 0) {
        PROBE_OK(cudaMalloc(&memory, (size_t)2 << 20));
        const bool gives = cudaIpcGetMemHandle(handle, memory) == cudaSuccess;
        __atomic_store_n(shared + PROCESS_HANDLE, gives ? 1 : 2, __ATOMIC_RELEASE);
        return;
    }
    const bool comes = word_comes(shared + PROCESS_HANDLE, 4000) && shared[PROCESS_HANDLE] == 1;
    const cudaError_t error =
        comes ? cudaIpcOpenMemHandle(&memory, *handle, cudaIpcMemLazyEnablePeerAccess)
              : cudaErrorNotSupported;
    line_answer("memory of another process by its handle", error == cudaSuccess ? "ok" : "left out",
                (double)error, cudaGetErrorName(error));
}

static void process_run(uint64_t *shared, int number)
{
    probe_job_t job = {.what = PROBE_PONG, .rounds = PROCESS_ROUNDS, .side = (uint32_t)number};
    PROBE_OK(cudaHostRegister(shared, 4096, cudaHostRegisterPortable | cudaHostRegisterMapped));
    process_handle(shared, number);
    __atomic_fetch_add(shared + PROCESS_ARRIVED, 1, __ATOMIC_ACQ_REL);
    for (double end = probe_us() + 5e6;
         __atomic_load_n(shared + PROCESS_ARRIVED, __ATOMIC_ACQUIRE) < 2 && probe_us() < end;) {
        usleep(50);
    }
    job.end[0] = shared + PROBE_APART;
    job.end[1] = shared + (size_t)2 * PROBE_APART;
    job.result = shared + (size_t)(3 + number) * PROBE_APART;
    const double begin = probe_us();
    PROBE_OK(probe_launch(&job, 1, 1, NULL));
    PROBE_OK(cudaDeviceSynchronize());
    if (number == 0) {
        line_answer("there and back between kernels of two processes", "ok",
                    (probe_us() - begin) / (double)PROCESS_ROUNDS, "us");
    }
}

void probe_processes(int unused)
{
    uint64_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)unused;
    for (int number = 0; number < 2; number++) {
        if (fork() == 0) {
            process_run(shared, number);
            _exit(0);
        }
    }
    while (wait(NULL) > 0 || errno == EINTR) {
    }
}

/* Questions ------------------------------------------------------------------------------------ */

/* Runs this program again with one question, `connections` hardware queues and a limit. */
static void ask(const char *name, int number, const char *connections, int seconds)
{
    char what[96], text[16];
    int status = 0;
    snprintf(text, sizeof text, "%d", number);
    const pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", connections, 1);
        execl("/proc/self/exe", "probe", name, text, (char *)NULL);
        _exit(127);
    }
    for (double end = probe_us() + 1e6 * seconds; probe_us() < end; usleep(5000)) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            if (status != 0) {
                snprintf(what, sizeof what, "probe %s %d", name, number);
                line_answer(what, "FAILED", status, "status");
            }
            return;
        }
    }
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    snprintf(what, sizeof what, "probe %s %s", name,
             strcmp(name, "call") == 0 ? probe_call_name(number) : text);
    line_answer(what, "NO END", seconds, "s");
}

static const struct {
    const char *name;
    void (*run)(int number);
} questions[] = {{"facts", probe_facts},
                 {"launches", probe_launches},
                 {"steps", probe_steps},
                 {"last-error", probe_last_error},
                 {"call", probe_call},
                 {"capture", probe_capture},
                 {"queues", probe_queues},
                 {"queues-new", probe_queues_new},
                 {"queues-beside", probe_queues_beside},
                 {"processes", probe_processes},
                 {"pools", probe_pools},
                 {"slices", probe_slices},
                 {"multicast", probe_multicast}};

static int answer(const char *name, int number)
{
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        if (strcmp(questions[i].name, name) == 0) {
            questions[i].run(number);
            return 0;
        }
    }
    fprintf(stderr,
            "probe: no question \"%s\"; there are facts, launches, steps, last-error, call, "
            "capture, queues, queues-new, queues-beside, processes, pools, slices, multicast\n",
            name);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        /* Gives nothing back: whether that waits is a question of its own. */
        _exit(answer(argv[1], argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0));
    }
    ask("facts", 0, "32", 20);
    ask("launches", 0, "32", 10);
    ask("steps", 0, "32", 10);
    ask("last-error", 0, "32", 5);
    for (int i = 0; probe_call_name(i) != NULL; i++) {
        ask("call", i, "32", 6);
    }
    ask("capture", 0, "32", 6);
    for (int i = 0; i < 3; i++) {
        static const char *const made[] = {"queues", "queues-new", "queues-beside"};
        ask(made[i], 40, "1", 5);
        ask(made[i], 40, "8", 5);
        ask(made[i], 40, "32", 5);
        ask(made[i], 24, "32", 5);
    }
    ask("processes", 0, "32", 15);
    ask("pools", 0, "32", 10);
    ask("slices", 0, "32", 30);
    ask("multicast", 0, "32", 20);
    return 0;
}
