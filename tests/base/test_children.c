/*
 * test_children.c - every task has an answer or an error, in the order of tasks, however its child
 * ends.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/children.h"
#include "sim/base/fault.h"

enum { N = 7, FAILS = 2, DIES = 4, LEAVES = 5 };

static GBytes *square(guint index, void *user, GError **error) {
  const guint *bad = user;
  if (bad && index == bad[FAILS])
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "task %u: no", index);
  if (bad && index == bad[DIES]) raise(SIGKILL);
  if (bad && index == bad[LEAVES]) _exit(3);
  const guint answer = index * index;
  return g_bytes_new(&answer, sizeof answer);
}

static void test_order(void) {
  const OrrChildren children = {.n = N, .jobs = 3, .work = square};
  guint answers[N] = {0};
  g_assert_true(orr_children_collect(&children, sizeof(guint), answers, NULL, NULL));
  for (guint i = 0; i < N; i++) g_assert_cmpuint(answers[i], ==, i * i);
}

static void assert_error(const GPtrArray *answers, guint i, OrrFaultCode code, const char *text) {
  const OrrChildAnswer *answer = answers->pdata[i];
  g_assert_null(answer->bytes);
  g_assert_error(answer->error, ORR_FAULT, (int)code);
  g_assert_nonnull(strstr(answer->error->message, text));
}

static void test_ends(void) {
  guint bad[N] = {0};
  for (guint i = 0; i < N; i++) bad[i] = i;
  const OrrChildren children = {.n = N, .jobs = 2, .work = square, .user = bad};
  g_autoptr(GPtrArray) answers = orr_children_run(&children);
  assert_error(answers, FAILS, ORR_FAULT_DOCUMENT, "task 2: no");
  assert_error(answers, DIES, ORR_FAULT_RESOURCE, "ended by signal 9");
  assert_error(answers, LEAVES, ORR_FAULT_RESOURCE, "left with status 3");
  const OrrChildAnswer *last = answers->pdata[N - 1];
  g_assert_null(last->error);
  g_assert_cmpuint(*(const guint *)g_bytes_get_data(last->bytes, NULL), ==, 36);
}

static void test_first_error(void) {
  guint bad[N] = {0}, answers[N], failed = 0;
  g_autoptr(GError) error = NULL;
  for (guint i = 0; i < N; i++) bad[i] = i;
  const OrrChildren children = {.n = N, .jobs = 2, .work = square, .user = bad};
  g_assert_false(orr_children_collect(&children, sizeof(guint), answers, &failed, &error));
  g_assert_cmpuint(failed, ==, FAILS);
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
}

/* Task 0 answers. Task 1 would never end, and is killed once task 0 has answered; the tasks behind
 * it never start. */
static GBytes *wait_long(guint index, void *user, GError **error) {
  (void)user;
  if (index == 1) pause();
  if (index > 1) _exit(3);
  return square(index, NULL, error);
}

static void count_done(guint n_done, void *user) { *(guint *)user = n_done; }

static gboolean is_one_done(void *user) { return *(const guint *)user >= 1; }

static void test_stop(void) {
  guint n_done = 0;
  const OrrChildren children = {.n = N,
                                .jobs = 1,
                                .work = wait_long,
                                .progress = count_done,
                                .stop = is_one_done,
                                .user = &n_done};
  const OrrChildren two = {.n = 2,
                           .jobs = 2,
                           .work = wait_long,
                           .progress = count_done,
                           .stop = is_one_done,
                           .user = &n_done};
  const OrrChildren *const cases[] = {&children, &two};
  for (guint k = 0; k < G_N_ELEMENTS(cases); k++) {
    n_done = 0;
    g_autoptr(GPtrArray) answers = orr_children_run(cases[k]);
    g_assert_cmpuint(answers->len, ==, cases[k]->n);
    for (guint i = 0; i < answers->len; i++) {
      const OrrChildAnswer *answer = answers->pdata[i];
      g_assert_null(answer->error);
      g_assert_cmpint(answer->bytes != NULL, ==, i == 0);
    }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/children/order", test_order);
  g_test_add_func("/children/ends", test_ends);
  g_test_add_func("/children/first-error", test_first_error);
  g_test_add_func("/children/stop", test_stop);
  return g_test_run();
}
