/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An INI file, from its text to the settings of the core: what is printed is an INI file again,
 * which says the same. Or, behind "=N ", the value of one option. */
#include "core/base/error.h"
#include "core/config/config_parse.h"
#include "core/config/option.h"
#include "core/config/settings.h"
#include "fuzz.h"

static weft_config_t *config_new(void)
{
    weft_comm_options_t options = {.size = sizeof options, .config = "/dev/null"};
    weft_config_t *config = NULL;
    FUZZ_NEED(weft_config_load(&options, &config) == WEFT_OK);
    return config;
}

/* Returns the settings as text, or NULL if the text is refused. */
static char *read_and_print(const char *text, size_t bytes)
{
    weft_settings_t settings;
    weft_config_t *config = config_new();
    char *printed = NULL;
    size_t length = 0;
    weft_status_t status = weft_config_parse(config, "fuzz.ini", text, bytes);
    if (status == WEFT_OK) {
        status = weft_settings_read(config, &settings);
    }
    if (status == WEFT_OK) {
        status = weft_config_finish(config);
    }
    if (status == WEFT_OK) {
        FILE *out = open_memstream(&printed, &length);
        FUZZ_NEED(out != NULL && weft_config_print(config, out) == WEFT_OK);
        fclose(out);
    } else {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
    }
    weft_config_destroy(config);
    return printed;
}

typedef union field {
    bool yes;
    int64_t integer;
    uint64_t size;
    double real;
    const char *string;
    uint8_t bytes[8];
} field_t;

static void value(uint8_t which, const char *text)
{
    static const weft_option_t options[] = {
        {.type = WEFT_OPT_BOOL},
        {.type = WEFT_OPT_INT},
        {.type = WEFT_OPT_INT, .min = -3, .max = 1000},
        {.type = WEFT_OPT_SIZE},
        {.type = WEFT_OPT_SIZE, .min = 64, .max = 1 << 20},
        {.type = WEFT_OPT_DURATION},
        {.type = WEFT_OPT_DURATION, .min = 0, .max = 3600},
        {.type = WEFT_OPT_REAL},
        {.type = WEFT_OPT_STRING},
        {.type = WEFT_OPT_CHOICE, .choices = "auto|yes|none"},
    };
    const weft_option_t *option = &options[which % (sizeof options / sizeof *options)];
    field_t field, again;
    char why[400] = "", shown[512], second[512];
    memset(&field, 0xa5, sizeof field);
    memset(&again, 0xa5, sizeof again);
    if (!weft_option_parse(option, text, &field, why, sizeof why)) {
        FUZZ_NEED(why[0] != '\0' && memcmp(&field, &again, sizeof field) == 0);
        return;
    }
    FUZZ_NEED(why[0] == '\0' && weft_option_type_bytes(option->type) <= sizeof field);
    weft_option_format(option, &field, shown, sizeof shown);
    if (strlen(shown) + 1 == sizeof shown) {
        return; /* a long text is cut */
    }
    FUZZ_NEED(weft_option_parse(option, shown, &again, why, sizeof why));
    weft_option_format(option, &again, second, sizeof second);
    fuzz_same(shown, second);
    FUZZ_NEED(option->type == WEFT_OPT_STRING || memcmp(&field, &again, sizeof field) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes);
    if (bytes >= 3 && text[0] == '=' && text[2] == ' ') {
        value((uint8_t)(text[1] - '0'), text + 3);
    } else {
        char *first = read_and_print(text, bytes);
        if (first != NULL) {
            char *second = read_and_print(first, strlen(first));
            FUZZ_NEED(second != NULL);
            fuzz_same(first, second);
            free(second);
        }
        free(first);
    }
    free(text);
    return 0;
}
