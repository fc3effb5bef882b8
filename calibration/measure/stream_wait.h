/*
 * stream_wait.h - waiting for streams that may never end.
 *
 * A collective waits for its peers on the GPU. If one of them has failed, cudaStreamSynchronize and
 * cudaDeviceSynchronize wait for ever. So the host asks each stream whether it is done
 * (cudaStreamQuery), four times a second also whether there is still anybody to wait for
 * (ncclCommGetAsyncError, the folder of the job), and gives up after a time limit: the
 * communicators are aborted (ncclCommAbort), which ends what they have in flight. nccl-tests does
 * the same (testStreamSynchronize).
 *
 * The calls that ask are a table, so that the order of questions is tested without a GPU.
 */
#ifndef ORR_STREAM_WAIT_H
#define ORR_STREAM_WAIT_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum { ORR_STREAM_DONE, ORR_STREAM_BUSY, ORR_STREAM_FAILED } OrrStreamState;

typedef struct {
  OrrStreamState (*state)(gpointer user, int stream, GError **error);
  gboolean (*is_hopeful)(gpointer user, int stream,
                         GError **error); /* FALSE with @error: stop waiting */
  void (*give_up)(gpointer user);         /* aborts what is in flight */
  gint64 (*now_us)(gpointer user);
  void (*pause)(gpointer user, gint64 us);
} OrrStreamCalls;

/* Waits for streams 0 to @n_streams - 1, in turn. FALSE, after give_up: one failed, hope ended,
 * or @limit_s passed (ORR_FAULT_RESOURCE). */
gboolean orr_stream_wait(const OrrStreamCalls *calls, gpointer user, int n_streams, double limit_s,
                         GError **error);

G_END_DECLS

#endif
