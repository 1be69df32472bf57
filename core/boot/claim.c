/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Claims as bytes: rank 4, nranks 4, pid 4, its start 4, host id 16, host name 64, addresses
 * 60, pid namespace 4. */
#include "core/boot/claim.h"

#include <string.h>

#include "core/os/folder.h"
#include "core/os/os.h"

#define HOST_AT 16
#define NAME_AT 32
#define ADDRS_AT 96
#define SPACE_AT (ADDRS_AT + WEFT_ID_ADDRS * WEFT_OS_ADDR_BYTES)
#define LABEL_RANK_AT 32

_Static_assert(SPACE_AT + 4 == WEFT_WIRE_CLAIM, "claim fits");

weft_status_t weft_claim_make(weft_claim_t *claim, uint32_t rank, uint32_t nranks,
                              const char *filter, uint16_t port)
{
    memset(claim, 0, sizeof *claim);
    claim->rank = rank;
    claim->nranks = nranks;
    claim->pid = weft_os_pid();
    claim->started = weft_os_process_started(claim->pid);
    claim->space = (uint32_t)weft_os_pid_space();
    weft_os_host_id(claim->host_id);
    weft_os_host_name(claim->host_name, sizeof claim->host_name);
    if (port == 0) {
        return WEFT_OK;
    }
    uint32_t count = weft_os_addrs(filter, claim->addrs, WEFT_ID_ADDRS);
    for (uint32_t i = 0; i < count; i++) {
        claim->addrs[i].port = port;
    }
    return count > 0 ? WEFT_OK : WEFT_ERR_CONFIG;
}

void weft_claim_encode(const weft_claim_t *claim, uint8_t bytes[WEFT_WIRE_CLAIM])
{
    memset(bytes, 0, WEFT_WIRE_CLAIM);
    weft_put_u32(bytes, claim->rank);
    weft_put_u32(bytes + 4, claim->nranks);
    weft_put_u32(bytes + 8, (uint32_t)claim->pid);
    weft_put_u32(bytes + 12, claim->started);
    weft_put_u32(bytes + SPACE_AT, claim->space);
    memcpy(bytes + HOST_AT, claim->host_id, sizeof claim->host_id);
    memcpy(bytes + NAME_AT, claim->host_name, sizeof claim->host_name);
    for (uint32_t i = 0; i < WEFT_ID_ADDRS; i++) {
        weft_os_addr_encode(&claim->addrs[i], bytes + ADDRS_AT + i * WEFT_OS_ADDR_BYTES);
    }
}

weft_status_t weft_claim_decode(const uint8_t bytes[WEFT_WIRE_CLAIM], weft_claim_t *claim,
                                const char **why)
{
    memset(claim, 0, sizeof *claim);
    claim->rank = weft_get_u32(bytes);
    claim->nranks = weft_get_u32(bytes + 4);
    claim->pid = (int32_t)weft_get_u32(bytes + 8);
    claim->started = weft_get_u32(bytes + 12);
    claim->space = weft_get_u32(bytes + SPACE_AT);
    memcpy(claim->host_id, bytes + HOST_AT, sizeof claim->host_id);
    memcpy(claim->host_name, bytes + NAME_AT, sizeof claim->host_name);
    claim->host_name[sizeof claim->host_name - 1] = '\0';
    for (char *p = claim->host_name; *p != '\0'; p++) {
        *p = *p < 0x21 || *p == 0x7f ? '?' : *p;
    }
    for (uint32_t i = 0; i < WEFT_ID_ADDRS; i++) {
        if (weft_os_addr_decode(bytes + ADDRS_AT + i * WEFT_OS_ADDR_BYTES, &claim->addrs[i]) !=
            WEFT_OK) {
            *why = "address";
            return WEFT_ERR_PROTO;
        }
    }
    *why = weft_claim_addrs(claim) == 0 ? "address" : claim->pid <= 0 ? "process" : NULL;
    return *why != NULL ? WEFT_ERR_PROTO : WEFT_OK;
}

uint32_t weft_claim_addrs(const weft_claim_t *claim)
{
    uint32_t count = 0;
    while (count < WEFT_ID_ADDRS && claim->addrs[count].family != 0) {
        count++;
    }
    return count;
}

void weft_label_make(uint8_t label[WEFT_AUTH_LABEL], const char *purpose, uint32_t rank)
{
    memset(label, 0, WEFT_AUTH_LABEL);
    memcpy(label, purpose, strlen(purpose) < LABEL_RANK_AT ? strlen(purpose) : LABEL_RANK_AT);
    weft_put_u32(label + LABEL_RANK_AT, rank);
}

bool weft_label_read(const uint8_t label[WEFT_AUTH_LABEL], const char *purpose, uint32_t *rank)
{
    uint8_t expected[WEFT_AUTH_LABEL];
    *rank = weft_get_u32(label + LABEL_RANK_AT);
    weft_label_make(expected, purpose, *rank);
    return memcmp(expected, label, WEFT_AUTH_LABEL) == 0;
}
