/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of the tests' network plugin: a message is its length in 8 bytes and its bytes. */
#include "foreign.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH WEFT_NCCL_REQUESTS
#define MAGIC UINT64_C(0x6e6769657266)

typedef struct handle { /* in the 128 bytes */
    uint64_t magic;
    struct sockaddr_in to;
    int polls; /* of connect(): the same bytes come again */
} handle_t;

typedef struct comm comm_t;
typedef struct request {
    comm_t *comm;
    uint8_t *data;
    size_t size, moved; /* moved counts the prefix, too */
    uint64_t length;
    bool used, done, flush;
} request_t;

struct comm {
    int fd;
    int polls; /* of accept() */
    bool sends;
    unsigned regs;
    unsigned head, tail; /* requests under way, oldest first */
    request_t requests[DEPTH];
    request_t flush;
};

typedef struct memory {
    comm_t *comm;
    uint8_t *data;
    size_t size;
} memory_t;

static weft_nccl_log_t logger;
foreign_counts_t foreign_counts;

bool foreign_wrong(const char *mistake)
{
    const char *wrong = getenv("FOREIGN_WRONG");
    return wrong != NULL && strcmp(wrong, mistake) == 0;
}

static int foreign_fail(int result, const char *text)
{
    logger(WEFT_NCCL_LOG_WARN, 16, __func__, __LINE__, "foreign: %s", text);
    return result;
}

/* A failure, a hang or a crash, if the mistake is FUNCTION_error, FUNCTION_hang or
 * FUNCTION_crash. */
static int foreign_mistake(const char *function)
{
    char text[64];
    snprintf(text, sizeof text, "%s_error", function);
    if (foreign_wrong(text)) {
        return foreign_fail(WEFT_NCCL_INTERNAL_ERROR, "as told");
    }
    snprintf(text, sizeof text, "%s_hang", function);
    const char *once = getenv("FOREIGN_ONCE");
    if (foreign_wrong(text) && once != NULL && mkdir(once, 0700) == 0) {
        for (;;) {
            sleep(1);
        }
    }
    snprintf(text, sizeof text, "%s_crash", function);
    if (foreign_wrong(text)) {
        raise(SIGSEGV);
    }
    return WEFT_NCCL_SUCCESS;
}

/* The failure of a function that has stored its comm, and freed it: FUNCTION_dangling. */
static int foreign_dangle(const char *function, void **comm)
{
    char text[64];
    snprintf(text, sizeof text, "%s_dangling", function);
    if (!foreign_wrong(text)) {
        return WEFT_NCCL_SUCCESS;
    }
    *comm = (void *)(uintptr_t)64;
    return foreign_fail(WEFT_NCCL_INTERNAL_ERROR, "as told");
}

int foreign_init(weft_nccl_log_t log)
{
    logger = log;
    foreign_counts.inits++;
    log(WEFT_NCCL_LOG_INFO, 16, __func__, __LINE__, "foreign: init, %s", "over the loopback");
    return foreign_mistake("init");
}

int foreign_devices(int *count)
{
    *count = foreign_wrong("devices_many") ? 100000 : foreign_wrong("devices_none") ? 0 : 1;
    return foreign_mistake("devices");
}

static int foreign_comm(int fd, bool sends, void **comm_p)
{
    int one = 1;
    comm_t *comm = fd >= 0 ? calloc(1, sizeof *comm) : NULL;
    if (comm == NULL) {
        return foreign_fail(WEFT_NCCL_SYSTEM_ERROR, "no socket");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    comm->fd = fd;
    comm->sends = sends;
    *comm_p = comm;
    return WEFT_NCCL_SUCCESS;
}

int foreign_listen(int dev, void *handle, void **comm)
{
    handle_t mine = {.magic = MAGIC, .to = {.sin_family = AF_INET}};
    socklen_t bytes = sizeof mine.to;
    int result = foreign_mistake("listen");
    result = result == WEFT_NCCL_SUCCESS ? foreign_dangle("listen", comm) : result;
    if (result != WEFT_NCCL_SUCCESS || dev != 0) {
        return result != WEFT_NCCL_SUCCESS ? result : WEFT_NCCL_INVALID_ARGUMENT;
    }
    mine.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&mine.to, bytes) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)&mine.to, &bytes) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return foreign_fail(WEFT_NCCL_SYSTEM_ERROR, "cannot listen");
    }
    memset(handle, 0, WEFT_NCCL_HANDLE);
    memcpy(handle, &mine, sizeof mine);
    return foreign_comm(fd, false, comm);
}

int foreign_connect(int dev, void *handle, void **comm)
{
    handle_t *theirs = handle;
    int result = foreign_mistake("connect");
    *comm = NULL;
    result = result == WEFT_NCCL_SUCCESS ? foreign_dangle("connect", comm) : result;
    if (result != WEFT_NCCL_SUCCESS || dev != 0 || theirs->magic != MAGIC) {
        return result != WEFT_NCCL_SUCCESS ? result : WEFT_NCCL_INVALID_ARGUMENT;
    }
    if (foreign_wrong("connect_never") || theirs->polls++ < 3) {
        return WEFT_NCCL_SUCCESS;
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&theirs->to, sizeof theirs->to) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return foreign_fail(WEFT_NCCL_SYSTEM_ERROR, "cannot connect");
    }
    return foreign_comm(fd, true, comm);
}

int foreign_accept(void *listening, void **comm)
{
    comm_t *from = listening;
    int result = foreign_mistake("accept");
    *comm = NULL;
    result = result == WEFT_NCCL_SUCCESS ? foreign_dangle("accept", comm) : result;
    if (result != WEFT_NCCL_SUCCESS || from->polls++ < 2) {
        return result;
    }
    int fd = accept4(from->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 && errno == EAGAIN) {
        return WEFT_NCCL_SUCCESS;
    }
    return foreign_comm(fd, false, comm);
}

int foreign_reg(void *comm, void *data, size_t size, int type, void **mhandle)
{
    comm_t *mine = comm;
    int result = foreign_mistake("reg");
    memory_t *memory = result == WEFT_NCCL_SUCCESS ? malloc(sizeof *memory) : NULL;
    if (memory == NULL || size == 0 ||
        (type != WEFT_NCCL_PTR_HOST && getenv("FOREIGN_CUDA") == NULL)) {
        free(memory);
        return result != WEFT_NCCL_SUCCESS ? result : WEFT_NCCL_INVALID_ARGUMENT;
    }
    *memory = (memory_t){.comm = mine, .data = data, .size = size};
    mine->regs++;
    foreign_counts.registered++;
    foreign_counts.host += type == WEFT_NCCL_PTR_HOST ? 1 : 0;
    foreign_counts.cuda += type == WEFT_NCCL_PTR_CUDA ? 1 : 0;
    *mhandle = memory;
    return WEFT_NCCL_SUCCESS;
}

int foreign_reg_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle)
{
    (void)offset;
    foreign_counts.dmabuf += fd >= 0 ? 1 : 0;
    return foreign_reg(comm, data, size, type, mhandle);
}

int foreign_dereg(void *comm, void *mhandle)
{
    comm_t *mine = comm;
    memory_t *memory = mhandle;
    if (memory->comm != mine) {
        return foreign_fail(WEFT_NCCL_INVALID_ARGUMENT, "memory of another comm");
    }
    mine->regs--;
    foreign_counts.registered--;
    free(memory);
    return WEFT_NCCL_SUCCESS;
}

static int foreign_post(comm_t *comm, void *data, size_t size, void *mhandle, void **request_p)
{
    const memory_t *memory = mhandle;
    *request_p = NULL;
    if (memory == NULL || memory->comm != comm || (uint8_t *)data < memory->data ||
        (uint8_t *)data + size > memory->data + memory->size) {
        return foreign_fail(WEFT_NCCL_INVALID_ARGUMENT, "memory is not registered with this comm");
    }
    if (comm->tail - comm->head == DEPTH || comm->requests[comm->tail % DEPTH].used ||
        foreign_wrong("request_never")) {
        return WEFT_NCCL_SUCCESS;
    }
    request_t *request = &comm->requests[comm->tail++ % DEPTH];
    *request = (request_t){.comm = comm, .data = data, .size = size, .length = size, .used = true};
    *request_p = request;
    return WEFT_NCCL_SUCCESS;
}

int foreign_send(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
    int result = foreign_mistake("isend");
    (void)tag;
    return result != WEFT_NCCL_SUCCESS ? result : foreign_post(comm, data, size, mhandle, request);
}

int foreign_receive(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
    int result = foreign_mistake("irecv");
    (void)tag;
    return result != WEFT_NCCL_SUCCESS ? result : foreign_post(comm, data, size, mhandle, request);
}

/* Takes a request and two tests, as a read over the network would. */
int foreign_flush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
    comm_t *mine = comm;
    const memory_t *memory = mhandles[0];
    if (n != 1 || memory->comm != mine || (uint8_t *)data[0] < memory->data || sizes[0] <= 0) {
        return foreign_fail(WEFT_NCCL_INVALID_ARGUMENT, "iflush of what is not registered");
    }
    foreign_counts.flushes++;
    mine->flush = (request_t){.comm = mine, .flush = true, .used = true};
    *request = &mine->flush;
    return WEFT_NCCL_SUCCESS;
}

/* Moves bytes of one request. 1: it is done; 0: not now; −1: the peer is gone. */
static int foreign_move(const comm_t *comm, request_t *request)
{
    for (;;) {
        bool prefix = request->moved < sizeof request->length;
        size_t at = prefix ? request->moved : request->moved - sizeof request->length;
        size_t left = prefix ? sizeof request->length - at : request->length - at;
        uint8_t *from = prefix ? (uint8_t *)&request->length : request->data;
        if (!prefix && left == 0) {
            return 1;
        }
        if (!prefix && request->length > request->size) {
            return 1; /* too long: see test() */
        }
        ssize_t n = comm->sends ? send(comm->fd, from + at, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                : recv(comm->fd, from + at, left, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return 0;
        }
        if (n <= 0) {
            return -1;
        }
        request->moved += (size_t)n;
    }
}

static int foreign_progress(comm_t *comm)
{
    while (comm->head != comm->tail) {
        request_t *request = &comm->requests[comm->head % DEPTH];
        int moved = foreign_move(comm, request);
        if (moved <= 0) {
            return moved == 0 ? WEFT_NCCL_SUCCESS
                              : foreign_fail(WEFT_NCCL_REMOTE_ERROR, "the peer closed the stream");
        }
        request->done = true;
        comm->head++;
    }
    return WEFT_NCCL_SUCCESS;
}

int foreign_test(void *request, int *done, int *sizes)
{
    request_t *mine = request;
    int result = foreign_mistake("test");
    if (mine->flush) {
        *done = mine->done ? 1 : 0;
        mine->done = true;
        return result;
    }
    if (result == WEFT_NCCL_SUCCESS && !mine->done) {
        result = foreign_progress(mine->comm);
    }
    bool told = result != WEFT_NCCL_SUCCESS && getenv("FOREIGN_EAGER") != NULL;
    *done = mine->done && !told ? 1 : 0;
    if (!mine->done || told) {
        return result;
    }
    if (mine->length > mine->size) {
        return foreign_fail(WEFT_NCCL_INVALID_USAGE, "the message is longer than its receive");
    }
    if (!foreign_wrong("test_no_size")) {
        *sizes = (int)mine->length + (foreign_wrong("test_big_size") ? 1000000 : 0);
    }
    mine->used = false;
    return WEFT_NCCL_SUCCESS;
}

int foreign_close(void *comm)
{
    comm_t *mine = comm;
    unsigned regs = mine->regs;
    close(mine->fd);
    free(mine);
    return regs == 0 ? foreign_mistake("close")
                     : foreign_fail(WEFT_NCCL_INTERNAL_ERROR, "memory is still registered");
}
