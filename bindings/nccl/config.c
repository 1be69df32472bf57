/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fields of configs, with the values that NCCL takes for them. */
#include "bindings/nccl/config.h"

#include <string.h>

#include "bindings/nccl/errors.h"
#include "bindings/nccl/refusal.h"

/* The config of 2.14 ends with `blocking`, and four bytes of nothing. */
enum { CONFIG_LEAST = offsetof(ncclConfig_t, cgaClusterSize) + sizeof(int) };
enum { COLL_CONFIG_LEAST = offsetof(ncclCollConfig_t, userProfilerTag) };

typedef struct config_field {
    const char *name;
    size_t at;
    int least, most;
} config_field_t;

#define CONFIG_FIELD(name, least, most)                                                            \
    {                                                                                              \
#name, offsetof(ncclConfig_t, name), least, most                                           \
    }
static const config_field_t config_fields[] = {
    CONFIG_FIELD(blocking, 0, 1),           CONFIG_FIELD(cgaClusterSize, 0, INT_MAX),
    CONFIG_FIELD(minCTAs, 1, INT_MAX),      CONFIG_FIELD(maxCTAs, 1, INT_MAX),
    CONFIG_FIELD(splitShare, 0, 1),         CONFIG_FIELD(collnetEnable, 0, 1),
    CONFIG_FIELD(CTAPolicy, 0, 3),          CONFIG_FIELD(shrinkShare, 0, 1),
    CONFIG_FIELD(nvlsCTAs, 1, INT_MAX),     CONFIG_FIELD(nChannelsPerNetPeer, 1, INT_MAX),
    CONFIG_FIELD(nvlinkCentricSched, 0, 1),
};

/* A field's value, or UNDEF if the caller does not know the field. */
static int config_int(const ncclConfig_t *config, size_t at)
{
    int value = NCCL_CONFIG_UNDEF_INT;
    const size_t end =
        config->size == CONFIG_LEAST ? offsetof(ncclConfig_t, cgaClusterSize) : config->size;
    if (at + sizeof value <= end) {
        memcpy(&value, (const char *)config + at, sizeof value);
    }
    return value;
}

static ncclResult_t config_check_head(const char *call, size_t size, size_t least, unsigned magic)
{
    if (magic != NCCL_API_MAGIC) {
        return nccl_fail(ncclInvalidArgument,
                         "%s: the config has the magic 0x%x instead of 0x%x: it was not set to "
                         "its INITIALIZER",
                         call, magic, NCCL_API_MAGIC);
    }
    return size >= least ? ncclSuccess
                         : nccl_fail(ncclInvalidArgument,
                                     "%s: the config says it has %zu bytes, the least is %zu", call,
                                     size, least);
}

static ncclResult_t config_check_fields(const char *call, const ncclConfig_t *config)
{
    for (size_t i = 0; i < sizeof config_fields / sizeof config_fields[0]; i++) {
        const config_field_t *field = &config_fields[i];
        int value = config_int(config, field->at);
        if (value != NCCL_CONFIG_UNDEF_INT && (value < field->least || value > field->most)) {
            return nccl_fail(ncclInvalidArgument, "%s: the config has %s = %d, legal is %d to %d",
                             call, field->name, value, field->least, field->most);
        }
    }
    int least = config_int(config, offsetof(ncclConfig_t, minCTAs));
    int most = config_int(config, offsetof(ncclConfig_t, maxCTAs));
    if (least != NCCL_CONFIG_UNDEF_INT && most != NCCL_CONFIG_UNDEF_INT && least > most) {
        return nccl_fail(ncclInvalidArgument, "%s: the config has minCTAs = %d above maxCTAs = %d",
                         call, least, most);
    }
    return ncclSuccess;
}

ncclResult_t nccl_config_read(const char *call, const ncclConfig_t *config, bool *blocking_p)
{
    if (config == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = config_check_head(call, config->size, CONFIG_LEAST, config->magic);
    result = result == ncclSuccess ? config_check_fields(call, config) : result;
    int blocking = result == ncclSuccess ? config->blocking : NCCL_CONFIG_UNDEF_INT;
    if (blocking != NCCL_CONFIG_UNDEF_INT) {
        *blocking_p = blocking != 0;
    }
    return result;
}

bool nccl_config_blocking(const ncclConfig_t *config)
{
    return config->blocking != 0;
}

uint32_t nccl_config_channels(const ncclConfig_t *config)
{
    int most = config != NULL ? config_int(config, offsetof(ncclConfig_t, maxCTAs))
                              : NCCL_CONFIG_UNDEF_INT;
    return most != NCCL_CONFIG_UNDEF_INT ? (uint32_t)most : 0;
}

ncclResult_t nccl_coll_config_read(const char *call, const ncclCollConfig_t *config)
{
    if (config == NULL) {
        return ncclSuccess;
    }
    ncclResult_t result = config_check_head(call, config->size, COLL_CONFIG_LEAST, config->magic);
    if (result != ncclSuccess) {
        return result;
    }
    const char *wanted = config->algSelection;
    if (wanted != NULL && wanted[0] != '\0' && config->forceAlgSelection != 0) {
        return nccl_refuse(call, "algorithms of single calls cannot be forced (plan.algo in "
                                 "weft's configuration is for all)");
    }
    if (config->size >= sizeof *config && config->launchCompletionEvent != NULL) {
        return nccl_refuse(call, "launchCompletionEvent cannot be recorded");
    }
    return ncclSuccess;
}
