/*
 * cuda_attention_missing.c - replaces cuda_attention.c and cudnn_graph.c if the toolkit has no
 * cuDNN headers, and in HIP builds.
 */
#include "calibration/measure/cuda/cuda_private.h"

void orr_cudnn_free(OrrCudnn *cudnn) {}

char *orr_cudnn_version(void) { return g_strdup(""); }

static gboolean refuse(GError **error) {
  return orr_fault_set(error, ORR_FAULT_USAGE, "attention: this Orrery was built without cuDNN");
}

gboolean orr_cuda_prepare_attention_decode(OrrKernel *kernel, GError **error) {
  return refuse(error);
}

gboolean orr_cuda_prepare_attention_mixed(OrrKernel *kernel, GError **error) {
  return refuse(error);
}

gboolean orr_cuda_prepare_attention_prefill(OrrKernel *kernel, GError **error) {
  return refuse(error);
}
