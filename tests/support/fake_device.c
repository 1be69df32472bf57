/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fake_device.h. */
#include "tests/support/fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

struct weft_lanes_endpoint {
    fake_device_t *device;
    uint64_t next;
};

struct weft_lanes_handle {
    fake_device_t *device;
    uint64_t runs; /* of this handle; numbers of the device's are kept beside them */
    uint64_t of_device[FAKE_JOBS + 1];
    bool recorded, aborted;
};

/* The core gives the kernel where a device makes something: each rank has its own. */
enum { DEVICES = 16 };
static struct known {
    weft_kernel_t *kernel;
    fake_device_t *device;
} known[DEVICES];
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static fake_device_t *device_of(const weft_kernel_t *kernel)
{
    fake_device_t *found = NULL;
    pthread_mutex_lock(&known_lock);
    for (int i = 0; i < DEVICES; i++) {
        found = known[i].kernel == kernel ? known[i].device : found;
    }
    pthread_mutex_unlock(&known_lock);
    return found;
}

static weft_status_t fake_prepare(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                                  weft_lanes_handle_t **handle_p)
{
    fake_device_t *device = device_of(kernel);
    (void)program;
    if (!device->prepares) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "the fake device runs nothing");
    }
    *handle_p = calloc(1, sizeof **handle_p);
    (*handle_p)->device = device;
    return WEFT_OK;
}

static weft_status_t fake_end_open(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                                   weft_lanes_endpoint_t **end_p)
{
    (void)port;
    *end_p = calloc(1, sizeof **end_p);
    (*end_p)->device = device_of(kernel);
    (*end_p)->device->open_ends++;
    return WEFT_OK;
}

static void fake_end_close(weft_lanes_endpoint_t *end)
{
    end->device->open_ends--;
    free(end);
}

static uint64_t fake_end_next(const weft_lanes_endpoint_t *end)
{
    return end->next;
}

static void fake_end_seek(weft_lanes_endpoint_t *end, uint64_t next)
{
    end->next = next;
}

static weft_status_t fake_queue_open(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p)
{
    fake_device_t *device = device_of(kernel);
    device->queues++;
    *queue_p = (weft_lanes_queue_t *)device;
    return WEFT_OK;
}

static void fake_queue_close(weft_lanes_queue_t *queue)
{
    ((fake_device_t *)queue)->queues--;
}

/* The stream ----------------------------------------------------------------------------------- */

static void put(fake_device_t *device, fake_item_t item)
{
    if (device->recording) {
        item.recorded = true;
        device->tape[device->taped++] = item;
    } else {
        device->item[(device->first + device->items++) % FAKE_ITEMS] = item;
    }
}

static fake_item_t *head(fake_device_t *device)
{
    return device->items > 0 && !device->halted ? &device->item[device->first] : NULL;
}

static void pop(fake_device_t *device)
{
    device->first = (device->first + 1) % FAKE_ITEMS;
    device->items--;
}

/* Runs at the front end at once, unless the test holds them. */
static void go_on(fake_device_t *device)
{
    const fake_item_t *item;
    while ((item = head(device)) != NULL &&
           (item->gate ? device->broken : !device->holds_runs || device->broken)) {
        device->over = !item->gate && !item->recorded ? item->number : device->over;
        pop(device);
    }
}

static weft_status_t refused(const fake_device_t *device)
{
    return device->refuse == WEFT_OK ? WEFT_OK
                                     : weft_fail(device->refuse, 0, "the fake stream is another's");
}

static weft_status_t fake_start(weft_lanes_queue_t *queue, void *const *stream,
                                weft_lanes_job_t *jobs, uint32_t njobs)
{
    fake_device_t *device = (fake_device_t *)queue;
    if (stream == NULL) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "the fake device computes nothing");
    }
    pthread_mutex_lock(&device->lock);
    weft_status_t status = refused(device);
    for (uint32_t i = 0; i < njobs && status == WEFT_OK; i++) {
        weft_lanes_handle_t *handle = jobs[i].handle;
        device->call[device->runs % FAKE_JOBS] = *jobs[i].call;
        device->runs++;
        jobs[i].run = device->recording ? 0 : ++handle->runs;
        handle->of_device[jobs[i].run] = device->runs;
        put(device, (fake_item_t){.number = device->runs, .handle = handle});
    }
    device->launches += status == WEFT_OK;
    pthread_mutex_unlock(&device->lock);
    return status;
}

static weft_status_t fake_records(weft_lanes_queue_t *queue, void *const *stream, bool *records_p)
{
    fake_device_t *device = (fake_device_t *)queue;
    (void)stream;
    *records_p = device->recording;
    return refused(device);
}

static weft_status_t fake_poll(weft_lanes_handle_t *handle, uint64_t run, weft_lanes_state_t *state)
{
    fake_device_t *device = handle->device;
    weft_status_t status = WEFT_OK;
    pthread_mutex_lock(&device->lock);
    go_on(device);
    const fake_item_t *item = head(device);
    uint64_t number = handle->of_device[run];
    bool here = item != NULL && !item->gate && item->handle == handle &&
                (run == 0 ? item->recorded : item->number == number);
    *state = device->state;
    state->begun = here;
    if (here && device->ends != WEFT_OK) {
        status = device->ends;
    } else if (run == 0 ? here : device->over < number) {
        status = handle->aborted && here ? WEFT_ERR_ABORTED : WEFT_IN_PROGRESS;
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

static void fake_abort(weft_lanes_handle_t *handle)
{
    handle->aborted = true;
    handle->device->aborts++;
}

static void fake_release(weft_lanes_handle_t *handle)
{
    free(handle);
}

static weft_status_t fake_gate_put(weft_lanes_queue_t *queue, void *const *stream, uint64_t number,
                                   bool *recorded_p)
{
    fake_device_t *device = (fake_device_t *)queue;
    (void)stream;
    pthread_mutex_lock(&device->lock);
    weft_status_t status = refused(device);
    if (status == WEFT_OK) {
        *recorded_p = device->recording;
        device->gates++;
        put(device, (fake_item_t){.gate = true, .number = number});
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

static bool fake_gate_reached(weft_lanes_queue_t *queue, uint64_t *number_p)
{
    fake_device_t *device = (fake_device_t *)queue;
    pthread_mutex_lock(&device->lock);
    go_on(device);
    const fake_item_t *item = head(device);
    bool reached = item != NULL && item->gate;
    *number_p = reached ? item->number : 0;
    pthread_mutex_unlock(&device->lock);
    return reached;
}

static void fake_gate_pass(weft_lanes_queue_t *queue)
{
    fake_device_t *device = (fake_device_t *)queue;
    pthread_mutex_lock(&device->lock);
    pop(device);
    pthread_mutex_unlock(&device->lock);
}

static void fake_gate_break(weft_lanes_queue_t *queue)
{
    fake_device_t *device = (fake_device_t *)queue;
    pthread_mutex_lock(&device->lock);
    device->broken = true;
    pthread_mutex_unlock(&device->lock);
}

static const weft_kernel_lanes_t lanes = {.size = sizeof lanes,
                                          .prepare = fake_prepare,
                                          .endpoint_open = fake_end_open,
                                          .endpoint_close = fake_end_close,
                                          .endpoint_next = fake_end_next,
                                          .endpoint_seek = fake_end_seek,
                                          .queue_open = fake_queue_open,
                                          .queue_close = fake_queue_close,
                                          .start = fake_start,
                                          .is_capturing = fake_records,
                                          .poll = fake_poll,
                                          .abort = fake_abort,
                                          .release = fake_release,
                                          .host_wait_enqueue = fake_gate_put,
                                          .host_wait_reached = fake_gate_reached,
                                          .host_wait_release = fake_gate_pass,
                                          .host_wait_cancel = fake_gate_break};

/* The test's side ------------------------------------------------------------------------------ */

void fake_device_enter(fake_device_t *device, weft_comm_t *comm)
{
    weft_comm_state_t *state = NULL;
    memset(device, 0, sizeof *device);
    pthread_mutex_init(&device->lock, NULL);
    device->state =
        (weft_lanes_state_t){.size = sizeof device->state, .blocked = -1, .mismatch = -1};
    if (weft_comm_enter(comm, "fake_device_enter", &state) != WEFT_OK) {
        abort();
    }
    state->self.family->kernel.lanes = &lanes;
    pthread_mutex_lock(&known_lock);
    int i = 0;
    while (i < DEVICES && known[i].device != NULL) {
        i++;
    }
    known[i] = (struct known){state->self.family->kernel.instance, device};
    pthread_mutex_unlock(&known_lock);
    weft_comm_leave(state);
}

void fake_device_leave(fake_device_t *device)
{
    pthread_mutex_lock(&known_lock);
    for (int i = 0; i < DEVICES; i++) {
        known[i] = known[i].device == device ? (struct known){.device = NULL} : known[i];
    }
    pthread_mutex_unlock(&known_lock);
    pthread_mutex_destroy(&device->lock);
}

uint32_t fake_device_sequence(const fake_device_t *device, int run)
{
    return (uint32_t)device->call[run].signature[2];
}

void fake_device_replay(fake_device_t *device)
{
    pthread_mutex_lock(&device->lock);
    for (uint32_t i = 0; i < device->taped; i++) {
        device->item[(device->first + device->items++) % FAKE_ITEMS] = device->tape[i];
    }
    pthread_mutex_unlock(&device->lock);
}

bool fake_device_drain(fake_device_t *device)
{
    uint64_t deadline = weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    for (;;) {
        pthread_mutex_lock(&device->lock);
        go_on(device);
        bool empty = device->items == 0;
        pthread_mutex_unlock(&device->lock);
        if (empty || weft_os_clock_ns() > deadline) {
            return empty;
        }
        weft_os_sleep_ns(20000);
    }
}

void fake_device_halt(fake_device_t *device, bool halted)
{
    pthread_mutex_lock(&device->lock);
    device->halted = halted;
    pthread_mutex_unlock(&device->lock);
}

typedef struct body {
    fake_device_body_t run;
    bool prepares;
} body_t;

/* A communicator of its own, as the device ends with this function. */
static int with_device(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const body_t *body = arg;
    weft_comm_t *copy = NULL;
    fake_device_t device;
    int wrong = 0;
    NEED(weft_comm_dup(comm, &copy) == WEFT_OK);
    fake_device_enter(&device, copy);
    device.prepares = body->prepares;
    wrong += body->run(copy, &device, rank, n);
    NEED(weft_comm_destroy(copy) == WEFT_OK);
    NEED(device.queues == 0 && device.open_ends == 0);
    fake_device_leave(&device);
    return wrong;
}

void fake_device_run(uint32_t nranks, fake_device_body_t run, bool prepares)
{
    static const char *const settings[] = {"core.net=net-shm", "exec.op_timeout=2s"};
    body_t body = {run, prepares};
    ranks_job_t job = {.nranks = nranks,
                       .settings = settings,
                       .settings_count = 2,
                       .work = with_device,
                       .arg = &body};
    assert_int_equal(ranks_run_threads(&job), 0);
}
