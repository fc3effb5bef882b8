/*
 * stream_wait.h - waiting for streams that may never end.
 *
 * A collective waits for its peers on the GPU. If one of them has failed, cudaStreamSynchronize and
 * cudaDeviceSynchronize wait for ever. So the host polls each stream (cudaStreamQuery), checks four
 * times per second whether the peers are still alive (ncclCommGetAsyncError, the folder of the
 * job), and gives up after a time limit: it aborts the communicators (ncclCommAbort), which ends
 * their work in flight. nccl-tests does the same (testStreamSynchronize).
 *
 * The calls are a table, so that their order can be tested without a GPU.
 */
#pragma once

#include "sim/base/ground.h"

typedef enum { ORR_STREAM_DONE, ORR_STREAM_BUSY, ORR_STREAM_FAILED } OrrStreamState;

typedef struct {
  OrrStreamState (*state)(gpointer user, int stream, GError **error);
  gboolean (*is_hopeful)(gpointer user, int stream,
                         GError **error); /* FALSE with @error: stop waiting */
  void (*give_up)(gpointer user);         /* aborts what is in flight */
  gint64 (*now_us)(gpointer user);
  void (*pause)(gpointer user, gint64 us);
} OrrStreamCalls;

/* Waits for streams 0 to @n_streams - 1 in turn. FALSE, after give_up: a stream or a peer
 * failed, or @limit_s passed (ORR_FAULT_RESOURCE). */
gboolean orr_stream_wait(const OrrStreamCalls *calls, gpointer user, int n_streams, double limit_s,
                         GError **error);
