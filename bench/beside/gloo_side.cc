// SPDX-License-Identifier: BSD-3-Clause
//
// Gloo beside weft, over TCP, which is the only transport for host memory that it has. Options are made per
// call, as PyTorch does. Its reduce_scatter works in place on buffers fixed beforehand and is left out.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "beside.h"

namespace {

std::shared_ptr<gloo::rendezvous::Context> context;
std::shared_ptr<gloo::rendezvous::FileStore> store;

int join(beside_job_t* job) {
    gloo::transport::tcp::attr attr;
    attr.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(attr);
    store = std::make_shared<gloo::rendezvous::FileStore>(job->folder);
    context = std::make_shared<gloo::rendezvous::Context>(job->rank, job->ranks);
    context->connectFullMesh(*store, device);
    return 0;
}

void add(void* out, const void* a, const void* b, size_t n) { gloo::sum<float>(out, a, b, n); }

void all_reduce(float* send, float* recv, size_t count) {
    gloo::AllreduceOptions options(context);
    options.setInput(send, count);
    options.setOutput(recv, count);
    options.setReduceFunction(add);
    gloo::allreduce(options);
}

void broadcast(float* send, float* recv, size_t count) {
    gloo::BroadcastOptions options(context);
    options.setRoot(0);
    options.setOutput(context->rank == 0 ? send : recv, count);
    gloo::broadcast(options);
}

void reduce(float* send, float* recv, size_t count) {
    gloo::ReduceOptions options(context);
    options.setRoot(0);
    options.setInput(send, count);
    options.setOutput(recv, count);
    options.setReduceFunction(add);
    gloo::reduce(options);
}

void all_gather(float* send, float* recv, size_t block) {
    gloo::AllgatherOptions options(context);
    options.setInput(send, block);
    options.setOutput(recv, block * static_cast<size_t>(context->size));
    gloo::allgather(options);
}

void all_to_all(float* send, float* recv, size_t count) {
    gloo::AlltoallOptions options(context);
    options.setInput(send, count);
    options.setOutput(recv, count);
    gloo::alltoall(options);
}

void gather(float* send, float* recv, size_t block) {
    gloo::GatherOptions options(context);
    options.setRoot(0);
    options.setInput(send, block);
    if (context->rank == 0) {
        options.setOutput(recv, block * static_cast<size_t>(context->size));
    }
    gloo::gather(options);
}

void scatter(float* send, float* recv, size_t block) {
    gloo::ScatterOptions options(context);
    options.setRoot(0);
    if (context->rank == 0) {
        std::vector<float*> blocks;
        for (int r = 0; r < context->size; r++) {
            blocks.push_back(send + static_cast<size_t>(r) * block);
        }
        options.setInputs(blocks, block);
    }
    options.setOutput(recv, block);
    gloo::scatter(options);
}

void send_to(int peer, char* data, size_t bytes) {
    auto buffer = context->createUnboundBuffer(data, bytes);
    buffer->send(peer, 7);
    buffer->waitSend();
}

void recv_from(int peer, char* data, size_t bytes) {
    auto buffer = context->createUnboundBuffer(data, bytes);
    buffer->recv(peer, 7);
    buffer->waitRecv();
}

void ping_pong(char* send, char* recv, size_t bytes) {
    if (context->rank == 0) {
        send_to(1, send, bytes);
        recv_from(1, recv, bytes);
    } else if (context->rank == 1) {
        recv_from(0, recv, bytes);
        send_to(0, send, bytes);
    }
}

void stream(char* send, char* recv, size_t bytes) {
    char answer = 0;
    if (context->rank > 1) {
        return;
    }
    std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> buffers;
    for (size_t i = 0; i < BESIDE_BURST; i++) {
        size_t at = i % beside_spread * bytes;
        buffers.push_back(context->createUnboundBuffer((context->rank == 0 ? send : recv) + at, bytes));
        if (context->rank == 0) {
            buffers.back()->send(1, 8);
        } else {
            buffers.back()->recv(0, 8);
        }
    }
    for (auto& buffer : buffers) {
        if (context->rank == 0) {
            buffer->waitSend();
        } else {
            buffer->waitRecv();
        }
    }
    if (context->rank == 0) {
        recv_from(1, &answer, 1);
    } else {
        send_to(0, &answer, 1);
    }
}

int barrier() {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
    return 0;
}

int call(beside_coll_t coll, char* from, char* to, size_t bytes) {
    auto* send = reinterpret_cast<float*>(from);
    auto* recv = reinterpret_cast<float*>(to);
    size_t whole = bytes / sizeof(float);
    size_t block = whole / static_cast<size_t>(context->size);
    switch (coll) {
    case BESIDE_ALL_REDUCE: all_reduce(send, recv, whole); break;
    case BESIDE_BROADCAST: broadcast(send, recv, whole); break;
    case BESIDE_REDUCE: reduce(send, recv, whole); break;
    case BESIDE_ALL_GATHER: all_gather(send, recv, block); break;
    case BESIDE_ALL_TO_ALL: all_to_all(send, recv, whole); break;
    case BESIDE_GATHER: gather(send, recv, block); break;
    case BESIDE_SCATTER: scatter(send, recv, block); break;
    case BESIDE_BARRIER: barrier(); break;
    case BESIDE_PING_PONG: ping_pong(from, to, bytes); break;
    case BESIDE_STREAM: stream(from, to, bytes); break;
    case BESIDE_REDUCE_SCATTER: std::fprintf(stderr, "Gloo: no reduce_scatter\n"); return 1;
    }
    return 0;
}

void leave() {}

}  // namespace

int main(int argc, char** argv) {
    static beside_side_t side{};
    side.forks = true;
    side.join = join;
    side.call = call;
    side.barrier = barrier;
    side.leave = leave;
    return beside_main(&side, argc, argv);
}
