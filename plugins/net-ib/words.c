/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What takes the place of immediates on adapters that have none: after the writes a message of its own,
 * one word long, which comes when they have come. Each queue pair has a word for every receive and for
 * every request that can be out. */
#include <endian.h>
#include <errno.h>

#include "ib.h"

#define LANE_WORDS (IB_RECV_DEPTH + IB_SEND_DEPTH)

static uint32_t *lane_words(const weft_net_conn_t *conn, uint32_t lane)
{
    return conn->words + (size_t)lane * LANE_WORDS;
}

weft_status_t ib_words_create(weft_net_conn_t *conn, ib_rail_t *rail)
{
    size_t bytes = sizeof(uint32_t) * LANE_WORDS * conn->nlanes;
    ib_hca_t *hca = rail->port->hca;
    if (conn->with_immediate) {
        return WEFT_OK;
    }
    if (conn->words == NULL) {
        conn->words = conn->host->alloc(conn->host, bytes, 4096);
    }
    if (conn->words == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    rail->words = ibv_reg_mr(hca->pd, conn->words, bytes, IBV_ACCESS_LOCAL_WRITE);
    return rail->words == NULL ? ib_memory_refused(hca, bytes, errno) : WEFT_OK;
}

void ib_words_destroy(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nrails; i++) {
        if (conn->rails[i].words != NULL) {
            ibv_dereg_mr(conn->rails[i].words);
            conn->rails[i].words = NULL;
        }
    }
    conn->host->free(conn->host, conn->words);
    conn->words = NULL;
}

void ib_words_recv(const weft_net_conn_t *conn, uint32_t lane, struct ibv_sge *piece)
{
    const uint32_t *word = lane_words(conn, lane) + conn->lanes[lane].filled % IB_RECV_DEPTH;
    *piece = (struct ibv_sge){.addr = (uint64_t)(uintptr_t)word,
                              .length = sizeof *word,
                              .lkey = conn->rails[conn->lanes[lane].rail].words->lkey};
}

void ib_words_send(const weft_net_conn_t *conn, uint32_t lane, uint32_t value,
                   struct ibv_send_wr *request, struct ibv_sge *piece)
{
    const ib_lane_t *to = &conn->lanes[lane];
    uint32_t *word =
        lane_words(conn, lane) + IB_RECV_DEPTH + (uint32_t)request->wr_id % IB_SEND_DEPTH;
    *word = htole32(value);
    *piece = (struct ibv_sge){.addr = (uint64_t)(uintptr_t)word,
                              .length = sizeof *word,
                              .lkey = conn->rails[to->rail].words->lkey};
    *request = (struct ibv_send_wr){
        .wr_id = request->wr_id,
        .sg_list = piece,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED | (to->inline_max >= sizeof *word ? IBV_SEND_INLINE : 0u)};
}

weft_status_t ib_words_take(const weft_net_conn_t *conn, uint32_t lane, const struct ibv_wc *wc,
                            uint32_t *value_p)
{
    if (wc->byte_len != sizeof *value_p) {
        return conn->host->set_error(conn->host, WEFT_ERR_PROTO, 0,
                                     "message of %u bytes from peer %s, expected one word",
                                     wc->byte_len, conn->info.peer);
    }
    *value_p = le32toh(lane_words(conn, lane)[(uint32_t)wc->wr_id % IB_RECV_DEPTH]);
    return WEFT_OK;
}
