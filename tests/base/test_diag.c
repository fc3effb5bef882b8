/* test_diag.c - diagnostics: order, form, counting; the nearest word. */
#include "sim/base/diag.h"
#include "sim/base/fault.h"

#include <string.h>

static OrrPlace at(const char *file, int line, int column) {
  return (OrrPlace){.file = g_intern_string(file), .line = line, .column = column};
}

static void test_text_sorts_by_place(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  orr_diags_error(diags, at("b.yaml", 1, 1), "first of b");
  orr_diags_error(diags, at("a.yaml", 10, 2), "ten");
  orr_diags_warning(diags, at("a.yaml", 9, 7), "nine, %d", 7);
  orr_diags_error(diags, at("a.yaml", 9, 3), "nine, 3");
  orr_diags_error(diags, at("a.yaml", 0, 0), "whole file");
  orr_diags_error(diags, at("a.yaml", 9, 3), "found later");
  orr_diags_error(diags, at("b.yaml", 1, 1), "first of b");
  g_autofree char *text = orr_diags_text(diags);
  g_assert_cmpstr(text, ==,
                  "a.yaml: error: whole file\n"
                  "a.yaml:9:3: error: nine, 3\n"
                  "a.yaml:9:3: error: found later\n"
                  "a.yaml:9:7: warning: nine, 7\n"
                  "a.yaml:10:2: error: ten\n"
                  "b.yaml:1:1: error: first of b\n");
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 6);
  g_assert_cmpuint(orr_diags_n_warnings(diags), ==, 1);
}

static void test_check(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *nothing = orr_diags_text(diags);
  g_assert_cmpstr(nothing, ==, "");
  orr_diags_warning(diags, at("a.yaml", 1, 1), "only a warning");
  g_assert_true(orr_diags_check(diags, &error));
  g_assert_no_error(error);
  orr_diags_error(diags, at("a.yaml", 2, 1), "an error");
  g_assert_false(orr_diags_check(diags, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_cmpstr(error->message, ==,
                  "a.yaml:1:1: warning: only a warning\na.yaml:2:1: error: an error");
  g_assert_cmpint(orr_fault_exit_status(error), ==, 2);
}

/* What a document quotes must not drive a terminal, nor fill the screen. */
static void test_messages_are_one_clean_line(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *longest = g_strnfill(1000000, 'x');
  orr_diags_error(diags, at("a.yaml", 1, 1), "key '%s'", "\033[2Ja\nb\xff");
  orr_diags_error(diags, at("a.yaml", 2, 1), "key '%s'", longest);
  g_autofree char *text = orr_diags_text(diags);
  g_assert_true(g_str_has_prefix(text, "a.yaml:1:1: error: key '\\u001B[2Ja\\nb\357\277\275'\n"
                                       "a.yaml:2:1: error: key 'xxx"));
  g_assert_cmpuint(strlen(text), <, 3000);
  g_assert_true(g_str_has_suffix(text, "x...\n"));
}

static void test_exit_status(void) {
  const struct {
    OrrFaultCode code;
    int status;
  } cases[] = {{ORR_FAULT_DOCUMENT, 2},
               {ORR_FAULT_USAGE, 2},
               {ORR_FAULT_STUCK, 1},
               {ORR_FAULT_RESOURCE, 1},
               {ORR_FAULT_INTERNAL, 1}};
  g_assert_cmpint(orr_fault_exit_status(NULL), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = g_error_new_literal(ORR_FAULT, (int)cases[i].code, "");
    g_assert_cmpint(orr_fault_exit_status(error), ==, cases[i].status);
  }
  g_autoptr(GError) foreign = g_error_new_literal(G_FILE_ERROR, G_FILE_ERROR_NOENT, "");
  g_assert_cmpint(orr_fault_exit_status(foreign), ==, 1);
}

/* Distances by hand: nods -> nodes 1 of 5 letters; golbla -> global two swaps of 6; ep -> tp 1
 * of 2, which is more than a third; dpp -> dp 1 of 3, just a third. */
/* Who shortens a name means the shortest one that has all parts; other digits are another thing. */
static void test_meant_word(void) {
  const char *const words[] = {"h100-96gb-500w", "h100-sxm", "h800",     "double-binary-tree",
                               "roce-v2",        "tp-size",  "max-tpot", NULL};
  const struct {
    const char *word, *name;
  } meant[] = {{"h100", "h100-sxm"}, {"double-tree", "double-binary-tree"},
               {"roce", "roce-v2"},  {"RoCE", "roce-v2"},
               {"tp", "tp-size"},    {"h100-sxm-mine", "h100-sxm"},
               {"h801", "h800"},     {"h100-sxn", "h100-sxm"},
               {"infiniband", NULL}, {"-", NULL}};
  for (guint i = 0; i < G_N_ELEMENTS(meant); i++)
    g_assert_cmpstr(orr_diag_nearest_word(meant[i].word, words), ==, meant[i].name);
}

static void test_nearest_word(void) {
  const char *const words[] = {"tp", "pp", "dp", "nodes", "global", "global-batch", "micro", NULL};
  const char *const none[] = {NULL};
  g_autofree char *longest = g_strnfill(1000000, 'x');
  g_assert_cmpstr(orr_diag_nearest_word("nods", words), ==, "nodes");
  g_assert_cmpstr(orr_diag_nearest_word("golbla", words), ==, "global");
  g_assert_cmpstr(orr_diag_nearest_word("Global_Batch", words), ==, "global-batch");
  g_assert_cmpstr(orr_diag_nearest_word("dpp", words), ==,
                  "pp"); /* pp and dp are as near: the first in the list */
  g_assert_cmpstr(orr_diag_nearest_word("ep", words), ==, NULL);
  g_assert_cmpstr(orr_diag_nearest_word("scheduler", words), ==, NULL);
  g_assert_cmpstr(orr_diag_nearest_word("", words), ==, NULL);
  g_assert_cmpstr(orr_diag_nearest_word(longest, words), ==, NULL);
  g_assert_cmpstr(orr_diag_nearest_word("nodes", none), ==, NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/diag/text-sorts-by-place", test_text_sorts_by_place);
  g_test_add_func("/diag/check", test_check);
  g_test_add_func("/diag/messages-are-one-clean-line", test_messages_are_one_clean_line);
  g_test_add_func("/diag/exit-status", test_exit_status);
  g_test_add_func("/diag/meant-word", test_meant_word);
  g_test_add_func("/diag/nearest-word", test_nearest_word);
  return g_test_run();
}
