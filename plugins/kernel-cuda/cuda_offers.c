/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_offers.h. An offer goes out as one message: its bytes, and the descriptors beside
 * them. */
#include "cuda_offers.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <weft/sdk/quiet_thread.h>

#define PATIENCE_S 2
#define BACKLOG 64

typedef struct cuda_offer {
    struct cuda_offer *next;
    uint64_t number;
    cuda_parcel_t parcel;
} cuda_offer_t;

/* A message to the importer. */
typedef struct offer_reply {
    uint32_t ndescriptors;
    uint32_t nbytes; /* 0: there is no such offer */
    uint8_t bytes[CUDA_PARCEL_BYTES];
} offer_reply_t;

typedef union offer_control {
    char bytes[CMSG_SPACE(CUDA_PARCEL_DESCRIPTORS * sizeof(int))];
    struct cmsghdr header;
} offer_control_t;

/* Of the process, beside the registry of decision 33: who asks is another process. */
static struct {
    pthread_mutex_t lock;
    cuda_offer_t *first;
    uint64_t socket; /* name of the socket that the thread listens at */
    int fd;          /* that socket; the thread closes it */
    pid_t process;   /* whose thread it is: a forked child has none */
} offers = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static socklen_t offers_name(uint64_t socket, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int n = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "weft-cuda-%016llx",
                           (unsigned long long)socket);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static void offers_limit(int fd)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

static bool offers_is_own_user(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

/* The other side ------------------------------------------------------------------------------- */

void cuda_parcel_close(cuda_parcel_t *parcel)
{
    for (uint32_t i = 0; i < parcel->ndescriptors; i++) {
        close(parcel->fd[i]);
    }
    parcel->ndescriptors = parcel->nbytes = 0;
}

/* Copies the descriptors, as the offer may end while they are sent. */
static void offers_copy(const cuda_parcel_t *from, cuda_parcel_t *parcel)
{
    *parcel = *from;
    for (parcel->ndescriptors = 0; parcel->ndescriptors < from->ndescriptors;
         parcel->ndescriptors++) {
        const int fd = dup(from->fd[parcel->ndescriptors]);
        if (fd < 0) {
            cuda_parcel_close(parcel);
            return;
        }
        parcel->fd[parcel->ndescriptors] = fd;
    }
}

static void offers_look_up(uint64_t number, cuda_parcel_t *parcel)
{
    parcel->ndescriptors = parcel->nbytes = 0;
    pthread_mutex_lock(&offers.lock);
    const cuda_offer_t *offer = offers.first;
    while (offer != NULL && offer->number != number) {
        offer = offer->next;
    }
    if (offer != NULL) {
        offers_copy(&offer->parcel, parcel);
    }
    pthread_mutex_unlock(&offers.lock);
}

static void offers_send(int fd, const cuda_parcel_t *parcel)
{
    offer_reply_t reply = {.ndescriptors = parcel->ndescriptors, .nbytes = parcel->nbytes};
    offer_control_t control;
    struct iovec vec = {.iov_base = &reply, .iov_len = sizeof reply};
    struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
    memset(&control, 0, sizeof control);
    memcpy(reply.bytes, parcel->bytes, parcel->nbytes);
    if (parcel->ndescriptors > 0) {
        const size_t bytes = parcel->ndescriptors * sizeof parcel->fd[0];
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(bytes);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(&control.header), parcel->fd, bytes);
    }
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    (void)sent; /* who asked sees the end of the connection */
}

static void offers_answer(int fd)
{
    uint64_t number = 0;
    cuda_parcel_t parcel;
    offers_limit(fd);
    if (offers_is_own_user(fd) && recv(fd, &number, sizeof number, 0) == sizeof number) {
        offers_look_up(number, &parcel);
        offers_send(fd, &parcel);
        cuda_parcel_close(&parcel);
    }
    close(fd);
}

/* Ends when the socket is shut down. */
static void *offers_serve(void *arg)
{
    const int fd = (int)(intptr_t)arg;
    pthread_setname_np(pthread_self(), "weft-offers");
    for (;;) {
        const int asks = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (asks >= 0) {
            offers_answer(asks);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            usleep(1000);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            break;
        }
    }
    pthread_mutex_lock(&offers.lock);
    offers.fd = offers.fd == fd ? -1 : offers.fd;
    pthread_mutex_unlock(&offers.lock);
    close(fd);
    return NULL;
}

/* This side ------------------------------------------------------------------------------------ */

static int offers_listen(uint64_t socket_number)
{
    struct sockaddr_un name;
    const socklen_t bytes = offers_name(socket_number, &name);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&name, bytes) != 0 || listen(fd, BACKLOG) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool offers_thread_start(int fd)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    const int error = weft_quiet_thread_create(&thread, &attr, offers_serve, (void *)(intptr_t)fd);
    pthread_attr_destroy(&attr);
    return error == 0;
}

/* Under the lock: the thread is there. */
static weft_status_t offers_open(const weft_kernel_t *kernel)
{
    const weft_host_t *host = kernel->host;
    if (offers.fd >= 0 && offers.process == getpid()) {
        return WEFT_OK;
    }
    uint64_t number = 0;
    weft_status_t status = host->random(host, &number, sizeof number);
    const int fd = status == WEFT_OK ? offers_listen(number) : -1;
    if (fd < 0 || !offers_thread_start(fd)) {
        if (fd >= 0) {
            close(fd);
        }
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "listening for processes that open memory of CUDA device %d",
                               kernel->device);
    }
    offers.socket = number;
    offers.fd = fd;
    offers.process = getpid();
    return WEFT_OK;
}

weft_status_t cuda_offers_add(const weft_kernel_t *kernel, const cuda_parcel_t *parcel,
                              cuda_offer_address_t *address)
{
    const weft_host_t *host = kernel->host;
    cuda_offer_t *offer = calloc(1, sizeof *offer);
    weft_status_t status = offer != NULL ? host->random(host, &offer->number, sizeof offer->number)
                                         : WEFT_ERR_RESOURCE;
    if (status != WEFT_OK) {
        free(offer);
        return status;
    }
    offer->parcel = *parcel;
    pthread_mutex_lock(&offers.lock);
    status = offers_open(kernel);
    if (status == WEFT_OK) {
        *address = (cuda_offer_address_t){.socket = offers.socket, .number = offer->number};
        offer->next = offers.first;
        offers.first = offer;
    }
    pthread_mutex_unlock(&offers.lock);
    if (status != WEFT_OK) {
        free(offer);
    }
    return status;
}

void cuda_offers_remove(const cuda_offer_address_t *address)
{
    pthread_mutex_lock(&offers.lock);
    cuda_offer_t **at = &offers.first;
    while (*at != NULL && (*at)->number != address->number) {
        at = &(*at)->next;
    }
    cuda_offer_t *offer = *at;
    if (offer != NULL) {
        *at = offer->next;
    }
    if (offers.first == NULL && offers.fd >= 0) {
        if (offers.process == getpid()) {
            shutdown(offers.fd, SHUT_RDWR); /* the thread closes it */
        }
        offers.fd = -1;
    }
    pthread_mutex_unlock(&offers.lock);
    if (offer != NULL) {
        cuda_parcel_close(&offer->parcel);
        free(offer);
    }
}

/* Fetching ------------------------------------------------------------------------------------- */

/* How many descriptors came; they are in `fds`, and close when the program executes another. */
static uint32_t offers_descriptors(struct msghdr *message, int fds[CUDA_PARCEL_DESCRIPTORS])
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
        return 0;
    }
    const size_t bytes = header->cmsg_len - CMSG_LEN(0);
    memcpy(fds, CMSG_DATA(header), bytes);
    return (uint32_t)(bytes / sizeof fds[0]);
}

static bool offers_receive(int fd, cuda_parcel_t *parcel)
{
    offer_reply_t reply = {.nbytes = 0};
    offer_control_t control;
    struct iovec vec = {.iov_base = &reply, .iov_len = sizeof reply};
    struct msghdr message = {.msg_iov = &vec,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memset(&control, 0, sizeof control);
    const ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    parcel->ndescriptors = got >= 0 ? offers_descriptors(&message, parcel->fd) : 0;
    if (got != (ssize_t)sizeof reply || reply.nbytes == 0 || reply.nbytes > CUDA_PARCEL_BYTES ||
        parcel->ndescriptors != reply.ndescriptors) {
        cuda_parcel_close(parcel);
        return false;
    }
    parcel->nbytes = reply.nbytes;
    memcpy(parcel->bytes, reply.bytes, reply.nbytes);
    return true;
}

weft_status_t cuda_offers_fetch(const weft_kernel_t *kernel, const cuda_offer_address_t *address,
                                cuda_parcel_t *parcel)
{
    struct sockaddr_un name;
    const socklen_t bytes = offers_name(address->socket, &name);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool fetched = false;
    parcel->ndescriptors = parcel->nbytes = 0;
    if (fd >= 0) {
        offers_limit(fd);
        fetched = connect(fd, (struct sockaddr *)&name, bytes) == 0 && offers_is_own_user(fd) &&
                  send(fd, &address->number, sizeof address->number, MSG_NOSIGNAL) ==
                      (ssize_t)sizeof address->number &&
                  offers_receive(fd, parcel);
        close(fd);
    }
    return fetched ? WEFT_OK
                   : kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                             "CUDA device %d cannot open memory of another "
                                             "process: that gives no descriptor of it at @%s",
                                             kernel->device, name.sun_path + 1);
}
