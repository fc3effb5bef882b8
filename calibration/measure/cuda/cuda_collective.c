/*
 * cuda_collective.c - NCCL's collectives; see family_collective.c and cuda_nccl.h.
 *
 * Each call is posted for all GPUs of the process between group marks. How many calls are made may not depend on a
 * rank's own clock: ranks would disagree. Rank 0's first repeat says how many repeats fill the burst.
 */
#include <math.h>
#include <string.h>

#include "calibration/measure/cuda/cuda_nccl.h"
#include "calibration/measure/cuda/kernels.h"
#include "sim/base/fault.h"

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, SEND_RECV };
enum { WARM_CALLS = 5, CALLS = 20, SAMPLES = 64, LOUD_RANKS = 8 };

/* --- A collective --- */

typedef struct {
  int op, type;
  OrrFormat format;
  gsize n; /* elements of the whole buffer, a multiple of the ranks */
} Call;

/* Each rank sends a share to each other, and receives one. */
static int all_to_all(const OrrNcclGroup *group, const OrrNcclGpu *gpu, const Call *call, cudaStream_t stream) {
  const gsize share = call->n / (gsize)group->n_ranks, bytes = orr_format_bytes(call->format, share);
  int result = 0;
  for (int peer = 0; peer < group->n_ranks && result == 0; peer++) {
    result = group->nccl.send(gpu->in + (gsize)peer * bytes, share, call->type, peer, gpu->comm, stream);
    if (result == 0)
      result = group->nccl.recv(gpu->out + (gsize)peer * bytes, share, call->type, peer, gpu->comm, stream);
  }
  return result;
}

static int post(const OrrNcclGroup *group, const OrrNcclGpu *gpu, const Call *call, cudaStream_t stream) {
  const OrrNccl *nccl = &group->nccl;
  const int n_ranks = (int)group->n_ranks, next = (gpu->rank + 1) % n_ranks, last = (gpu->rank + n_ranks - 1) % n_ranks;
  const gsize share = call->n / (gsize)n_ranks;
  switch (call->op) {
  case ALL_REDUCE:
    return nccl->all_reduce(gpu->in, gpu->out, call->n, call->type, NCCL_SUM, gpu->comm, stream);
  case ALL_GATHER:
    return nccl->all_gather(gpu->in, gpu->out, share, call->type, gpu->comm, stream);
  case REDUCE_SCATTER:
    return nccl->reduce_scatter(gpu->in, gpu->out, share, call->type, NCCL_SUM, gpu->comm, stream);
  case BROADCAST:
    return nccl->broadcast(gpu->in, gpu->out, call->n, call->type, 0, gpu->comm, stream);
  case REDUCE:
    return nccl->reduce(gpu->in, gpu->out, call->n, call->type, NCCL_SUM, 0, gpu->comm, stream);
  case ALL_TO_ALL:
    return all_to_all(group, gpu, call, stream);
  default: {
    const int result = nccl->send(gpu->in, call->n, call->type, next, gpu->comm, stream);
    return result ? result : nccl->recv(gpu->out, call->n, call->type, last, gpu->comm, stream);
  }
  }
}

/* On every GPU of the process; on the first one's @first if that is not NULL. */
static gboolean post_all(const OrrNcclGroup *group, const Call *call, cudaStream_t first, GError **error) {
  int result = group->nccl.group_start();
  for (int i = 0; i < group->n_gpus && result == 0; i++)
    result = post(group, &group->gpus[i], call, i == 0 && first ? first : group->gpus[i].stream);
  const int ended = group->nccl.group_end();
  return orr_nccl_ok(group, result ? result : ended, "collective", error);
}

/* --- Buffers --- */

static void free_buffers(OrrNcclGpu *gpu) {
  if (gpu->in) cudaFree(gpu->in);
  if (gpu->out) cudaFree(gpu->out);
  gpu->in = gpu->out = NULL;
  gpu->bytes = 0;
}

static gboolean make_buffers(OrrNcclGroup *group, gsize bytes, GError **error) {
  gboolean fine = TRUE;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    OrrNcclGpu *gpu = &group->gpus[i];
    fine = orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error);
    if (!fine || gpu->bytes >= bytes) continue;
    free_buffers(gpu);
    fine = orr_cuda_ok(cudaMalloc((void **)&gpu->in, bytes), "cudaMalloc", error) &&
           orr_cuda_ok(cudaMalloc((void **)&gpu->out, bytes), "cudaMalloc", error);
    if (fine)
      gpu->bytes = bytes;
    else
      free_buffers(gpu); /* half of what did not fit is in the way of the next shape */
  }
  return orr_cuda_ok(cudaSetDevice(group->bench->device), "cudaSetDevice", fine ? error : NULL) && fine;
}

/* What every element of rank r is for a check: r + 1, or, since 8-bit sums end at 448 and round from 16 on, 1 on the
 * first eight ranks and 0 on the others. */
static double part_of(const Call *call, gint64 rank) {
  return call->format != ORR_FORMAT_E4M3 ? (double)rank + 1 : rank < LOUD_RANKS;
}

/* That of each rank (@is_random FALSE), or random. */
static gboolean fill_buffers(OrrNcclGroup *group, const Call *call, gboolean is_random, GError **error) {
  gboolean fine = TRUE;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    OrrNcclGpu *gpu = &group->gpus[i];
    fine = orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error) &&
           orr_cuda_launched(
               is_random ? orr_kernel_fill(gpu->in, (int)call->format, call->n, 7 + (guint64)gpu->rank, gpu->stream)
                         : orr_kernel_fill_constant(gpu->in, (int)call->format, call->n,
                                                    (float)part_of(call, gpu->rank), gpu->stream),
               "fill", error) &&
           orr_cuda_ok(cudaStreamSynchronize(gpu->stream), "fill", error);
  }
  return orr_cuda_ok(cudaSetDevice(group->bench->device), "cudaSetDevice", fine ? error : NULL) && fine;
}

/* What element @at of the first GPU's output must be; NAN: nothing arrives. */
static double expected(const OrrNcclGroup *group, const Call *call, gsize at) {
  const OrrNcclGpu *gpu = &group->gpus[0];
  double sum = 0;
  for (gint64 rank = 0; rank < group->n_ranks; rank++) sum += part_of(call, rank);
  const gsize share = call->n / (gsize)group->n_ranks;
  switch (call->op) {
  case ALL_REDUCE:
    return sum;
  case REDUCE:
    return gpu->rank == 0 ? sum : NAN;
  case REDUCE_SCATTER:
    return at < share ? sum : NAN;
  case BROADCAST:
    return part_of(call, 0);
  case SEND_RECV:
    return part_of(call, gpu->rank == 0 ? group->n_ranks - 1 : gpu->rank - 1);
  default:
    return part_of(call, (gint64)(at / share));
  }
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  OrrNcclGroup *group = kernel->bench->nccl;
  const Call *call = kernel->state;
  OrrVerdict verdict = {.limit = orr_format_limit(call->format)};
  if (!fill_buffers(group, call, FALSE, error) || !post_all(group, call, NULL, error) || !orr_nccl_wait(group, error))
    return FALSE;
  for (gsize i = 0; i < SAMPLES; i++) {
    const gsize at = i * (call->n - 1) / (SAMPLES - 1);
    const double wanted = expected(group, call, at);
    double found = 0;
    if (isnan(wanted)) continue;
    if (!orr_cuda_read(group->gpus[0].out, call->format, at, 1, 1, &found, error)) return FALSE;
    orr_cuda_judge(&verdict, found, wanted, fmax(wanted, 1));
  }
  *ret_verdict = verdict;
  return fill_buffers(group, call, TRUE, error);
}

/* --- Timing --- */

static gboolean record_all(OrrNcclGroup *group, gboolean is_end, GError **error) {
  for (int i = 0; i < group->n_gpus; i++) {
    const OrrNcclGpu *gpu = &group->gpus[i];
    if (!orr_cuda_ok(cudaEventRecord(is_end ? gpu->end : gpu->begin, gpu->stream), "cudaEventRecord", error))
      return FALSE;
  }
  return TRUE;
}

/* Microseconds of one call: the slowest GPU's of this process. @sampled: power and clocks while they run, or NULL. */
static gboolean repeat(OrrNcclGroup *group, const Call *call, double *ret_us, OrrTiming *sampled, GError **error) {
  *ret_us = 0;
  if (!record_all(group, FALSE, error)) return FALSE;
  for (int c = 0; c < CALLS; c++)
    if (!post_all(group, call, NULL, error)) return FALSE;
  if (!record_all(group, TRUE, error)) return FALSE;
  if (sampled) orr_nvml_sample(group->bench->nvml, &sampled->watts, &sampled->sm_clock_hz, &sampled->memory_clock_hz);
  if (!orr_nccl_wait(group, error)) return FALSE;
  for (int i = 0; i < group->n_gpus; i++) {
    float ms = 0;
    if (!orr_cuda_ok(cudaEventElapsedTime(&ms, group->gpus[i].begin, group->gpus[i].end), "cudaEventElapsedTime",
                     error))
      return FALSE;
    *ret_us = fmax(*ret_us, ms * 1e3 / CALLS);
  }
  return TRUE;
}

/* How many repeats fill the burst, by the first of them: rank 0's count is all ranks'. */
static gboolean count_repeats(OrrNcclGroup *group, const Call *call, const OrrTimingRule *rule, gint64 *ret_n,
                              GError **error) {
  double us = 0;
  for (int i = 0; i < WARM_CALLS; i++)
    if (!post_all(group, call, NULL, error)) return FALSE;
  if (!orr_nccl_wait(group, error) || !repeat(group, call, &us, NULL, error)) return FALSE;
  *ret_n = (gint64)CLAMP(ceil(rule->burst_s * 1e6 / fmax(us * CALLS, 1)), rule->min_repeats, rule->max_repeats);
  return orr_nccl_agree(group->bench, ret_n, error);
}

static gboolean time_collective(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing, GError **error) {
  OrrNcclGroup *group = kernel->bench->nccl;
  gint64 n = 0;
  OrrTiming timing = {.calls = CALLS, .method = "stream", .watts = NAN, .sm_clock_hz = NAN, .memory_clock_hz = NAN};
  if (!count_repeats(group, kernel->state, rule, &n, error)) return FALSE;
  g_autofree double *us = g_new(double, n);
  const gint64 begin_us = g_get_monotonic_time();
  for (gint64 i = 0; i < n; i++) {
    const gboolean is_settled = (g_get_monotonic_time() - begin_us) / 1e6 >= ORR_POWER_SETTLES_S;
    if (!repeat(group, kernel->state, &us[i], is_settled ? &timing : NULL, error)) return FALSE;
  }
  orr_cuda_summarize(us, (guint)n, &timing);
  *ret_timing = timing;
  return TRUE;
}

gboolean orr_cuda_prepare_collective(OrrKernel *kernel, GError **error) {
  static const int types[] = {NCCL_FP32, NCCL_FP16, NCCL_BF16, NCCL_E4M3};
  OrrNcclGroup *group = kernel->bench->nccl;
  if (!group) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "collective: NCCL (libnccl.so.2) was not found");
    return FALSE;
  }
  const gint64 *at = kernel->shape.at;
  Call *call = g_new0(Call, 1);
  *call = (Call){.op = (int)at[0], .type = types[at[1]], .format = (OrrFormat)at[1]};
  const gsize elements = (gsize)at[3] / orr_format_bytes(call->format, 1);
  call->n = MAX(elements / (gsize)group->n_ranks, 1) * (gsize)group->n_ranks;
  kernel->state = call;
  kernel->clear = g_free;
  kernel->time = time_collective;
  kernel->verify = verify;
  return make_buffers(group, orr_format_bytes(call->format, call->n), error);
}

gboolean orr_nccl_all_reduce_beside(OrrBench *bench, gsize bytes, cudaStream_t device_stream, GError **error) {
  const Call call = {.op = ALL_REDUCE, .type = NCCL_BF16, .format = ORR_FORMAT_BF16, .n = bytes / 2};
  if (!bench->nccl) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "interference: NCCL (libnccl.so.2) was not found");
    return FALSE;
  }
  return make_buffers(bench->nccl, bytes, error) && post_all(bench->nccl, &call, device_stream, error);
}
