/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See messages.h. */
#include "tests/cuda/messages.h"

#include <stdlib.h>

#include "tests/support/unit.h"

enum { SETTINGS = 8 };
static const char *const settings[][SETTINGS] = {
    {"core.kernel=kernel-cuda", "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE, "core.net=net-shm",
     "exec.op_timeout=20s", DESK_SHARE, "exec.slot_bytes=256K"},
    {"core.kernel=kernel-cuda", "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE, "core.net=net-shm",
     "exec.op_timeout=20s", DESK_SHARE, "exec.slot_bytes=1K"},
    {"core.kernel=kernel-cuda", "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE, "core.net=net-shm",
     "exec.op_timeout=20s", DESK_SHARE, "plan.channels=1"},
    {"core.kernel=kernel-cuda", "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE, "core.net=net-socket",
     "exec.op_timeout=20s", "exec.slots=4", "exec.slot_bytes=1K"},
    {"core.kernel=kernel-cuda", "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE, "core.net=net-shm",
     "exec.op_timeout=20s", DESK_SHARE, "exec.slot_bytes=1K", "plan.channels=8",
     "plan.channel_bytes=1K"},
    {"core.kernel=kernel-cuda", "kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE, "core.net=net-socket",
     "exec.op_timeout=20s", "exec.slots=4", "exec.slot_bytes=1K", "plan.channels=4",
     "plan.channel_bytes=1K"},
};

static uint32_t messages_settings(messages_how_t how)
{
    uint32_t count = 0;
    while (count < SETTINGS && settings[how][count] != NULL) {
        count++;
    }
    return count;
}

ranks_job_t messages_job(uint32_t n, messages_how_t how, desk_job_t *job)
{
    job->bytes = MESSAGES_ROOM * sizeof(int32_t);
    return (ranks_job_t){.nranks = n,
                         .settings = settings[how],
                         .settings_count = messages_settings(how),
                         .work = desk_run,
                         .arg = job};
}

void messages_run(uint32_t n, messages_how_t how, desk_work_t work)
{
    desk_job_t at_desk = {.work = work};
    ranks_job_t job = messages_job(n, how, &at_desk);
    assert_int_equal(ranks_run_threads(&job), 0);
}

int32_t messages_element(uint32_t from, uint32_t to, uint32_t i)
{
    return (int32_t)(from * 1000003 + to * 1009 + i * 7 + 1);
}

bool messages_put(const desk_t *desk, uint32_t count)
{
    static _Thread_local int32_t row[MESSAGES_ROOM];
    for (uint32_t i = 0; i < desk->n * count; i++) {
        row[i] = messages_element(desk->rank, i / count, i % count);
    }
    return weft_mem_copy(desk->comm, desk->in, row, desk->n * count * sizeof *row) == WEFT_OK &&
           cudaMemsetAsync(desk->out, 0, MESSAGES_ROOM * sizeof *row, desk->stream[0]) ==
               cudaSuccess;
}

bool messages_has(const desk_t *desk, const int32_t *at, uint32_t from, uint32_t count)
{
    static _Thread_local int32_t row[MESSAGES_ROOM];
    bool same = weft_mem_copy(desk->comm, row, at, count * sizeof *row) == WEFT_OK;
    for (uint32_t i = 0; i < count && same; i++) {
        same = row[i] == messages_element(from, desk->rank, i);
    }
    return same;
}

weft_status_t messages_send(const desk_t *desk, uint32_t to, uint32_t count)
{
    return weft_send(desk->in + to * count, count, WEFT_INT32, to, desk->comm, &desk->call[0]);
}

weft_status_t messages_receive(const desk_t *desk, uint32_t from, uint32_t count)
{
    return weft_recv(desk->out + from * count, count, WEFT_INT32, from, desk->comm, &desk->call[0]);
}

int messages_exchange(const desk_t *desk, uint32_t count)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(weft_group_start() == WEFT_OK);
    for (uint32_t r = 0; r < desk->n; r++) {
        NEED(messages_send(desk, r, count) == WEFT_OK &&
             messages_receive(desk, r, count) == WEFT_OK);
    }
    NEED(weft_group_end() == WEFT_OK);
    return wrong;
}

int messages_check(const desk_t *desk, uint32_t count)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    for (uint32_t r = 0; r < desk->n; r++) {
        NEED(messages_has(desk, desk->out + r * count, r, count));
    }
    return wrong;
}

static bool has_room(uint32_t n, uint32_t count)
{
    return n * count <= MESSAGES_ROOM;
}

int messages_exchange_lengths(const desk_t *desk, const uint32_t *lengths, uint32_t n)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    const uint32_t waits = atomic_load(&fake_cuda.host_waits);
    for (uint32_t i = 0; i < n; i++) {
        if (has_room(desk->n, lengths[i])) {
            NEED(messages_put(desk, lengths[i]) && desk_settle(desk));
            NEED(weft_barrier(desk->comm, NULL) == WEFT_OK);
            wrong += messages_exchange(desk, lengths[i]);
            NEED(desk_settle(desk));
            wrong += messages_check(desk, lengths[i]);
        }
    }
    NEED(atomic_load(&fake_cuda.host_waits) == waits);
    return wrong;
}

typedef struct beside_hosts {
    desk_job_t desk;
    const uint32_t *lengths;
    uint32_t nlengths;
} beside_hosts_t;

/* Of all ranks; those of odd number have no device. */
static int exchange_beside_hosts(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    beside_hosts_t *beside = arg;
    int wrong = 0;
    if (rank % 2 == 0) {
        return desk_run(comm, rank, n, &beside->desk);
    }
    for (uint32_t i = 0; i < beside->nlengths; i++) {
        const uint32_t count = beside->lengths[i];
        if (!has_room(n, count)) {
            continue;
        }
        int32_t *send_at = calloc(n * count + 1, sizeof *send_at);
        int32_t *recv_at = calloc(n * count + 1, sizeof *recv_at);
        for (uint32_t k = 0; k < n * count; k++) {
            send_at[k] = messages_element(rank, k / count, k % count);
        }
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        NEED(weft_group_start() == WEFT_OK);
        for (uint32_t r = 0; r < n; r++) {
            NEED(weft_send(send_at + r * count, count, WEFT_INT32, r, comm, NULL) == WEFT_OK);
            NEED(weft_recv(recv_at + r * count, count, WEFT_INT32, r, comm, NULL) == WEFT_OK);
        }
        NEED(weft_group_end() == WEFT_OK);
        for (uint32_t k = 0; k < n * count; k++) {
            NEED(recv_at[k] == messages_element(k / count, rank, k % count));
        }
        free(send_at);
        free(recv_at);
    }
    return wrong;
}

void messages_run_beside_hosts(uint32_t n, messages_how_t how, desk_work_t work,
                               const uint32_t *lengths, uint32_t nlengths)
{
    static const char *const odd[] = {"core.kernel=kernel-cpu", NULL};
    beside_hosts_t beside = {.desk = {.work = work}, .lengths = lengths, .nlengths = nlengths};
    ranks_job_t job = messages_job(n, how, &beside.desk);
    job.odd = odd;
    job.work = exchange_beside_hosts;
    job.arg = &beside;
    assert_int_equal(ranks_run_threads(&job), 0);
}
