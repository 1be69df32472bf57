/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A unique id: as text, as 128 bytes, and with a right checksum around wrong content. */
#include <sodium.h>

#include "core/base/error.h"
#include "core/boot/fixed_id.h"
#include "core/boot/unique_id.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_unique_id_t id;
    weft_id_t content;
    char *text = fuzz_text(data, bytes);
    FUZZ_NEED(sodium_init() >= 0);
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
