/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUDirect ports: headers between host and device. */
#include "core/exec/gpudirect_port.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"

static const weft_port_ops_t gpudirect_ops = {.send = weft_gpudirect_port_send,
                                              .release = weft_message_port_release,
                                              .can_receive = weft_gpudirect_port_can_receive,
                                              .signature = weft_gpudirect_port_signature,
                                              .flush = weft_message_port_flush,
                                              .fetch = weft_message_port_fetch,
                                              .is_dry = weft_message_port_is_dry,
                                              .fini = weft_gpudirect_port_fini};

weft_status_t weft_gpudirect_port_init(weft_gpudirect_port_t *direct,
                                       const weft_message_port_params_t *params,
                                       const weft_gpudirect_t *gpudirect, void *memory)
{
    weft_message_header_t *headers = weft_os_alloc(params->slots * sizeof *headers, 0);
    weft_status_t status = headers == NULL
                               ? weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                                           "cannot allocate headers for rank %u", params->peer)
                               : weft_message_port_init_slots(&direct->message, WEFT_PORT_GPUDIRECT,
                                                              &gpudirect_ops, params, memory);
    if (status != WEFT_OK) {
        weft_os_free(headers);
        return status;
    }
    direct->gpudirect = gpudirect;
    direct->headers = headers;
    return WEFT_OK;
}

void weft_gpudirect_port_fini(weft_port_t *port)
{
    weft_gpudirect_port_t *direct = weft_gpudirect_port(port);
    weft_message_port_fini_slots(&direct->message);
    weft_os_free(direct->headers);
    direct->gpudirect->ops->free(direct->gpudirect->kernel, direct->message.memory);
    direct->headers = NULL;
    direct->message.memory = NULL;
}

/* Where the transport has the header of the next message. */
static uint8_t *gpudirect_header_there(weft_gpudirect_port_t *direct)
{
    const weft_port_t *port = &direct->message.port;
    return direct->message.memory + weft_port_slot(port) * port->stride;
}

static weft_status_t gpudirect_copy(weft_gpudirect_port_t *direct, void *to, const void *from,
                                    uint64_t bytes)
{
    const weft_gpudirect_t *gpudirect = direct->gpudirect;
    weft_status_t status = gpudirect->memory->copy(gpudirect->kernel, to, from, bytes);
    if (status != WEFT_OK) {
        weft_message_port_break(&direct->message, status);
    }
    return status;
}

weft_status_t weft_gpudirect_port_send(weft_port_t *port, const weft_signature_t *signature,
                                       uint64_t bytes)
{
    weft_gpudirect_port_t *direct = weft_gpudirect_port(port);
    weft_message_header_t *header = &direct->headers[weft_port_slot(port)];
    header->signature = *signature;
    header->bytes = bytes;
    weft_status_t status =
        gpudirect_copy(direct, gpudirect_header_there(direct), header, sizeof *header);
    return status == WEFT_OK ? weft_message_port_push(&direct->message, bytes) : status;
}

/* Copies the signature only: the transport told the length. */
bool weft_gpudirect_port_can_receive(weft_port_t *port)
{
    weft_gpudirect_port_t *direct = weft_gpudirect_port(port);
    uint32_t at = weft_port_slot(port);
    weft_signature_t *signature = &direct->headers[at].signature;
    if (port->next < port->limit) {
        return true;
    }
    if (direct->message.slot[at].state != WEFT_SLOT_READY ||
        gpudirect_copy(direct, signature, gpudirect_header_there(direct), sizeof *signature) !=
            WEFT_OK) {
        return false;
    }
    port->limit = port->next + 1;
    return true;
}

const weft_signature_t *weft_gpudirect_port_signature(const weft_port_t *port)
{
    return &weft_gpudirect_port_const(port)->headers[weft_port_slot(port)].signature;
}
