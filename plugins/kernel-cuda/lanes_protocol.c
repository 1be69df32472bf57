/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_protocol.h. */
#include "lanes_protocol.h"

#include "cuda_ipc.h"

/* Whether 128 bytes that a warp stores at once are seen at once in memory of the peer's device: in
 * that of the same device, and over NVLink, the only path with all atomic operations. */
static bool lanes_protocol_keeps_lines(const weft_kernel_t *kernel, const lanes_port_t *port)
{
    const int there = cuda_ipc_device_of(port->payloads);
    int atomics = 0;
    if (there < 0 || there == kernel->device) {
        return there == kernel->device;
    }
    if (cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, kernel->device,
                                  there) != cudaSuccess) {
        cudaGetLastError(); /* else the caller's next call of it would tell of this */
        return false;
    }
    return atomics != 0;
}

static uint32_t lanes_protocol_least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

void lanes_protocol_choose(weft_kernel_t *kernel, lanes_port_t *port)
{
    lanes_flagged_t *flagged = &port->flagged;
    const bool lines = kernel->travel.protocol != CUDA_PROTOCOL_LL &&
                       kernel->travel.protocol != CUDA_PROTOCOL_SIMPLE &&
                       lanes_protocol_keeps_lines(kernel, port);
    flagged->words_most = flagged->lines_most = 0;
    if (kernel->travel.protocol == CUDA_PROTOCOL_SIMPLE) {
        return;
    }
    if (lines) {
        flagged->lines_most = lanes_protocol_least(flagged->lines.room, UINT32_MAX);
    } else if (kernel->travel.protocol == CUDA_PROTOCOL_LL128) {
        kernel->host->log(
            kernel->host, WEFT_LOG_INFO,
            "CUDA device %d does not use flagged lines (protocol = ll128) to memory at %p: "
            "only NVLink keeps 128 bytes whole; flagged words (ll) are used",
            kernel->device, (const void *)port->payloads);
    }
    if (!lines || kernel->travel.protocol == CUDA_PROTOCOL_AUTO) {
        flagged->words_most = lanes_protocol_least(flagged->words.room, UINT32_MAX);
    }
}

void lanes_protocol_limit(const weft_lanes_program_t *program, lanes_flagged_t *flagged)
{
    const uint32_t lines = program->lines_most;
    uint32_t words = program->words_most;
    if (flagged->lines_most == 0 && lines > words) {
        words = lines;
    }
    flagged->words_most = lanes_protocol_least(flagged->words_most, words);
    flagged->lines_most = lanes_protocol_least(flagged->lines_most, lines);
}
