/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network plugin of NCCL for the tests, over TCP on the loopback, in any version of the
 * interface: foreign.c moves the bytes, foreign_table.c makes the table of a version. It holds its
 * user to the rules: memory is registered with the comm that uses it, and given back before the
 * comm is closed. With FOREIGN_WRONG=MISTAKE in the environment it makes one mistake; the first
 * process that can make the folder FOREIGN_ONCE is the one that hangs. With FOREIGN_EAGER test()
 * tells the end of the stream at once, also of a request that is done. */
#ifndef WEFT_TESTS_NCCL_NET_FOREIGN_H
#define WEFT_TESTS_NCCL_NET_FOREIGN_H

#include <stdbool.h>

#include <weft/sdk/nccl_net.h>

/* What was done, for tests that look: dlsym(…, "foreign_counts"). With FOREIGN_CUDA in the
 * environment the device takes memory of GPUs and dma-bufs, which both are memory of the host
 * here. */
typedef struct foreign_counts {
    unsigned host, cuda, dmabuf, flushes; /* registrations by their kind; calls of iflush */
    unsigned registered;                  /* now */
    unsigned inits;
} foreign_counts_t;
__attribute__((visibility("default"))) extern foreign_counts_t foreign_counts;

/* Returns whether the mistake of that name is to be made. */
bool foreign_wrong(const char *mistake);

int foreign_init(weft_nccl_log_t log);
int foreign_devices(int *count);
int foreign_listen(int dev, void *handle, void **comm);
int foreign_connect(int dev, void *handle, void **comm);
int foreign_accept(void *listening, void **comm);
int foreign_reg(void *comm, void *data, size_t size, int type, void **mhandle);
int foreign_reg_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle);
int foreign_dereg(void *comm, void *mhandle);
int foreign_send(void *comm, void *data, size_t size, int tag, void *mhandle, void **request);
int foreign_receive(void *comm, void *data, size_t size, int tag, void *mhandle, void **request);
int foreign_flush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
int foreign_test(void *request, int *done, int *sizes);
int foreign_close(void *comm);

#endif
