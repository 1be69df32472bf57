/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list, oldest first. It is two records long at most, but where broadcasts follow each other. */
#include "core/boot/tree_record.h"

#include "core/base/error.h"
#include "core/os/os.h"

weft_status_t weft_tree_record_make(weft_boot_t *boot, uint32_t type, size_t bytes, uint64_t number,
                                    weft_tree_record_t **record_p)
{
    weft_frame_t frame = {.type = type,
                          .bytes = (uint32_t)bytes,
                          .from = boot->rank,
                          .sequence = boot->sequence,
                          .comm_id = boot->comm_id,
                          .number = number};
    weft_tree_record_t *record = weft_os_alloc(sizeof *record, 0);
    uint8_t *payload = bytes > 0 ? weft_os_alloc(bytes, 0) : NULL;
    if (record == NULL || (bytes > 0 && payload == NULL)) {
        weft_os_free(record);
        weft_os_free(payload);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %zu bytes of an exchange", bytes);
    }
    *record = (weft_tree_record_t){
        .type = type, .sequence = boot->sequence, .bytes = bytes, .payload = payload};
    weft_frame_encode(&frame, record->header);
    weft_tree_record_t **end = &boot->records;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = record;
    *record_p = record;
    return WEFT_OK;
}

void weft_tree_records_drop(weft_boot_t *boot, uint32_t type)
{
    weft_tree_record_t **at = &boot->records;
    while (*at != NULL) {
        weft_tree_record_t *record = *at;
        if (type == 0 || record->type == type) {
            *at = record->next;
            weft_os_free(record->payload);
            weft_os_free(record);
        } else {
            at = &record->next;
        }
    }
}

const weft_tree_record_t *weft_tree_record_for(const weft_boot_t *boot,
                                               const weft_tree_link_t *link, uint64_t least,
                                               const weft_tree_record_t *record)
{
    uint32_t type = link == &boot->links[WEFT_TREE_PARENT] ? WEFT_FRAME_GATHER : WEFT_FRAME_SPREAD;
    while (record != NULL && (record->type != type || record->sequence < least)) {
        record = record->next;
    }
    return record;
}
