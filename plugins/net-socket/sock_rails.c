/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several rails: acknowledgements, cuts, and what is sent again. */
#include "sock_rails.h"

#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock_op.h"
#include "sock_watch.h"

#define WATCH_NS UINT64_C(50000000) /* between two looks at the streams */

weft_status_t sock_rails_create(weft_net_conn_t *conn, uint32_t count)
{
    const weft_host_t *host = conn->host;
    host->free(host, conn->rails);
    conn->rails = NULL;
    if (count <= 1) {
        return WEFT_OK;
    }
    conn->rails = host->alloc(host, sizeof *conn->rails + conn->nstreams * sizeof(sock_track_t), 0);
    if (conn->rails == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    conn->rails->count = count;
    conn->rails->per_rail = conn->nstreams / count;
    return WEFT_OK;
}

static uint32_t rails_bit(const sock_stream_t *stream)
{
    return 1u << (stream - stream->conn->streams);
}

static uint32_t rails_of(const sock_stream_t *stream)
{
    return (uint32_t)(stream - stream->conn->streams) / stream->conn->rails->per_rail;
}

/* Sending again -------------------------------------------------------------------------------- */

void sock_rails_note(sock_stream_t *stream, uint32_t message, uint64_t offset, uint32_t length)
{
    sock_track_t *track = sock_rails_track(stream);
    track->ring[track->sent++ % SOCK_UNACKED] =
        (sock_sent_t){.message = message, .length = length, .offset = offset};
    sock_rails_wrote(stream->conn);
}

/* The oldest chunk of streams that were cut. There is one. */
static sock_sent_t rails_again_take(sock_rails_t *rails)
{
    sock_track_t *track = rails->tracks;
    for (uint32_t left = rails->heard; (left & 1u) == 0 || track->acked == track->sent;
         left >>= 1) {
        track++;
    }
    rails->again--;
    return track->ring[track->acked++ % SOCK_UNACKED];
}

static uint64_t rails_claim_again(sock_stream_t *stream)
{
    weft_net_conn_t *conn = stream->conn;
    sock_sent_t sent = rails_again_take(conn->rails);
    weft_posted_op_t *op = weft_op_at(&conn->ops.send, sent.message);
    stream->out[stream->out_count++] = (sock_chunk_t){.wire = {.message = htole32(sent.message),
                                                               .length = htole32(sent.length),
                                                               .offset = htole64(sent.offset),
                                                               .total = htole64(op->bytes)},
                                                      .op = op,
                                                      .offset = sent.offset,
                                                      .length = sent.length};
    sock_rails_note(stream, sent.message, sent.offset, sent.length);
    return sizeof(sock_header_t) + sent.length;
}

/* Control records ------------------------------------------------------------------------------ */

static uint64_t rails_claim_record(sock_stream_t *stream, uint32_t kind, uint32_t message,
                                   uint64_t offset)
{
    stream->out[stream->out_count++] =
        (sock_chunk_t){.wire = {.message = htole32(message),
                                .offset = htole64(offset),
                                .total = htole64((uint64_t)kind << SOCK_KIND_SHIFT)}};
    sock_rails_wrote(stream->conn);
    return sizeof(sock_header_t);
}

static bool rails_have_records(const sock_stream_t *stream)
{
    const sock_track_t *track = sock_rails_track(stream);
    return stream->fd >= 0 && !stream->mute && (track->received != track->told || track->cuts != 0);
}

bool sock_rails_want(const sock_stream_t *stream)
{
    const sock_rails_t *rails = stream->conn->rails;
    return (rails->due && rails_have_records(stream)) ||
           (rails->again > 0 && stream->sends && sock_rails_have_room(stream));
}

uint64_t sock_rails_claim(sock_stream_t *stream)
{
    sock_rails_t *rails = stream->conn->rails;
    sock_track_t *track = sock_rails_track(stream);
    uint64_t bytes = 0;
    if (rails_have_records(stream) && track->received != track->told) {
        bytes += rails_claim_record(stream, SOCK_KIND_ACK, track->received, 0);
        track->told = track->received;
    }
    for (; track->cuts != 0 && stream->out_count < SOCK_BATCH; track->cuts &= track->cuts - 1) {
        uint32_t cut = (uint32_t)__builtin_ctz(track->cuts);
        bytes += rails_claim_record(stream, SOCK_KIND_CUT, rails->tracks[cut].received, cut);
    }
    while (rails->again > 0 && stream->sends && stream->out_count < SOCK_BATCH &&
           sock_rails_have_room(stream)) {
        bytes += rails_claim_again(stream);
    }
    return bytes;
}

void sock_rails_told(weft_net_conn_t *conn)
{
    bool due = false;
    if (!conn->rails->due) {
        return;
    }
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        const sock_stream_t *stream = &conn->streams[i];
        due = due || rails_have_records(stream) ||
              (stream->fd >= 0 && stream->out_at < stream->out_count);
    }
    conn->rails->due = due;
    sock_conn_set_busy(conn);
}

/* Ends the operations of the chunks below `count`. Returns false if there are not so many. */
static bool rails_acknowledge(weft_net_conn_t *conn, sock_track_t *track, uint32_t count)
{
    if (count - track->acked > track->sent - track->acked) {
        return false;
    }
    while (track->acked != count) {
        const sock_sent_t *sent = &track->ring[track->acked++ % SOCK_UNACKED];
        weft_posted_op_t *op = weft_op_at(&conn->ops.send, sent->message);
        op->moved += sent->length;
        if (op->moved == op->bytes) {
            sock_op_finish(conn, &conn->ops.send, op, WEFT_OK);
        }
    }
    return true;
}

/* Cuts ----------------------------------------------------------------------------------------- */

/* What has begun to arrive is sent again as a whole. */
static void rails_forget_input(sock_stream_t *stream)
{
    if (stream->in_op != NULL) {
        uint32_t length = sock_rails_track(stream)->in_length;
        stream->in_op->progress -= length;
        stream->in_op->moved -= length - stream->in_left;
        stream->in_op = NULL;
    }
    stream->stage_at = stream->stage_end = 0;
    stream->stalled = false;
}

static void rails_leave(sock_stream_t *stream)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    weft_net_conn_t *conn = stream->conn;
    sock_stream_watch(stream, 0);
    setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(stream->fd);
    stream->fd = -1;
    stream->out_at = stream->out_count = 0;
    stream->out_done = 0;
    stream->sends = stream->receives = false;
    if (stream->ended) {
        stream->ended = false;
        conn->ended--;
        conn->loss.since = 0;
    }
}

static void rails_cut(sock_stream_t *stream)
{
    weft_net_conn_t *conn = stream->conn;
    sock_rails_t *rails = conn->rails;
    uint32_t bit = rails_bit(stream);
    if ((rails->cut & bit) != 0) {
        return;
    }
    rails->cut |= bit;
    rails->due = true;
    rails_forget_input(stream);
    rails_leave(stream);
    conn->lead = NULL;
    for (uint32_t i = conn->nstreams; i-- > 0;) {
        sock_stream_t *other = &conn->streams[i];
        conn->lead = other->sends ? other : conn->lead;
        /* Records do not wait behind data. */
        if (other->fd >= 0 && !other->sends) {
            rails->tracks[i].cuts |= bit;
        }
    }
    sock_conn_set_busy(conn);
}

static void rails_log(const weft_net_conn_t *conn, uint32_t rail, const char *why)
{
    conn->host->log(conn->host, WEFT_LOG_INFO, "a stream of rail %u to peer %s is lost: %s", rail,
                    conn->info.peer, why);
}

/* A stream of the same direction that may go on; NULL if there is none. */
static const sock_stream_t *rails_other(const sock_stream_t *stream)
{
    const weft_net_conn_t *conn = stream->conn;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        const sock_stream_t *other = &conn->streams[i];
        if (other != stream && other->fd >= 0 && !other->mute && !other->ended &&
            other->sends == stream->sends) {
            return other;
        }
    }
    return NULL;
}

/* Tells of a rail when the peer has answered for all its streams, and of a stream that is lost by
 * itself, with the chunks that it leaves. */
static void rails_report(const sock_stream_t *stream, uint32_t chunks)
{
    const weft_net_conn_t *conn = stream->conn;
    const sock_rails_t *rails = conn->rails;
    uint32_t rail = rails_of(stream);
    uint32_t streams = ((1u << rails->per_rail) - 1) << (rail * rails->per_rail);
    bool whole = (rails->cut & streams) == streams;
    if (whole && (rails->heard & streams) != streams && chunks == 0) {
        return;
    }
    conn->host->log(conn->host, WEFT_LOG_WARN,
                    "connection to peer %s goes on without %srail %u of %u; %u chunks are sent "
                    "again over the others",
                    conn->info.peer, whole ? "" : "a stream of ", rail, rails->count, chunks);
}

/* `from`: the stream that brought the record. */
static bool rails_take_cut(const sock_stream_t *from, const sock_header_t *header)
{
    weft_net_conn_t *conn = from->conn;
    sock_rails_t *rails = conn->rails;
    if (header->offset >= conn->nstreams || &conn->streams[header->offset] == from) {
        return false;
    }
    sock_stream_t *stream = &conn->streams[header->offset];
    sock_track_t *track = &rails->tracks[header->offset];
    uint32_t bit = rails_bit(stream);
    if ((rails->heard & bit) != 0) {
        return true;
    }
    rails_cut(stream);
    if (conn->lead == NULL || !rails_acknowledge(conn, track, header->message)) {
        return false;
    }
    rails->heard |= bit;
    rails->again += track->sent - track->acked;
    rails_report(stream, track->sent - track->acked);
    return true;
}

/* Returns whether the peer can have so many chunks of a stream: those that the kernel has not taken
 * wholly it cannot. Their buffers must not go back to the caller. */
static bool rails_can_have(const sock_stream_t *stream, uint32_t count)
{
    const sock_track_t *track = sock_rails_track(stream);
    uint32_t unsent = 0;
    for (uint32_t i = stream->out_at; i < stream->out_count; i++) {
        unsent += stream->out[i].op != NULL ? 1 : 0;
    }
    return count - track->acked <= track->sent - unsent - track->acked;
}

bool sock_rails_control(sock_stream_t *stream, const sock_header_t *header)
{
    uint32_t kind = (uint32_t)(header->total >> SOCK_KIND_SHIFT);
    weft_net_conn_t *conn = stream->conn;
    if (header->length != 0 || header->total << (64 - SOCK_KIND_SHIFT) != 0) {
        return false;
    }
    switch (kind) {
    case SOCK_KIND_ACK:
        return rails_can_have(stream, header->message) &&
               rails_acknowledge(conn, sock_rails_track(stream), header->message);
    case SOCK_KIND_CUT:
        return rails_take_cut(stream, header);
    default:
        return false;
    }
}

/* Losses --------------------------------------------------------------------------------------- */

/* Memory that is none is none for all rails. */
static bool rails_may_go_on(const sock_stream_t *stream, int cause)
{
    return stream->conn->rails != NULL && cause != EFAULT && rails_other(stream) != NULL;
}

weft_status_t sock_rails_send_failed(sock_stream_t *stream, int cause)
{
    if (!rails_may_go_on(stream, cause)) {
        return sock_conn_lost(stream->conn, cause);
    }
    stream->mute = true;
    return stream->ended ? sock_rails_receive_failed(stream, cause) : WEFT_OK;
}

weft_status_t sock_rails_receive_failed(sock_stream_t *stream, int cause)
{
    if (!rails_may_go_on(stream, cause)) {
        return sock_conn_lost(stream->conn, cause);
    }
    rails_log(stream->conn, rails_of(stream), cause != 0 ? strerror(cause) : "it ended");
    rails_cut(stream);
    return WEFT_OK;
}

/* What a look at the streams finds. Bit masks. */
typedef struct rails_look {
    uint32_t silent; /* streams whose bytes the peer's system has not answered for rail_patience */
    uint32_t heard;  /* streams on which something came from the peer's system since then */
    uint32_t rails;  /* rails with a silent stream */
    bool unanswered; /* something is */
} rails_look_t;

/* Data wait for an answer, and so do records: the sender of the chunks has nothing to repeat if
 * only what acknowledges them was lost. The peer's system answers probes of a window that is
 * closed, so a peer that is busy does not count as silent. */
static void rails_look_at(sock_stream_t *stream, uint64_t now, rails_look_t *look)
{
    sock_track_t *track = sock_rails_track(stream);
    struct tcp_info info = {.tcpi_retransmits = 0};
    socklen_t bytes = sizeof info;
    uint64_t patience = (uint64_t)(stream->conn->device->net->config.rail_patience * 1e9);
    if (stream->fd < 0 || getsockopt(stream->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) {
        return;
    }
    look->unanswered = look->unanswered || info.tcpi_unacked > 0 || info.tcpi_probes > 0 ||
                       stream->out_at < stream->out_count;
    bool repeats = sock_info_repeats(&info);
    track->silent_ns = !repeats ? 0 : track->silent_ns == 0 ? now : track->silent_ns;
    if (repeats && now - track->silent_ns >= patience) {
        look->silent |= rails_bit(stream);
        look->rails |= 1u << rails_of(stream);
    }
    if (info.tcpi_last_ack_recv * UINT64_C(1000000) < patience ||
        info.tcpi_last_data_recv * UINT64_C(1000000) < patience) {
        look->heard |= rails_bit(stream);
    }
}

/* A rail of which one stream is silent and another is heard keeps the other. What is cut leaves a
 * stream of its direction on a rail without silence, so the last rail stays. */
static bool rails_is_lost(const sock_stream_t *stream, const rails_look_t *look)
{
    const weft_net_conn_t *conn = stream->conn;
    bool lost =
        (look->silent & rails_bit(stream)) != 0 ||
        ((look->rails & 1u << rails_of(stream)) != 0 && (look->heard & rails_bit(stream)) == 0);
    bool other = false;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        const sock_stream_t *left = &conn->streams[i];
        other =
            other || (left->fd >= 0 && !left->mute && !left->ended &&
                      left->sends == stream->sends && (look->rails & 1u << rails_of(left)) == 0);
    }
    return stream->fd >= 0 && lost && other;
}

static void rails_watch_conn(weft_net_conn_t *conn, uint64_t now)
{
    rails_look_t look = {.silent = 0};
    uint32_t told = 0;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        rails_look_at(&conn->streams[i], now, &look);
    }
    if (!look.unanswered || conn->failed != WEFT_OK) {
        sock_rails_leave_watch(conn);
    }
    for (uint32_t i = 0; i < conn->nstreams && look.rails != 0 && conn->failed == WEFT_OK; i++) {
        sock_stream_t *stream = &conn->streams[i];
        uint32_t rail = rails_of(stream);
        if (!rails_is_lost(stream, &look)) {
            continue;
        }
        if ((told & 1u << rail) == 0) {
            rails_log(conn, rail, "the peer's system does not answer there");
        }
        told |= 1u << rail;
        rails_cut(stream);
    }
}

void sock_rails_leave_watch(weft_net_conn_t *conn)
{
    conn->device->unanswered -= conn->rails->unanswered ? 1 : 0;
    conn->rails->unanswered = false;
}

void sock_rails_watch(weft_net_device_t *device)
{
    uint64_t now = device->host->clock_ns(device->host);
    if (now - device->watched_ns < WATCH_NS) {
        return;
    }
    device->watched_ns = now;
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        if (conn->rails != NULL && conn->rails->unanswered) {
            rails_watch_conn(conn, now);
        }
    }
}
