/* test_launch_wrappers.c - configs of tools on Hugging Face's Trainer: defaults, state, LoRA. */
#include <glib.h>
#include <string.h>

#include "sim/import/launch/launch_form.h"

#define H100 .cluster = "dgx-h100-superpod"
#define QWEN "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\n"
#define SWIFT "model: Qwen/Qwen3-8B\ntrain_type: full\nmax_length: 4096\n"
#define AXOLOTL "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1\n"

/* A YAML of a tool on Hugging Face's Trainer, and what its scenario has, or has not. */
typedef struct {
  const char *text, *wanted;
  gboolean is_absent;
} WrapperRow;

static void check_wrapper(const WrapperRow *row) {
  static const OrrLaunchOptions options = {H100, .nodes = 1};
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "a.yaml", row->text, strlen(row->text));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  if ((strstr(text, row->wanted) == NULL) != row->is_absent)
    g_error("'%s' %s\n%s of\n%s", row->wanted, row->is_absent ? "in" : "missing in", text,
            row->text);
}

static void test_wrappers(void) {
  static const WrapperRow rows[] = {
      {QWEN "finetuning_type: full\n",
       "recompute: full  # disable_gradient_checkpointing: false, LLaMA-Factory's default"},
      {QWEN "finetuning_type: full\n", "sequence: 2048  # cutoff_len: 2048, LLaMA-Factory's"},
      {QWEN "finetuning_type: full\ndisable_gradient_checkpointing: true\n", "recompute", TRUE},
      {QWEN "finetuning_type: full\ngradient_checkpointing: false\n", "recompute: full"},
      {QWEN "finetuning_type: full\npure_bf16: true\n", "precision: bf16  # pure_bf16: true"},
      {QWEN "cutoff_len: 1024\nbf16: true\n", "rank: 8"}, /* LoRA, unless it says full */
      {QWEN "max_seq_length: 1024\nbf16: true\n", "recompute", TRUE}, /* the Trainer's */
      {QWEN "dataset_num_proc: 8\n", "recompute: full  # gradient_checkpointing: true, TRL's"},
      {QWEN "dataset_num_proc: 8\n", "precision: bf16  # bf16: true, TRL's default"},
      {QWEN "dataset_num_proc: 8\nmax_length: 8192\nfp16: true\n", "precision: fp16"},
      {SWIFT "deepspeed: zero3_offload\n", "kind: zero-3  # deepspeed: zero3_offload"},
      {SWIFT "deepspeed: zero2\n", "recompute: full  # gradient_checkpointing: true, ms-swift's"},
      {SWIFT "torch_dtype: bfloat16\n", "precision: bf16  # torch_dtype: bfloat16"},
      {SWIFT, "global: 16"}, /* 8 GPUs, micro-batches of 1: 2 steps make 16 */
      {SWIFT "gradient_accumulation_steps: 4\n", "global: 32"},
      {AXOLOTL "fsdp_version: 2\nfsdp_config: {reshard_after_forward: false}\n",
       "reshard-after-forward: false"},
      {AXOLOTL "fsdp_version: 2\nfsdp_config: {offload_params: true}\n", "parameters: true"},
      {AXOLOTL "fsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD}\nfsdp_version: 1\n",
       "kind: hsdp"},
      {AXOLOTL, "recompute", TRUE},
      {AXOLOTL, "precision: bf16  # bf16: auto, axolotl's default"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) check_wrapper(&rows[i]);
}

/* With the state in bf16 there are no masters: 8 bytes per parameter. */
static void test_wrappers_state(void) {
  static const WrapperRow rows[] = {
      {QWEN "finetuning_type: full\npure_bf16: true\n", "master: weights  # pure_bf16: true"},
      {QWEN "finetuning_type: full\npure_bf16: true\n", "moments: bf16  # pure_bf16: true"},
      {QWEN "finetuning_type: full\npure_bf16: true\n", "gradients: same  # pure_bf16: true"},
      {QWEN "finetuning_type: full\npure_bf16: true\nfsdp: full_shard\n", "master: weights"},
      {QWEN "finetuning_type: full\nbf16: true\n", "master", TRUE}, /* widened when loaded */
      {QWEN "finetuning_type: lora\npure_bf16: true\n", "master", TRUE},
      {QWEN "max_seq_length: 1024\nbf16: true\ntorch_dtype: bfloat16\n", "master: weights"},
      {QWEN "max_seq_length: 1024\nbf16: true\ntorch_dtype: float32\n", "master", TRUE},
      {QWEN "max_seq_length: 1024\nbf16: true\ntorch_dtype: bfloat16\nfsdp: full_shard\n", "master",
       TRUE}, /* Accelerate widens */
      {QWEN "max_seq_length: 1024\ntorch_dtype: bfloat16\nfsdp: full_shard\n", "master: weights"},
      {QWEN "max_seq_length: 1024\nfp16: true\ntorch_dtype: float16\n",
       "# torch_dtype: float16: weights, gradients and"},
      {SWIFT, "master: weights  # bf16: true, ms-swift's default"},
      {SWIFT "deepspeed: zero2\n", "master", TRUE}, /* DeepSpeed has fp32 weights */
      {AXOLOTL, "master: weights  # bf16: auto, axolotl's default"},
      {AXOLOTL "fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n", "master", TRUE},
      {AXOLOTL "bf16: full\nfsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n",
       "master: weights  # bf16: full"},
      {AXOLOTL "adapter: lora\n", "master", TRUE},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) check_wrapper(&rows[i]);
}

/* Which key trains adapters, and on which layers. */
static void test_wrappers_lora(void) {
  static const WrapperRow rows[] = {
      {QWEN "finetuning_type: lora\n",
       "targets: [qkv, projection, fc1, fc2]  # lora_target: all, LLaMA-Factory's default"},
      {QWEN "finetuning_type: lora\nlora_target: q_proj,v_proj\n",
       "targets: [q, v]  # lora_target"},
      {QWEN "max_seq_length: 1024\nlora_enable: true\n", "rank: 64  # LLaVA's default"},
      {QWEN "max_seq_length: 1024\nlora_r: 16\n", "rank: 16  # lora_r: 16"},
      {QWEN "max_seq_length: 1024\nlora_r: 16\n", "targets: [q, v]  # PEFT's default"},
      {QWEN "max_seq_length: 1024\nlora_r: 16\nuse_peft: false\n", "rank", TRUE},
      {QWEN "max_seq_length: 1024\nuse_peft: true\nlora_target_modules: [o_proj, '*_proj']\n",
       "targets: [qkv, projection, fc1, fc2]"},
      {AXOLOTL "adapter: lora\nlora_r: 32\nlora_target_linear: true\n",
       "targets: [qkv, projection, fc1, fc2]  # lora_target_linear: true"},
      {AXOLOTL "adapter:\nlora_r: 32\n", "rank", TRUE},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) check_wrapper(&rows[i]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/launch-wrappers/defaults", test_wrappers);
  g_test_add_func("/launch-wrappers/state", test_wrappers_state);
  g_test_add_func("/launch-wrappers/lora", test_wrappers_lora);
  return g_test_run();
}
