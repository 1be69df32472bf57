/* SPDX-License-Identifier: BSD-3-Clause
 *
 * deny CALL ERRNO COMMAND…: runs the command where the system refuses that call, as filters of
 * containers do. The call "netlink" is socket() of AF_NETLINK. Exit code 77: this system has no
 * such filters. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_poll /* of processors without it the C library takes the other */
#define SYS_poll SYS_ppoll
#endif

static const struct {
    const char *name;
    unsigned number;
} calls[] = {{"eventfd2", SYS_eventfd2},
             {"signalfd4", SYS_signalfd4},
             {"prctl", SYS_prctl},
             {"fallocate", SYS_fallocate},
             {"madvise", SYS_madvise},
             {"accept4", SYS_accept4},
             {"fcntl", SYS_fcntl},
             {"netlink", SYS_socket},
             {"memfd_create", SYS_memfd_create},
             {"poll", SYS_poll}};

int main(int argc, char **argv)
{
    size_t i = 0;
    while (argc > 3 && i < sizeof calls / sizeof calls[0] && strcmp(calls[i].name, argv[1]) != 0) {
        i++;
    }
    if (argc <= 3 || i == sizeof calls / sizeof calls[0]) {
        fprintf(stderr, "usage: deny CALL ERRNO COMMAND...\n");
        return 2;
    }
    /* Of socket() only the calls whose first argument is AF_NETLINK. */
    const unsigned first = calls[i].number == SYS_socket ? AF_NETLINK : 0;
    const unsigned char unless = calls[i].number == SYS_socket ? 0 : 2;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 4),
        BPF_JUMP(BPF_JMP | BPF_JA, unless, 0, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return 77;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 2;
}
