/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In place of ib_cm.c and ib_cm_library.c where the headers of librdmacm are missing. iWARP
 * ports are left out, so there is nothing to do for any connection. */
#include "ib_cm.h"
#include "ib_cm_library.h"

weft_status_t ib_cm_load(weft_net_t *net, const char **why_p)
{
    (void)net;
    *why_p = "weft was built without librdmacm (librdmacm-dev, rdma-core-devel)";
    return WEFT_ERR_UNSUPPORTED;
}

void ib_cm_unload(weft_net_t *net)
{
    (void)net;
}

weft_status_t ib_cm_addresses(ib_port_t *port)
{
    (void)port;
    return WEFT_OK;
}

weft_status_t ib_cm_listen(weft_net_conn_t *conn, ib_hello_t *hello)
{
    (void)conn;
    (void)hello;
    return WEFT_OK;
}

weft_status_t ib_cm_connect(weft_net_conn_t *conn, const ib_hello_t *peer)
{
    (void)conn;
    (void)peer;
    return WEFT_OK;
}

weft_status_t ib_cm_poll(weft_net_conn_t *conn)
{
    (void)conn;
    return WEFT_OK;
}

void ib_cm_qp_close(weft_net_conn_t *conn, uint32_t qp)
{
    (void)conn;
    (void)qp;
}

void ib_cm_close(weft_net_conn_t *conn)
{
    (void)conn;
}
