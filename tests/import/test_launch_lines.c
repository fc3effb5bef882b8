/*
 * test_launch_lines.c - single lines and small configs: what of them the scenario holds, and what
 * the account says of keys that change the answer.
 */
#include <glib.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/import/launch/launch_form.h"
#include "sim/import/launch/launch_private.h"
#include "sim/run/scenario.h"

#define H100 .options = {.cluster = "dgx-h100-superpod"}

typedef struct {
  const char *file, *text; /* NULL: "run.sh" */
  OrrLaunchOptions options;
  const char *wanted[7];  /* parts of the scenario */
  const char *account[5]; /* parts of the account, or of what is said above the answer */
  const char *lacks;      /* no part of either */
  const char *refused;    /* a part of the error, where it is refused */
} Line;

static void check_scenario(OrrLibrary *library, const char *text) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "scenario", diags);
  OrrScenario *scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  if (!scenario) g_error("%s\n%s", text, orr_diags_text(diags));
  orr_scenario_free(scenario);
}

static void check_parts(const char *text, const char *const *parts) {
  for (; *parts; parts++)
    if (!strstr(text, *parts)) g_error("'%s' is missing in:\n%s", *parts, text);
}

static void check(const Line *line) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &line->options);
  g_autoptr(GError) error = NULL;
  orr_launch_form_add_text(draft, line->file ? line->file : "run.sh", line->text,
                           strlen(line->text));
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  if (line->refused) {
    if (!error || !strstr(error->message, line->refused))
      g_error("'%s' is missing in: %s", line->refused, error ? error->message : text);
    return;
  }
  g_assert_no_error(error);
  g_autofree char *account = orr_launch_draft_account(draft);
  g_autofree char *said = orr_launch_draft_warnings(draft);
  g_autofree char *all = g_strconcat(account, said, text, NULL);
  check_parts(text, line->wanted);
  check_parts(all, line->account);
  if (line->lacks && strstr(all, line->lacks)) g_error("'%s' is in:\n%s", line->lacks, all);
  check_scenario(library, text);
}

static void test_lines(gconstpointer data) {
  for (const Line *line = data; line->text; line++) check(line);
}

/* An option that the benchmark only ignores and the engine maps is the engine's. */
static const Line offline[] = {
    {.text =
         "python -m sglang.bench_one_batch --model-path Qwen/Qwen3-32B --batch 32 --input-len 256 "
         "--output-len 32 --tp 2\n",
     H100,
     .wanted = {"model: Qwen/Qwen3-32B", "stack: sglang", "tp: 2", "gpus: 2", "concurrency: 32",
                "tokens: 256"}},
    {.text =
         "python -m sglang.bench_offline_throughput --model-path Qwen/Qwen2.5-72B-Instruct --tp 4 "
         "--num-prompts 10 --dataset-name random --random-input 1024 --random-output 128\n",
     H100,
     .wanted = {"model: Qwen/Qwen2.5-72B-Instruct", "stack: sglang", "gpus: 4", "requests: 10",
                "tokens: 1024"},
     .lacks = "not simulated  "},
    {.text =
         "trtllm-bench --model meta-llama/Llama-3.1-8B-Instruct --model_path /ckpt/v1 throughput "
         "--dataset d.txt --num_requests 100 --tp 2\n",
     H100,
     .wanted = {"model: meta-llama/Llama-3.1-8B-Instruct", "tp: 2"},
     .account = {"--model_path /ckpt/v1: the model's name says which"}},
    {NULL}};

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_data_func("/launch-lines/offline", offline, test_lines);
  return g_test_run();
}
