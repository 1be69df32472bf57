/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A set-user-id copy of the test. */
#include "tests/support/secure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

enum { NOT_SECURE = 77 };

int secure_run(const char *environment)
{
    char self[1024], command[4096];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(bytes > 0);
    self[bytes] = '\0';
    if (geteuid() != 0) {
        print_message("only root can make the program for this test\n");
        skip();
    }
    const char *copy = scratch_path("secure");
    snprintf(command, sizeof command,
             "cp '%s' '%s' && chmod 711 '%s' && chown 12345 '%s' && chmod 4755 '%s' && "
             "%s '%s' --secure",
             self, copy, scratch_folder(), copy, copy, environment, copy);
    int status = system(command);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_SECURE) {
        print_message("this file system has no set-user-id programs\n");
        skip();
    }
    return WEXITSTATUS(status);
}

void secure_exit(int status)
{
    /* Without the checks at exit of a leak detector, which cannot work with these rights. */
    _exit(getauxval(AT_SECURE) != 0 ? status : NOT_SECURE);
}
