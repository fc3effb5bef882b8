/*
 * test_launch_deepspeed.c - the batch of DeepSpeed's config, alone and next to a launch line.
 */
#include "sim/import/launch/launch_form.h"
#include "sim/import/launch/launch_private.h"

static void check_batch(const char *config, const char *line, const char *const *wanted) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  if (line) orr_launch_form_add_text(draft, "run.sh", line, strlen(line));
  orr_launch_form_add_text(draft, "ds.json", config, strlen(config));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  for (; *wanted; wanted++)
    if (!strstr(text ? text : error->message, *wanted))
      g_error("'%s' is missing in:\n%s", *wanted, text ? text : error->message);
}

/* train_batch_size = micro-batch x accumulation x replicas: what DeepSpeed's config says counts
 * where the line does not, two of them and the GPUs give the third, and what disagrees is refused,
 * as runtime/config.py (_batch_assertion) and the Trainer (trainer_config_process) do. */
static void test_deepspeed_batch(void) {
#define CONFIG(batch)                                                                              \
  "{" batch ", \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3}}"
#define TRAINER                                                                                    \
  "deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B --deepspeed "      \
  "ds.json --max_seq_length 4096 "
  static const struct {
    const char *batch, *line, *wanted[4];
  } cases[] = {
      /* 64 = 1 x 8 x 8 */
      {CONFIG("\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 1, "
              "\"gradient_accumulation_steps\": 8"),
       TRAINER "\n",
       {"micro: 1  # train_micro_batch_size_per_gpu: 1", "global: 64"}},
      {CONFIG("\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 3"),
       TRAINER "\n",
       {"micro: 2  #", "global: 48"}},
      /* 128 / (2 x 8) = 8 GPUs x 8 */
      {CONFIG("\"train_batch_size\": 128, \"gradient_accumulation_steps\": 8"),
       TRAINER "--per_device_train_batch_size 2\n",
       {"micro: 2  # --per_device_train_batch_size 2", "global: 128"}},
      /* two nodes of 8: 256 / (2 x 8) = 16 replicas */
      {CONFIG("\"train_batch_size\": 256, \"train_micro_batch_size_per_gpu\": 2, "
              "\"gradient_accumulation_steps\": 8"),
       TRAINER "\n",
       {"nodes: 2  # train_batch_size / micro-batch / accumulation", "micro: 2", "global: 256"}},
      {CONFIG("\"train_micro_batch_size_per_gpu\": 1"),
       TRAINER "--per_device_train_batch_size 4\n",
       {"train-micro-batch-size-per-gpu: 1, but --per_device_train_batch_size 4: DeepSpeed stops"}},
      {CONFIG("\"train_batch_size\": 100, \"train_micro_batch_size_per_gpu\": 1, "
              "\"gradient_accumulation_steps\": 8"),
       TRAINER "\n",
       {"train-batch-size: 100, but 1 x 8 x 8 (micro-batch, accumulation, replicas) is 64"}},
      /* alone: 96 / (2 x 8) = 6 GPUs; 100 / 16 is not a whole number */
      {CONFIG("\"train_batch_size\": 96, \"train_micro_batch_size_per_gpu\": 2, "
              "\"gradient_accumulation_steps\": 8"),
       NULL,
       {"gpus: 6", "micro: 2", "global: 96"}},
      {CONFIG("\"train_batch_size\": 100, \"train_micro_batch_size_per_gpu\": 2, "
              "\"gradient_accumulation_steps\": 8"),
       NULL,
       {"100 is not micro-batch 2 x accumulation 8 x"}},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    check_batch(cases[i].batch, cases[i].line, cases[i].wanted);
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  static const char config[] = CONFIG("\"optimizer\": {\"type\": \"OneBitAdam\"}");
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  orr_launch_form_add_text(draft, "ds.json", config, strlen(config));
  orr_launch_form_read(draft);
  g_autofree char *account = orr_launch_draft_account(draft);
  g_assert_nonnull(strstr(account, "optimizer.type: OneBitAdam: compressed gradients"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/launch-deepspeed/batch", test_deepspeed_batch);
  return g_test_run();
}
