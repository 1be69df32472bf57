/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A knock is a connector. */
#include "core/boot/root_knock.h"

#include "core/boot/auth.h"
#include "core/os/os.h"

/* The rank of no rank: who listens takes the connection for nobody's, and closes it. */
#define KNOCK_RANK UINT32_MAX
/* A connection without a hello would be a stranger's. To a near host: begin to connect, be
 * connected and send the hello. */
#define KNOCK_STEPS 2

weft_connector_t *weft_root_knock_begin(const uint8_t key[32], const weft_join_request_t *request,
                                        uint64_t until)
{
    uint8_t label[WEFT_AUTH_LABEL];
    uint32_t count = weft_join_request_addrs(request);
    weft_connector_t *knock = count > 0 ? weft_os_alloc(sizeof *knock, 0) : NULL;
    if (knock != NULL) {
        weft_auth_label_make(label, WEFT_PURPOSE_TREE, KNOCK_RANK);
        weft_connector_begin(knock, key, label, request->addrs, count, until);
    }
    return knock;
}

void weft_root_knock_end(weft_connector_t **knock_p)
{
    if (*knock_p != NULL) {
        weft_connector_end(*knock_p);
        weft_os_free(*knock_p);
        *knock_p = NULL;
    }
}

weft_status_t weft_root_knock_step(weft_connector_t **knock_p)
{
    weft_status_t status = WEFT_IN_PROGRESS;
    for (int i = 0; i < KNOCK_STEPS && status == WEFT_IN_PROGRESS; i++) {
        status = weft_connector_step(*knock_p);
    }
    if (status == WEFT_OK) {
        weft_os_close((*knock_p)->fd);
    }
    if (status != WEFT_IN_PROGRESS) {
        weft_root_knock_end(knock_p);
    }
    return status;
}
