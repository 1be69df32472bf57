/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the boot id of the kernel and the network namespace from /proc. What /proc/self tells is
 * that of the main thread, and gone if that has ended before others. */
#include <weft/sdk/host_identity.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The kernel writes 32 lower-case hexadecimal digits with dashes between. */
static bool identity_parse(const char *text, uint8_t id[16])
{
    size_t digits = 0;
    for (; *text != '\0' && digits < 32; text++) {
        int value = hex_value(*text);
        if (value >= 0) {
            id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
            digits++;
        }
    }
    return digits == 32;
}

static bool identity_boot_id(uint8_t id[16])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char text[64] = {0};
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 && identity_parse(text, id);
}

bool weft_host_identity_read(uint8_t identity[WEFT_HOST_IDENTITY_BYTES])
{
    struct stat net;
    memset(identity, 0, WEFT_HOST_IDENTITY_BYTES);
    if (stat("/proc/thread-self/ns/net", &net) != 0 || !identity_boot_id(identity)) {
        memset(identity, 0, WEFT_HOST_IDENTITY_BYTES);
        return false;
    }
    uint64_t inode = net.st_ino;
    memcpy(identity + 16, &inode, sizeof inode);
    return true;
}
