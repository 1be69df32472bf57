/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emulated immediates. */
#include "ib_immediate.h"

#include <endian.h>
#include <errno.h>

#include "ib_memory.h"
#include "ib_refusal.h"

#define WORDS (IB_RECV_DEPTH + IB_SEND_DEPTH)

static uint32_t *ib_immediate_words(const weft_net_conn_t *conn, uint32_t qp)
{
    return conn->immediates + (size_t)qp * WORDS;
}

weft_status_t ib_immediate_create(weft_net_conn_t *conn, ib_rail_t *rail)
{
    size_t bytes = sizeof(uint32_t) * WORDS * conn->nqps;
    ib_hca_t *hca = rail->port->hca;
    const int flags = IBV_ACCESS_LOCAL_WRITE;
    if (conn->with_immediate) {
        return WEFT_OK;
    }
    if (conn->immediates == NULL) {
        conn->immediates = conn->host->alloc(conn->host, bytes, 4096);
    }
    if (conn->immediates == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    rail->immediates = ibv_reg_mr(hca->pd, conn->immediates, bytes, flags);
    if (rail->immediates == NULL) {
        return ib_memory_blame(conn, hca, bytes, errno);
    }
    return WEFT_OK;
}

void ib_immediate_destroy(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nrails; i++) {
        if (conn->rails[i].immediates != NULL) {
            ibv_dereg_mr(conn->rails[i].immediates);
            conn->rails[i].immediates = NULL;
        }
    }
    conn->host->free(conn->host, conn->immediates);
    conn->immediates = NULL;
}

void ib_immediate_recv(const weft_net_conn_t *conn, uint32_t qp, struct ibv_sge *piece)
{
    const uint32_t *word = ib_immediate_words(conn, qp) + conn->qps[qp].filled % IB_RECV_DEPTH;
    *piece = (struct ibv_sge){.addr = (uint64_t)(uintptr_t)word,
                              .length = sizeof *word,
                              .lkey = conn->rails[conn->qps[qp].rail].immediates->lkey};
}

void ib_immediate_send(const weft_net_conn_t *conn, uint32_t qp, uint32_t value,
                       struct ibv_send_wr *request, struct ibv_sge *piece)
{
    const ib_qp_t *to = &conn->qps[qp];
    uint32_t *word =
        ib_immediate_words(conn, qp) + IB_RECV_DEPTH + (uint32_t)request->wr_id % IB_SEND_DEPTH;
    *word = htole32(value);
    *piece = (struct ibv_sge){.addr = (uint64_t)(uintptr_t)word,
                              .length = sizeof *word,
                              .lkey = conn->rails[to->rail].immediates->lkey};
    *request = (struct ibv_send_wr){
        .wr_id = request->wr_id,
        .sg_list = piece,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED | (to->inline_max >= sizeof *word ? IBV_SEND_INLINE : 0u)};
}

weft_status_t ib_immediate_take(weft_net_conn_t *conn, uint32_t qp, const struct ibv_wc *wc,
                                uint32_t *value_p)
{
    if (wc->byte_len != sizeof *value_p) {
        return ib_blame(conn, WEFT_ERR_PROTO, 0,
                        "message of %u bytes from peer %s, expected one word", wc->byte_len,
                        conn->info.peer);
    }
    *value_p = le32toh(ib_immediate_words(conn, qp)[(uint32_t)wc->wr_id % IB_RECV_DEPTH]);
    return WEFT_OK;
}
