/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_connect.h. */
#include "ncclnet_connect.h"

#include "ncclnet_conn.h"
#include "ncclnet_control.h"
#include "ncclnet_join.h"
#include "ncclnet_listen.h"

weft_status_t ncclnet_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                    const weft_net_conn_params_t *params, weft_net_conn_t **conn_p)
{
    weft_endpoint_list_t list;
    weft_status_t status = ncclnet_address_decode(device, address, &list);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_conn_t *conn = ncclnet_conn_create(device, params->label);
    if (conn == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    conn->info.connector = 1;
    conn->join->list = list;
    *conn_p = conn;
    return WEFT_OK;
}

weft_status_t ncclnet_connect_poll(weft_net_conn_t *conn)
{
    if (conn->is_ready) {
        return WEFT_OK;
    }
    if (conn->join == NULL || conn->failed != WEFT_OK) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not under way");
    }
    weft_status_t status = ncclnet_control_connect(conn);
    status = status == WEFT_OK ? ncclnet_join_advance(conn) : status;
    if (status == WEFT_OK) {
        ncclnet_conn_ready(conn);
    } else if (status != WEFT_IN_PROGRESS) {
        conn->failed = status;
    }
    return status;
}
