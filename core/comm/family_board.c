/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proof board of a host: who makes it, and how the others find it. */
#include "core/comm/family_board.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/log.h"

uint32_t weft_family_board_maker(const weft_family_t *family)
{
    const weft_boot_peer_t *peers = weft_boot_peers(family->boot);
    const weft_boot_peer_t *me = &peers[family->rank];
    uint32_t maker = family->nranks;
    bool several = false;
    for (uint32_t r = 0; r < family->nranks; r++) {
        if (peers[r].host == me->host) {
            maker = r < maker ? r : maker;
            several = several || peers[r].pid != me->pid;
        }
    }
    return several ? maker : family->nranks;
}

static void family_board_name(const weft_family_t *family, char name[64])
{
    snprintf(name, 64, "weft-proofs-%016" PRIx64, weft_boot_comm_id(family->boot));
}

void weft_family_make_board(weft_family_t *family)
{
    char name[64];
    family_board_name(family, name);
    if (weft_os_host_memory_create(name, WEFT_PROOF_BOARD_BYTES, &family->proof_memory) !=
            WEFT_OK ||
        weft_proof_board_init(family->proof_memory.memory, WEFT_PROOF_BOARD_BYTES,
                              &family->proofs) != WEFT_OK) {
        weft_log(WEFT_LOG_DEBUG, "plan", "proofs are not shared: %s", weft_error_record()->text);
    }
}

void weft_family_find_board(weft_family_t *family, uint32_t maker)
{
    char name[64];
    int32_t pid = weft_boot_peers(family->boot)[maker].pid;
    family_board_name(family, name);
    if (weft_os_host_memory_find(pid, name, WEFT_PROOF_BOARD_BYTES, &family->proof_memory)) {
        family->proofs = weft_proof_board_at(family->proof_memory.memory, WEFT_PROOF_BOARD_BYTES);
    }
    if (family->proofs == NULL) {
        weft_log(WEFT_LOG_DEBUG, "plan", "proofs are not shared: none are found with pid %d", pid);
    }
}
