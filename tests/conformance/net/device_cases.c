/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases about devices: each of them, registered memory, dma-bufs, descriptions. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

static const void *extension(const kit_side_t *side, const char *name)
{
    return WEFT_HAS(side->ops, weft_net_ops_t, get_extension)
               ? side->ops->get_extension(side->net, name)
               : NULL;
}

static uint32_t device_count(const kit_side_t *side)
{
    uint32_t count = 0;
    REQUIRE(side->ops->device_count(side->net, &count) == WEFT_OK);
    return count;
}

/* Posts one operation, with the registration of its buffer. */
static void region_post(kit_end_t *end, uint32_t kind, void *buffer, uint64_t bytes,
                        weft_net_region_t *region, kit_done_t *done)
{
    const weft_net_op_t op = {
        .kind = kind, .buffer = buffer, .bytes = bytes, .region = region, .context = done};
    uint32_t posted = 0;
    *done = (kit_done_t){.done = false};
    kit_note("post of %llu registered bytes: %s", (unsigned long long)bytes, end->side->fake.error);
    REQUIRE(end->side->ops->post(end->conn, &op, 1, &posted) == WEFT_OK && posted == 1);
}

static void exchange(kit_end_t *from, kit_end_t *to, weft_net_region_t *const regions[2],
                     uint8_t *buffers[2], uint64_t bytes)
{
    kit_done_t s, r;
    kit_fill(buffers[0], bytes, 11);
    memset(buffers[1], 0, bytes);
    region_post(to, WEFT_NET_RECV, buffers[1], bytes, regions[1], &r);
    region_post(from, WEFT_NET_SEND, buffers[0], bytes, regions[0], &s);
    sides_wait(from->side, to->side, &r);
    sides_wait(from->side, to->side, &s);
    REQUIRE(r.status == WEFT_OK && s.status == WEFT_OK && r.bytes == bytes);
    REQUIRE(kit_matches(buffers[1], bytes, 11));
}

static void every_device_connects_to_itself(const kit_t *kit)
{
    kit_side_t side;
    kit_end_t a, b;
    uint8_t memory[2][1000], *buffers[2] = {memory[0], memory[1]};
    weft_net_region_t *const none[2] = {NULL, NULL};
    side_open(kit, &side);
    uint32_t count = device_count(&side);
    for (uint32_t i = 0; i < count; i++) {
        kit_side_t one = side;
        kit_note("device %u of %u: %s", i, count, side.fake.error);
        REQUIRE(kit->ops->device_open(side.net, i, &one.device) == WEFT_OK);
        REQUIRE(kit->ops->listen(one.device, &one.address, &one.listener) == WEFT_OK);
        pair_connect(&one, &one, &a, &b);
        if ((kit->ops->caps & WEFT_NET_CAP_MESSAGES) != 0 && side.props.inline_bytes == 0 &&
            !WEFT_HAS(kit->ops, weft_net_ops_t, reg)) {
            exchange(&a, &b, none, buffers, sizeof memory[0]);
        }
        pair_close(&a, &b);
        kit->ops->listener_close(one.listener);
        kit->ops->device_close(one.device);
    }
    weft_net_device_t *device = NULL;
    REQUIRE(kit->ops->device_open(side.net, count, &device) < 0);
    side_close(&side);
}

static void registered_memory_carries_messages(const kit_t *kit)
{
    enum { BYTES = 1 << 20 };
    static uint8_t memory[2][BYTES];
    uint8_t *buffers[2] = {memory[0], memory[1]};
    weft_net_region_t *regions[2] = {NULL, NULL};
    kit_side_t side;
    kit_end_t a, b;
    if (!WEFT_HAS(kit->ops, weft_net_ops_t, reg)) {
        kit_skip("registration (reg and dereg)");
    }
    REQUIRE(WEFT_HAS(kit->ops, weft_net_ops_t, dereg));
    side_open(kit, &side);
    pair_connect(&side, &side, &a, &b);
    for (int i = 0; i < 2; i++) {
        weft_status_t status =
            kit->ops->reg(side.device, memory[i], BYTES, WEFT_MEMORY_HOST, &regions[i]);
        kit_note("reg: status %d: %s", (int)status, side.fake.error);
        REQUIRE(status == WEFT_OK && regions[i] != NULL);
    }
    REQUIRE(regions[0] != regions[1]);
    exchange(&a, &b, regions, buffers, BYTES);
    exchange(&b, &a, regions, buffers, 1);
    /* A part of a region is covered by it too. */
    uint8_t *parts[2] = {memory[0] + 4096, memory[1] + 8192};
    exchange(&a, &b, regions, parts, BYTES / 2);
    pair_close(&a, &b);
    kit->ops->dereg(regions[0]);
    kit->ops->dereg(regions[1]);
    side_close(&side);
}

static void what_is_no_dma_buf_is_a_typed_error(const kit_t *kit)
{
    kit_side_t side;
    side_open(kit, &side);
    const weft_net_dmabuf_t *dmabuf = extension(&side, WEFT_NET_DMABUF);
    if (dmabuf == NULL) {
        side_close(&side);
        kit_skip("extension " WEFT_NET_DMABUF);
        return;
    }
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0);
    const weft_net_dmabuf_range_t range = {.size = sizeof range,
                                           .fd = fd,
                                           .memory_kind = WEFT_MEMORY_CUDA,
                                           .bytes = 4096,
                                           .address = 4096};
    weft_net_region_t *region = NULL;
    weft_status_t status = dmabuf->reg(side.device, &range, &region);
    close(fd);
    kit_note("status %d: %s", (int)status, side.fake.error);
    REQUIRE(status < 0 && region == NULL);
    REQUIRE(atomic_load(&side.fake.errors) > 0);
    side_close(&side);
}

static void a_description_keeps_to_its_room(const kit_t *kit)
{
    static const size_t rooms[] = {4096, 16, 1};
    char text[4097];
    kit_side_t side;
    side_open(kit, &side);
    const weft_net_describe_t *describe = extension(&side, WEFT_NET_DESCRIBE);
    if (describe == NULL) {
        side_close(&side);
        kit_skip("extension " WEFT_NET_DESCRIBE);
        return;
    }
    uint32_t count = device_count(&side);
    for (uint32_t i = 0; i < count; i++) {
        for (size_t r = 0; r < sizeof rooms / sizeof rooms[0]; r++) {
            memset(text, 0x7e, sizeof text);
            REQUIRE(describe->describe(side.net, i, text, rooms[r]) == WEFT_OK);
            REQUIRE(memchr(text, 0, rooms[r]) != NULL);
            REQUIRE(text[rooms[r]] == 0x7e);
            size_t used = strlen(text);
            REQUIRE(rooms[r] < sizeof text - 1 || used == 0 || text[used - 1] == '\n');
        }
    }
    REQUIRE(describe->describe(side.net, count, text, sizeof text) == WEFT_ERR_ARG);
    side_close(&side);
}

const kit_case_t device_cases[] = {
    {"every device connects to itself", 0, every_device_connects_to_itself},
    {"registered memory carries messages", WEFT_NET_CAP_MESSAGES,
     registered_memory_carries_messages},
    {"what is no dma-buf is a typed error", 0, what_is_no_dma_buf_is_a_typed_error},
    {"a description keeps to its room", 0, a_description_keeps_to_its_room},
    {NULL, 0, NULL},
};
