/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sandboxes. */
#include "tests/support/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os.h"

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool right = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) {
        close(fd);
    }
    return right;
}

static bool set_up_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool right = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return right;
}

const char *sandbox_enter(void)
{
    char map[64], self[512] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || strncmp(self, "/tmp/", 5) == 0) {
        return "the build is below /tmp, which a sandbox has for itself";
    }
    unsigned user = geteuid(), group = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0) {
        return "this user may not make namespaces";
    }
    (void)!write_text("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", user);
    if (!write_text("/proc/self/uid_map", map)) {
        return "no user namespace";
    }
    snprintf(map, sizeof map, "0 %u 1", group);
    (void)!write_text("/proc/self/gid_map", map);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", SANDBOX_SHM, "tmpfs", 0, "size=4m,mode=1777") != 0 ||
        mount("none", SANDBOX_TMP, "tmpfs", 0, "size=8m,mode=1777") != 0) {
        return "no file systems in namespaces";
    }
    return set_up_loopback() ? NULL : "no loopback in namespaces";
}

uint32_t sandbox_files(const char *folder)
{
    uint32_t count = 0;
    const struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

void sandbox_fill(const char *folder)
{
    static char bytes[4096];
    char path[64];
    snprintf(path, sizeof path, "%s/.filler", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, bytes, sizeof bytes) > 0) {
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* run FORMAT…: a command of the shell; what it says is not wanted. */
__attribute__((format(printf, 1, 2))) static bool run(const char *format, ...)
{
    char command[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(command, sizeof command, format, args);
    va_end(args);
    return length > 0 && (size_t)length < sizeof command && system(command) == 0;
}

bool hosts_await(const _Atomic uint32_t *number, uint32_t least)
{
    const uint64_t until = weft_os_deadline(60);
    while (atomic_load(number) < least) {
        if (weft_os_clock_ns() > until) {
            return false;
        }
        usleep(1000);
    }
    return true;
}

bool hosts_begin(void)
{
    return run("{ ip link add west type bridge && ip link add east type bridge && "
               "ip link add cable type veth peer name elbac && ip link set cable master west && "
               "ip link set elbac master east && "
               "for i in west east cable elbac; do ip link set $i up; done; } 2>/dev/null");
}

bool hosts_connect(uint32_t host, uint32_t border, pid_t pid)
{
    return run("{ ip link add h%u type veth peer name eth0 netns %d && "
               "ip link set h%u master %s && ip link set h%u up && "
               "nsenter -n -t %d sh -c 'ip address add 10.77.0.%u/24 dev eth0 && "
               "ip link set eth0 up && ip link set lo up'; } 2>/dev/null",
               host, (int)pid, host, host < border ? "west" : "east", host, (int)pid, host + 1);
}

bool host_run(pid_t pid, const char *format, ...)
{
    char script[1024], process[16];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(script, sizeof script, format, args);
    va_end(args);
    snprintf(process, sizeof process, "%d", (int)pid);
    if (length <= 0 || (size_t)length >= sizeof script) {
        return false;
    }
    pid_t shell = fork();
    if (shell == 0) {
        execlp("nsenter", "nsenter", "-n", "-t", process, "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    int how = 0;
    return waitpid(shell, &how, 0) == shell && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

void host_plug(uint32_t host, bool in)
{
    (void)!run("ip link set h%u %s", host, in ? "up" : "down");
}

void host_deafen(uint32_t host)
{
    (void)!run("tc qdisc replace dev h%u root blackhole 2>/dev/null || "
               "tc qdisc replace dev h%u root tbf rate 8bit burst 1 limit 1",
               host, host);
}

void host_mute(pid_t pid)
{
    (void)!run("nsenter -n -t %d tc qdisc replace dev eth0 root blackhole 2>/dev/null || "
               "nsenter -n -t %d tc qdisc replace dev eth0 root tbf rate 8bit burst 1 limit 1",
               (int)pid, (int)pid);
}

void host_heal(uint32_t host, pid_t pid)
{
    (void)!run("tc qdisc del dev h%u root 2>/dev/null", host);
    (void)!run("nsenter -n -t %d tc qdisc del dev eth0 root 2>/dev/null", (int)pid);
}

void host_move(uint32_t host, bool behind)
{
    (void)!run("ip link set h%u master %s", host, behind ? "east" : "west");
}

void hosts_divide(bool apart)
{
    (void)!run("ip link set cable %s", apart ? "down" : "up");
}
