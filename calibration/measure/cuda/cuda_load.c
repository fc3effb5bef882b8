/*
 * cuda_load.c - keeps the node's other GPUs busy while the measured one settles.
 *
 * A board in a loaded node settles at a lower clock than alone: its neighbours heat its air, and a
 * node's supply can be short. So while power is watched, each other GPU of the process runs bf16
 * products, the heaviest common load. Two batches are in flight on each, both longer than the
 * host's last rounds, so that no GPU waits for the host:
 *
 *   round      |  post  |  measured calls  |  post  |  measured calls  |
 *   other GPU  | batch 1 .............| batch 2 ..............| batch 3 ...
 *
 * A GPU without room for the operands is left out; the row has the number of busy GPUs.
 */
#include "calibration/measure/cuda/cuda_private.h"

enum { SIZE = 4096, BATCHES = 2, MOST_CALLS = 20000, MOST_GPUS = 64 };
static const double likely_fraction = 0.7; /* of the peak: how long a product takes, about */

/* Another GPU, as a bench of its own. */
typedef struct {
  OrrBench bench;
  OrrKernel product;
  cudaEvent_t ends[BATCHES]; /* of the newest batches */
  guint n_batches;
} Peer;

struct OrrCudaLoad {
  int device; /* the measured one */
  GPtrArray *peers;
  double call_us, round_us; /* of a product; of the longest recent round */
  gint64 last_us;           /* when the last round was posted */
};

static void peer_free(gpointer data) {
  Peer *peer = data;
  cudaSetDevice(peer->bench.device);
  if (peer->bench.stream) cudaStreamSynchronize(peer->bench.stream);
  if (peer->product.clear) peer->product.clear(peer->product.state);
  g_ptr_array_unref(peer->product.buffers);
  orr_cublas_free(peer->bench.cublas);
  for (int i = 0; i < BATCHES; i++)
    if (peer->ends[i]) cudaEventDestroy(peer->ends[i]);
  if (peer->bench.stream) cudaStreamDestroy(peer->bench.stream);
  g_free(peer);
}

static void buffer_free(gpointer buffer) { cudaFree(buffer); }

/* NULL: it has no room, or cannot be used. */
static Peer *peer_new(const OrrBench *bench, int device) {
  Peer *peer = g_new0(Peer, 1);
  peer->bench.facts = bench->facts; /* texts are borrowed */
  peer->bench.device = device;
  peer->product = (OrrKernel){.bench = &peer->bench, .n_sets = 1};
  peer->product.buffers = g_ptr_array_new_with_free_func(buffer_free);
  gboolean fine =
      cudaSetDevice(device) == cudaSuccess &&
      cudaStreamCreateWithFlags(&peer->bench.stream, cudaStreamNonBlocking) == cudaSuccess &&
      orr_cuda_prepare_product(&peer->product, SIZE, SIZE, SIZE, NULL);
  for (int i = 0; i < BATCHES && fine; i++) fine = cudaEventCreate(&peer->ends[i]) == cudaSuccess;
  if (fine) return peer;
  (void)cudaGetLastError(); /* not the measured GPU's */
  peer_free(peer);
  return NULL;
}

OrrCudaLoad *orr_cuda_load_new(const OrrBench *bench) {
  OrrCudaLoad *load = g_new0(OrrCudaLoad, 1);
  const double peak = bench->facts.flops[ORR_BF16], flops = 2 * pow(SIZE, 3);
  load->device = bench->device;
  load->peers = g_ptr_array_new_with_free_func(peer_free);
  load->call_us = peak > 0 ? flops / (likely_fraction * peak) * 1e6 : 1e3;
  for (int i = 0; i < MIN(bench->facts.n_gpus, MOST_GPUS); i++) {
    Peer *peer = i == bench->device ? NULL : peer_new(bench, i);
    if (peer) g_ptr_array_add(load->peers, peer);
  }
  cudaSetDevice(bench->device);
  return load;
}

void orr_cuda_load_free(OrrCudaLoad *load) {
  if (!load) return;
  g_ptr_array_unref(load->peers);
  cudaSetDevice(load->device);
  g_free(load);
}

gint64 orr_cuda_load_gpus(const OrrCudaLoad *load) { return load->peers->len; }

static gboolean post_batch(Peer *peer, guint n_calls, GError **error) {
  cudaEvent_t end = peer->ends[peer->n_batches % BATCHES];
  if (peer->n_batches >= BATCHES && !orr_cuda_is_reached(end)) return TRUE; /* both are in flight */
  if (!orr_cuda_ok(cudaSetDevice(peer->bench.device), "cudaSetDevice", error)) return FALSE;
  for (guint i = 0; i < n_calls; i++)
    if (!peer->product.launch(&peer->product, i % peer->product.n_sets, peer->bench.stream, error))
      return FALSE;
  peer->n_batches++;
  return orr_cuda_ok(cudaEventRecord(end, peer->bench.stream), "cudaEventRecord", error);
}

gboolean orr_cuda_load_post(OrrCudaLoad *load, GError **error) {
  const gint64 now_us = g_get_monotonic_time();
  const double since_us = load->last_us ? (double)(now_us - load->last_us) : 0;
  load->round_us = fmax(0.9 * load->round_us, since_us);
  const guint n_calls = (guint)CLAMP(ceil(2 * load->round_us / load->call_us), 10, MOST_CALLS);
  load->last_us = now_us;
  for (guint i = 0; i < load->peers->len; i++)
    if (!post_batch(load->peers->pdata[i], n_calls, error)) return FALSE;
  return load->peers->len == 0 || orr_cuda_ok(cudaSetDevice(load->device), "cudaSetDevice", error);
}
