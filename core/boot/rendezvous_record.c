/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whose file it is: seen by host, process and parent. */
#include "core/boot/rendezvous_record.h"

#include <string.h>

#include "core/os/os.h"
#include "core/os/os_folder.h"

/* Ranks of one job start within this time of each other, in ticks of the system. */
#define SIBLING_TICKS 200

_Static_assert(sizeof(weft_rendezvous_record_t) ==
                   WEFT_UNIQUE_ID_BYTES + WEFT_WIRE_JOIN_REQUEST + 12 + WEFT_WIRE_ERROR,
               "file");

bool weft_rendezvous_is_sibling(const weft_join_request_t *self,
                                const weft_rendezvous_record_t *record,
                                const weft_join_request_t *writer)
{
    uint32_t apart = writer->started > self->started ? writer->started - self->started
                                                     : self->started - writer->started;
    return weft_get_u32(record->parent) == (uint32_t)weft_os_parent_pid() && apart <= SIBLING_TICKS;
}

/* Whoever used the name of the job after we were started is of our job. */
static bool record_is_younger(const weft_join_request_t *self, const weft_join_request_t *writer)
{
    return self->started != 0 && writer->started != 0 &&
           (int32_t)(writer->started - self->started) > 0;
}

bool weft_rendezvous_is_here(const weft_join_request_t *self, const weft_join_request_t *writer)
{
    return self->space != 0 && writer->space == self->space &&
           memcmp(writer->host_id, self->host_id, sizeof self->host_id) == 0;
}

weft_rendezvous_writer_t weft_rendezvous_judge(const weft_join_request_t *self,
                                               const weft_rendezvous_record_t *record,
                                               weft_join_request_t *writer)
{
    const char *why;
    if (weft_join_request_decode(record->writer, writer, &why) != WEFT_OK) {
        return WEFT_WRITER_DIED;
    }
    if (!weft_rendezvous_is_here(self, writer) ||
        weft_os_process_runs(writer->pid, writer->started)) {
        return WEFT_WRITER_LIVES;
    }
    return weft_rendezvous_is_sibling(self, record, writer) || record_is_younger(self, writer)
               ? WEFT_RANK_DIED
               : WEFT_WRITER_DIED;
}
