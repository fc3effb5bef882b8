/*
 * kernel_family.c - the families, and the patterns of their kernels' names.
 */
#include "sim/explain/explain.h"

const char *const orr_explain_words[] = {"gemm",      "attention", "memory-bound",
                                         "optimizer", "unknown",   "communication",
                                         "copies",    "idle",      NULL};

/* The last of each kind is for kernels without a name of their own. */
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

/* The first pattern that fits counts; '|' stands between patterns. All words of a pattern ('&'
 * between them) are in the kernel's name, in small letters. */
static const struct {
  const char *family, *patterns;
} kernels[] = {
    /* communication */
    {"send-recv", "nccl&sendrecv"},
    {"all-gather", "nccl&allgather"},
    {"reduce-scatter", "nccl&reducescatter"},
    {"all-reduce", "nccl&allreduce"},
    {"all-to-all", "nccl&alltoall"},
    {"broadcast", "nccl&broadcast"},
    {"reduce to one", "nccl&reduce"},
    {"collective", "nccl"},
    {"expert dispatch", "deep_ep&dispatch|hybrid_ep&dispatch"},
    {"expert combine", "deep_ep&combine|hybrid_ep&combine"},
    {"collective", "deep_ep|hybrid_ep"},
    {"all-reduce", "cross_device_reduce|shot_all_reduce|shot_allreduce|shotallreduce|"
                   "multimem_all_reduce|lamport_allreduce|quickreduce|mscclpp&allreduce|"
                   "msccl&sum|allreduce_fusion"},
    {"all-gather", "multimem_all_gather|lamport_allgather|mscclpp&allgather"},
    {"reduce-scatter", "mscclpp&reducescatter"},
    {"collective", "msccl"},
    {"reduce-scatter", "userbuffers&rs"},
    {"all-gather", "userbuffers&ag"},
    {"collective", "userbuffers|nvshmem"},
    /* copies, as CUPTI calls them */
    {"copy to device", "memcpy htod"},
    {"copy to host", "memcpy dtoh"},
    {"copy to device", "copyhosttodevice"},
    {"copy to host", "copydevicetohost"},
    {"copy", "memcpy|copydevicetodevice|copybuffer"},
    {"fill", "memset|fillbuffer"},
    /* the update of the weights */
    {"optimizer", "multi_tensor|adam|lamb_|sgd_"},
    /* attention */
    {"cache", "reshape_and_cache"},
    {"attention backward", "flash&bwd|flash&backward|flash&bprop|fmha_cutlassb"},
    {"attention decode", "flash&splitkv|flash&decode|flash&combine"},
    {"attention forward", "flash"},
    {"attention backward", "fmha&bwd|fmha&backward|fmha&dgrad"},
    {"attention forward", "fmha"},
    {"attention backward", "sdpa&bprop|sdpa&backward"},
    {"attention forward", "sdpa"},
    {"attention backward", "attn_bwd|bwd_attn"},
    {"attention forward", "attn_fwd"},
    {"softmax", "attn&softmax"},
    {"attention decode", "paged_attention|batchdecode|decodewith|mergestate"},
    {"attention forward", "batchprefill|prefillwith"},
    {"attention decode", "_mla_"},
    {"attention backward", "attention&bwd|attention&backward"},
    {"attention forward", "attention|_mha"},
    /* tables of recommenders: fbgemm is not a gemm */
    {"copy kernel", "fbgemm&permute"},
    {"embedding", "fbgemm&embedding|split_embedding"},
    {"copy kernel", "fbgemm"},
    /* experts */
    {"activation", "doactivation"},
    {"sampling", "sampling"},
    {"moe routing", "moe_gate|expandinputrows|expertprefixsum"},
    {"grouped gemm", "fused_moe|fmoe_|marlin_moe|grouped&gemm|group&gemm|moe&gemm"},
    {"moe routing", "moe&topk|moe|unpermute|permute_kernel|topk"},
    /* matrix products */
    {"gemm", "splitkreduce|gemm|nvjet|cijk_|gemv"},
    {"convolution", "winograd|convolve|cudnn&conv|xmma&fprop|xmma&dgrad|xmma&wgrad|implicit_con|"
                    "scudnn|cask_cudnn|dgrad|wgrad|convolution"},
    {"gemm", "xmma|cutlass|matmul|triton_mm|triton_tem|_bmm|marlin|splitk"},
    /* kernels that memory bounds */
    {"cross entropy", "cross_entropy|crossentropy|nll_loss|logsoftmax|log_softmax"},
    {"norm", "norm|bn_fw|bn_bw"},
    {"rope", "rotary|rope"},
    {"activation", "swiglu|silu|gelu|relu|glu_|act_and_mul|threshold_kernel|clamp_min"},
    {"softmax", "softmax"},
    {"dropout", "dropout"},
    {"embedding", "embedding"},
    {"quantise", "quant|cast_transpose|amax"},
    {"scan", "selective_scan|chunk_scan|causal_conv1d"},
    {"sampling", "argmax"},
    {"pooling", "pool"},
    {"moe routing", "radixsort|sort"},
    {"copy kernel", "catarray|copy|transpose|nchwtonhwc|nhwctonchw|gather|scatter|index"},
    {"reduce", "triton_red|triton_per|reduce|scan"},
    {"elementwise", "triton_poi|elementwise|fillfunctor|cudafunctor|op_tensor_kernel|"
                    "distribution|foreach"},
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

/* Whether one of @patterns fits. */
static gboolean fits(const char *name, const char *patterns) {
  char word[32];
  gboolean all = TRUE;
  for (const char *at = patterns;; at++) {
    const gsize length = strcspn(at, "&|");
    g_strlcpy(word, at, MIN(length + 1, sizeof word));
    all = all && strstr(name, word);
    at += length;
    if (*at != '&' && (all || !*at)) return all;
    all = all || *at == '|';
  }
}

/* Namespaces whose words say nothing of their kernels. */
static const char *const libraries[] = {"flashinfer", "cutlass_kernels"};

/* Takes @word out of @io_name wherever it is. */
static void drop(char *io_name, const char *word) {
  const gsize length = strlen(word);
  for (char *at = io_name; (at = strstr(at, word));)
    memmove(at, at + length, strlen(at + length) + 1);
}

const OrrKernelFamily *orr_kernel_family_of(const char *kernel) {
  if (g_str_has_prefix(kernel, "orrery::"))
    return orr_kernel_family_named(kernel + strlen("orrery::"), ORR_EXPLAIN_UNKNOWN);
  g_autofree char *lower = g_ascii_strdown(kernel, -1);
  for (guint i = 0; i < G_N_ELEMENTS(libraries); i++) drop(lower, libraries[i]);
  for (guint i = 0; i < G_N_ELEMENTS(kernels); i++)
    if (fits(lower, kernels[i].patterns))
      return orr_kernel_family_named(kernels[i].family, ORR_EXPLAIN_UNKNOWN);
  return find("unknown");
}
