/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device may do and the runtime of the tests therefore does: streams that share a hardware
 * queue, calls that wait for all kernels, blocks that find no room, launches that block, memory of
 * the host that it does not reach. Each scene is a process of its own, as its end is often a hang,
 * which the runtime reports and ends. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/fake.h"
#include "tests/support/unit.h"

/* Scenes --------------------------------------------------------------------------------------- */

enum { PAGE = 4096 };

static cudaStream_t first, second, urgent;
static _Atomic uint32_t gate, held, met;

static void spin(const void *arg)
{
    (void)arg;
    while (atomic_load(&gate) == 0) {
        sched_yield();
    }
}

static void spin_block(const void *arg, uint32_t number)
{
    (void)number;
    atomic_store(&held, 1);
    spin(arg);
}

static void spin_in_room(const void *arg)
{
    fake_blocks(spin_block, arg, 1);
}

static void pass(const void *arg)
{
    (void)arg;
}

/* A block that waits for three others. */
static void meet(const void *arg, uint32_t number)
{
    (void)arg;
    (void)number;
    atomic_fetch_add(&met, 1);
    while (atomic_load(&met) < 4) {
        sched_yield();
    }
}

static void meet_in_one(const void *arg)
{
    fake_blocks(meet, arg, 4);
}

static void meet_in_half(const void *arg)
{
    fake_blocks(meet, arg, 2);
}

static void launch(cudaStream_t stream, const char *name, void (*work)(const void *arg))
{
    if (fake_launch_as(name, stream, work, NULL, 0) != cudaSuccess) {
        exit(2);
    }
}

static void settle(cudaStream_t stream)
{
    if (cudaStreamSynchronize(stream) != cudaSuccess) {
        exit(2);
    }
}

/* A kernel of another stream is behind one that only runs. */
static void scene_beside(void)
{
    launch(first, "spin", spin);
    launch(second, "pass", pass);
    settle(second);
}

/* … and behind one that cannot begin before its stream is through with the first. */
static void scene_behind(void)
{
    launch(first, "spin", spin);
    launch(first, "next", pass);
    launch(second, "pass", pass);
    settle(second);
}

static void scene_urgent(void)
{
    launch(first, "spin", spin);
    launch(first, "next", pass);
    launch(urgent, "pass", pass);
    settle(urgent);
}

static void scene_event(void)
{
    cudaEvent_t event;
    launch(first, "spin", spin);
    cudaEventCreate(&event);
    cudaEventRecord(event, first);
    launch(second, "pass", pass);
    settle(second);
}

static void scene_free(void)
{
    void *memory;
    cudaHostAlloc(&memory, 64, cudaHostAllocDefault);
    launch(first, "spin", spin);
    cudaFreeHost(memory);
}

static void scene_register(void)
{
    static _Alignas(4096) char page[4096];
    launch(first, "spin", spin);
    cudaHostRegister(page, sizeof page, cudaHostRegisterDefault);
}

static void *free_work(void *arg)
{
    cudaFreeHost(arg);
    return NULL;
}

/* While one thread waits for the context, another one cannot launch. */
static void scene_launch(void)
{
    void *memory;
    pthread_t thread;
    cudaHostAlloc(&memory, 64, cudaHostAllocDefault);
    launch(first, "spin", spin);
    pthread_create(&thread, NULL, free_work, memory);
    usleep(100000);
    launch(second, "pass", pass);
}

static void scene_blocks(void)
{
    launch(first, "meet", meet_in_one);
    settle(first);
}

/* Two kernels whose blocks need each other, of which one has no room beside the third. */
static void scene_room(void)
{
    launch(urgent, "spin", spin_in_room);
    while (atomic_load(&held) == 0) {
        sched_yield();
    }
    launch(first, "half", meet_in_half);
    launch(second, "other half", meet_in_half);
    settle(second);
}

static void scene_memset(void)
{
    void *memory;
    cudaMalloc(&memory, 64);
    launch(first, "half", meet_in_half);
    launch(second, "other half", meet_in_half);
    cudaMemsetAsync(memory, 0, 64, urgent);
    settle(urgent);
}

static void scene_depth(void)
{
    for (uint32_t i = 0; i < 8; i++) {
        launch(first, "spin", spin);
    }
}

static void scene_blocking(void)
{
    launch(first, "pass", pass);
    launch(first, "spin", spin);
}

static void *page_of_host(int access)
{
    void *page = mmap(NULL, PAGE, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        exit(2);
    }
    return page;
}

static void aim(const void *arg)
{
    void *words[] = {NULL, *(void *const *)arg};
    fake_memory_aim(words, sizeof words);
}

/* A kernel is given memory of the host. */
static void scene_reach(void)
{
    void *page = page_of_host(PROT_READ | PROT_WRITE);
    if (fake_launch_as("aim", first, aim, &page, sizeof page) != cudaSuccess) {
        exit(2);
    }
    settle(first);
}

static void scene_reach_registered(void)
{
    uint8_t *page = page_of_host(PROT_READ | PROT_WRITE), *inside = page + 100;
    cudaHostRegister(page, PAGE, cudaHostRegisterDefault);
    if (fake_launch_as("aim", first, aim, &inside, sizeof inside) != cudaSuccess) {
        exit(2);
    }
    settle(first);
}

/* A driver that pins pages needs all of them. */
static void scene_closed(void)
{
    if (cudaHostRegister(page_of_host(PROT_NONE), PAGE, cudaHostRegisterDefault) == cudaSuccess) {
        exit(2);
    }
}

/* What comes to that address later is not what the device has. */
static void scene_unmapped(void)
{
    void *page = page_of_host(PROT_READ | PROT_WRITE);
    cudaHostRegister(page, PAGE, cudaHostRegisterDefault);
    munmap(page, PAGE);
    cudaHostUnregister(page);
}

static void look(const void *arg)
{
    const uint64_t *at = fake_memory_real(*(void *const *)arg);
    printf("the kernel sees %s\n", *at == 7 ? "seven" : "what was there before");
}

/* Memory of the device that cudaMemcpy() just filled from pageable memory. */
static uint64_t *fill_one(void)
{
    static const uint64_t seven = 7;
    uint64_t *memory = NULL;
    if (cudaMalloc((void **)&memory, sizeof seven) != cudaSuccess ||
        cudaMemcpy(memory, &seven, sizeof seven, cudaMemcpyHostToDevice) != cudaSuccess) {
        exit(2);
    }
    return memory;
}

static void look_in(cudaStream_t stream, uint64_t *memory)
{
    if (fake_launch_as("look", stream, look, &memory, sizeof memory) != cudaSuccess) {
        exit(2);
    }
    settle(stream);
}

/* Also on a machine that begins late with what waits for nothing. */
static void scene_filled(void)
{
    uint64_t *memory = fill_one();
    usleep(200000);
    look_in(first, memory);
}

static void scene_filled_and_waited(void)
{
    uint64_t *memory = fill_one();
    cudaDeviceSynchronize();
    look_in(first, memory);
}

static void scene_filled_and_asked(void)
{
    uint64_t *memory = fill_one();
    while (cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady) {
        sched_yield();
    }
    look_in(first, memory);
}

/* A call that frees waits for all that was put before it. */
static void scene_filled_and_freed(void)
{
    void *other;
    cudaHostAlloc(&other, 64, cudaHostAllocDefault);
    uint64_t *memory = fill_one();
    cudaFreeHost(other);
    look_in(first, memory);
}

/* … and a stream that waits for the legacy one. */
static void scene_filled_blocking(void)
{
    cudaStream_t blocking;
    cudaStreamCreate(&blocking);
    look_in(blocking, fill_one());
}

static const struct {
    const char *name;
    void (*play)(void);
} scenes[] = {
    {"beside", scene_beside},
    {"behind", scene_behind},
    {"urgent", scene_urgent},
    {"event", scene_event},
    {"free", scene_free},
    {"register", scene_register},
    {"launch", scene_launch},
    {"blocks", scene_blocks},
    {"room", scene_room},
    {"memset", scene_memset},
    {"depth", scene_depth},
    {"blocking", scene_blocking},
    {"reach", scene_reach},
    {"closed", scene_closed},
    {"reach-registered", scene_reach_registered},
    {"unmapped", scene_unmapped},
    {"filled", scene_filled},
    {"filled-waited", scene_filled_and_waited},
    {"filled-asked", scene_filled_and_asked},
    {"filled-freed", scene_filled_and_freed},
    {"filled-blocking", scene_filled_blocking},
};

/* Leaves at once: kernels may spin. */
static void scene_play(const char *name)
{
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -5);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        if (strcmp(scenes[i].name, name) == 0) {
            scenes[i].play();
            printf("passed\n");
            fflush(stdout);
            _exit(0);
        }
    }
    _exit(3);
}

/* Tests ---------------------------------------------------------------------------------------- */

/* Plays a scene in an environment; the output has the words. */
static void play(const char *environment, const char *scene, const char *words)
{
    char self[512], command[1024], text[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof command, "env -u CUDA_DEVICE_MAX_CONNECTIONS %s '%s' %s 2>&1",
             environment, self, scene);
    FILE *pipe = popen(command, "r"); /* NOLINT(bugprone-command-processor): a shell is the point */
    assert_non_null(pipe);
    const size_t bytes = fread(text, 1, sizeof text - 1, pipe);
    text[bytes] = '\0';
    pclose(pipe);
    if (strstr(text, words) == NULL) {
        fail_msg("%s %s: no \"%s\" in \"%s\"", environment, scene, words, text);
    }
}

#define HANGS "FAKE_CUDA='patience=1 processors=1' "
#define HANGS_IN(words) "FAKE_CUDA='patience=1 processors=1 " words "' "

static void few_queues_keep_streams_back_behind_a_kernel_that_spins(void **state)
{
    (void)state;
    play(HANGS "CUDA_DEVICE_MAX_CONNECTIONS=1", "beside", "passed");
    play(HANGS "CUDA_DEVICE_MAX_CONNECTIONS=1", "behind",
         "hardware queue 0, stream 2: pass waits in the queue");
    play(HANGS "CUDA_DEVICE_MAX_CONNECTIONS=1", "behind", "stream 1: spin runs");
    play(HANGS "CUDA_DEVICE_MAX_CONNECTIONS=1", "event", "pass waits in the queue");
    play(HANGS "CUDA_DEVICE_MAX_CONNECTIONS=8", "behind", "passed");
    play(HANGS, "behind", "passed");
    play(HANGS_IN("loose") "CUDA_DEVICE_MAX_CONNECTIONS=1", "behind", "passed");
}

static void priorities_have_queues_of_their_own(void **state)
{
    (void)state;
    play(HANGS "CUDA_DEVICE_MAX_CONNECTIONS=1", "urgent", "passed");
}

static void calls_that_free_wait_for_all_kernels(void **state)
{
    (void)state;
    play(HANGS, "free", "for which cudaFreeHost waits");
    play(HANGS_IN("waits=no"), "free", "passed");
    play(HANGS, "register", "passed");
    play(HANGS_IN("waits=all"), "register", "for which cudaHostRegister waits");
}

static void nobody_launches_while_a_call_waits_for_the_context(void **state)
{
    (void)state;
    play(HANGS, "launch", "1 calls wait for the context, one is cudaFreeHost");
    play(HANGS_IN("waits=no"), "launch", "passed");
}

static void blocks_without_room_wait(void **state)
{
    (void)state;
    play(HANGS, "blocks", "passed");
    play(HANGS, "room", "no room for 1 blocks beside the 4");
    play(HANGS_IN("loose"), "room", "passed");
    play(HANGS, "memset", "passed");
}

static void launches_block(void **state)
{
    (void)state;
    play(HANGS_IN("depth=100"), "depth", "passed");
    play(HANGS_IN("depth=4"), "depth", "room for a launch in a full hardware queue");
    play(HANGS, "blocking", "passed");
    play(HANGS "CUDA_LAUNCH_BLOCKING=1", "blocking", "which its launch waits for");
}

static void a_device_behind_a_bus_reaches_what_is_registered(void **state)
{
    (void)state;
    play(HANGS, "reach", "passed");
    play(HANGS_IN("bus"), "reach", "memory of the host that is not registered");
    play(HANGS_IN("bus"), "reach-registered", "passed");
}

static void what_is_registered_is_there_and_stays(void **state)
{
    (void)state;
    play(HANGS, "closed", "passed");
    play(HANGS, "unmapped", "was unmapped while it was registered");
}

static void copies_from_pageable_memory_come_late_for_streams_that_wait_for_nothing(void **state)
{
    (void)state;
    play(HANGS, "filled", "what was there before");
    play(HANGS_IN("loose"), "filled", "sees seven");
    play(HANGS, "filled-waited", "sees seven");
    play(HANGS, "filled-asked", "sees seven");
    play(HANGS, "filled-freed", "sees seven");
    play(HANGS, "filled-blocking", "sees seven");
}

/* More than the runtime has addresses for, one after the other beside one that stays. */
static void addresses_are_given_again_as_late_as_possible(void **state)
{
    enum { GIB = 1 << 30, TIMES = 200 };
    uint8_t *kept, *last, *at;
    (void)state;
    assert_int_equal(cudaMalloc((void **)&kept, GIB), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&last, GIB), cudaSuccess);
    assert_int_equal(cudaFree(last), cudaSuccess);
    for (int i = 0; i < TIMES; i++) {
        assert_int_equal(cudaMalloc((void **)&at, GIB), cudaSuccess);
        assert_true(at + GIB <= last || last + GIB <= at);
        assert_true(at + GIB <= kept || kept + GIB <= at);
        assert_int_equal(cudaFree(at), cudaSuccess);
        last = at;
    }
    assert_int_equal(cudaFree(kept), cudaSuccess);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        scene_play(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_queues_keep_streams_back_behind_a_kernel_that_spins),
        cmocka_unit_test(priorities_have_queues_of_their_own),
        cmocka_unit_test(calls_that_free_wait_for_all_kernels),
        cmocka_unit_test(nobody_launches_while_a_call_waits_for_the_context),
        cmocka_unit_test(blocks_without_room_wait),
        cmocka_unit_test(launches_block),
        cmocka_unit_test(a_device_behind_a_bus_reaches_what_is_registered),
        cmocka_unit_test(what_is_registered_is_there_and_stays),
        cmocka_unit_test(copies_from_pageable_memory_come_late_for_streams_that_wait_for_nothing),
        cmocka_unit_test(addresses_are_given_again_as_late_as_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
