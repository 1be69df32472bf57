/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mapped ports: set-up and sleeping. */
#include "core/exec/mapped_port.h"

#include "core/exec/pair_layout.h"
#include "core/os/os.h"

static weft_status_t mapped_flush(weft_port_t *port, bool *moved_p)
{
    (void)port;
    (void)moved_p;
    return WEFT_OK;
}

static void mapped_fetch(weft_port_t *port)
{
    port->next = port->export.ops->endpoint_next(port->export.end);
}

/* The health channel finds peers that are gone. */
static bool mapped_is_dry(const weft_port_t *port)
{
    (void)port;
    return false;
}

static void mapped_fini(weft_port_t *port)
{
    weft_mapped_port_t *mapped = weft_mapped_port(port);
    if (mapped->store.pool != NULL) {
        mapped->store.ops->leave(mapped);
    }
    weft_arena_unimport(mapped->arena);
    weft_device_words_close(&mapped->words);
}

static const weft_port_ops_t mapped_ops = {
    .flush = mapped_flush, .fetch = mapped_fetch, .is_dry = mapped_is_dry, .fini = mapped_fini};

void weft_mapped_port_init(weft_mapped_port_t *mapped, uint32_t peer, bool sends, void *fifo,
                           uint32_t slots, uint64_t slot_bytes)
{
    weft_fifo_control_t *control = fifo;
    weft_slot_header_t *headers = (weft_slot_header_t *)(control + 1);
    *mapped = (weft_mapped_port_t){.port = {.limit = slots,
                                            .mask = slots - 1,
                                            .kind = WEFT_PORT_MAPPED,
                                            .payloads = (uint8_t *)(headers + slots),
                                            .stride = slot_bytes,
                                            .slots = slots,
                                            .sends = sends,
                                            .peer = peer,
                                            .ops = &mapped_ops},
                                   .headers = headers,
                                   .header_stride = sizeof *headers,
                                   .header_mask = slots - 1,
                                   .near_bytes = WEFT_SLOT_INLINE,
                                   .control = control,
                                   .small_bytes = WEFT_SLOT_INLINE,
                                   .landing = {.first = UINT64_MAX},
                                   .ready = UINT64_MAX};
}

void weft_mapped_port_set_payloads(weft_mapped_port_t *mapped, const weft_fifo_shape_t *shape,
                                   uint8_t *small, uint8_t *slots)
{
    uint64_t small_bytes = shape->small_bytes;
    mapped->small = small;
    mapped->header_stride = weft_pair_header_stride(small_bytes);
    mapped->header_mask = shape->headers - 1;
    mapped->ahead = shape->headers - shape->slots;
    mapped->near_bytes = small_bytes > 0 ? WEFT_SLOT_NEAR : WEFT_SLOT_INLINE;
    mapped->small_bytes = small_bytes > mapped->near_bytes ? small_bytes : mapped->near_bytes;
    mapped->port.payloads = slots;
}

weft_status_t weft_mapped_port_settle(weft_mapped_port_t *mapped)
{
    weft_status_t status = weft_payload_location_step(&mapped->location);
    if (status == WEFT_OK && mapped->location.memory != NULL) {
        mapped->port.payloads = mapped->location.memory;
        weft_device_words_open(&mapped->words, &mapped->location);
    }
    return status;
}

bool weft_mapped_port_pass_greetings(weft_port_t *port)
{
    bool told = true;
    /* A peer that lies may always have one more: no more than slots in one look. */
    for (uint32_t n = 0; n < port->slots && told && weft_mapped_port_is_greeted(port); n++) {
        weft_mapped_port_release(port);
        told = weft_mapped_port_is_told(port);
    }
    return told && !weft_mapped_port_is_greeted(port);
}

void weft_mapped_port_describe(const weft_mapped_port_t *mapped, weft_lanes_port_t *port)
{
    port->fifo = (uint8_t *)mapped->control;
    port->fifo_bytes = weft_fifo_bytes(mapped->port.slots, 0);
    port->payloads = mapped->port.payloads;
    port->stride = mapped->port.stride;
    port->slot_bytes = mapped->port.stride;
    port->on_device = mapped->location.memory != NULL;
    port->headers = mapped->words.headers;
    port->released = mapped->words.released;
    port->words = weft_payload_location_words(&mapped->location);
    port->lines = weft_payload_location_lines(&mapped->location);
}

void weft_mapped_port_wake_peer(weft_mapped_port_t *mapped)
{
    _Atomic uint32_t *word =
        mapped->port.sends ? &mapped->control->consumer_sleeps : &mapped->control->producer_sleeps;
    atomic_store_explicit(word, 0, memory_order_relaxed);
    weft_os_futex_wake(word);
}

static bool mapped_has_moved(weft_port_t *port)
{
    uint64_t limit = port->limit;
    if (!port->sends) {
        return weft_mapped_port_can_receive(port);
    }
    (void)weft_mapped_port_refresh(port);
    return port->limit != limit;
}

uint32_t weft_mapped_ports_watch(weft_port_t *const *ports, uint32_t count, weft_os_futex_t *words)
{
    bool moved = false;
    for (uint32_t i = 0; i < count; i++) {
        weft_fifo_control_t *control = weft_mapped_port(ports[i])->control;
        words[i] = (weft_os_futex_t){.word = ports[i]->sends ? &control->producer_sleeps
                                                             : &control->consumer_sleeps,
                                     .seen = 1};
        atomic_store_explicit(words[i].word, 1, memory_order_relaxed);
    }
    /* The peer looks at the word without a fence, so a wake may be missed: the caller's timeout is
     * short for that reason. The fence here makes a miss rare. */
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < count && !moved; i++) {
        moved = mapped_has_moved(ports[i]);
    }
    return moved ? 0 : count;
}

bool weft_mapped_ports_sleep(weft_port_t *const *ports, uint32_t count, uint64_t timeout_ns)
{
    weft_os_futex_t words[WEFT_OS_FUTEXES];
    const uint32_t watched = weft_mapped_ports_watch(ports, count, words);
    bool able = true;
    if (watched == 1) {
        weft_os_futex_wait(words[0].word, 1, timeout_ns);
    } else if (watched > 1) {
        able = weft_os_futex_wait_any(words, watched, timeout_ns);
    }
    for (uint32_t i = 0; i < count; i++) {
        atomic_store_explicit(words[i].word, 0, memory_order_relaxed);
    }
    return able;
}
