/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a pool that another process imports (decision 120): what it takes, what a second import
 * is, and whether to free an import waits for a kernel that waits. */
#include <cuda.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/line.h"
#include "tests/gpu/probe.h"

#define SOME ((size_t)2 << 20)

typedef struct pointers {
    struct cudaMemPoolPtrExportData of[2];
} pointers_t;

static void answers(const char *what, cudaError_t error)
{
    line_answer(what, error == cudaSuccess ? "ok" : "left out", (double)error,
                cudaGetErrorName(error));
}

/* The owner ------------------------------------------------------------------------------------ */

static void pools_send(int to, int fd, const pointers_t *pointers)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN(sizeof(int))}};
    struct iovec vec = {.iov_base = (void *)(uintptr_t)pointers, .iov_len = sizeof *pointers};
    struct msghdr message = {.msg_iov = &vec,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    if (sendmsg(to, &message, 0) != (ssize_t)sizeof *pointers) {
        line_answer("passing a pool to another process", "FAILED", errno, "errno");
    }
}

/* Keeps the memory until the other end is closed. */
static void pools_owner(int socket)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor};
    cudaMemPool_t pool;
    void *memory[2];
    pointers_t pointers;
    char byte;
    int fd = -1;
    props.location.type = cudaMemLocationTypeDevice;
    const cudaError_t error = cudaMemPoolCreate(&pool, &props);
    answers("a pool with descriptors", error);
    if (error != cudaSuccess) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        PROBE_OK(cudaMallocFromPoolAsync(&memory[i], SOME, pool, NULL));
    }
    PROBE_OK(cudaDeviceSynchronize());
    answers("a pointer of a pool that was not exported",
            cudaMemPoolExportPointer(&pointers.of[0], memory[0]));
    PROBE_OK(
        cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    for (int i = 0; i < 2; i++) {
        PROBE_OK(cudaMemPoolExportPointer(&pointers.of[i], memory[i]));
    }
    pools_send(socket, fd, &pointers);
    while (read(socket, &byte, 1) < 0 && errno == EINTR) {
    }
}

/* Who imports ---------------------------------------------------------------------------------- */

static int pools_receive(int from, pointers_t *pointers)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control;
    struct iovec vec = {.iov_base = pointers, .iov_len = sizeof *pointers};
    struct msghdr message = {.msg_iov = &vec,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int fd = -1;
    if (recvmsg(from, &message, 0) == (ssize_t)sizeof *pointers &&
        CMSG_FIRSTHDR(&message) != NULL) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    }
    return fd;
}

static cudaError_t pools_import(int fd, struct cudaMemPoolPtrExportData *pointer, void **memory)
{
    cudaMemPool_t pool;
    cudaError_t error = cudaMemPoolImportFromShareableHandle(
        &pool, (void *)(intptr_t)fd, cudaMemHandleTypePosixFileDescriptor, 0);
    return error == cudaSuccess ? cudaMemPoolImportPointer(memory, pool, pointer) : error;
}

/* Beside a kernel that waits, as one of another rank of the process does. */
static void pools_free(void *memory)
{
    probe_words_t *words = probe_words();
    cudaStream_t waits = probe_stream(), stream = probe_stream();
    const probe_job_t nothing = {.what = PROBE_NOTHING};
    PROBE_OK(probe_launch(&nothing, 1, 1, NULL));
    PROBE_OK(cudaDeviceSynchronize());
    probe_wait_begin(words, waits);
    const double begin = probe_us();
    PROBE_OK(cudaFreeAsync(memory, stream));
    PROBE_OK(cudaStreamSynchronize(stream));
    line_answer("beside a kernel that waits, a free of an import", "ok", probe_us() - begin, "us");
    probe_wait_end(words);
    PROBE_OK(cudaDeviceSynchronize());
}

static void pools_importer(int socket)
{
    pointers_t pointers;
    void *first = NULL, *again = NULL, *second = NULL;
    const int fd = pools_receive(socket, &pointers);
    if (fd < 0) {
        return; /* the owner has said why */
    }
    cudaError_t error = pools_import(fd, &pointers.of[0], &first);
    answers("memory of a pool of another process", error);
    if (error != cudaSuccess) {
        return;
    }
    answers("the pool once more, for its second pointer",
            pools_import(fd, &pointers.of[1], &second));
    error = pools_import(fd, &pointers.of[0], &again);
    line_answer("the first pointer once more", error == cudaSuccess ? "ok" : "left out",
                (double)error,
                error == cudaSuccess && again == first ? "the same address"
                : error == cudaSuccess                 ? "another address"
                                                       : cudaGetErrorName(error));
    pools_free(first);
}

void probe_pools(int unused)
{
    int ends[2];
    (void)unused;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
        line_answer("a pair of sockets", "FAILED", errno, "errno");
        return;
    }
    for (int number = 0; number < 2; number++) {
        if (fork() == 0) {
            close(ends[1 - number]);
            (number == 0 ? pools_owner : pools_importer)(ends[number]);
            fflush(stdout);
            _exit(0);
        }
    }
    close(ends[0]);
    close(ends[1]);
    while (wait(NULL) > 0 || errno == EINTR) {
    }
}
