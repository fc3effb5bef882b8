/*
 * dialect_serving_environment.c - environment variables that a server reads.
 *
 * A variable's key is its prefix and the rest: NCCL_NVLS_ENABLE is nccl.nvls-enable. Sources:
 * NCCL's manual, "Environment Variables"; vllm/envs.py; sglang/srt/environ.py.
 */
#include <string.h>

#include "sim/import/launch/dialects_serving.h"
#include "sim/import/launch/launch_serving.h"

static void convert_switch(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                           const OrrLaunchRule *rule) {
  const char *value = setting->value ? setting->value : "";
  if (strcmp(value, "0") == 0)
    orr_launch_draft_set(draft, rule->path, "false", setting, NULL);
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "as NCCL's default");
}

static void convert_miss(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                         const OrrLaunchRule *rule) {
  if (g_strcmp0(setting->value, "1") == 0)
    orr_launch_draft_set(draft, rule->path, "none", setting, NULL);
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the default");
}

/* The algorithm of NCCL counts where the engine has no all-reduce of its own. */
static void convert_algorithm(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                              const OrrLaunchRule *rule) {
  static const char *const known[][2] = {
      {"Ring", "ring"}, {"Tree", "tree"}, {"NVLS", "nvls"}, {"NVLSTree", "nvls-tree"}};
  const GPtrArray *settings = orr_launch_draft_settings(draft);
  gboolean has_own = TRUE;
  for (guint i = 0; i < settings->len; i++) {
    const OrrLaunchSetting *other = settings->pdata[i];
    if (strcmp(other->key, "disable-custom-all-reduce") == 0) has_own = FALSE;
  }
  for (guint i = 0; i < G_N_ELEMENTS(known) && !has_own; i++) {
    if (g_ascii_strcasecmp(known[i][0], setting->value ? setting->value : "") != 0) continue;
    orr_launch_draft_set(draft, rule->path, known[i][1], setting, NULL);
    return;
  }
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                         has_own ? "the engine's own all-reduce comes first"
                                 : "a choice of several algorithms");
}

static const OrrLaunchRule rules[] = {
    ORR_SERVING_MAPS(VALUE, "nccl.nvls-enable", "workload.engine.nccl.nvls", convert_switch),
    ORR_SERVING_MAPS(VALUE, "nccl.algo", "workload.engine.all-reduce", convert_algorithm),
    ORR_SERVING_MAPS(VALUE, "nccl.ib-qps-per-connection", "cluster.queue-pairs",
                     orr_launch_serving_count),
    ORR_SERVING_IGNORES(VALUE,
                        "nccl.debug nccl.debug-subsys nccl.debug-file nccl.socket-ifname "
                        "nccl.ib-hca nccl.ib-gid-index nccl.ib-timeout nccl.ib-retry-cnt "
                        "nccl.async-error-handling nccl.topo-file nccl.socket-family "
                        "nccl.ib-tc nccl.ib-sl nccl.launch-mode nccl.version-check "
                        "nccl.cumem-enable nccl.graph-register nccl.mnnvl-enable",
                        "devices, logs and timeouts of NCCL"),
    ORR_SERVING_WARNS(VALUE, "nccl.*", "", "this variable of NCCL"),
    ORR_SERVING_MAPS(VALUE, "vllm.all2all-backend", "workload.parallel.all-to-all",
                     orr_launch_serving_all_to_all),
    ORR_SERVING_WARNS(VALUE, "vllm.use-v1", "1", "the V0 engine of vLLM: name its release"),
    ORR_SERVING_IGNORES(VALUE,
                        "vllm.attention-backend vllm.flash-attn-version "
                        "vllm.use-flashinfer-moe-fp8 vllm.use-flashinfer-moe-fp4 "
                        "vllm.use-flashinfer-moe-fp16 vllm.use-flashinfer-moe-mxfp4-mxfp8 "
                        "vllm.use-flashinfer-moe-mxfp4-bf16 vllm.use-flashinfer-sampler "
                        "vllm.flashinfer-moe-backend vllm.use-deep-gemm vllm.use-trtllm-attention "
                        "vllm.use-trtllm-decode-attention vllm.use-trtllm-context-attention "
                        "vllm.flashinfer-force-tensor-cores vllm.use-triton-flash-attn "
                        "vllm.skip-p2p-check vllm.mxfp4-use-marlin vllm.use-cutlass-moe-fp4",
                        "which library's kernels: the profile holds the ones measured"),
    ORR_SERVING_IGNORES(VALUE,
                        "vllm.logging-level vllm.logging-config-path vllm.configure-logging "
                        "vllm.log-stats-interval vllm.worker-multiproc-method vllm.host-ip "
                        "vllm.host-port vllm.port vllm.api-key vllm.cache-root vllm.config-root "
                        "vllm.assets-cache vllm.engine-iteration-timeout-s vllm.rpc-timeout "
                        "vllm.allow-long-max-model-len vllm.trace-function vllm.no-usage-stats "
                        "vllm.do-not-track vllm.usage-source vllm.torch-profiler-dir "
                        "vllm.use-modelscope vllm.http-timeout-keep-alive "
                        "vllm.engine-ready-timeout-s vllm.nixl-side-channel-host "
                        "vllm.nixl-side-channel-port vllm.dp-master-ip vllm.dp-master-port "
                        "vllm.loopback-ip vllm.randomize-dp-dummy-inputs vllm.server-dev-mode "
                        "vllm.enable-v1-multiprocessing vllm.disable-compile-cache "
                        "vllm.float32-matmul-precision vllm.allow-runtime-lora-updating "
                        "vllm.nccl-so-path vllm.use-precompiled vllm.target-device "
                        "vllm.batch-invariant",
                        "logs, ports and folders"),
    ORR_SERVING_WARNS(VALUE, "vllm.*", "", "this variable of vLLM"),
    ORR_SERVING_MAPS(VALUE, "sglang.radix-force-miss", "workload.engine.prefix-caching",
                     convert_miss),
    ORR_SERVING_IGNORES(VALUE,
                        "sglang.disable-tp-memory-inbalance-check sglang.torch-profiler-dir "
                        "sglang.log-ms sglang.health-check-timeout sglang.use-modelscope "
                        "sglang.host-ip sglang.port sglang.record-step-time "
                        "sglang.set-cpu-affinity sglang.enable-deterministic-inference "
                        "sgl.enable-jit-deepgemm sgl.jit-deepgemm-precompile "
                        "sglang.enable-jit-deepgemm sglang.jit-deepgemm-precompile "
                        "sglang.allow-overwrite-longer-context-len sglang.is-flashinfer-available",
                        "logs, ports and folders"),
    ORR_SERVING_WARNS(VALUE, "sglang.*", "", "this variable of SGLang"),
    ORR_SERVING_WARNS(VALUE, "sgl.*", "", "this variable of SGLang"),
    ORR_SERVING_IGNORES(VALUE,
                        "trtllm.server-disable-gc trtllm.worker-disable-gc "
                        "trtllm.use-ucx-kvcache trtllm.use-mpi-kvcache trtllm.use-nixl-kvcache "
                        "trtllm.enable-kvcache-receive-parallel",
                        "garbage collection, transports of caches"),
    ORR_SERVING_WARNS(VALUE, "trtllm.*", "", "this variable of TensorRT-LLM"),
    ORR_SERVING_WARNS(VALUE, "tllm.*", "", "this variable of TensorRT-LLM"),
    ORR_SERVING_WARNS(VALUE, "cuda.launch-blocking", "0", "kernels that are launched one by one"),
    ORR_SERVING_IGNORES(VALUE, "cuda.*", "which GPUs are seen"),
    ORR_SERVING_IGNORES(VALUE, "hip.*", "which GPUs are seen"),
    ORR_SERVING_IGNORES(VALUE, "hf.*", "where models are loaded from"),
    ORR_SERVING_IGNORES(VALUE, "hugging.*", "where models are loaded from"),
    ORR_SERVING_IGNORES(VALUE, "torch.*", "the runtime of PyTorch"),
    ORR_SERVING_IGNORES(VALUE, "pytorch.*", "the runtime of PyTorch"),
    ORR_SERVING_IGNORES(VALUE, "omp.*", "threads of the host"),
    ORR_SERVING_IGNORES(VALUE, "ucx.*", "transports of caches"),
    ORR_SERVING_IGNORES(VALUE,
                        "lmcache.log-level lmcache.use-experimental lmcache.chunk-size "
                        "lmcache.track-usage lmcache.config-file",
                        "logs, and how LMCache divides its blocks"),
    ORR_SERVING_WARNS(VALUE, "lmcache.*", "false",
                      "LMCache's cache below the GPUs' memory: set workload.engine.cache-tiers"),
    ORR_SERVING_WARNS(VALUE, "mooncake.*", "",
                      "a store of caches on the network: set workload.engine.cache-tiers.remote"),
    ORR_SERVING_WARNS(VALUE, "dyn.router-mode", "round-robin random",
                      "Dynamo's router: set workload.router"),
    ORR_SERVING_IGNORES(VALUE, "dyn.*", "logs, ports and discovery of Dynamo"),
    ORR_SERVING_IGNORES(VALUE, "gloo.*", "control messages"),
    ORR_SERVING_IGNORES(VALUE, "ray.*", "how processes start"),
};

const OrrLaunchDialect orr_dialect_environment = {
    .name = "server-environment",
    .sentence = "Environment variables of NCCL, vLLM, SGLang and TensorRT-LLM.",
    .rules = rules,
    .n_rules = G_N_ELEMENTS(rules),
};
