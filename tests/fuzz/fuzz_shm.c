/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a peer hands to net-shm: its address, and behind the handshake a record in any pieces, with a
 * descriptor of anything or none, or any answer to ours. Memory that is taken is as long as the record
 * says. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "shm_address.h"
#include "shm_conn.h"
#include "tests/support/fake_host.h"

static void address(const uint8_t *data, size_t bytes)
{
    weft_net_address_t given = {.bytes = 0};
    shm_address_t here, there;
    uint8_t sane;
    fuzz_take(&data, &bytes, &sane, 1);
    FUZZ_NEED(shm_address_local("fuzz", &here));
    given.bytes = (sane & 1) != 0 ? sizeof here : (uint32_t)(bytes % sizeof given.data);
    memcpy(given.data, &here, sizeof here);
    for (size_t i = 0; i < bytes && i < sizeof given.data; i++) {
        given.data[i] ^= data[i];
    }
    if (shm_address_parse(&given, &there) == WEFT_OK) {
        struct sockaddr_un name;
        shm_address_name(there.token, &name);
        FUZZ_NEED(given.bytes == sizeof there && name.sun_path[0] == '\0');
        (void)shm_address_reaches(&here, &there);
    }
}

/* A descriptor of the peer: memory of some length, sealed or not, or no memory at all. */
static int descriptor(uint8_t what, uint64_t length)
{
    if (what % 4 == 0) {
        return -1;
    }
    if (what % 4 == 1) {
        return dup(0);
    }
    int fd = memfd_create("weft-fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    FUZZ_NEED(fd >= 0 && ftruncate(fd, (off_t)length) == 0);
    if (what % 4 == 3) {
        FUZZ_NEED(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    }
    return fd;
}

static void hand_over(int to, const uint8_t *data, size_t bytes, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    uint8_t copy[64];
    struct iovec vec = {.iov_base = copy, .iov_len = bytes < sizeof copy ? bytes : sizeof copy};
    struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
    memcpy(copy, data, vec.iov_len);
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    (void)sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void talk(weft_net_device_t *device, weft_net_conn_t *conn, int far, const uint8_t *data,
                 size_t bytes)
{
    weft_status_t status = shm_conn_join(conn);
    void *base = NULL;
    uint64_t mapped = 0;
    while (bytes > 0 && status == WEFT_IN_PROGRESS) {
        uint8_t what, piece;
        uint64_t length = 0;
        fuzz_take(&data, &bytes, &what, 1);
        fuzz_take(&data, &bytes, &piece, 1);
        fuzz_take(&data, &bytes, &length, 2);
        size_t take = piece % 9 < bytes ? piece % 9 : bytes;
        int fd = descriptor(what, length);
        if ((what & 0x40) != 0) {
            hand_over(far, (const uint8_t *)&length, sizeof length, fd); /* the right record */
        } else if (take > 0) {
            hand_over(far, data, take, fd);
            data += take;
            bytes -= take;
        }
        if (fd >= 0) {
            close(fd);
        }
        shm_watch_look(device);
        status = shm_conn_join(conn);
    }
    if (status == WEFT_OK) {
        FUZZ_NEED(shm_conn_region(conn, &base, &mapped) == WEFT_OK && base != NULL && mapped > 0);
        ((volatile uint8_t *)base)[mapped - 1] = 1;
        (void)shm_conn_check(conn);
    }
}

/* The other way round: whoever listens under the address takes the memory and answers with anything. */
static void connector(weft_net_device_t *device, const uint8_t *data, size_t bytes)
{
    static const uint8_t label[WEFT_AUTH_LABEL];
    weft_net_conn_params_t params = {
        .size = sizeof params, .map_bytes = 4096, .commit_bytes = 4096};
    weft_net_address_t address = {.bytes = sizeof(shm_address_t)};
    shm_address_t here;
    struct sockaddr_un name;
    weft_handshake_t handshake = {.step = 0};
    weft_net_conn_t *conn = NULL;
    uint8_t got[WEFT_AUTH_LABEL], how;
    FUZZ_NEED(shm_address_local("fuzz", &here));
    snprintf((char *)here.token, sizeof here.token, "%d", (int)getpid());
    memcpy(address.data, &here, sizeof here);
    shm_address_name(here.token, &name);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), far = -1;
    FUZZ_NEED(bind(listener, (const struct sockaddr *)&name, sizeof name) == 0);
    fuzz_take(&data, &bytes, &how, 1);
    FUZZ_NEED((how & 15) == 0 || listen(listener, 1) == 0);
    memcpy(params.label, label, sizeof label);
    FUZZ_NEED(shm_connect_begin(device, &address, &params, &conn) == WEFT_OK);
    weft_status_t status = WEFT_IN_PROGRESS, passed = WEFT_IN_PROGRESS;
    for (uint32_t turn = 0; turn < 20 && status == WEFT_IN_PROGRESS; turn++) {
        shm_watch_look(device);
        status = shm_connect_poll(conn);
        far = far < 0 ? accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) : far;
        if (far >= 0 && passed == WEFT_IN_PROGRESS && (how & 16) != 0) {
            passed = weft_handshake_accept(device->host, &handshake, far, got);
        } else if (far >= 0 && bytes > 0) {
            size_t take = 1 + turn % 4 < bytes ? 1 + turn % 4 : bytes;
            (void)send(far, data, take, MSG_NOSIGNAL | MSG_DONTWAIT);
            data += take;
            bytes -= take;
        } else if (far >= 0) {
            shutdown(far, SHUT_RDWR);
        }
    }
    if (status == WEFT_OK) {
        (void)shm_conn_check(conn);
    }
    shm_conn_close(conn);
    close(listener);
    if (far >= 0) {
        close(far);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint8_t label[WEFT_AUTH_LABEL];
    static fake_host_t fake;
    static weft_net_device_t device;
    int pair[2];
    uint8_t what;
    if (fake.name == NULL) {
        fake_host_init(&fake, "fuzz");
        device.host = &fake.host;
        FUZZ_NEED(shm_watch_open(&device) == WEFT_OK);
    }
    uint64_t live = atomic_load(&fake.live);
    fuzz_take(&data, &bytes, &what, 1);
    if ((what & 3) == 0) {
        address(data, bytes);
        return 0;
    }
    if ((what & 3) == 2) {
        connector(&device, data, bytes);
        FUZZ_NEED(atomic_load(&fake.live) == live);
        return 0;
    }
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    weft_net_conn_t *conn = NULL;
    FUZZ_NEED(shm_conn_adopt(&device, pair[1], label, &conn) == WEFT_OK);
    talk(&device, conn, pair[0], data, bytes);
    close(pair[0]);
    shm_conn_close(conn);
    FUZZ_NEED(atomic_load(&fake.live) == live);
    return 0;
}
