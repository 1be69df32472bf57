/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host at a FIFO whose peer's device has words of its own: what it finds there, in which order it reads, and
 * how often it looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/exec/port.h"
#include "core/os/os.h"

enum { SLOTS = 4, SLOT_BYTES = 256 };

/* The device of this rank: its words, and what the host has read of them. */
struct weft_kernel {
    weft_slot_header_t headers[SLOTS];
    uint64_t released;
    uint32_t reads;
    uint64_t last; /* bytes of the last read */
    bool lost;
};

static weft_kernel_t device;
static weft_mapped_port_t port;
static void *fifo;

static weft_status_t device_read(weft_kernel_t *kernel, void *to, const void *memory,
                                 uint64_t bytes)
{
    kernel->reads++;
    kernel->last = bytes;
    if (kernel->lost) {
        return weft_fail(WEFT_ERR_SYSTEM, 0, "lost");
    }
    memcpy(to, memory, bytes);
    return WEFT_OK;
}

static const weft_kernel_ipc_t share = {.size = sizeof share, .read = device_read};

static void open_port(bool sends)
{
    const weft_sharing_t sharing = {&share, &device};
    memset(&device, 0, sizeof device);
    fifo = weft_os_pages(weft_fifo_bytes(SLOTS, SLOT_BYTES));
    weft_mapped_port_init(&port, 1, sends, fifo, SLOTS, SLOT_BYTES);
    weft_payload_location_init(&port.location, &sharing, &port.control->handshake, 1, sends, SLOTS,
                               SLOT_BYTES);
    port.words = (weft_device_words_t){.location = &port.location,
                                       .headers = (uint8_t *)device.headers,
                                       .released = &device.released};
}

static void close_port(void)
{
    weft_port_fini(&port.port);
    weft_os_pages_free(fifo, weft_fifo_bytes(SLOTS, SLOT_BYTES));
}

/* As the peer's device sends message n. */
static void device_sends(uint64_t n)
{
    weft_slot_header_t *header = &device.headers[n % SLOTS];
    header->signature.count = 1000 + n;
    memset(header->payload, (int)n, sizeof header->payload);
    atomic_store(&header->sequence, n + 1);
}

static bool comes(void)
{
    uint64_t end = weft_os_clock_ns() + WEFT_NS_PER_S;
    bool came = false;
    while (!came && weft_os_clock_ns() < end) {
        came = weft_port_can_receive(&port.port);
    }
    return came;
}

static void messages_of_devices_and_hosts_come_in_order(void **state)
{
    (void)state;
    open_port(false);
    for (uint64_t n = 0; n < 4 * SLOTS; n++) {
        if (n % 3 == 1) {
            weft_slot_header_t *header = weft_mapped_port_header(&port.port);
            header->signature.count = 1000 + n;
            memset(header->payload, (int)n, sizeof header->payload);
            atomic_store(&header->sequence, n + 1);
        } else {
            device_sends(n);
        }
        assert_true(comes());
        assert_int_equal(weft_port_signature(&port.port)->count, 1000 + n);
        assert_int_equal(*(uint8_t *)weft_port_payload(&port.port, 8), (uint8_t)n);
        assert_int_equal(weft_port_release(&port.port), WEFT_OK);
        assert_int_equal(atomic_load(&port.control->released), n + 1);
    }
    assert_false(weft_port_can_receive(&port.port));
    close_port();
}

static void greetings_of_devices_are_passed(void **state)
{
    (void)state;
    open_port(false);
    device.headers[0].signature.greets = 1;
    device_sends(0);
    assert_false(weft_port_can_receive(&port.port));
    assert_int_equal(atomic_load(&port.control->released), 1);
    device_sends(1);
    assert_true(comes());
    assert_int_equal(weft_port_signature(&port.port)->count, 1001);
    device.headers[0].signature.greets = 0;
    close_port();
}

/* A header is read when its sequence says that it is whole, and not before. */
static void a_header_is_read_behind_its_sequence(void **state)
{
    (void)state;
    open_port(false);
    assert_false(weft_port_can_receive(&port.port));
    assert_int_equal(device.reads, 1);
    assert_int_equal(device.last, sizeof(uint64_t));
    device_sends(0);
    assert_true(comes());
    assert_int_equal(device.last, sizeof(weft_slot_header_t));
    device.reads = 0;
    assert_true(weft_port_can_receive(&port.port)); /* it is here now */
    assert_int_equal(device.reads, 0);
    close_port();
}

/* Until the port can send, or a second is over. */
static bool may_send(void)
{
    uint64_t end = weft_os_clock_ns() + WEFT_NS_PER_S;
    while (!weft_port_can_send(&port.port) && weft_os_clock_ns() < end) {
    }
    return weft_port_can_send(&port.port);
}

static void what_is_released_is_what_device_or_host_says(void **state)
{
    const weft_signature_t signature = {.count = 1};
    (void)state;
    open_port(true);
    for (uint32_t n = 0; n < 4 * SLOTS; n++) {
        assert_true(may_send());
        assert_int_equal(weft_port_send(&port.port, &signature, 8, NULL), WEFT_OK);
        if (n % 3 == 1) {
            atomic_store(&port.control->released, n + 1);
        } else {
            device.released = n + 1;
        }
    }
    for (uint32_t n = 0; n < SLOTS; n++) {
        assert_true(may_send());
        assert_int_equal(weft_port_send(&port.port, &signature, 8, NULL), WEFT_OK);
    }
    assert_false(weft_port_can_send(&port.port));
    close_port();
}

/* A look takes microseconds, in which the host does nothing else. */
static void looks_in_vain_become_rare(void **state)
{
    (void)state;
    open_port(false);
    uint64_t begin = weft_os_clock_ns(), calls = 0;
    while (weft_os_clock_ns() < begin + 20 * WEFT_NS_PER_MS) {
        assert_false(weft_port_can_receive(&port.port));
        calls++;
    }
    uint64_t most = (weft_os_clock_ns() - begin) / WEFT_NS_PER_MS + 8;
    assert_true(device.reads >= 2 && device.reads <= most);
    assert_true(calls > device.reads);
    close_port();
}

static void a_lost_device_is_asked_no_more(void **state)
{
    (void)state;
    open_port(false);
    device_sends(0);
    device.lost = true;
    assert_false(weft_port_can_receive(&port.port));
    weft_os_sleep_ns(2 * WEFT_NS_PER_MS);
    assert_false(weft_port_can_receive(&port.port));
    assert_int_equal(device.reads, 1);
    close_port();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_devices_and_hosts_come_in_order),
        cmocka_unit_test(greetings_of_devices_are_passed),
        cmocka_unit_test(a_header_is_read_behind_its_sequence),
        cmocka_unit_test(what_is_released_is_what_device_or_host_says),
        cmocka_unit_test(looks_in_vain_become_rare),
        cmocka_unit_test(a_lost_device_is_asked_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
