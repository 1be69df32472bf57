/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels of many blocks: a thread for each. A device holds so many at once as the plugin is told
 * (FAKE_BLOCKS_HELD of a processor); the others wait for their turn, in the order in which kernels
 * began, and what is behind them waits too. */
#include "tests/cuda/fake.h"

typedef struct grid {
    void (*block)(const void *arg, uint32_t number);
    const void *arg;
    int device; /* or −1: its blocks need no room */
    uint32_t next, running;
} grid_t;

/* Of a device, under fake_lock. */
static struct {
    uint64_t came, admitted; /* blocks */
    uint32_t held;
} room[FAKE_DEVICES];

static _Thread_local int thread_device;

void fake_blocks_device(int device)
{
    thread_device = device;
}

int fake_blocks_device_now(void)
{
    return thread_device;
}

/* Under the lock. */
static void grid_admit(int device)
{
    const uint64_t turn = room[device].came++;
    while (room[device].admitted != turn ||
           room[device].held >= FAKE_BLOCKS_HELD * (uint32_t)fake_cuda.processors) {
        fake_wait("room on a device for another block of a kernel");
    }
    room[device].admitted++;
    room[device].held++;
    fake_changed();
}

void fake_blocks_tell(FILE *file)
{
    for (int d = 0; d < FAKE_DEVICES; d++) {
        if (room[d].came > room[d].admitted) {
            fprintf(
                file,
                "fake_cuda: device %d has no room for %llu blocks beside the %u that it holds\n", d,
                (unsigned long long)(room[d].came - room[d].admitted), room[d].held);
        }
    }
}

static void grid_block(void *arg)
{
    grid_t *grid = arg;
    pthread_mutex_lock(&fake_lock);
    const uint32_t number = grid->next++;
    if (grid->device >= 0) {
        grid_admit(grid->device);
    }
    pthread_mutex_unlock(&fake_lock);
    grid->block(grid->arg, number);
    pthread_mutex_lock(&fake_lock);
    if (grid->device >= 0) {
        room[grid->device].held--;
        fake_changed();
    }
    if (--grid->running == 0) {
        fake_changed();
    }
    pthread_mutex_unlock(&fake_lock);
}

static void grid_run(grid_t *grid)
{
    const uint32_t n = grid->running;
    for (uint32_t i = 1; i < n; i++) {
        fake_crew_run(grid_block, grid);
    }
    if (n > 0) {
        grid_block(grid);
    }
    pthread_mutex_lock(&fake_lock);
    while (grid->running > 0) {
        fake_wait("the end of a kernel");
    }
    pthread_mutex_unlock(&fake_lock);
}

void fake_together(void (*part)(const void *arg, uint32_t number), const void *arg, uint32_t n)
{
    grid_t grid = {.block = part, .arg = arg, .device = -1, .running = n};
    grid_run(&grid);
}

void fake_blocks(void (*block)(const void *arg, uint32_t number), const void *arg, uint32_t n)
{
    const int device = fake_cuda.strict.resident ? thread_device : -1;
    grid_t grid = {.block = block, .arg = arg, .device = device, .running = n};
    grid_run(&grid);
}
