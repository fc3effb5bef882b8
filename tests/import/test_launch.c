/* test_launch.c - settings of a small dialect of our own become a scenario and an account. */
#include <glib.h>
#include <string.h>

#include "sim/import/launch/launch_form.h"

static void set_precision(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  if (g_strcmp0(setting->value, "half") == 0)
    orr_launch_draft_set(draft, rule->path, "fp16", setting, NULL);
  else
    orr_launch_draft_bad(draft, setting, "'%s' is not half", setting->value);
}

static void finish(OrrLaunchDraft *draft);

static const char table[] =
    "# A dialect.\n"
    "keys,takes,becomes,value,why\n"
    "tensor-size tp,,workload.parallel.tp,int,\n"
    "precision,,workload.precision,precision,\n"
    "sequence-parallel,flag,workload.parallel.sequence-parallel,bool,\n"
    "global,,workload.batch,code,\n"
    "micro,,,,\n"
    "log.*,,ignored,,logging\n"
    "rampup,many,warned,0,batches that grow\n"
    "schedule,,workload.pipeline.kind,One_Ahead=1f1b (theirs) | *zero*=warned "
    "zero bubbles | off= | *=ignored the default,\n"
    "attention,,workload.attention,later on=flash-2 | absent=unfused (not "
    "said),\n";

static const OrrLaunchConverter converters[] = {{"precision", set_precision}, {NULL, NULL}};

static const OrrLaunchDialect dialect = {.name = "test",
                                         .sentence = "A dialect.",
                                         .kind = "training",
                                         .stack = "megatron-core",
                                         .table = table,
                                         .converters = converters,
                                         .finish = finish};

static void finish(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, &dialect, "global");
  if (setting) orr_launch_draft_set(draft, "workload.batch.global", setting->value, setting, NULL);
  orr_launch_draft_settle(draft, &dialect, "attention");
}

/* The draft of @line, words separated by blanks; "@V" is unresolved. */
static OrrLaunchDraft *draft_of(const char *line, const OrrLaunchOptions *options) {
  OrrLibrary *library = orr_library_new(NULL);
  OrrLaunchDraft *draft = orr_launch_draft_new(library, options);
  g_auto(GStrv) texts = g_strsplit(line, " ", -1);
  g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; texts[i]; i++) {
    OrrLaunchWord *word = g_new0(OrrLaunchWord, 1);
    word->text = texts[i];
    word->place = (OrrPlace){.file = "run.sh", .line = 1, .column = (int)i + 1};
    word->unresolved = texts[i][0] == '@' ? texts[i] + 1 : NULL;
    g_ptr_array_add(words, word);
  }
  orr_launch_argv(draft, &dialect, words, 0, NULL);
  orr_launch_draft_apply(draft);
  return draft;
}

static void drop(OrrLaunchDraft *draft) {
  OrrLibrary *library = orr_launch_draft_library(draft);
  orr_launch_draft_free(draft);
  orr_library_free(library);
}

static const OrrLaunchOptions on_h100 = {
    .cluster = "dgx-h100-superpod", .model = "llama-3.1-8b", .stack = "none", .gpus = 16};

static void test_scenario(void) {
  OrrLaunchDraft *draft = draft_of("--tp 4 --Tensor_Size=8 --precision half --sequence-parallel "
                                   "--global 32 --log.level 3 --rampup 1 2 3",
                                   &on_h100);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(text, ==,
                  "schema: scenario/1\n"
                  "name: launch-line\n"
                  "cluster:\n"
                  "  base: dgx-h100-superpod  # --cluster\n"
                  "  nodes: 2  # --gpus\n"
                  "model: llama-3.1-8b  # --model\n"
                  "workload:\n"
                  "  kind: training  # test\n"
                  "  stack: none  # --stack\n"
                  "  parallel:\n"
                  "    tp: 8  # --Tensor_Size=8\n"
                  "    sequence-parallel: true  # --sequence-parallel\n"
                  "  precision: fp16  # --precision half\n"
                  "  batch:\n"
                  "    global: 32  # --global 32\n"
                  "  attention: unfused  # not said\n");
  g_autofree char *account = orr_launch_draft_account(draft);
  g_assert_nonnull(strstr(account, "irrelevant     run.sh:1  --log.level 3: logging\n"));
  g_assert_nonnull(strstr(account, "not simulated  run.sh:1  --rampup 1 2 3: batches that grow\n"));
  g_assert_nonnull(strstr(account, "overridden     run.sh:1  --tp 4: "));
  drop(draft);
}

/* A flag that only a pattern knows leaves the option behind it alone (Megatron's --log-throughput
 * in alibaba/Pai-Megatron-Patch); unknown keys are passed over where that is asked for. */
static void test_flags_of_patterns(void) {
  const OrrLaunchOptions options = {
      .cluster = "dgx-a100-superpod", .nodes = 2, .model = "gpt3-1.3b", .skip_unknown = TRUE};
  OrrLaunchDraft *draft = draft_of("--log.all --tensor-size 8 --unheard 3 --global 32", &options);
  g_autofree char *account = orr_launch_draft_account(draft);
  g_assert_nonnull(strstr(account, "--tensor-size 8: workload.parallel.tp\n"));
  g_assert_nonnull(strstr(account, "not simulated  run.sh:1  --unheard 3: an unknown option"));
  drop(draft);
}

/* Every error of @line, and every question under --strict, is in the text. */
static void check_refused(const char *line, const OrrLaunchOptions *options,
                          const char *const *problems) {
  OrrLaunchOptions strict = *options;
  strict.strict = TRUE;
  OrrLaunchDraft *draft = draft_of(line, &strict);
  g_autoptr(GError) error = NULL;
  g_autofree char *text = orr_launch_draft_scenario(draft, &error);
  g_assert_null(text);
  for (; *problems; problems++)
    if (!strstr(error->message, *problems))
      g_error("'%s' is missing in: %s", *problems, error->message);
  drop(draft);
}

static void test_errors(void) {
  static const OrrLaunchOptions nothing = {0};
  check_refused(
      "--tensor-siz 8 --precision full --tp x", &on_h100,
      (const char *const[]){
          "run.sh:1:1: error: test does not know 'tensor-siz': did you mean 'tensor-size'?",
          "run.sh:1:3: error: precision: 'full' is not half",
          "run.sh:1:5: error: tp: 'x' is not a whole number", NULL});
  check_refused("--tp @TP word", &on_h100,
                (const char *const[]){"tp needs the value of TP: add --set TP=VALUE",
                                      "test does not take the argument 'word'", NULL});
  check_refused("--tp 1 --precision", &nothing,
                (const char *const[]){"on which cluster? Add --cluster NAME", "which model?",
                                      "precision: needs a value", NULL});
}

/* A value that changes nothing is irrelevant; "--no-X" of a flag is its opposite. */
static void test_neutral(void) {
  OrrLaunchDraft *draft = draft_of("--rampup 0 --no-sequence-parallel", &on_h100);
  g_autofree char *account = orr_launch_draft_account(draft);
  g_assert_nonnull(strstr(account, "irrelevant     run.sh:1  --rampup 0: the default, or"));
  g_assert_cmpstr(orr_launch_draft_get(draft, "workload.parallel.sequence-parallel"), ==, "false");
  drop(draft);
}

/* A map's first word that matches counts, "_" as "-" and in any case; a row may refuse to say. */
static void check_word(const char *line, const char *path, const char *value, const char *account) {
  OrrLaunchDraft *draft = draft_of(line, &on_h100);
  g_autofree char *text = orr_launch_draft_account(draft);
  g_assert_cmpstr(orr_launch_draft_get(draft, path), ==, value);
  if (!strstr(text, account)) g_error("'%s' is missing in: %s", account, text);
  drop(draft);
}

static void test_words(void) {
  const char *kind = "workload.pipeline.kind", *attention = "workload.attention";
  check_word("--schedule ONE-ahead", kind, "1f1b", "mapped         run.sh:1  --schedule");
  check_word("--schedule HalfZeroBubble", kind, NULL,
             "not simulated  run.sh:1  --schedule "
             "HalfZeroBubble: zero bubbles\n");
  check_word("--schedule None", kind, NULL, "mapped         run.sh:1  --schedule");
  check_word("--schedule x", kind, NULL, "irrelevant     run.sh:1  --schedule x: the default\n");
  check_word("--attention 1", attention, "flash-2", "mapped         run.sh:1  --attention");
  check_word("--attention false", attention, NULL, "mapped         run.sh:1  --attention");
  check_word("--rampup 0", attention, "unfused", "irrelevant     run.sh:1  --rampup");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/launch/flags-of-patterns", test_flags_of_patterns);
  g_test_add_func("/launch/scenario", test_scenario);
  g_test_add_func("/launch/errors", test_errors);
  g_test_add_func("/launch/neutral", test_neutral);
  g_test_add_func("/launch/words", test_words);
  return g_test_run();
}
