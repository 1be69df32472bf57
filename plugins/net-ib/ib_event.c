/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asynchronous events. */
#include "ib_event.h"

#include "ib_errors.h"

static ib_port_t *ib_event_port(ib_hca_t *hca, int number)
{
    weft_net_t *net = hca->net;
    for (uint32_t i = 0; i < net->nports; i++) {
        if (net->ports[i].hca == hca && net->ports[i].number == number) {
            return &net->ports[i];
        }
    }
    return NULL;
}

/* Any thread may take an event, so it is only noted where the owner looks. */
static void ib_event_note(ib_hca_t *hca, const struct ibv_async_event *event)
{
    const weft_host_t *host = hca->net->host;
    ib_port_t *port = ib_event_port(hca, event->element.port_num);
    ib_rail_t *rail = NULL;
    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
        if (port != NULL) {
            bool down = event->event_type == IBV_EVENT_PORT_ERR;
            atomic_store(&port->down_ns, down ? host->clock_ns(host) : 0);
            host->log(host, WEFT_LOG_WARN, "%s:%u: %s", hca->name, port->number,
                      ib_event_text(event->event_type));
        }
        break;
    case IBV_EVENT_LID_CHANGE:
        /* They find out by their retries, which say nothing of the cause. */
        if (port != NULL) {
            host->log(host, WEFT_LOG_WARN, "%s:%u: %s", hca->name, port->number,
                      ib_event_text(event->event_type));
        }
        break;
    case IBV_EVENT_DEVICE_FATAL:
        atomic_store(&hca->fatal, true);
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
        /* The queue pair, and so the connection, lives until the event is acknowledged. */
        rail = event->element.qp->qp_context;
        break;
    case IBV_EVENT_CQ_ERR:
        rail = event->element.cq->cq_context;
        break;
    default:
        host->log(host, WEFT_LOG_DEBUG, "%s: %s", hca->name, ib_event_text(event->event_type));
        break;
    }
    if (rail != NULL) {
        atomic_store(&rail->event, (uint32_t)event->event_type + 1);
    }
}

/* Two threads must not note a port's events in another order than they happened. */
static bool ib_event_take(ib_hca_t *hca, struct ibv_async_event *event)
{
    pthread_mutex_lock(&hca->events);
    bool taken = ibv_get_async_event(hca->context, event) == 0;
    if (taken) {
        ib_event_note(hca, event);
    }
    pthread_mutex_unlock(&hca->events);
    return taken;
}

void ib_events_take(ib_hca_t *hca)
{
    struct ibv_async_event event;
    while (ib_event_take(hca, &event)) {
        ibv_ack_async_event(&event);
    }
}

void ib_device_events_take(const weft_net_device_t *device)
{
    for (uint32_t i = 0; i < device->nrails; i++) {
        ib_events_take(device->rails[i]->hca);
    }
}
