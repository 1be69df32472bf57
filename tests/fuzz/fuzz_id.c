/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A unique id: as text, as 128 bytes, and with a right checksum around wrong content. And a ticket,
 * for inputs that begin with its magic. */
#include <sodium.h>

#include "core/base/error.h"
#include "core/boot/fixed_id.h"
#include "core/boot/unique_id.h"
#include "core/comm/ticket.h"
#include "fuzz.h"

/* What is taken is written as bytes that are taken again. */
static void take(const weft_unique_id_t *in)
{
    weft_id_t id, again;
    weft_unique_id_t out;
    uint8_t key[32];
    if (weft_id_decode(in, &id) != WEFT_OK) {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
        return;
    }
    FUZZ_NEED(id.count <= WEFT_ID_ADDRS);
    FUZZ_NEED(memchr(id.host, '\0', sizeof id.host) != NULL);
    FUZZ_NEED(weft_id_comm(&id) != 0);
    (void)weft_id_expired(&id);
    (void)weft_id_is_fixed(in);
    weft_id_key(&id, "data", key);
    weft_id_encode(&id, &out);
    FUZZ_NEED(weft_id_decode(&out, &again) == WEFT_OK);
    char hex[WEFT_ID_HEX];
    weft_unique_id_t marked = out;
    weft_id_to_hex(&out, hex);
    FUZZ_NEED(weft_id_from_hex(hex, &marked) && memcmp(&marked, &out, sizeof out) == 0);
    FUZZ_NEED(weft_id_mark_rank_0(&marked) == WEFT_OK);
    FUZZ_NEED(weft_id_decode(&marked, &again) == WEFT_OK && again.by_rank_0);
    FUZZ_NEED(weft_id_comm(&again) == weft_id_comm(&id));
    weft_id_wipe(&id);
}

static void take_ticket(const weft_ticket_t *in)
{
    weft_ticket_content_t content;
    weft_ticket_t out;
    if (weft_ticket_decode(in, &content) != WEFT_OK) {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
        return;
    }
    FUZZ_NEED(content.rank < content.nranks);
    weft_ticket_encode(&content, &out);
    FUZZ_NEED(weft_ticket_decode(&out, &content) == WEFT_OK);
}

/* As it comes, and with a right checksum around numbers of the input and another version. */
static void ticket(const uint8_t *data, size_t bytes)
{
    weft_ticket_t in;
    weft_ticket_content_t content;
    uint8_t how = fuzz_byte(&data, &bytes);
    memset(&content, 0, sizeof content);
    fuzz_take(&data, &bytes, &content.nranks, sizeof content.nranks);
    fuzz_take(&data, &bytes, &content.rank, sizeof content.rank);
    weft_ticket_encode(&content, &in);
    take_ticket(&in);
    if (how > 0) {
        in.bytes[how % sizeof in.bytes] ^= fuzz_byte(&data, &bytes);
        take_ticket(&in);
    }
    fuzz_take(&data, &bytes, &in, sizeof in);
    take_ticket(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_unique_id_t id;
    weft_id_t content;
    FUZZ_NEED(sodium_init() >= 0);
    if (bytes > 0 && data[0] == 0xd9) {
        ticket(data + 1, bytes - 1);
        return 0;
    }
    char *text = fuzz_text(data, bytes);
    if (weft_id_from_hex(text, &id)) {
        take(&id);
    }
    if (weft_fixed_id_make(text, &id) == WEFT_OK) {
        take(&id);
    }
    fuzz_take(&data, &bytes, &id, sizeof id);
    take(&id);
    fuzz_take(&data, &bytes, &content, sizeof content);
    /* What a wrong program of ours could write. */
    content.by_rank_0 = ((const uint8_t *)&id)[0] & 1;
    content.count %= WEFT_ID_ADDRS + 1;
    content.host[sizeof content.host - 1] = '\0';
    weft_id_encode(&content, &id);
    take(&id);
    free(text);
    return 0;
}
