/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wire forms of addresses and records. */
#include "ib_hello.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "ib_hca.h"

/* Layout: magic, link layer, GID type, two zeros, GID; then the TCP addresses as net-socket
 * encodes them. */
#define HEAD 24u

static const uint8_t magic[4] = {'i', 'b', 'v', '1'};

static_assert(HEAD + 32 + 20 * WEFT_ENDPOINTS_MAX <= WEFT_NET_ADDRESS_MAX, "address too long");

void ib_address_encode(const ib_address_t *from, weft_net_address_t *address)
{
    weft_net_address_t tcp;
    weft_endpoint_list_encode(&from->list, &tcp);
    memset(address, 0, sizeof *address);
    memcpy(address->data, magic, sizeof magic);
    address->data[4] = (uint8_t)from->link_layer;
    address->data[5] = (uint8_t)from->gid.type;
    memcpy(address->data + 8, from->gid.gid.raw, 16);
    memcpy(address->data + HEAD, tcp.data, tcp.bytes);
    address->bytes = HEAD + tcp.bytes;
}

weft_status_t ib_address_decode(const weft_net_address_t *address, ib_address_t *to)
{
    const uint8_t *data = address->data;
    if (address->bytes <= HEAD || address->bytes > WEFT_NET_ADDRESS_MAX ||
        memcmp(data, magic, sizeof magic) != 0 || data[4] > IBV_LINK_LAYER_ETHERNET ||
        data[5] > IB_GID_TYPE_IWARP || data[6] != 0 || data[7] != 0) {
        return WEFT_ERR_PROTO;
    }
    *to = (ib_address_t){.link_layer = data[4], .gid = {.type = data[5]}};
    memcpy(to->gid.gid.raw, data + 8, 16);
    weft_net_address_t tcp = {.bytes = address->bytes - HEAD};
    memcpy(tcp.data, data + HEAD, tcp.bytes);
    return weft_endpoint_list_decode(&tcp, &to->list);
}

static bool ib_address_fits(const ib_port_t *port, const ib_address_t *address)
{
    ib_gid_t gid;
    if (port->attr.link_layer != address->link_layer || !ib_port_gid(port, &address->gid, &gid)) {
        return false;
    }
    return ib_gid_same_subnet(&gid, &address->gid);
}

bool ib_address_reaches(const weft_net_device_t *device, ib_address_t *address)
{
    /* The address has the GID of the peer's first rail. A lost one here may not know its own. */
    bool fits = false;
    for (uint32_t i = 0; i < device->nrails && !fits; i++) {
        fits = ib_address_fits(device->rails[i], address);
        if (!fits && !ib_port_lost(device->rails[i])) {
            return false;
        }
    }
    weft_endpoint_list_reach(&device->net->local, &address->list);
    return fits && address->list.count > 0;
}

static weft_status_t ib_hello_lost_check(weft_net_conn_t *conn, uint32_t lost)
{
    bool failover = conn->device->net->config.failover && conn->with_immediate;
    if (lost >= (1u << conn->nrails) - 1) {
        return ib_blame(conn, WEFT_ERR_PROTO, 0, "peer %s leaves no rail (mask %#x of %u)",
                        conn->info.peer, lost, conn->nrails);
    }
    return lost == 0 || failover
               ? WEFT_OK
               : ib_blame(conn, WEFT_ERR_LINK, 0,
                          "peer %s has lost a rail, and failover = no here wants all",
                          conn->info.peer);
}

weft_status_t ib_hello_check(weft_net_conn_t *conn, const ib_hello_t *hello)
{
    uint32_t flags = le32toh(hello->flags);
    bool split = conn->device->net->config.split;
    if (le32toh(hello->magic) != IB_HELLO_MAGIC || le32toh(hello->ops) != IB_OPS) {
        return ib_blame(conn, WEFT_ERR_PROTO, 0, "peer %s speaks another version of net-ib",
                        conn->info.peer);
    }
    if (le32toh(hello->nrails) != conn->nrails || le32toh(hello->nqps) != conn->nqps ||
        ((flags & IB_HELLO_IMMEDIATE) != 0) != conn->with_immediate ||
        ((flags & IB_HELLO_SPLIT) != 0) != split) {
        return ib_blame(conn, WEFT_ERR_PROTO, 0,
                        "peer %s has %u rails and %u queue pairs, here are %u and %u; rails, "
                        "qps, split and immediate must be the same on all ranks",
                        conn->info.peer, le32toh(hello->nrails), le32toh(hello->nqps) - 1,
                        conn->nrails, conn->nqps - 1);
    }
    return ib_hello_lost_check(conn, le32toh(hello->lost));
}

void ib_hello_gid(const ib_hello_t *hello, uint32_t rail, ib_gid_t *gid)
{
    *gid = (ib_gid_t){.type = le32toh(hello->rails[rail].gid_type)};
    memcpy(gid->gid.raw, hello->rails[rail].gid, sizeof gid->gid.raw);
}

void ib_hello_fill(const weft_net_conn_t *conn, ib_hello_t *hello)
{
    uint32_t flags = (conn->with_immediate ? IB_HELLO_IMMEDIATE : 0) |
                     (conn->device->net->config.split ? IB_HELLO_SPLIT : 0) |
                     (conn->device->net->config.failover ? IB_HELLO_FAILOVER : 0);
    memset(hello, 0, sizeof *hello);
    hello->magic = htole32(IB_HELLO_MAGIC);
    hello->nrails = htole32(conn->nrails);
    hello->nqps = htole32(conn->nqps);
    hello->ops = htole32(IB_OPS);
    hello->flags = htole32(flags);
    hello->credits = htole64((uint64_t)(uintptr_t)conn->credits.in);
    for (uint32_t i = 0; i < conn->nrails; i++) {
        const ib_rail_t *rail = &conn->rails[i];
        ib_hello_rail_t *told = &hello->rails[i];
        if (rail->state != IB_RAIL_UP) {
            hello->lost |= htole32(1u << i);
            continue;
        }
        memcpy(told->gid, rail->gid.gid.raw, sizeof told->gid);
        told->gid_type = htole32(rail->gid.type);
        told->lid = htole32(rail->lid | (ib_port_is_global(rail->port) ? IB_HELLO_GLOBAL : 0));
        told->mtu = htole32(rail->mtu);
        told->credits_key = htole32(rail->credits_in->rkey);
    }
    for (uint32_t i = 0; i < conn->nqps; i++) {
        hello->numbers[i] = htole32(conn->qps[i].handle->qp_num);
        hello->psns[i] = htole32(conn->qps[i].psn);
    }
}
