/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The environment that a launcher leaves, a line "NAME=value" each: ranks that are read fit each
 * other, and what does not is refused with the variable. */
#include "core/base/error.h"
#include "core/boot/launcher.h"
#include "fuzz.h"
#include "tests/support/launcher_environment.h"

/* No other variables, for those of the system are ours too. */
static const char *const names[] = {
    "WEFT_",         "OMPI_COMM_WORLD_",    "OMPI_MCA_", "PMIX_",         "PMI_",    "MPI_LOCAL",
    "RANK",          "WORLD_SIZE",          "LOCAL_",    "TORCHELASTIC_", "MASTER_", "SLURM_",
    "PRTE_LAUNCHED", "JOB_COMPLETION_INDEX"};

static bool is_of_launchers(const char *line)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(line, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Sets what the lines say, or unsets it. */
static void set_lines(char *text, bool set)
{
    for (char *line = text; *line != '\0';) {
        size_t bytes = strcspn(line, "\n");
        bool last = line[bytes] == '\0';
        char *equals = memchr(line, '=', bytes);
        if (equals != NULL && equals != line && is_of_launchers(line)) {
            line[bytes] = *equals = '\0';
            FUZZ_NEED((set ? setenv(line, equals + 1, 1) : unsetenv(line)) == 0);
            *equals = '=';
            line[bytes] = last ? '\0' : '\n';
        }
        line += bytes + !last;
    }
}

static void check_job(const weft_launcher_t *launcher)
{
    char name[600], shorter[32];
    weft_status_t status = weft_launcher_name_job(launcher, name, sizeof name);
    if (status == WEFT_OK) {
        size_t length = strnlen(name, sizeof name);
        FUZZ_NEED(length > 0 && length < sizeof name);
        FUZZ_NEED(strncmp(name, launcher->name, strlen(launcher->name)) == 0);
    } else {
        FUZZ_NEED(status == WEFT_ERR_UNSUPPORTED || status == WEFT_ERR_CONFIG);
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
    }
    if (weft_launcher_name_job(launcher, shorter, sizeof shorter) == WEFT_OK) {
        FUZZ_NEED(strncmp(name, shorter, strnlen(shorter, sizeof shorter)) == 0);
    }
    FUZZ_NEED(weft_launcher_advice(launcher) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_launcher_t launcher = {.size = sizeof launcher}, before = launcher, small = {.size = 8};
    char *text = fuzz_text(data, bytes);
    launcher_environment(NULL);
    set_lines(text, true);
    weft_status_t status = weft_launcher_detect(&launcher);
    if (status == WEFT_OK) {
        FUZZ_NEED(memchr(launcher.name, '\0', sizeof launcher.name) != NULL);
        FUZZ_NEED(launcher.rank < launcher.nranks && launcher.local_ranks <= launcher.nranks);
        FUZZ_NEED(launcher.local_ranks == 0 || launcher.local_rank < launcher.local_ranks);
        FUZZ_NEED(!weft_launcher_is_local(&launcher) || launcher.local_ranks == launcher.nranks);
        check_job(&launcher);
    } else {
        FUZZ_NEED(status == WEFT_ERR_CONFIG && weft_error_record()->text[0] != '\0');
        FUZZ_NEED(memcmp(&launcher, &before, sizeof launcher) == 0);
    }
    FUZZ_NEED(weft_launcher_detect(&small) == WEFT_ERR_ARG);
    set_lines(text, false);
    free(text);
    return 0;
}
