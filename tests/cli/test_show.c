/*
 * test_show.c - a command that fails says why: by an error, by the errors of a document, or by a
 * problem. One that says nothing is a defect, and says at least that.
 */
#include "sim/cli/cli.h"

#include <stdlib.h>

#include "sim/base/fault.h"

/* What a command may have said before it ends with a status. */
typedef struct {
  const char *name;
  int status, found;
  const char *wanted; /* on stderr, as a pattern */
  void (*say)(void);
} Case;

static void say_nothing(void) {}

static void say_problem(void) { orr_show_problem("%d rows failed", 3); }

static void say_warning(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  orr_diags_warning(diags, (OrrPlace){"a.yaml", 1, 1}, "is odd");
  orr_show_diags(diags);
}

static void say_errors(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  orr_diags_error(diags, (OrrPlace){"a.yaml", 1, 1}, "is wrong");
  orr_show_diags(diags);
}

static const Case cases[] = {
    {"silent", 1, 1, "orrery: run ended with status 1 without a reason*", say_nothing},
    {"silent-document", 2, 2, "orrery: run ended with status 2 without a reason*", say_nothing},
    {"warned", 1, 1, "*is odd*orrery: run ended with status 1 without a reason*", say_warning},
    {"errors", 2, 2, "a.yaml:1:1: error: is wrong\n", say_errors},
    {"problem", 1, 1, "orrery: 3 rows failed\n", say_problem},
    {"fine", 0, 0, "", say_nothing},
};

static void end(gconstpointer data) {
  const Case *what = data;
  what->say();
  const int status = orr_show_end("run", what->status, NULL);
  exit(status == what->found ? 0 : 99);
}

static void test_end(gconstpointer data) {
  const Case *what = data;
  if (g_test_subprocess()) end(what);
  g_test_trap_subprocess(NULL, 0, 0);
  g_test_trap_assert_passed();
  g_test_trap_assert_stderr(what->wanted);
}

/* An error has its own status, whatever the verb returned. */
static void test_error(void) {
  if (g_test_subprocess()) {
    g_autoptr(GError) error = g_error_new(ORR_FAULT, ORR_FAULT_USAGE, "no such verb");
    exit(orr_show_end("run", 1, error) == 2 ? 0 : 99);
  }
  g_test_trap_subprocess(NULL, 0, 0);
  g_test_trap_assert_passed();
  g_test_trap_assert_stderr("orrery: no such verb\n");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = g_strconcat("/show/end/", cases[i].name, NULL);
    g_test_add_data_func(path, &cases[i], test_end);
  }
  g_test_add_func("/show/error", test_error);
  return g_test_run();
}
