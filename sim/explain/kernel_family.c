/*
 * kernel_family.c - the families, and the patterns of their kernels' names.
 */
#include "sim/explain/explain.h"

const char *const orr_explain_words[] = {"gemm",      "attention", "memory-bound",
                                         "optimizer", "unknown",   "communication",
                                         "copies",    "idle",      NULL};

/* The last of each kind stands for what has no name of its own. */
static const OrrKernelFamily families[] = {
    {"convolution", ORR_EXPLAIN_GEMM},
    {"grouped gemm", ORR_EXPLAIN_GEMM},
    {"gemm", ORR_EXPLAIN_GEMM},
    {"attention backward", ORR_EXPLAIN_ATTENTION},
    {"attention decode", ORR_EXPLAIN_ATTENTION},
    {"attention forward", ORR_EXPLAIN_ATTENTION},
    {"norm", ORR_EXPLAIN_MEMORY},
    {"rope", ORR_EXPLAIN_MEMORY},
    {"activation", ORR_EXPLAIN_MEMORY},
    {"softmax", ORR_EXPLAIN_MEMORY},
    {"dropout", ORR_EXPLAIN_MEMORY},
    {"embedding", ORR_EXPLAIN_MEMORY},
    {"cross entropy", ORR_EXPLAIN_MEMORY},
    {"quantise", ORR_EXPLAIN_MEMORY},
    {"moe routing", ORR_EXPLAIN_MEMORY},
    {"scan", ORR_EXPLAIN_MEMORY},
    {"sampling", ORR_EXPLAIN_MEMORY},
    {"pooling", ORR_EXPLAIN_MEMORY},
    {"cache", ORR_EXPLAIN_MEMORY},
    {"reduce", ORR_EXPLAIN_MEMORY},
    {"copy kernel", ORR_EXPLAIN_MEMORY},
    {"elementwise", ORR_EXPLAIN_MEMORY},
    {"optimizer", ORR_EXPLAIN_OPTIMIZER},
    {"unknown", ORR_EXPLAIN_UNKNOWN},
    {"all-gather", ORR_EXPLAIN_COMM},
    {"all-reduce", ORR_EXPLAIN_COMM},
    {"reduce-scatter", ORR_EXPLAIN_COMM},
    {"all-to-all", ORR_EXPLAIN_COMM},
    {"broadcast", ORR_EXPLAIN_COMM},
    {"reduce to one", ORR_EXPLAIN_COMM},
    {"send-recv", ORR_EXPLAIN_COMM},
    {"expert dispatch", ORR_EXPLAIN_COMM},
    {"expert combine", ORR_EXPLAIN_COMM},
    {"collective", ORR_EXPLAIN_COMM},
    {"copy to device", ORR_EXPLAIN_COPIES},
    {"copy to host", ORR_EXPLAIN_COPIES},
    {"fill", ORR_EXPLAIN_COPIES},
    {"copy", ORR_EXPLAIN_COPIES},
};

/* The first pattern that fits counts. All words of a pattern ('&' between them) are in the kernel's
 * name, in small letters. */
static const char *const patterns[][2] = {
    /* communication */
    {"nccl&sendrecv", "send-recv"},
    {"nccl&allgather", "all-gather"},
    {"nccl&reducescatter", "reduce-scatter"},
    {"nccl&allreduce", "all-reduce"},
    {"nccl&alltoall", "all-to-all"},
    {"nccl&broadcast", "broadcast"},
    {"nccl&reduce", "reduce to one"},
    {"nccl", "collective"},
    {"deep_ep&dispatch", "expert dispatch"},
    {"deep_ep&combine", "expert combine"},
    {"deep_ep", "collective"},
    {"cross_device_reduce", "all-reduce"},
    {"one_shot_all_reduce", "all-reduce"},
    {"two_shot_all_reduce", "all-reduce"},
    {"oneshotallreduce", "all-reduce"},
    {"twoshotallreduce", "all-reduce"},
    {"multimem_all_reduce", "all-reduce"},
    {"multimem_all_gather", "all-gather"},
    {"allreduce_fusion", "all-reduce"},
    {"userbuffers&rs", "reduce-scatter"},
    {"userbuffers&ag", "all-gather"},
    {"userbuffers", "collective"},
    {"nvshmem", "collective"},
    /* copies, as CUPTI calls them */
    {"memcpy htod", "copy to device"},
    {"memcpy dtoh", "copy to host"},
    {"copyhosttodevice", "copy to device"},
    {"copydevicetohost", "copy to host"},
    {"memcpy", "copy"},
    {"copydevicetodevice", "copy"},
    {"copybuffer", "copy"},
    {"memset", "fill"},
    {"fillbuffer", "fill"},
    /* the update of the weights */
    {"multi_tensor", "optimizer"},
    {"adam", "optimizer"},
    {"lamb_", "optimizer"},
    {"sgd_", "optimizer"},
    /* attention */
    {"reshape_and_cache", "cache"},
    {"flash&bwd", "attention backward"},
    {"flash&backward", "attention backward"},
    {"flash&splitkv", "attention decode"},
    {"flash&decode", "attention decode"},
    {"flash&combine", "attention decode"},
    {"flash", "attention forward"},
    {"fmha&bwd", "attention backward"},
    {"fmha&backward", "attention backward"},
    {"fmha&dgrad", "attention backward"},
    {"fmha", "attention forward"},
    {"sdpa&bprop", "attention backward"},
    {"sdpa&backward", "attention backward"},
    {"sdpa", "attention forward"},
    {"attn_bwd", "attention backward"},
    {"bwd_attn", "attention backward"},
    {"attn_fwd", "attention forward"},
    {"attn&softmax", "softmax"},
    {"paged_attention", "attention decode"},
    {"batchdecode", "attention decode"},
    {"batchprefill", "attention forward"},
    {"_mla_", "attention decode"},
    {"attention&bwd", "attention backward"},
    {"attention&backward", "attention backward"},
    {"attention", "attention forward"},
    {"_mha", "attention forward"},
    /* tables of recommenders: fbgemm is not a gemm */
    {"fbgemm&permute", "copy kernel"},
    {"fbgemm&embedding", "embedding"},
    {"split_embedding", "embedding"},
    {"fbgemm", "copy kernel"},
    /* experts */
    {"fused_moe", "grouped gemm"},
    {"grouped&gemm", "grouped gemm"},
    {"group&gemm", "grouped gemm"},
    {"moe&gemm", "grouped gemm"},
    {"moe&topk", "moe routing"},
    {"moe", "moe routing"},
    {"unpermute", "moe routing"},
    {"permute_kernel", "moe routing"},
    {"topk", "moe routing"},
    /* matrix products */
    {"splitkreduce", "gemm"},
    {"gemm", "gemm"},
    {"nvjet", "gemm"},
    {"cijk_", "gemm"},
    {"gemv", "gemm"},
    {"winograd", "convolution"},
    {"convolve", "convolution"},
    {"cudnn&conv", "convolution"},
    {"xmma&fprop", "convolution"},
    {"xmma&dgrad", "convolution"},
    {"xmma&wgrad", "convolution"},
    {"implicit_con", "convolution"},
    {"scudnn", "convolution"},
    {"cask_cudnn", "convolution"},
    {"dgrad", "convolution"},
    {"wgrad", "convolution"},
    {"convolution", "convolution"},
    {"xmma", "gemm"},
    {"cutlass", "gemm"},
    {"matmul", "gemm"},
    {"triton_mm", "gemm"},
    {"triton_tem", "gemm"},
    {"_bmm", "gemm"},
    {"marlin", "gemm"},
    {"splitk", "gemm"},
    /* kernels that memory bounds */
    {"cross_entropy", "cross entropy"},
    {"crossentropy", "cross entropy"},
    {"nll_loss", "cross entropy"},
    {"logsoftmax", "cross entropy"},
    {"log_softmax", "cross entropy"},
    {"norm", "norm"},
    {"bn_fw", "norm"},
    {"bn_bw", "norm"},
    {"rotary", "rope"},
    {"rope", "rope"},
    {"swiglu", "activation"},
    {"silu", "activation"},
    {"gelu", "activation"},
    {"relu", "activation"},
    {"glu_", "activation"},
    {"act_and_mul", "activation"},
    {"threshold_kernel", "activation"},
    {"clamp_min", "activation"},
    {"softmax", "softmax"},
    {"dropout", "dropout"},
    {"embedding", "embedding"},
    {"quant", "quantise"},
    {"cast_transpose", "quantise"},
    {"amax", "quantise"},
    {"selective_scan", "scan"},
    {"chunk_scan", "scan"},
    {"causal_conv1d", "scan"},
    {"sampling", "sampling"},
    {"argmax", "sampling"},
    {"pool", "pooling"},
    {"radixsort", "moe routing"},
    {"sort", "moe routing"},
    {"catarray", "copy kernel"},
    {"copy", "copy kernel"},
    {"transpose", "copy kernel"},
    {"nchwtonhwc", "copy kernel"},
    {"nhwctonchw", "copy kernel"},
    {"gather", "copy kernel"},
    {"scatter", "copy kernel"},
    {"index", "copy kernel"},
    {"triton_red", "reduce"},
    {"triton_per", "reduce"},
    {"reduce", "reduce"},
    {"scan", "reduce"},
    {"triton_poi", "elementwise"},
    {"elementwise", "elementwise"},
    {"fillfunctor", "elementwise"},
    {"cudafunctor", "elementwise"},
    {"op_tensor_kernel", "elementwise"},
    {"distribution", "elementwise"},
    {"foreach", "elementwise"},
};

static const OrrKernelFamily *find(const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS(families); i++)
    if (strcmp(families[i].name, name) == 0) return &families[i];
  return NULL;
}

const OrrKernelFamily *orr_kernel_family_named(const char *name, OrrExplainKind kind) {
  const OrrKernelFamily *family = find(name);
  for (guint i = G_N_ELEMENTS(families); !family && i-- > 0;)
    if (families[i].kind == kind) family = &families[i];
  return family ? family : find("unknown");
}

static gboolean fits(const char *name, const char *pattern) {
  char word[32];
  while (*pattern) {
    const gsize length = strcspn(pattern, "&");
    g_strlcpy(word, pattern, MIN(length + 1, sizeof word));
    if (!strstr(name, word)) return FALSE;
    pattern += length + (pattern[length] == '&');
  }
  return TRUE;
}

const OrrKernelFamily *orr_kernel_family_of(const char *kernel) {
  if (g_str_has_prefix(kernel, "orrery::"))
    return orr_kernel_family_named(kernel + strlen("orrery::"), ORR_EXPLAIN_UNKNOWN);
  g_autofree char *lower = g_ascii_strdown(kernel, -1);
  for (guint i = 0; i < G_N_ELEMENTS(patterns); i++)
    if (fits(lower, patterns[i][0]))
      return orr_kernel_family_named(patterns[i][1], ORR_EXPLAIN_UNKNOWN);
  return find("unknown");
}
