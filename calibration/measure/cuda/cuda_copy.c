/*
 * cuda_copy.c - the copies of family_device_copy.c. Host memory is pinned and on the device's NUMA
 * node (numa.h).
 */
#include "calibration/measure/cuda/cuda_private.h"

enum { TO_DEVICE, TO_HOST, BOTH, WITHIN, PEER };

typedef struct {
  gsize bytes, stride, host_bytes; /* of a copy, from one set to the next, of host memory in all */
  char *device[2], *host[2], *peer;
  cudaStream_t back; /* the second direction of BOTH */
  cudaEvent_t fork, join;
  int way, peer_device;
} Copy;

static void copy_free(gpointer data) {
  Copy *copy = data;
  for (int i = 0; i < 2; i++) orr_cuda_host_free(copy->host[i], copy->host_bytes);
  if (copy->peer) cudaFree(copy->peer);
  if (copy->fork) cudaEventDestroy(copy->fork);
  if (copy->join) cudaEventDestroy(copy->join);
  g_free(copy);
}

/* Both directions at once: the second stream forks off the first and joins it again, so that a
 * graph has two branches. */
static gboolean launch_both(const Copy *copy, gsize at, cudaStream_t stream, GError **error) {
  return orr_cuda_ok(cudaEventRecord(copy->fork, stream), "cudaEventRecord", error) &&
         orr_cuda_ok(cudaStreamWaitEvent(copy->back, copy->fork, 0), "cudaStreamWaitEvent",
                     error) &&
         orr_cuda_ok(cudaMemcpyAsync(copy->device[0] + at, copy->host[0] + at, copy->bytes,
                                     cudaMemcpyHostToDevice, stream),
                     "copy", error) &&
         orr_cuda_ok(cudaMemcpyAsync(copy->host[1] + at, copy->device[1] + at, copy->bytes,
                                     cudaMemcpyDeviceToHost, copy->back),
                     "copy", error) &&
         orr_cuda_ok(cudaEventRecord(copy->join, copy->back), "cudaEventRecord", error) &&
         orr_cuda_ok(cudaStreamWaitEvent(stream, copy->join, 0), "cudaStreamWaitEvent", error);
}

static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  const Copy *copy = kernel->state;
  const gsize at = set * copy->stride;
  cudaError_t code = cudaSuccess;
  if (copy->way == BOTH) return launch_both(copy, at, stream, error);
  if (copy->way == TO_DEVICE)
    code = cudaMemcpyAsync(copy->device[0] + at, copy->host[0] + at, copy->bytes,
                           cudaMemcpyHostToDevice, stream);
  else if (copy->way == TO_HOST)
    code = cudaMemcpyAsync(copy->host[0] + at, copy->device[0] + at, copy->bytes,
                           cudaMemcpyDeviceToHost, stream);
  else if (copy->way == WITHIN)
    code = cudaMemcpyAsync(copy->device[1] + at, copy->device[0] + at, copy->bytes,
                           cudaMemcpyDeviceToDevice, stream);
  else
    code = cudaMemcpyPeerAsync(copy->peer + at, copy->peer_device, copy->device[0] + at,
                               kernel->bench->device, copy->bytes, stream);
  return orr_cuda_ok(code, "copy", error);
}

/* Compares the first and the last bytes that arrived. */
static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  const Copy *copy = kernel->state;
  const gsize n = MIN(copy->bytes, 256);
  guint8 sent[256], found[256];
  const char *to = copy->way == TO_HOST  ? copy->host[0]
                   : copy->way == WITHIN ? copy->device[1]
                                         : copy->device[0];
  const char *from = copy->way == TO_HOST || copy->way >= WITHIN ? copy->device[0] : copy->host[0];
  if (copy->way == PEER) to = copy->peer;
  OrrVerdict verdict = {.limit = 0};
  if (!orr_cuda_run_once(kernel, error)) return FALSE;
  for (gsize at = 0; at <= copy->bytes - n; at += MAX(copy->bytes - n, 1)) {
    if (!orr_cuda_ok(cudaMemcpy(sent, from + at, n, cudaMemcpyDefault), "cudaMemcpy", error) ||
        !orr_cuda_ok(cudaMemcpy(found, to + at, n, cudaMemcpyDefault), "cudaMemcpy", error))
      return FALSE;
    orr_cuda_judge(&verdict, memcmp(sent, found, n) == 0 ? 0 : 1, 0, 1);
  }
  *ret_verdict = verdict;
  return TRUE;
}

static gboolean make_host(OrrKernel *kernel, char **ret_host, gsize bytes, GError **error) {
  if (!(*ret_host = orr_cuda_host_alloc(kernel->bench, bytes, error))) return FALSE;
  for (gsize i = 0; i < bytes; i += 64) (*ret_host)[i] = (char)(i / 64 + kernel->seed);
  return TRUE;
}

static gboolean make_peer(OrrKernel *kernel, Copy *copy, gsize bytes, GError **error) {
  copy->peer_device = kernel->bench->device == 0 ? 1 : 0;
  int can = 0;
  if (!orr_cuda_ok(cudaDeviceCanAccessPeer(&can, kernel->bench->device, copy->peer_device), "peer",
                   error))
    return FALSE;
  if (can) {
    const cudaError_t code = cudaDeviceEnablePeerAccess(copy->peer_device, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled)
      (void)cudaGetLastError();
    else if (!orr_cuda_ok(code, "cudaDeviceEnablePeerAccess", error))
      return FALSE;
  }
  gboolean fine = orr_cuda_ok(cudaSetDevice(copy->peer_device), "cudaSetDevice", error) &&
                  orr_cuda_ok(cudaMalloc((void **)&copy->peer, bytes), "cudaMalloc", error);
  return orr_cuda_ok(cudaSetDevice(kernel->bench->device), "cudaSetDevice", fine ? error : NULL) &&
         fine;
}

static gboolean allocate(OrrKernel *kernel, Copy *copy, GError **error) {
  const gsize all = copy->stride * kernel->n_sets, words = all / 4;
  const gboolean to_host = copy->way < WITHIN;
  copy->host_bytes = all;
  return (copy->device[0] = orr_cuda_random(kernel, ORR_FORMAT_FP32, words, error)) &&
         (copy->way == TO_DEVICE || copy->way == TO_HOST || copy->way == PEER ||
          (copy->device[1] = orr_cuda_random(kernel, ORR_FORMAT_FP32, words, error))) &&
         (!to_host || make_host(kernel, &copy->host[0], all, error)) &&
         (copy->way != BOTH || make_host(kernel, &copy->host[1], all, error)) &&
         (copy->way != PEER || make_peer(kernel, copy, all, error));
}

gboolean orr_cuda_prepare_copy(OrrKernel *kernel, GError **error) {
  Copy *copy = g_new0(Copy, 1);
  kernel->state = copy;
  kernel->clear = copy_free;
  kernel->launch = launch;
  kernel->verify = verify;
  copy->way = (int)kernel->shape.at[0];
  copy->bytes = (gsize)kernel->shape.at[1];
  copy->stride = (copy->bytes + 255) / 256 * 256;
  copy->back = kernel->bench->beside;
  orr_cuda_rotate(kernel, (double)copy->stride, (double)copy->stride);
  kernel->n_sets = MIN(kernel->n_sets, 16); /* pinned memory is scarce */
  return orr_cuda_ok(cudaEventCreateWithFlags(&copy->fork, cudaEventDisableTiming),
                     "cudaEventCreate", error) &&
         orr_cuda_ok(cudaEventCreateWithFlags(&copy->join, cudaEventDisableTiming),
                     "cudaEventCreate", error) &&
         allocate(kernel, copy, error);
}
