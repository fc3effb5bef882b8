/*
 * test_launch_limits.c - inputs made to take all memory or time: each ends with a message, after
 * no more work than MOST_WORK (orr_launch_draft_work: bytes, characters, steps, comparisons) and,
 * all together, in 1 GiB.
 *
 * A script is a begin, a part that is repeated, a middle, another part repeated as often, an end.
 */
#include <glib.h>
#include <string.h>
#include <sys/resource.h>

#include "sim/import/launch/launch_form.h"
#include "tests/base/test_size.h"

enum { MOST_WORK = 1 << 28 };

#ifdef __SANITIZE_ADDRESS__ /* which multiplies memory */
enum { MOST_KIB = 4 << 20 };
#else
enum { MOST_KIB = 1 << 20 };
#endif

static const struct {
  const char *name, *begin, *part;
  int n;
  const char *middle, *other, *end;
  const char *said; /* of the error */
} attacks[] = {
    /* trees */
    {"run.sh", "true", " && true", 50000, "", "", " && vllm serve x\n", "which model?"},
    {"run.sh", "true", " || a && b", 100000, "", "", "\n", "250,000 words"},
    {"run.sh", "echo x", " | cat", 100000, "", "", "\n", "16 MiB"},
    {"run.sh", "", "( ", 200000, "x\n", "", "", "less nesting (64 levels at most)"},
    {"run.sh", "", "{ ", 200000, "x\n", "", "", "less nesting"},
    {"run.sh", "", "if ", 200000, "x\n", "", "", "less nesting"},
    {"run.sh", "", "f() ", 200000, "x\n", "", "", "less nesting"},
    {"run.sh", "", "function ", 200000, "x\n", "", "", "less nesting"},
    {"run.sh", "[[ ", "( ", 100000, "x ]]\n", "", "", "64 levels of nesting"},
    {"run.sh", "[ ", "! ", 50000, "x ]\n", "", "", "64 levels of nesting"},
    {"run.sh", "if a; then b", "; elif a; then b", 60000, "; fi\n", "", "", "250,000 words"},
    {"run.sh", "case x in ", "a) b;; ", 70000, "esac\n", "", "", "250,000 words"},
    /* parts of words */
    {"run.sh", "run ", "$(", 200000, "x", ")", "\n", "16 MiB"},
    {"run.sh", "run ", "\"$(", 100000, "x", ")\"", "\n", "64 levels of nesting"},
    {"run.sh", "run ", "${a:-", 100000, "x", "}", "\n", "64 levels of nesting"},
    {"run.sh", "run $((", "(", 100000, "1", ")", "))\n", "no command starts"},
    {"run.sh", "run $((", "a[", 100000, "1", "]", "))\n", "no command starts"},
    {"run.sh", "run ", "{a,b}", 40, "\n", "", "", "16 MiB"},
    {"run.sh", "run ", "{", 1000000, ",\n", "", "", "no command starts"},
    {"run.sh", "run ", "{,", 100000, "", "}", "\n", "16 MiB"},
    {"run.sh", "run {1..1000}{1..1000}{1..1000}\n", "", 0, "", "", "", "16 MiB"},
    {"run.sh", "for i in {1..99999999}; do run; done\n", "", 0, "", "", "", "10,000 words"},
    {"run.sh", "for i in $(seq 1 999999999); do run; done\n", "", 0, "", "", "", "10000 numbers"},
    /* what doubles */
    {"run.sh",
     "export A=aaaaaaaa\nfor i in {1..99}; do for j in {1..99}; do A=$A$A; run; done; done\n", "",
     0, "", "", "", "16 MiB"},
    {"run.sh", "X=a\n", "X=${X//a/aaaaaaaa}\n", 20, "", "", "", "16 MiB"},
    {"run.sh", "A=(x)\n", "A=(\"${A[@]}\" \"${A[@]}\")\n", 40, "", "", "", "16 MiB"},
    {"run.sh", "f() { f \"$@\" \"$@\"; }\nf a b\n", "", 0, "", "", "", "16 MiB"},
    {"run.sh", "A='eval $A; eval $A'\neval $A\n", "", 0, "", "", "", "64 levels of nesting"},
    {"run.sh", "A=xxxxxxxxxxxxxxxx\ncat > f <<E\n", "$A$A$A$A$A$A$A$A", 200000, "\nE\n", "", "",
     "16 MiB"},
    {"Dockerfile", "FROM vllm/vllm-openai:v0.9.1\nENV A=aaaaaaaa\n", "ENV A=$A$A\n", 60,
     "CMD [\"--model\", \"$A\"]\n", "", "", "16 MiB"},
    /* what grows with each turn */
    {"run.sh", "for i in {1..9000}; do cat >> f <<E\n", "x", 4000, "\nE\ndone\n", "", "", "16 MiB"},
    {"run.sh", "for i in {1..9000}; do cat > f$i <<E\nx\nE\ndone\n", "", 0, "", "", "",
     "200 files"},
    {"run.sh", "X=", "a,", 300000, "\nfor i in {1..999}; do IFS=, read -ra A <<< \"$X\"; done\n",
     "", "", "16 MiB"},
    {"run.sh", "export V=", "x", 9000, "\nfor i in {1..9999}; do run; done\n", "", "", "16 MiB"},
    /* what takes long */
    {"run.sh", "f() { f; f; }\nf\n", "", 0, "", "", "", "64 levels of nesting"},
    {"run.sh", "while true; do i=$((i+1)); while [ 1 = 1 ]; do j=$((${j:-0}+1)); done; done\n", "",
     0, "", "", "", "does not end in 10000 turns"},
    {"run.sh",
     "for a in {1..99}; do for b in {1..99}; do for c in {1..99}; do :; done; done; done\n", "", 0,
     "", "", "", "100,000 steps"},
    {"run.sh", "X=", "a", 200000, "\nfor i in {1..99}; do run ${X%%*b*c}; done\n", "", "",
     "16 MiB"},
    {"run.sh", "X=", "a", 2000, "\nfor i in {1..300}; do [[ $X =~ (a+)+$ ]]; done\n", "", "",
     "no command starts"},
    {"run.sh", "vllm serve Qwen/Qwen3-8B", " --nothing-like-it", 9000, "\n", "", "",
     "more than 100 keys that vllm does not know"},
    {"run.sh", "torchrun pretrain_gpt.py --num-layers 2", " --tensor-paralel 1", 20000, "\n", "",
     "", "more than 100 keys that megatron-lm does not know"},
    {"run.sh", "", "a \\  \n", 50000, "", "", "", "no command starts"},
    {"run.sh", "a", "\n", 2000000, "", "", "", "250,000 words"},
    /* trees of YAML, JSON and TOML */
    {"ds.json", "{\"zero_optimization\": ", "[", 200000, "1", "]", "}", "nested too deeply"},
    {"ds.json", "{\"train_batch_size\": 1", ", \"k\": 1", 100000, "}", "", "", "too many values"},
    {"c.yaml", "trainer:\n  x: ", "{a: ", 100000, "1", "}", "\n", "nested too deeply"},
    {"c.toml", "[model]\nname = \"llama3\"\na = ", "[", 100000, "", "]", "\n", "levels deep"},
};

/* Billion laughs: each line names the one before nine times. */
static char *laughs(void) {
  GString *text = g_string_new("trainer: &a0 [x, x, x, x, x, x, x, x, x]\n");
  for (int i = 1; i < 30; i++) {
    g_string_append_printf(text, "a%d: &a%d [", i, i);
    for (int k = 0; k < 9; k++) g_string_append_printf(text, "*a%d, ", i - 1);
    g_string_append(text, "x]\n");
  }
  return g_string_free(text, FALSE);
}

static char *text_of(guint i) {
  GString *text = g_string_new(attacks[i].begin);
  for (int k = 0; k < attacks[i].n; k++) g_string_append(text, attacks[i].part);
  g_string_append(text, attacks[i].middle);
  for (int k = 0; *attacks[i].other && k < attacks[i].n; k++)
    g_string_append(text, attacks[i].other);
  g_string_append(text, attacks[i].end);
  return g_string_free(text, FALSE);
}

static void check_refused(const char *name, const char *text, const char *said) {
  static const OrrLaunchOptions options = {
      .cluster = "dgx-h100-superpod", .gpus = 8, .strict = TRUE};
  OrrLibrary *library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_autoptr(GError) error = NULL;
  const guint64 begin = orr_launch_draft_work();
  orr_launch_form_add_text(draft, name, text, strlen(text));
  orr_launch_form_read(draft);
  g_autofree char *scenario = orr_launch_draft_scenario(draft, &error);
  const guint64 work = orr_launch_draft_work() - begin;
  if (scenario || !strstr(error->message, said))
    g_error("%.100s: '%s' is missing in: %.500s", text, said, error ? error->message : scenario);
  if (work > MOST_WORK) g_error("%.100s: %" G_GUINT64_FORMAT " units of work", text, work);
  g_test_message("%" G_GUINT64_FORMAT " %.60s", work, text);
  orr_library_free(library);
}

static void test_attacks(void) {
  const guint step = test_size(1, 4);
  for (guint i = 0; i < G_N_ELEMENTS(attacks); i += step) {
    g_autofree char *text = text_of(i);
    check_refused(attacks[i].name, text, attacks[i].said);
  }
  g_autofree char *yaml = laughs();
  check_refused("run.sh", "python3 -m\n", "no command starts"); /* the module is missing */
  check_refused("run.sh", "vllm serve Qwen/Qwen3-8B --cuda-graph-sizes 1e30\n", "is not a size");
  check_refused("c.yaml", yaml, "too many values");
}

/* Behind the others: the most memory that the process has had. */
static void test_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  g_assert_cmpint(usage.ru_maxrss, <, MOST_KIB);
}

/* The budget is 16 MiB to the byte; a draft says once that it is spent. */
static void test_budget(void) {
  static const OrrLaunchOptions options = {0};
  OrrLibrary *library = orr_library_new(NULL);
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &options);
  g_assert_true(orr_launch_draft_draw(draft, 16 << 20, (OrrPlace){0}));
  g_assert_true(orr_launch_draft_draw(draft, 0, (OrrPlace){0}));
  g_assert_false(orr_launch_draft_draw(draft, 1, (OrrPlace){0}));
  g_assert_false(orr_launch_draft_draw(draft, G_MAXSIZE, (OrrPlace){0}));
  g_assert_cmpuint(orr_diags_n_errors(orr_launch_draft_diags(draft)), ==, 1);
  orr_library_free(library);
}

/* A server below @n brackets is found, or refused. */
static gboolean is_found_below(int n) {
  static const OrrLaunchOptions options = {.cluster = "dgx-h100-superpod"};
  OrrLibrary *library = orr_library_new(NULL);
  OrrLaunchDraft *draft = orr_launch_draft_new(library, &options);
  g_autoptr(GString) text = g_string_new(NULL);
  for (int i = 0; i < n; i++) g_string_append(text, "( ");
  g_string_append(text, "vllm serve Qwen/Qwen3-8B ");
  for (int i = 0; i < n; i++) g_string_append(text, ") ");
  orr_launch_form_add_text(draft, "run.sh", text->str, text->len);
  orr_launch_form_read(draft);
  g_autofree char *scenario = orr_launch_draft_scenario(draft, NULL);
  orr_launch_draft_free(draft);
  orr_library_free(library);
  return scenario != NULL;
}

/* 64 levels: 63 brackets and the command in them. */
static void test_nesting(void) {
  g_assert_true(is_found_below(63));
  g_assert_false(is_found_below(64));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/launch-limits/budget", test_budget);
  g_test_add_func("/launch-limits/nesting", test_nesting);
  g_test_add_func("/launch-limits/attacks", test_attacks);
  g_test_add_func("/launch-limits/memory", test_memory);
  return g_test_run();
}
