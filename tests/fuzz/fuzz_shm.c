/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a peer hands to net-shm: its address, and behind the handshake a record in any pieces, with
 * descriptors of anything or none, or any answer to ours. Memory that is taken is as long as the
 * record says, and no descriptor stays. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "shm_address.h"
#include "shm_conn.h"
#include "tests/support/fake_host.h"

static fake_host_t fake;

static void address(weft_net_device_t *device, const uint8_t *data, size_t bytes)
{
    weft_net_address_t given = {.bytes = 0};
    weft_net_conn_params_t params = {
        .size = sizeof params, .map_bytes = 4096, .commit_bytes = 4096};
    weft_net_conn_t *conn = NULL;
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
    } else {
        FUZZ_NEED(shm_connect_begin(device, &given, &params, &conn) == WEFT_ERR_PROTO);
        FUZZ_NEED(conn == NULL && fake.error[0] != '\0');
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

/* The same descriptor `count` times. */
static void hand_over(int to, const uint8_t *data, size_t bytes, int fd, uint32_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {.bytes = {0}};
    int fds[4] = {fd, fd, fd, fd};
    uint8_t copy[64];
    struct iovec vec = {.iov_base = copy, .iov_len = bytes < sizeof copy ? bytes : sizeof copy};
    struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
    memcpy(copy, data, vec.iov_len);
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    (void)sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What may be asked of a connection in any state. */
static void ask(weft_net_conn_t *conn, bool ready, uint64_t offset, uint64_t length)
{
    weft_net_conn_info_t info = {.size = sizeof info};
    void *base = NULL;
    uint64_t mapped = 0;
    weft_status_t expected = ready ? WEFT_OK : WEFT_ERR_STATE;
    FUZZ_NEED(shm_conn_info(conn, &info) == expected);
    FUZZ_NEED(shm_conn_region(conn, &base, &mapped) == expected);
    FUZZ_NEED(!ready || (base != NULL && mapped > 0));
    bool inside = ready && offset <= mapped && length <= mapped - offset;
    FUZZ_NEED((shm_conn_commit(conn, offset, length) == WEFT_OK) == inside);
    if (ready) {
        ((volatile uint8_t *)base)[mapped - 1] = 1;
        (void)shm_conn_check(conn);
    }
    if (inside || !ready) {
        shm_conn_discard(conn, offset, length);
    }
}

static void talk(weft_net_device_t *device, weft_net_conn_t *conn, int far, const uint8_t *data,
                 size_t bytes)
{
    weft_status_t status = shm_conn_join(conn);
    while (bytes > 0 && status == WEFT_IN_PROGRESS) {
        uint8_t what, piece;
        uint64_t length = 0;
        fuzz_take(&data, &bytes, &what, 1);
        fuzz_take(&data, &bytes, &piece, 1);
        fuzz_take(&data, &bytes, &length, 2);
        size_t take = piece % 9 < bytes ? piece % 9 : bytes;
        int fd = descriptor(what, length);
        uint32_t count = 1 + (what >> 2 & 3);
        if ((what & 0x40) != 0) {
            hand_over(far, (const uint8_t *)&length, sizeof length, fd,
                      count); /* the right record */
        } else if (take > 0) {
            hand_over(far, data, take, fd, count);
            data += take;
            bytes -= take;
        }
        if (fd >= 0) {
            close(fd);
        }
        shm_watch_look(device);
        status = shm_conn_join(conn);
    }
    uint64_t offset = 0, length = 0;
    fuzz_take(&data, &bytes, &offset, 2);
    fuzz_take(&data, &bytes, &length, 2);
    FUZZ_NEED(status == WEFT_OK || status == WEFT_IN_PROGRESS || fake.error[0] != '\0');
    ask(conn, status == WEFT_OK, offset, length);
    FUZZ_NEED(status == WEFT_OK || shm_connect_poll(conn) != WEFT_OK); /* it is the other end's */
}

/* The other way round: whoever listens under the address takes the memory and answers with
 * anything. */
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
    params.size = (how & 32) != 0 ? offsetof(weft_net_conn_params_t, commit_bytes) : sizeof params;
    weft_status_t status = shm_connect_begin(device, &address, &params, &conn);
    FUZZ_NEED(status == WEFT_OK || (status == WEFT_ERR_RESOURCE && conn == NULL));
    status = status == WEFT_OK ? WEFT_IN_PROGRESS : status;
    weft_status_t passed = WEFT_IN_PROGRESS;
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
    if (conn != NULL) {
        ask(conn, status == WEFT_OK, 0, 4096);
    }
    shm_conn_close(conn);
    close(listener);
    if (far >= 0) {
        close(far);
    }
}

/* An acceptor that has adopted one end of a socket; the peer has the other. */
static void acceptor(weft_net_device_t *device, const uint8_t *data, size_t bytes)
{
    static const uint8_t label[WEFT_AUTH_LABEL];
    int pair[2];
    weft_net_conn_t *conn = NULL;
    FUZZ_NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    if (shm_conn_adopt(device, pair[1], label, &conn) == WEFT_OK) {
        talk(device, conn, pair[0], data, bytes);
    }
    close(pair[0]);
    shm_conn_close(conn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static void (*const parts[])(weft_net_device_t *, const uint8_t *,
                                 size_t) = {address, acceptor, connector, acceptor};
    static weft_net_t net;
    static weft_net_device_t device;
    if (fake.name == NULL) {
        fake_host_init(&fake, "fuzz");
        net.own.uid = geteuid();
        device.host = &fake.host;
        device.net = &net;
        FUZZ_NEED(shm_watch_open(&device) == WEFT_OK);
    }
    uint64_t live = atomic_load(&fake.live);
    uint32_t open = fuzz_descriptors();
    uint8_t what = fuzz_byte(&data, &bytes);
    fake.error[0] = '\0';
    /* Of the allocations at most one fails. */
    atomic_store(&fake.fail_at, what >> 2 == 0 ? 0 : atomic_load(&fake.allocs) + (what >> 2));
    parts[what & 3](&device, data, bytes);
    atomic_store(&fake.fail_at, 0);
    FUZZ_NEED(atomic_load(&fake.live) == live);
    FUZZ_NEED(fuzz_descriptors() == open);
    return 0;
}
