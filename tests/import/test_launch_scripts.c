/* test_launch_scripts.c - what scripts train, by the names that public repositories give them. */
#include <glib.h>
#include <string.h>

#include "sim/import/launch/launch_form.h"
#include "sim/import/launch/launch_private.h"

/* @other: a part of what is said; NULL: a decoder of text; "": the name does not say. */
static const struct {
  const char *script, *other;
} names[] = {
    {"pretrain_gpt.py", NULL},
    {"examples/llama2/pretrain_mcore_llama.py", NULL},
    {"finetune_megatron_qwen.py", NULL},
    {"pretrain_deepseek_250624.py", NULL},
    {"pretrain_megatron_baichuan13b.py", NULL},
    {"run_clm.py", NULL},
    {"trl.scripts.sft", NULL},
    {"src/open_r1/sft.py", NULL},
    {"pretrain_bert.py", "masked words"},
    {"pretrain_t5.py", "an encoder and a decoder"},
    {"pretrain_ict.py", "two towers"},
    {"pretrain_retro.py", "retrieved neighbours"},
    {"pretrain_vision_classify.py", "images, not text"},
    {"pretrain_vision_dino.py", "images, not text"},
    {"pretrain_vision_inpaint.py", "images, not text"},
    {"pretrain_vlm.py", "images and text"},
    {"examples/multimodal/train_multimodal.py", "images and text"},
    {"pretrain_megatron_llava.py", "images and text"},
    {"sft_vlm.py", "images and text"},
    {"pretrain_mamba.py", "a state"},
    {"pretrain_hybrid.py", "a state"},
    {"train_rl.py", "rollouts"},
    {"src/open_r1/grpo.py", "rollouts"},
    {"trl.scripts.dpo", "by preferences"},
    {"reward_modeling.py", "a reward model"},
    {"run_mlm.py", "masked words"},
    {"run_summarization.py", "an encoder and a decoder"},
    {"run_image_classification.py", "images, not text"},
    {"pretrain_custom.py", ""},
    {"train.py", ""},
    {"main.py", ""},
};

static void test_names(void) {
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    gboolean by_model = FALSE;
    const char *script = names[i].script, *expected = names[i].other;
    const char *other = orr_launch_scripts_other(script, &by_model);
    const gboolean is_text = !other && orr_launch_scripts_is_text(script);
    const gboolean is_right = !expected   ? is_text
                              : *expected ? other && strstr(other, expected)
                                          : !other && !is_text;
    if (!is_right) g_error("%s: %s, %s", script, other ? other : "-", is_text ? "text" : "unknown");
  }
}

/* A line that starts @script with Megatron's arguments: its scenario, or what is said. */
static char *read_line(const char *script, const char *model, char **variables) {
  const OrrLaunchOptions options = {
      .cluster = "dgx-h100-superpod", .model = model, .variables = variables};
  OrrLibrary *library = orr_library_new(NULL);
  OrrLaunchDraft *draft = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  g_autofree char *line = g_strdup_printf(
      "torchrun --nproc-per-node 8 --nnodes 1 %s --num-layers 24 --hidden-size 1024 "
      "--num-attention-heads 16 "
      "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size "
      "256 --bf16 --vocab-size 51200\n",
      script);
  orr_launch_form_add_text(draft, "run.sh", line, strlen(line));
  orr_launch_form_read(draft);
  char *text = orr_launch_draft_scenario(draft, &error);
  if (error) text = g_strdup(error->message);
  orr_launch_draft_free(draft);
  orr_library_free(library);
  return text;
}

static void check_line(const char *script, const char *model, char **variables, const char *said) {
  g_autofree char *text = read_line(script, model, variables);
  if (!strstr(text, said)) g_error("%s: '%s' is missing in %s", script, said, text);
}

static void test_lines(void) {
  char *gpt[] = {"trains=gpt", NULL};
  check_line("pretrain_gpt.py", NULL, NULL, "kind: training");
  check_line("pretrain_bert.py", NULL, NULL,
             "run.sh:1:40: error: 'pretrain_bert.py' trains an encoder: masked words");
  check_line("pretrain_bert.py", "gpt3-350m", NULL, "'pretrain_bert.py' trains an encoder");
  check_line("pretrain_mamba.py", NULL, NULL, "add --model NAME");
  check_line("pretrain_mamba.py", "nemotron-h-8b", NULL, "model: nemotron-h-8b");
  check_line("pretrain_custom.py", NULL, NULL,
             "run.sh:1:40: error: does 'pretrain_custom.py' train a GPT, a decoder of text?");
  check_line("pretrain_custom.py", NULL, gpt, "kind: training");
  check_line("pretrain_custom.py", "gpt3-350m", NULL, "model: gpt3-350m");
  check_line("train.py", NULL, NULL, "add --set trains=gpt");
}

/* One job on the nodes of a loop. */
static void test_nodes(void) {
  static const char rest[] = " --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
                             "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size "
                             "4 --global-batch-size 256 --bf16 --vocab-size 51200";
  g_autofree char *loop =
      g_strdup_printf("for i in $(seq 0 3); do ssh node$i torchrun --nnodes 4 --nproc-per-node 8 "
                      "--node_rank $i pretrain_gpt.py%s & done\n",
                      rest);
  const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  OrrLibrary *library = orr_library_new(NULL);
  OrrLaunchDraft *draft = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, "run.sh", loop, strlen(loop));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_assert_nonnull(strstr(text, "nodes: 4"));
  orr_launch_draft_free(draft);
  orr_library_free(library);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/launch-scripts/names", test_names);
  g_test_add_func("/launch-scripts/lines", test_lines);
  g_test_add_func("/launch-scripts/nodes", test_nodes);
  return g_test_run();
}
