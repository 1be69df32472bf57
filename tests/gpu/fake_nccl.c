/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libnccl.so for the tests of scripts/gpu-check: its all-reduce waits for all ranks and computes
 * nothing. With FAKE_NCCL_REFUSES in the environment it does what older versions do, with
 * FAKE_NCCL_HANGS what it does from so many elements on when its blocks do not fit together. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct fake_id {
    char bytes[128];
} fake_id_t;

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int made;

EXPORT int ncclGetVersion(int *version);
EXPORT int ncclGetUniqueId(fake_id_t *id);
EXPORT int ncclCommInitRank(void **comm, int nranks, fake_id_t id, int rank);
EXPORT int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm,
                         void *stream);
EXPORT int ncclCommDestroy(void *comm);
EXPORT const char *ncclGetErrorString(int error);

int ncclGetVersion(int *version)
{
    *version = 22807;
    return 0;
}

int ncclGetUniqueId(fake_id_t *id)
{
    memset(id, 0, sizeof *id);
    return 0;
}

int ncclCommInitRank(void **comm, int nranks, fake_id_t id, int rank)
{
    (void)id;
    (void)rank;
    if (getenv("FAKE_NCCL_REFUSES") != NULL) {
        return 5;
    }
    pthread_mutex_lock(&lock);
    if (!made) {
        pthread_barrier_init(&barrier, NULL, (unsigned)nranks);
        made = 1;
    }
    pthread_mutex_unlock(&lock);
    *comm = &barrier;
    return 0;
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm,
                  void *stream)
{
    (void)in;
    (void)out;
    (void)stream;
    if (type != 7 || op != 0) {
        return 4;
    }
    const char *hangs = getenv("FAKE_NCCL_HANGS");
    while (hangs != NULL && count >= strtoul(hangs, NULL, 10)) {
        pause();
    }
    pthread_barrier_wait(comm);
    return 0;
}

int ncclCommDestroy(void *comm)
{
    (void)comm;
    return 0;
}

const char *ncclGetErrorString(int error)
{
    return error == 5 ? "invalid usage" : "an error";
}
