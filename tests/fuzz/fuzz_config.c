/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An INI file, from its text to the settings of the core. */
#include "core/config/config_parse.h"
#include "core/config/settings.h"
#include "core/os/os.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_comm_options_t options = {.size = sizeof options, .config = "/dev/null"};
    weft_settings_t settings;
    weft_config_t *config = NULL;
    char *text = fuzz_text(data, bytes);
    FUZZ_NEED(weft_config_load(&options, &config) == WEFT_OK);
    if (weft_config_parse(config, "fuzz.ini", text, bytes) == WEFT_OK &&
        weft_settings_read(config, &settings) == WEFT_OK) {
        FILE *out = fopen("/dev/null", "w");
        FUZZ_NEED(out != NULL);
        (void)weft_config_finish(config);
        (void)weft_config_print(config, out);
        fclose(out);
    }
    weft_config_destroy(config);
    free(text);
    return 0;
}
