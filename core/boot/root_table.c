/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root's table of ranks. */
#include "core/boot/root_table.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/boot_state.h"
#include "core/boot/root_knock.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"

/* Ranks in this process are told when no other has come for so long; */
#define OWN_NS (200 * WEFT_NS_PER_MS)
/* and so long after the failure at the latest, however many keep coming. Of a death all hear within
 * a second. */
#define OWN_MOST_NS (5 * WEFT_NS_PER_S)
#define OWN_MOST_DEATH_NS (700 * WEFT_NS_PER_MS)
#define LOST_NS (WEFT_NS_PER_S / 2)  /* a joiner that gave up a connection comes again by then */
#define RESET_NS (2 * WEFT_NS_PER_S) /* keepalive tells it of a reset within a second */
/* Descriptors beside those of the ranks: the transports of a rank in this process, files. */
#define FILES_BESIDE 8

void weft_root_table_init(weft_root_table_t *table, int watch, uint64_t comm_id)
{
    memset(table, 0, sizeof *table);
    table->watch = watch;
    table->comm_id = comm_id;
    /* Without a port it cannot fail. */
    (void)weft_join_request_make(&table->self, 0, 0, NULL, 0);
}

void weft_root_close(const weft_root_table_t *table, int *fd)
{
    if (*fd >= 0) {
        weft_os_watch_remove(table->watch, *fd);
        weft_os_close(*fd);
        *fd = -1;
    }
}

static void root_seat_close(const weft_root_table_t *table, weft_root_seat_t *seat)
{
    weft_root_close(table, &seat->join);
    weft_root_close(table, &seat->claim);
    weft_root_close(table, &seat->process);
    weft_root_knock_end(&seat->knock);
}

void weft_root_table_fini(weft_root_table_t *table)
{
    for (uint32_t i = 0; table->seats != NULL && i < table->nranks; i++) {
        root_seat_close(table, &table->seats[i]);
        weft_os_free(table->seats[i].from_join.failure);
        weft_os_free(table->seats[i].from_claim.failure);
    }
    weft_os_free(table->seats);
    table->seats = NULL;
    sodium_memzero(table->tree_key, sizeof table->tree_key);
}

weft_status_t weft_root_table_make(weft_root_table_t *table, const weft_join_request_t *first)
{
    char what[160]; /* all ranks hear it */
    uint32_t nranks = first->nranks;
    snprintf(what, sizeof what, "host %s, pid %d, which made the unique id: the join of %u ranks",
             table->self.host_name, (int)table->self.pid, nranks);
    table->sees_processes = weft_os_files_reserve(2 * nranks + FILES_BESIDE, what) == WEFT_OK;
    weft_status_t status =
        table->sees_processes ? WEFT_OK : weft_os_files_reserve(nranks + FILES_BESIDE, what);
    weft_root_seat_t *seats = weft_os_alloc(nranks * sizeof *seats, 0);
    if (seats == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "%s needs more memory", what);
    }
    for (uint32_t i = 0; i < nranks; i++) {
        seats[i].join = seats[i].claim = seats[i].process = -1;
    }
    table->seats = seats;
    table->nranks = nranks;
    table->first = first->rank;
    return status;
}

bool weft_root_comes_again(const weft_root_table_t *table, const weft_join_request_t *request,
                           bool joins)
{
    uint8_t one[WEFT_WIRE_JOIN_REQUEST], two[WEFT_WIRE_JOIN_REQUEST];
    if (request->nranks != table->nranks || request->rank >= table->nranks ||
        !(joins ? table->seats[request->rank].arrived : table->seats[request->rank].claimed)) {
        return false;
    }
    weft_join_request_encode(&table->seats[request->rank].request, one);
    weft_join_request_encode(request, two);
    return memcmp(one, two, sizeof one) == 0;
}

weft_status_t weft_root_check(const weft_root_table_t *table, const weft_join_request_t *request,
                              bool joins, char *text, size_t bytes,
                              const weft_root_seat_t **other_p)
{
    const weft_root_seat_t *other;
    if (request->nranks == 0 || request->nranks > WEFT_RANKS_MOST ||
        request->rank >= request->nranks) {
        snprintf(text, bytes,
                 "rank %u of host %s, pid %d, is out of range: it says that there are %u ranks",
                 request->rank, request->host_name, request->pid, request->nranks);
        return WEFT_ERR_ARG;
    }
    if (table->nranks == 0) {
        return WEFT_OK;
    }
    if (request->nranks != table->nranks) {
        *other_p = other = &table->seats[table->first];
        snprintf(text, bytes,
                 "the ranks disagree about their number: rank %u of host %s, pid %d, says %u, "
                 "rank %u of host %s, pid %d, says %u",
                 request->rank, request->host_name, request->pid, request->nranks, table->first,
                 other->request.host_name, other->request.pid, table->nranks);
        return WEFT_ERR_ARG;
    }
    other = &table->seats[request->rank];
    if ((joins ? other->arrived : other->claimed) &&
        !weft_root_comes_again(table, request, joins)) {
        *other_p = other;
        snprintf(text, bytes,
                 "rank %u is claimed twice: by host %s, pid %d, and by host %s, pid %d",
                 request->rank, other->request.host_name, other->request.pid, request->host_name,
                 request->pid);
        return WEFT_ERR_ARG;
    }
    return WEFT_OK;
}

weft_status_t weft_root_read_request(const weft_root_table_t *table, uint32_t rank,
                                     const uint8_t message[WEFT_ROOT_REQUEST],
                                     weft_join_request_t *request, bool *joins, const char **why)
{
    weft_frame_t frame;
    weft_status_t status = weft_frame_decode(message, UINT32_MAX, table->comm_id, &frame, why);
    if (status == WEFT_OK && frame.type != WEFT_FRAME_JOIN && frame.type != WEFT_FRAME_CLAIM) {
        *why = "type";
        return WEFT_ERR_PROTO;
    }
    if (status == WEFT_OK) {
        status = weft_join_request_decode(message + WEFT_WIRE_HEADER, request, why);
    }
    if (status != WEFT_OK) {
        return status;
    }
    *joins = frame.type == WEFT_FRAME_JOIN;
    *why = frame.from != request->rank || rank != request->rank ? "rank"
           : *joins && weft_join_request_addrs(request) == 0    ? "address"
                                                                : NULL;
    return *why != NULL ? WEFT_ERR_PROTO : WEFT_OK;
}

/* Receives the `size` bytes of a frame that begin at byte `from` of it. AGAIN: not all are here. */
static weft_status_t root_receive(int fd, weft_root_header_t *header, uint8_t *to, uint32_t from,
                                  uint32_t size)
{
    int error = 0;
    if (header->bytes >= from + size) {
        return WEFT_OK;
    }
    ssize_t got =
        weft_os_recv(fd, to + (header->bytes - from), from + size - header->bytes, &error);
    if (got == WEFT_OS_NONE) {
        return WEFT_AGAIN;
    }
    if (got <= 0) {
        header->error = got < 0 ? error : 0;
        return got < 0 ? WEFT_ERR_LINK : WEFT_ERR_PROTO;
    }
    header->bytes += (uint32_t)got;
    return header->bytes == from + size ? WEFT_OK : WEFT_AGAIN;
}

static weft_status_t root_receive_failure(int fd, weft_root_header_t *header)
{
    if (header->failure == NULL) {
        header->failure = weft_os_alloc(WEFT_WIRE_ERROR, 0);
    }
    return header->failure != NULL
               ? root_receive(fd, header, header->failure, WEFT_WIRE_HEADER, WEFT_WIRE_ERROR)
               : WEFT_ERR_PROTO;
}

weft_status_t weft_root_read_header(const weft_root_table_t *table, int fd,
                                    weft_root_header_t *header, weft_frame_t *frame)
{
    weft_status_t status = root_receive(fd, header, header->data, 0, WEFT_WIRE_HEADER);
    header->why = NULL;
    if (status == WEFT_OK) {
        status =
            weft_frame_decode(header->data, table->nranks, table->comm_id, frame, &header->why);
    }
    if (status == WEFT_OK && frame->type == WEFT_FRAME_FAIL) {
        status = root_receive_failure(fd, header);
    }
    header->bytes = status == WEFT_AGAIN ? header->bytes : 0;
    return status;
}

/* Writes a frame to `message`. Returns its length. */
static size_t root_put(const weft_root_table_t *table, uint32_t type, uint32_t from,
                       const uint8_t *payload, uint32_t bytes, uint8_t *message)
{
    weft_frame_t frame = {.type = type,
                          .bytes = bytes,
                          .from = from,
                          .sequence = type == WEFT_FRAME_FAIL && table->others_told,
                          .comm_id = table->comm_id};
    weft_frame_encode(&frame, message);
    if (bytes > 0) {
        memcpy(message + WEFT_WIRE_HEADER, payload, bytes);
    }
    return WEFT_WIRE_HEADER + bytes;
}

static int root_send_bytes(int fd, const uint8_t *message, size_t bytes)
{
    int error = 0;
    return weft_os_send(fd, message, bytes, &error) == WEFT_OS_BROKEN ? error : 0;
}

int weft_root_send(const weft_root_table_t *table, int fd, uint32_t type, const uint8_t *payload,
                   uint32_t bytes)
{
    uint8_t message[WEFT_WIRE_MOST];
    /* The root speaks for no rank; rank 0 always exists. */
    return root_send_bytes(fd, message, root_put(table, type, 0, payload, bytes, message));
}

void weft_root_send_error(const weft_root_table_t *table, int fd, const weft_error_t *error)
{
    uint8_t payload[WEFT_WIRE_ERROR];
    weft_error_encode(error, payload);
    (void)weft_root_send(table, fd, WEFT_FRAME_FAIL, payload, sizeof payload);
}

void weft_root_refuse(const weft_root_table_t *table, int fd, const weft_join_request_t *request)
{
    weft_error_t error;
    weft_error_clear(&error);
    error.status = WEFT_ERR_STATE;
    snprintf(error.text, sizeof error.text,
             "stale unique id: all %u ranks have joined with it before rank %u of host %s, pid %d, "
             "came; make a new id for each communicator",
             table->nranks, request->rank, request->host_name, request->pid);
    weft_root_send_error(table, fd, &error);
    weft_os_close(fd);
}

void weft_root_end_text(const weft_root_table_t *table, const weft_root_seat_t *seat,
                        const char *why, char *text, size_t bytes)
{
    char did[80];
    uint32_t rank = (uint32_t)(seat - table->seats);
    snprintf(did, sizeof did, "died");
    if (why != NULL) {
        snprintf(did, sizeof did, "sent a frame with a bad %s", why);
    }
    if (seat->claimed || seat->arrived) {
        snprintf(text, bytes, "rank %u of host %s, pid %d, %s while the ranks were joining", rank,
                 seat->request.host_name, seat->request.pid, did);
    } else {
        snprintf(text, bytes, "rank %u %s while the ranks were joining", rank, did);
    }
}

static bool root_shares_pids(const weft_root_table_t *table, const weft_join_request_t *request)
{
    return table->self.space != 0 && table->self.space == request->space &&
           memcmp(table->self.host_id, request->host_id, sizeof request->host_id) == 0;
}

static bool root_is_own(const weft_root_table_t *table, const weft_join_request_t *request)
{
    return root_shares_pids(table, request) && table->self.pid == request->pid;
}

/* Watches the process of a seat that has claimed, if it runs where it can be seen. */
static void root_watch_process(const weft_root_table_t *table, weft_root_seat_t *seat)
{
    if (!table->sees_processes || !root_shares_pids(table, &seat->request) ||
        root_is_own(table, &seat->request)) {
        return;
    }
    seat->process = weft_os_process_watch(seat->request.pid, seat->request.started);
    uint32_t rank = (uint32_t)(seat - table->seats);
    if (seat->process >= 0 &&
        weft_os_watch_add(table->watch, seat->process, weft_root_tag(WEFT_ROOT_PROCESS, rank)) !=
            WEFT_OK) {
        weft_os_close(seat->process);
        seat->process = -1;
    }
}

bool weft_root_has_ended(const weft_root_table_t *table, const weft_root_seat_t *seat)
{
    return root_shares_pids(table, &seat->request) && !root_is_own(table, &seat->request) &&
           !weft_os_process_runs(seat->request.pid, seat->request.started);
}

void weft_root_seat_lose(const weft_root_table_t *table, weft_root_seat_t *seat, int error)
{
    uint64_t now = weft_os_clock_ns();
    seat->answered = false;
    seat->knock = weft_root_knock_begin(table->tree_key, &seat->request,
                                        now + (error == 0 ? LOST_NS : table->away));
    bool soon = weft_os_was_reset(error) && seat->knock != NULL;
    seat->lost = now + (error == 0 ? LOST_NS : soon ? RESET_NS : table->away);
}

void weft_root_seat_find(weft_root_seat_t *seat)
{
    seat->lost = 0;
    seat->why = NULL;
    weft_root_knock_end(&seat->knock);
}

bool weft_root_seat_is_dead(const weft_root_table_t *table, weft_root_seat_t *seat, uint64_t now)
{
    if (weft_root_has_ended(table, seat)) {
        return true;
    }
    if (seat->knock != NULL) {
        weft_status_t status = weft_root_knock_step(&seat->knock);
        seat->answered = status == WEFT_OK;
        seat->lost = seat->answered ? now + RESET_NS : seat->lost;
        return status == WEFT_ERR_LINK;
    }
    if (now >= seat->lost && seat->answered) {
        /* It lived, and has not come: it died since, or another cut keeps it away. */
        seat->answered = false;
        seat->knock = weft_root_knock_begin(table->tree_key, &seat->request, now + table->away);
    }
    return now >= seat->lost && seat->knock == NULL;
}

static void root_seat_tell(weft_root_table_t *table, weft_root_seat_t *seat)
{
    int fds[2] = {seat->join, seat->claim};
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            weft_root_send_error(table, fds[i], &table->failure);
        }
    }
    table->told += !seat->told;
    seat->told = true;
    root_seat_close(table, seat);
}

static bool root_seat_is_here(const weft_root_seat_t *seat)
{
    return seat->join >= 0 || seat->claim >= 0;
}

void weft_root_tell_own(weft_root_table_t *table, uint64_t now)
{
    uint32_t waiting = 0;
    if (table->failure.status == WEFT_OK || table->own_told) {
        return;
    }
    for (uint32_t i = 0; i < table->nranks; i++) {
        waiting += !table->seats[i].told && root_seat_is_here(&table->seats[i]);
    }
    if (table->told + table->unseated + waiting < table->nranks && now < table->own_until) {
        return;
    }
    table->own_told = true;
    table->others_told = table->nranks > 0 && table->told + waiting >= table->nranks;
    for (uint32_t i = 0; i < table->nranks; i++) {
        if (root_seat_is_here(&table->seats[i])) {
            root_seat_tell(table, &table->seats[i]);
        }
    }
}

void weft_root_fail_as(weft_root_table_t *table, const weft_error_t *error)
{
    uint64_t now = weft_os_clock_ns();
    if (table->failure.status != WEFT_OK) {
        return;
    }
    bool death = error->status == WEFT_ERR_PEER_DEAD, wrong = error->status == WEFT_ERR_PROTO;
    table->failure = *error;
    table->own_until = now + OWN_NS;
    table->own_most = now + (death ? OWN_MOST_DEATH_NS : OWN_MOST_NS);
    for (uint32_t i = 0; i < table->nranks; i++) {
        weft_root_seat_t *seat = &table->seats[i];
        /* Whose first message was wrong has heard so at once; one that is lost may come again. */
        bool heard = wrong && !root_seat_is_here(seat) && seat->lost == 0;
        bool over = error->peer == (int32_t)i && (death || heard);
        if (over || (root_seat_is_here(seat) && !root_is_own(table, &seat->request))) {
            root_seat_tell(table, seat);
        } else if (seat->arrived && seat->join < 0 && seat->lost == 0 && !seat->told) {
            /* It had all it needed and is gone. */
            seat->told = true;
            table->told++;
        }
    }
    weft_root_tell_own(table, now);
}

void weft_root_fail(weft_root_table_t *table, weft_status_t status, const weft_root_seat_t *culprit,
                    const char *text)
{
    weft_error_t error;
    weft_error_clear(&error);
    error.status = status;
    if (culprit != NULL) {
        error.peer = (int32_t)(culprit - table->seats);
    }
    if (culprit != NULL && (culprit->claimed || culprit->arrived)) {
        error.peer_pid = culprit->request.pid;
        memcpy(error.peer_host, culprit->request.host_name, sizeof error.peer_host);
    }
    snprintf(error.text, sizeof error.text, "%s", text);
    weft_root_fail_as(table, &error);
}

/* Keeps a rank of this process waiting until the others were told. */
static bool root_hold_own(weft_root_table_t *table, int fd, const weft_join_request_t *request)
{
    weft_root_seat_t *seat = &table->seats[request->rank];
    if (table->own_told || seat->told || root_seat_is_here(seat) || !root_is_own(table, request)) {
        return false;
    }
    seat->join = fd;
    return true;
}

void weft_root_tell_late(weft_root_table_t *table, int fd, const weft_join_request_t *request)
{
    uint64_t now = weft_os_clock_ns();
    bool seated = request != NULL && request->rank < table->nranks;
    if (!seated || !root_hold_own(table, fd, request)) {
        uint64_t until = now + OWN_NS;
        table->own_until = until < table->own_most ? until : table->own_most;
        weft_root_send_error(table, fd, &table->failure);
        weft_os_close(fd);
        if (!seated) {
            table->unseated++;
        } else if (!table->seats[request->rank].told) {
            table->seats[request->rank].told = true;
            table->told++;
        }
    }
    weft_root_tell_own(table, now);
}

bool weft_root_all_told(const weft_root_table_t *table)
{
    return table->failure.status != WEFT_OK && table->nranks > 0 && table->told >= table->nranks;
}

static size_t root_put_neighbour(const weft_root_table_t *table, uint32_t type, uint32_t rank,
                                 uint8_t *message)
{
    uint8_t payload[WEFT_WIRE_JOIN_REQUEST];
    weft_join_request_encode(&table->seats[rank].request, payload);
    return root_put(table, type, rank, payload, sizeof payload, message);
}

int weft_root_welcome(const weft_root_table_t *table, uint32_t rank)
{
    uint8_t message[WEFT_TREE_LINKS * (WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST)];
    size_t bytes = 0;
    for (uint32_t i = 1; i < WEFT_TREE_LINKS && weft_tree_child(rank, i) < table->nranks; i++) {
        bytes +=
            root_put_neighbour(table, WEFT_FRAME_CHILD, weft_tree_child(rank, i), message + bytes);
    }
    bytes += root_put_neighbour(table, WEFT_FRAME_WELCOME, weft_tree_parent(rank), message + bytes);
    return root_send_bytes(table->seats[rank].join, message, bytes);
}

void weft_root_take_claim(weft_root_table_t *table, int fd, const weft_join_request_t *request)
{
    weft_root_seat_t *seat = &table->seats[request->rank];
    weft_root_close(table, &seat->claim);
    seat->claim = fd;
    seat->claim_broke = 0;
    seat->from_claim.bytes = 0;
    if (!seat->claimed && !seat->arrived) {
        seat->request = *request;
        root_watch_process(table, seat);
    }
    table->claimed += !seat->claimed;
    seat->claimed = true;
}

static void root_say_claimed(const weft_root_table_t *table, weft_root_seat_t *seat)
{
    seat->claim_broke = weft_root_send(table, seat->claim, WEFT_FRAME_CLAIMED, NULL, 0);
}

void weft_root_answer_claim(weft_root_table_t *table, uint32_t rank)
{
    weft_root_seat_t *seat = &table->seats[table->released ? rank : 0];
    if (table->claimed == table->nranks && seat->claim >= 0) {
        root_say_claimed(table, seat);
    }
    if (table->released && seat->claim_broke == 0) {
        weft_root_close(table, &seat->claim);
    }
}

void weft_root_release_claims(weft_root_table_t *table)
{
    table->released = true;
    for (uint32_t i = 0; i < table->nranks; i++) {
        weft_root_seat_t *seat = &table->seats[i];
        if (i > 0 && seat->claim >= 0) {
            root_say_claimed(table, seat);
        }
        if (seat->claim_broke == 0) {
            weft_root_close(table, &seat->claim);
        }
    }
}

/* Whether ranks that are not connected have not said either that they wait for others. */
static bool root_has_silent(const weft_root_table_t *table)
{
    uint32_t i = 0;
    while (i < table->nranks && (table->seats[i].ready || table->seats[i].waits)) {
        i++;
    }
    return i < table->nranks;
}

/* Whether ranks have neither come nor claimed the id, as others have. */
static bool root_lacks_claims(const weft_root_table_t *table)
{
    uint32_t i = 0;
    while (i < table->nranks && (table->seats[i].claimed || table->seats[i].arrived)) {
        i++;
    }
    return table->claimed > 0 && i < table->nranks;
}

uint32_t weft_root_missing(const weft_root_table_t *table, bool welcomed, char *text, size_t bytes,
                           uint32_t *first_p)
{
    size_t at = 0;
    uint32_t count = 0;
    bool claims = root_lacks_claims(table);
    bool silent = root_has_silent(table);
    text[0] = '\0';
    *first_p = table->nranks;
    for (uint32_t i = 0; i < table->nranks; i++) {
        uint32_t end = i;
        for (; end < table->nranks; end++) {
            const weft_root_seat_t *seat = &table->seats[end];
            if (welcomed ? seat->ready || (silent && seat->waits)
                         : seat->arrived || (claims && seat->claimed)) {
                break;
            }
        }
        if (end == i) {
            continue;
        }
        *first_p = count == 0 ? i : *first_p;
        count += end - i;
        if (bytes - at >= 48) {
            int used = end - i == 1 ? snprintf(text + at, bytes - at, "%s%u", at > 0 ? ", " : "", i)
                                    : snprintf(text + at, bytes - at, "%s%u-%u", at > 0 ? ", " : "",
                                               i, end - 1);
            at += (size_t)used;
        } else if (bytes - at >= 16) {
            at += (size_t)snprintf(text + at, bytes - at, ", and more");
            bytes = at;
        }
        i = end;
    }
    return count;
}
