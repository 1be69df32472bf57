/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots on a device: what is near, how they are registered, and ports and proxies over memory at
 * whose addresses the host finds nothing: who touches it by himself dies. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/exec/transports.h"
#include "core/exec/gpudirect_port.h"
#include "core/exec/port.h"
#include "core/exec/proxy.h"
#include "tests/support/loaded_net.h"
#include "tests/support/unit.h"

enum { SLOTS = 4, SLOT_BYTES = 256, STRIDE = SLOT_BYTES + 64, BYTES = SLOTS * STRIDE, POSTS = 64 };

/* The kernel ----------------------------------------------------------------------------------- */

/* Memory is at `there` for those who name it, and at `here` for the test, which is the device. */
struct weft_kernel {
    uint8_t *there, *here;
    int fd; /* given out last */
    uint32_t alive;
    weft_status_t place, dmabuf, copy;
};

static weft_status_t device_place(weft_kernel_t *kernel, char bus[WEFT_GPUDIRECT_BUS_BYTES])
{
    strcpy(bus, "0000:3b:00.0");
    return kernel->place == WEFT_OK ? WEFT_OK : weft_fail(kernel->place, 0, "no place");
}

static weft_status_t device_alloc(weft_kernel_t *kernel, uint64_t bytes, void **memory_p)
{
    assert_int_equal(bytes, BYTES);
    kernel->there = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kernel->here = calloc(1, BYTES);
    kernel->alive++;
    *memory_p = kernel->there;
    return WEFT_OK;
}

static void device_free(weft_kernel_t *kernel, void *memory)
{
    assert_ptr_equal(memory, kernel->there);
    munmap(kernel->there, BYTES);
    free(kernel->here);
    kernel->alive--;
}

static weft_status_t device_dmabuf(weft_kernel_t *kernel, void *memory, uint64_t bytes, int *fd_p,
                                   uint64_t *offset_p)
{
    assert_ptr_equal(memory, kernel->there);
    assert_int_equal(bytes, BYTES);
    if (kernel->dmabuf != WEFT_OK) {
        return weft_fail(kernel->dmabuf, 0, "no dma-buf");
    }
    kernel->fd = *fd_p = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *offset_p = 4096;
    return WEFT_OK;
}

static uint8_t *real_of(const weft_kernel_t *kernel, const void *at)
{
    uintptr_t offset = (uintptr_t)at - (uintptr_t)kernel->there;
    return offset < BYTES ? kernel->here + offset : (uint8_t *)(uintptr_t)at;
}

static weft_status_t device_copy(weft_kernel_t *kernel, void *dst, const void *src, uint64_t bytes)
{
    if (kernel->copy != WEFT_OK) {
        return weft_fail(kernel->copy, 0, "no copy");
    }
    memcpy(real_of(kernel, dst), real_of(kernel, src), bytes);
    return WEFT_OK;
}

static const weft_kernel_gpudirect_t device_direct = {.size = sizeof device_direct,
                                                      .bus_id = device_place,
                                                      .alloc = device_alloc,
                                                      .free = device_free,
                                                      .dmabuf = device_dmabuf};
static const weft_kernel_memory_t device_memory = {.size = sizeof device_memory,
                                                   .copy = device_copy};

/* Nearness ------------------------------------------------------------------------------------- */

#define ROOT "/sys/devices/pci0000:3a/"

static void a_bridge_below_the_root_complex_is_near(void **state)
{
    static const struct {
        const char *one, *other;
        bool near;
    } cases[] = {
        {ROOT "0000:3a:01.0/0000:3b:00.0", ROOT "0000:3a:01.0/0000:3c:00.0", true},
        {ROOT "0000:3a:01.0/0000:3b:00.0/0000:3c:04.0/0000:3d:00.0",
         ROOT "0000:3a:01.0/0000:3b:00.0/0000:3c:08.0/0000:3e:00.0", true},
        {ROOT "0000:3a:01.0/0000:3b:00.0", ROOT "0000:3a:01.0/0000:3b:00.1", true},
        {ROOT "0000:3a:01.0/0000:3b:00.0", ROOT "0000:3a:02.0/0000:3c:00.0", false},
        {ROOT "0000:3a:01.0/0000:3b:00.0", ROOT "0000:3a:01.1/0000:3c:00.0", false},
        {ROOT "0000:3a:01.0", ROOT "0000:3a:02.0", false},
        {ROOT "0000:3a:01.0/0000:3b:00.0", "/sys/devices/pci0000:5d/0000:5d:01.0/0000:5e:00.0",
         false},
        {"/sys/devices/platform/pcie/x/pci0001:00/0001:00:00.0/0001:01:00.0",
         "/sys/devices/platform/pcie/x/pci0001:00/0001:00:01.0/0001:02:00.0", false},
        {"/sys/devices/platform/pcie/x/pci0001:00/0001:00:00.0/0001:01:00.0",
         "/sys/devices/platform/pcie/x/pci0001:00/0001:00:00.0/0001:02:00.0", true},
        {"/sys/devices/virtual/net/lo", "/sys/devices/virtual/net/lo", false},
        {"", "", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (weft_gpudirect_is_near(cases[i].one, cases[i].other) != cases[i].near ||
            weft_gpudirect_is_near(cases[i].other, cases[i].one) != cases[i].near) {
            fail_msg("%s and %s", cases[i].one, cases[i].other);
        }
    }
}

/* The transport -------------------------------------------------------------------------------- */

static struct {
    weft_status_t dmabuf, plain; /* what they answer */
    uint32_t plains;
    weft_net_dmabuf_range_t range;
    bool open; /* the descriptor was, in the call */
} adapter;

static weft_net_region_t *const a_region = (weft_net_region_t *)&adapter;

static weft_status_t adapter_dmabuf(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                                    weft_net_region_t **region_p)
{
    (void)device;
    adapter.range = *range;
    adapter.open = fcntl(range->fd, F_GETFD) >= 0;
    *region_p = adapter.dmabuf == WEFT_OK ? a_region : *region_p;
    return adapter.dmabuf == WEFT_OK ? WEFT_OK : weft_fail(adapter.dmabuf, 0, "refused a dma-buf");
}

static weft_status_t adapter_reg(weft_net_device_t *device, void *memory, uint64_t bytes,
                                 uint32_t kind, weft_net_region_t **region_p)
{
    (void)device;
    (void)memory;
    assert_int_equal(bytes, BYTES);
    assert_int_equal(kind, WEFT_MEMORY_CUDA);
    adapter.plains++;
    *region_p = adapter.plain == WEFT_OK ? a_region : *region_p;
    return adapter.plain == WEFT_OK ? WEFT_OK : weft_fail(adapter.plain, 0, "load a module");
}

static const weft_net_dmabuf_t dmabuf_table = {.size = sizeof dmabuf_table, .reg = adapter_dmabuf};
static const weft_net_ops_t net_ops = {.size = sizeof net_ops, .reg = adapter_reg};
static const weft_plugin_t net_plugin = {.name = "net-test"};
static const weft_loaded_t net_loaded = {.plugin = &net_plugin};

static weft_transport_t net_of(uint32_t kinds)
{
    weft_transport_t net = {.loaded = &net_loaded, .ops = &net_ops, .dmabuf = &dmabuf_table};
    net.props.memory_kinds = kinds;
    strcpy(net.props.name, "test0:1");
    memset(&adapter, 0, sizeof adapter);
    return net;
}

static void the_mode_kernel_and_transport_decide(void **state)
{
    weft_kernel_t kernel = {.fd = -1};
    weft_gpudirect_t gpudirect = {&device_direct, &device_memory, &kernel, WEFT_GPUDIRECT_YES};
    weft_transport_t both = net_of(WEFT_MEMORY_HOST | WEFT_MEMORY_CUDA);
    weft_transport_t host = net_of(WEFT_MEMORY_HOST);
    (void)state;
    assert_true(weft_gpudirect_suits(&gpudirect, &both));
    assert_false(weft_gpudirect_suits(&gpudirect, &host));
    kernel.place = WEFT_ERR_UNSUPPORTED;
    assert_false(weft_gpudirect_suits(&gpudirect, &both));
    kernel.place = WEFT_OK;
    gpudirect.mode = WEFT_GPUDIRECT_NO;
    assert_false(weft_gpudirect_suits(&gpudirect, &both));
    gpudirect.mode = WEFT_GPUDIRECT_AUTO;
    assert_false(weft_gpudirect_suits(&gpudirect, &both)); /* its place is not known */
    gpudirect.mode = WEFT_GPUDIRECT_YES;
    gpudirect.ops = NULL;
    assert_false(weft_gpudirect_suits(&gpudirect, &both));
}

/* Registers `memory` with the adapter of `net`; after OK the region is there. */
static weft_status_t register_with(const weft_kernel_gpudirect_t *ops, weft_kernel_t *kernel,
                                   const weft_transport_t *net, void *memory)
{
    weft_gpudirect_t gpudirect = {.ops = ops, .kernel = kernel};
    weft_net_region_t *region = NULL;
    weft_status_t status = weft_gpudirect_register(&gpudirect, net, NULL, memory, BYTES, &region);
    assert_true(status != WEFT_OK || region == a_region);
    return status;
}

static void memory_is_registered_by_its_dmabuf(void **state)
{
    weft_kernel_t kernel = {.fd = -1};
    weft_transport_t net = net_of(WEFT_MEMORY_CUDA);
    void *memory;
    (void)state;
    device_alloc(&kernel, BYTES, &memory);
    assert_int_equal(register_with(&device_direct, &kernel, &net, memory), WEFT_OK);
    assert_int_equal(adapter.range.offset, 4096);
    assert_int_equal(adapter.range.bytes, BYTES);
    assert_true(adapter.range.address == (uintptr_t)memory);
    assert_int_equal(adapter.range.memory_kind, WEFT_MEMORY_CUDA);
    assert_true(adapter.open);
    assert_true(fcntl(kernel.fd, F_GETFD) < 0);
    assert_int_equal(adapter.plains, 0);
    device_free(&kernel, memory);
}

static void the_systems_module_helps_where_there_is_no_dmabuf(void **state)
{
    weft_kernel_t kernel = {.fd = -1};
    weft_gpudirect_t gpudirect = {.ops = &device_direct, .kernel = &kernel};
    weft_transport_t net = net_of(WEFT_MEMORY_CUDA);
    void *memory;
    (void)state;
    device_alloc(&kernel, BYTES, &memory);
    for (int who = 0; who < 3; who++) {
        weft_net_region_t *region = NULL;
        net = net_of(WEFT_MEMORY_CUDA);
        kernel.dmabuf = who == 0 ? WEFT_ERR_UNSUPPORTED : WEFT_OK;
        adapter.dmabuf = who == 1 ? WEFT_ERR_UNSUPPORTED : WEFT_OK;
        net.dmabuf = who == 2 ? NULL : net.dmabuf;
        assert_int_equal(weft_gpudirect_register(&gpudirect, &net, NULL, memory, BYTES, &region),
                         WEFT_OK);
        assert_int_equal(adapter.plains, 1);
        adapter.plain = WEFT_ERR_UNSUPPORTED;
        assert_int_equal(weft_gpudirect_register(&gpudirect, &net, NULL, memory, BYTES, &region),
                         WEFT_ERR_UNSUPPORTED);
        /* The better way is the one that is told of. */
        assert_non_null(strstr(weft_error_record()->text, "dma-buf"));
    }
    /* Limits are no reason to try another way. */
    weft_net_region_t *region = NULL;
    net = net_of(WEFT_MEMORY_CUDA);
    adapter.dmabuf = WEFT_ERR_RESOURCE;
    assert_int_equal(weft_gpudirect_register(&gpudirect, &net, NULL, memory, BYTES, &region),
                     WEFT_ERR_RESOURCE);
    assert_int_equal(adapter.plains, 0);
    assert_true(fcntl(kernel.fd, F_GETFD) < 0);
    device_free(&kernel, memory);
}

static bool device_dmabuf_only(weft_kernel_t *kernel)
{
    (void)kernel;
    return true;
}

static void nothing_helps_where_only_a_dmabuf_is_ordered(void **state)
{
    weft_kernel_gpudirect_t strict = device_direct;
    strict.dmabuf_only = device_dmabuf_only;
    weft_kernel_t kernel = {.fd = -1};
    weft_transport_t net = net_of(WEFT_MEMORY_CUDA);
    void *memory;
    (void)state;
    device_alloc(&kernel, BYTES, &memory);
    assert_int_equal(register_with(&strict, &kernel, &net, memory), WEFT_OK);
    adapter.dmabuf = WEFT_ERR_UNSUPPORTED;
    assert_int_equal(register_with(&strict, &kernel, &net, memory), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(adapter.plains, 0);
    device_free(&kernel, memory);
}

/* Ports ---------------------------------------------------------------------------------------- */

typedef struct end {
    weft_kernel_t kernel;
    weft_gpudirect_t gpudirect;
    weft_gpudirect_port_t direct;
    weft_port_t *port; /* its head */
    weft_poll_list_t list;
    weft_net_op_t post[POSTS];
    uint32_t posted, done;
} end_t;

static weft_status_t end_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                              uint32_t *posted_p)
{
    end_t *end = (end_t *)conn;
    end->post[end->posted++ % POSTS] = ops[0];
    *posted_p = count;
    return WEFT_OK;
}

static const weft_net_ops_t post_ops = {.size = sizeof post_ops, .post = end_post};

static void endpoint_open(end_t *end, bool sends)
{
    void *memory;
    memset(end, 0, sizeof *end);
    end->gpudirect =
        (weft_gpudirect_t){&device_direct, &device_memory, &end->kernel, WEFT_GPUDIRECT_YES};
    end->port = &end->direct.message.port;
    weft_message_port_params_t params = {.loaded = &loaded_net,
                                         .net = &post_ops,
                                         .conn = (weft_net_conn_t *)end,
                                         .list = &end->list,
                                         .slot_bytes = SLOT_BYTES,
                                         .slots = SLOTS,
                                         .peer = 1,
                                         .sends = sends};
    assert_int_equal(
        device_alloc(&end->kernel, weft_message_port_bytes(SLOTS, SLOT_BYTES), &memory), WEFT_OK);
    assert_int_equal(weft_gpudirect_port_init(&end->direct, &params, &end->gpudirect, memory),
                     WEFT_OK);
    assert_int_equal(weft_message_port_open(&end->direct.message, NULL), WEFT_OK);
}

static void endpoint_close(end_t *end)
{
    weft_port_fini(end->port);
    assert_int_equal(end->kernel.alive, 0);
}

static void end_complete(end_t *end, uint64_t bytes)
{
    weft_message_port_complete(&(weft_net_completion_t){
        .context = end->post[end->done++ % POSTS].context, .bytes = bytes});
}

/* The slot of message n, as the device has it. */
static uint8_t *slot_of(const end_t *end, uint64_t n)
{
    return end->kernel.here + n % SLOTS * STRIDE;
}

static void put_message(uint8_t *slot, uint64_t n, uint64_t bytes)
{
    weft_message_header_t head = {.signature = {.count = n}, .bytes = bytes};
    memcpy(slot, &head, sizeof head);
    memset(slot + sizeof head, (int)(n & 0xff), bytes);
}

static void a_host_that_sends_puts_the_head_there_first(void **state)
{
    end_t end;
    (void)state;
    endpoint_open(&end, true);
    for (uint64_t n = 0; n < 3 * SLOTS; n++) {
        uint64_t bytes = n * 23 % (SLOT_BYTES + 1);
        weft_signature_t signature = {.count = n};
        weft_message_header_t head;
        assert_true(weft_port_can_send(end.port, WEFT_SLOT_INLINE));
        uint8_t *payload = weft_port_payload(end.port, bytes);
        assert_ptr_equal(payload, end.kernel.there + n % SLOTS * STRIDE + 64);
        assert_int_equal(weft_port_send(end.port, &signature, bytes, NULL), WEFT_OK);
        assert_int_equal(end.posted, n + 1);
        const weft_net_op_t *post = &end.post[n % POSTS];
        assert_ptr_equal(post->buffer, end.kernel.there + n % SLOTS * STRIDE);
        assert_int_equal(post->bytes, 64 + bytes);
        memcpy(&head, slot_of(&end, n), sizeof head);
        assert_int_equal(head.signature.count, n);
        assert_int_equal(head.bytes, bytes);
        end_complete(&end, post->bytes);
    }
    endpoint_close(&end);
}

static void a_host_that_receives_sees_the_signature(void **state)
{
    end_t end;
    (void)state;
    endpoint_open(&end, false);
    assert_int_equal(end.posted, SLOTS);
    for (uint64_t n = 0; n < 3 * SLOTS; n++) {
        uint64_t bytes = n * 29 % (SLOT_BYTES + 1);
        assert_int_equal(end.post[n % POSTS].bytes, STRIDE);
        assert_false(weft_port_can_receive(end.port));
        put_message(slot_of(&end, n), n, bytes);
        end_complete(&end, 64 + bytes);
        assert_true(weft_port_can_receive(end.port));
        assert_int_equal(weft_port_signature(end.port)->count, n);
        assert_ptr_equal(weft_port_payload(end.port, bytes),
                         end.kernel.there + n % SLOTS * STRIDE + 64);
        assert_int_equal(weft_port_release(end.port), WEFT_OK);
    }
    endpoint_close(&end);
}

static void a_head_that_cannot_be_copied_breaks_the_port(void **state)
{
    weft_signature_t signature = {.count = 1};
    end_t end;
    (void)state;
    endpoint_open(&end, false);
    end_complete(&end, 64 + 8);
    end.kernel.copy = WEFT_ERR_SYSTEM;
    assert_false(weft_port_can_receive(end.port));
    assert_int_equal(end.port->broken, WEFT_ERR_SYSTEM);
    endpoint_close(&end);
    endpoint_open(&end, true);
    end.kernel.copy = WEFT_ERR_SYSTEM;
    assert_int_equal(weft_port_send(end.port, &signature, 8, NULL), WEFT_ERR_SYSTEM);
    assert_int_equal(end.port->broken, WEFT_ERR_SYSTEM);
    assert_int_equal(end.posted, 0);
    endpoint_close(&end);
}

static void lengths_that_no_slot_holds_break_the_port(void **state)
{
    static const uint64_t lies[] = {0, 63, STRIDE + 1, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        end_t end;
        endpoint_open(&end, false);
        end_complete(&end, lies[i]);
        assert_int_equal(end.port->broken, WEFT_ERR_PROTO);
        assert_false(weft_port_can_receive(end.port));
        endpoint_close(&end);
    }
}

/* Proxies -------------------------------------------------------------------------------------- */

static void a_proxy_passes_on_that_a_message_is_there(void **state)
{
    bool moved = false;
    end_t send, receive;
    (void)state;
    endpoint_open(&send, true);
    endpoint_open(&receive, false);
    assert_int_equal(weft_proxy_ensure(&send.direct.message), WEFT_OK);
    assert_int_equal(weft_proxy_ensure(&receive.direct.message), WEFT_OK);
    weft_proxy_t *from = send.direct.message.proxy, *to = receive.direct.message.proxy;
    for (uint64_t n = 0; n < 3 * SLOTS; n++) {
        uint32_t bytes = (uint32_t)(n * 23 % (SLOT_BYTES + 1));
        /* The devices; the adapter. */
        put_message(slot_of(&send, n), n, bytes);
        from->lengths[n % SLOTS] = bytes;
        atomic_store(&from->headers[n % SLOTS].sequence, n + 1);
        weft_proxy_step(from, &moved);
        assert_int_equal(send.post[n % POSTS].bytes, 64 + bytes);
        memcpy(slot_of(&receive, n), slot_of(&send, n), 64 + bytes);
        end_complete(&send, 64 + bytes);
        end_complete(&receive, 64 + bytes);
        weft_proxy_step(from, &moved);
        assert_int_equal(atomic_load(&from->control->released), n + 1);
        weft_proxy_step(to, &moved);
        assert_int_equal(atomic_load(&to->headers[n % SLOTS].sequence), n + 1);
        atomic_store(&to->control->released, n + 1);
        weft_proxy_step(to, &moved);
        assert_int_equal(receive.posted, SLOTS + n + 1);
    }
    endpoint_close(&send);
    endpoint_close(&receive);
}

static void hosts_take_over_from_devices(void **state)
{
    bool moved = false;
    end_t end;
    (void)state;
    endpoint_open(&end, false);
    assert_int_equal(weft_proxy_ensure(&end.direct.message), WEFT_OK);
    for (uint64_t n = 0; n < 4 * SLOTS; n++) {
        put_message(slot_of(&end, n), n, 8);
        end_complete(&end, 64 + 8);
        if (n % 3 == 1) {
            assert_true(weft_port_can_receive(end.port));
            assert_int_equal(weft_port_signature(end.port)->count, n);
            assert_int_equal(weft_port_release(end.port), WEFT_OK);
            continue;
        }
        weft_proxy_step(end.direct.message.proxy, &moved);
        assert_int_equal(atomic_load(&end.direct.message.proxy->headers[n % SLOTS].sequence),
                         n + 1);
        atomic_store(&end.direct.message.proxy->control->released, n + 1);
        weft_proxy_step(end.direct.message.proxy, &moved);
        assert_int_equal(end.port->next, n + 1);
    }
    endpoint_close(&end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bridge_below_the_root_complex_is_near),
        cmocka_unit_test(the_mode_kernel_and_transport_decide),
        cmocka_unit_test(memory_is_registered_by_its_dmabuf),
        cmocka_unit_test(nothing_helps_where_only_a_dmabuf_is_ordered),
        cmocka_unit_test(the_systems_module_helps_where_there_is_no_dmabuf),
        cmocka_unit_test(a_host_that_sends_puts_the_head_there_first),
        cmocka_unit_test(a_host_that_receives_sees_the_signature),
        cmocka_unit_test(a_head_that_cannot_be_copied_breaks_the_port),
        cmocka_unit_test(lengths_that_no_slot_holds_break_the_port),
        cmocka_unit_test(a_proxy_passes_on_that_a_message_is_there),
        cmocka_unit_test(hosts_take_over_from_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
