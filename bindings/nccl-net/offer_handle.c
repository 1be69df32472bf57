/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See offer_handle.h. */
#include "offer_handle.h"

#include <string.h>

#include <weft/sdk/net_interface.h>
#include "offer.h"

#define ADDRESS_MOST 112u

typedef struct offer_handle {
    char magic[3];
    uint8_t bytes; /* of the address */
    uint8_t secret[OFFER_SECRET];
    uint8_t address[ADDRESS_MOST];
} offer_handle_t;

typedef struct offer_kept {
    char magic[8];
    void *state;
} offer_kept_t;

_Static_assert(sizeof(offer_handle_t) == WEFT_NCCL_HANDLE, "NCCL carries 128 bytes");

static const char written[3] = {'w', 'e', '1'};
static const char kept[8] = {'w', 'e', 'f', 't', 'k', 'e', 'p', 't'};

int offer_handle_write(void *handle, weft_net_address_t *address)
{
    offer_handle_t mine;
    memset(&mine, 0, sizeof mine);
    if (address->bytes > ADDRESS_MOST && !weft_interface_shorten(address, ADDRESS_MOST)) {
        return offer_refuse(WEFT_NCCL_SYSTEM_ERROR,
                            "the address of %s has %u bytes, and a handle of NCCL room for %u; "
                            "choose fewer interfaces by the options of that transport",
                            offer_get()->name, address->bytes, ADDRESS_MOST);
    }
    memcpy(mine.magic, written, sizeof written);
    mine.bytes = (uint8_t)address->bytes;
    memcpy(mine.address, address->data, address->bytes);
    weft_status_t status = offer_auth_secret(mine.secret);
    if (status != WEFT_OK) {
        return offer_fail(status, "no secret");
    }
    memcpy(handle, &mine, sizeof mine);
    return WEFT_NCCL_SUCCESS;
}

int offer_handle_read(const void *handle, weft_net_address_t *address, uint8_t secret[OFFER_SECRET])
{
    offer_handle_t theirs;
    memcpy(&theirs, handle, sizeof theirs);
    if (memcmp(theirs.magic, written, sizeof written) != 0 || theirs.bytes > ADDRESS_MOST) {
        return offer_refuse(WEFT_NCCL_INVALID_ARGUMENT, "connect: not a handle of NET/weft");
    }
    *address = (weft_net_address_t){.bytes = theirs.bytes};
    memcpy(address->data, theirs.address, theirs.bytes);
    memcpy(secret, theirs.secret, OFFER_SECRET);
    return WEFT_NCCL_SUCCESS;
}

void offer_handle_keep(void *handle, void *state)
{
    offer_kept_t mine = {.state = state};
    memcpy(mine.magic, kept, sizeof kept);
    memcpy(handle, &mine, sizeof mine);
}

void *offer_handle_kept(const void *handle)
{
    offer_kept_t mine;
    memcpy(&mine, handle, sizeof mine);
    return memcmp(mine.magic, kept, sizeof kept) == 0 ? mine.state : NULL;
}
