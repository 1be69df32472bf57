/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host at a FIFO whose peer's device has words of its own: what it finds there, in which order it
 * reads, and how often it looks. */
#include <string.h>

#include "core/base/error.h"
#include "core/exec/port.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

enum { SLOTS = 4, SLOT_BYTES = 256 };

/* The device of this rank: its words, and what the host has read of them. */
struct weft_kernel {
    _Alignas(128) uint8_t memory[16384]; /* payloads, then headers and flagged units */
    uint64_t released;
    uint32_t reads;
    uint64_t *late; /* a word that is stored after the next read, and is not in that */
    uint64_t later;
    bool lost;
};

static weft_kernel_t device;
static weft_mapped_port_t port;
static void *fifo;

static weft_status_t device_read(weft_kernel_t *kernel, void *to, const void *memory,
                                 uint64_t bytes)
{
    kernel->reads++;
    if (kernel->lost) {
        return weft_fail(WEFT_ERR_SYSTEM, 0, "lost");
    }
    memcpy(to, memory, bytes);
    if (kernel->late != NULL) {
        *kernel->late = kernel->later;
        kernel->late = NULL;
    }
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
    port.location.memory = device.memory;
    port.location.settled = true;
    port.port.payloads = device.memory;
    weft_device_words_open(&port.words, &port.location);
    port.words.released = &device.released;
}

static void close_port(void)
{
    port.location.memory = NULL;
    weft_port_fini(&port.port);
    weft_os_pages_free(fifo, weft_fifo_bytes(SLOTS, SLOT_BYTES));
}

static weft_flagged_header_t *device_header(uint64_t n)
{
    return (weft_flagged_header_t *)(void *)port.words.headers + n % SLOTS;
}

/* As the peer's device sends message n, whose header says so of its payload. */
static void device_sends_form(uint64_t n, uint64_t form)
{
    weft_signature_t signature = {.count = 1000 + n};
    weft_flagged_header_t *header = device_header(n);
    uint64_t data[WEFT_FIFO_FLAGGED_HEADER_WORDS];
    memset(data, (int)n, sizeof data);
    memcpy(&data[WEFT_FIFO_FLAGGED_HEADER_SIGNATURE], &signature, sizeof signature);
    data[WEFT_FIFO_FLAGGED_HEADER_FORM] = form;
    for (uint32_t i = 0; i < WEFT_FIFO_FLAGGED_HEADER_WORDS; i++) {
        header->word[i] = (weft_flagged_word_t){data[i], n + 1};
    }
}

static void device_sends(uint64_t n)
{
    device_sends_form(n, 8 << WEFT_FIFO_FORM_BITS);
}

/* Its payload in flagged words (unit 2) or lines (16), up to unit `units`. */
static uint64_t *device_packs(uint64_t n, uint32_t unit, uint64_t bytes, uint64_t units)
{
    weft_lanes_flagged_t to = unit == 2 ? weft_payload_location_words(&port.location)
                                        : weft_payload_location_lines(&port.location);
    uint64_t *at = (uint64_t *)(void *)(to.memory + n % SLOTS * to.stride);
    for (uint64_t i = 0, u = 0; i < bytes && u < units; u++) {
        uint8_t *data = (uint8_t *)(at + u * unit);
        for (uint32_t k = 0; k < (unit - 1) * 8; k++, i++) {
            data[k] = i < bytes ? (uint8_t)(i * 7 + n) : 0xee;
        }
        at[u * unit + unit - 1] = n + 1;
    }
    return at;
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
    device_sends_form(0, 0);
    device_header(0)->word[WEFT_FIFO_FLAGGED_HEADER_SIGNATURE].data |= WEFT_FIFO_GREETS;
    assert_false(weft_port_can_receive(&port.port));
    assert_int_equal(atomic_load(&port.control->released), 1);
    device_sends(1);
    assert_true(comes());
    assert_int_equal(weft_port_signature(&port.port)->count, 1001);
    close_port();
}

/* A header is taken when a read behind one that has found all flags has them. */
static void a_header_is_read_behind_its_flags(void **state)
{
    (void)state;
    for (uint32_t missing = 0; missing < WEFT_FIFO_FLAGGED_HEADER_WORDS; missing++) {
        open_port(false);
        assert_false(weft_port_can_receive(&port.port));
        assert_int_equal(device.reads, 1);
        device_sends(0);
        device_header(0)->word[missing].flag = SLOTS; /* of a message that had this slot */
        weft_os_sleep_ns(2 * WEFT_NS_PER_MS);
        assert_false(weft_port_can_receive(&port.port));
        device_header(0)->word[missing].flag = 1;
        /* The first read has the flag and older data. */
        device.later = device_header(0)->word[4].data;
        device_header(0)->word[4].data = 77;
        device.late = &device_header(0)->word[4].data;
        assert_true(comes());
        assert_int_equal(weft_port_signature(&port.port)->count, 1000);
        device.reads = 0;
        assert_true(weft_port_can_receive(&port.port)); /* it is here now */
        assert_int_equal(device.reads, 0);
        close_port();
    }
}

static bool is_payload(uint64_t n, uint64_t bytes)
{
    const uint8_t *payload = weft_port_payload(&port.port, bytes);
    bool same = payload != device.memory + n % SLOTS * SLOT_BYTES;
    for (uint64_t i = 0; i < bytes; i++) {
        same = same && payload[i] == (uint8_t)(i * 7 + n);
    }
    return same;
}

static void payloads_in_flagged_units_are_unpacked(void **state)
{
    static const uint64_t lengths[] = {33, 40, 119, 120, 121, 240, 255, 256};
    (void)state;
    open_port(false);
    for (uint64_t n = 0; n < 8 * SLOTS; n++) {
        const uint32_t unit = n % 3 == 1 ? 16 : 2;
        const uint64_t bytes = lengths[n % 8], data = (unit - 1) * 8,
                       units = (bytes + data - 1) / data;
        const uint64_t form = unit == 2 ? WEFT_FIFO_FORM_WORDS : WEFT_FIFO_FORM_LINES;
        /* The header may be seen before its payload, whose last unit comes late. */
        device_sends_form(n, bytes << WEFT_FIFO_FORM_BITS | form);
        uint64_t *at = device_packs(n, unit, bytes, units - 1);
        weft_os_sleep_ns(30000);
        assert_false(weft_port_can_receive(&port.port));
        at[units * unit - 1] = n + 1 - SLOTS; /* of a message that had this slot */
        weft_os_sleep_ns(2 * WEFT_NS_PER_MS);
        assert_false(weft_port_can_receive(&port.port));
        device_packs(n, unit, bytes, units);
        assert_true(comes());
        assert_true(is_payload(n, bytes));
        assert_int_equal(weft_port_release(&port.port), WEFT_OK);
    }
    close_port();
}

/* Nothing beyond the memory is read: what such a peer sends is what its slot has. */
static void forms_that_cannot_be_are_slots(void **state)
{
    static const uint64_t forms[] = {257ull << WEFT_FIFO_FORM_BITS | WEFT_FIFO_FORM_WORDS,
                                     UINT64_MAX << WEFT_FIFO_FORM_BITS | WEFT_FIFO_FORM_LINES,
                                     100 << WEFT_FIFO_FORM_BITS | 3, UINT64_MAX};
    (void)state;
    for (uint32_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        open_port(false);
        device_sends_form(0, forms[i]);
        assert_true(comes());
        assert_ptr_equal(weft_port_payload(&port.port, 100), device.memory);
        close_port();
    }
}

/* Until the port can send, or a second is over. */
static bool may_send(void)
{
    uint64_t end = weft_os_clock_ns() + WEFT_NS_PER_S;
    while (!weft_port_can_send(&port.port, WEFT_SLOT_INLINE) && weft_os_clock_ns() < end) {
    }
    return weft_port_can_send(&port.port, WEFT_SLOT_INLINE);
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
    assert_false(weft_port_can_send(&port.port, WEFT_SLOT_INLINE));
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
        cmocka_unit_test(a_header_is_read_behind_its_flags),
        cmocka_unit_test(payloads_in_flagged_units_are_unpacked),
        cmocka_unit_test(forms_that_cannot_be_are_slots),
        cmocka_unit_test(what_is_released_is_what_device_or_host_says),
        cmocka_unit_test(looks_in_vain_become_rare),
        cmocka_unit_test(a_lost_device_is_asked_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
