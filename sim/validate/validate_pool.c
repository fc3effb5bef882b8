/*
 * validate_pool.c - forks a child for each case, several at once, and collects their answers.
 *
 * Invariants
 *  1. A child sends one GVariant of type ANSWER through its pipe and ends by _exit. So it flushes
 *     none of the parent's buffers, and closes nothing that it shares with the parent, such as a
 *     results database.
 *  2. Every case gets an answer, whether its child answers, crashes, is killed or sends only half
 *     an answer. Answers are in the order of cases.
 */
#include "sim/validate/validate_pool.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/bands/residuals.h"
#include "sim/base/fault.h"
#include "sim/run/answer/training_rows.h"
#include "sim/run/scenario_stack.h"

/* ok, failed, reason, OrrResult as its bytes, time parts, memory parts, engine, fidelity,
 * stack, likeness. */
#define ANSWER "(bbsayssssss)"

typedef struct {
  guint index; /* of the case */
  pid_t pid;
  int fd;
  GByteArray *received;
} Child;

/* --- In the child --- */

static GVariant *pack(gboolean failed, const char *reason, const OrrScenario *scenario,
                      const OrrOutcome *outcome, const char *likeness) {
  static const OrrResult nothing;
  const OrrResult *result = outcome ? &outcome->result : &nothing;
  g_autofree char *times = outcome ? outcome->kind->explain(outcome) : g_strdup("");
  g_autofree char *memory = outcome ? orr_training_rows_memory_parts(outcome) : g_strdup("");
  g_autofree char *valid = g_utf8_make_valid(reason, -1);
  const char *engine = outcome && outcome->engine ? outcome->engine : "";
  const char *fidelity = outcome && outcome->fidelity ? outcome->fidelity : "";
  GVariant *bytes = g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, result, sizeof *result, 1);
  return g_variant_ref_sink(g_variant_new(
      "(bbs@ayssssss)", outcome != NULL, failed, valid, bytes, times, memory, engine, fidelity,
      scenario ? orr_scenario_stack_name(&scenario->workload) : "", likeness));
}

static GVariant *replay(OrrLibrary *library, const OrrNode *tree) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  if (!scenario) {
    g_autofree char *text = orr_diags_text(diags);
    return pack(FALSE, text, NULL, NULL, "");
  }
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  if (!outcome) return pack(orr_fault_exit_status(error) != 2, error->message, scenario, NULL, "");
  const OrrLikenessRow row = orr_likeness_of(library, scenario, outcome);
  g_autofree char *likeness = orr_residuals_likeness_text(&row);
  return pack(FALSE, "", scenario, outcome, likeness);
}

static void write_all(int fd, const char *data, gsize size) {
  while (size > 0) {
    gssize n = write(fd, data, size);
    if (n < 0 && errno != EINTR) return; /* the parent is gone */
    data += MAX(n, 0);
    size -= (gsize)MAX(n, 0);
  }
}

static void child_main(OrrLibrary *library, const OrrValidateCase *one, int fd) {
  g_autoptr(GVariant) answer = replay(library, one->tree);
  write_all(fd, g_variant_get_data(answer), g_variant_get_size(answer));
  _exit(0);
}

/* --- In the parent --- */

void orr_validate_answer_free(OrrValidateAnswer *answer) {
  if (!answer) return;
  g_free(answer->reason);
  g_free(answer->time_parts);
  g_free(answer->memory_parts);
  g_free(answer->engine);
  g_free(answer->fidelity);
  g_free(answer->stack);
  g_free(answer);
}

static OrrValidateAnswer *answer_failed(char *reason) {
  OrrValidateAnswer *answer = g_new0(OrrValidateAnswer, 1);
  answer->failed = TRUE;
  answer->reason = reason;
  return answer;
}

static OrrValidateAnswer *unpack(GBytes *bytes) {
  g_autoptr(GVariant) packed =
      g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(ANSWER), bytes, FALSE));
  g_autoptr(GVariant) result = NULL;
  g_autofree char *likeness = NULL;
  gsize n = 0;
  if (!g_variant_is_normal_form(packed))
    return answer_failed(g_strdup("the simulation ended before its result was complete"));
  OrrValidateAnswer *answer = g_new0(OrrValidateAnswer, 1);
  g_variant_get(packed, "(bbs@ayssssss)", &answer->ok, &answer->failed, &answer->reason, &result,
                &answer->time_parts, &answer->memory_parts, &answer->engine, &answer->fidelity,
                &answer->stack, &likeness);
  if (answer->ok) orr_residuals_likeness_parse(likeness, &answer->likeness);
  gconstpointer data = g_variant_get_fixed_array(result, &n, 1);
  memcpy(&answer->result, data, MIN(n, sizeof answer->result));
  return answer;
}

static gboolean start_child(OrrLibrary *library, const OrrValidateCase *one, guint index,
                            Child *child) {
  int ends[2];
  if (pipe(ends) != 0) return FALSE;
  fflush(NULL); /* else the child would have a copy of unwritten text */
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    child_main(library, one, ends[1]);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return FALSE;
  }
  *child = (Child){index, pid, ends[0], g_byte_array_new()};
  return TRUE;
}

static OrrValidateAnswer *end_child(Child *child) {
  int status = 0;
  close(child->fd);
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) continue;
  g_autoptr(GBytes) bytes = g_byte_array_free_to_bytes(child->received);
  if (WIFSIGNALED(status))
    return answer_failed(g_strdup_printf("the simulation was ended by signal %d (%s)",
                                         WTERMSIG(status), g_strsignal(WTERMSIG(status))));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return answer_failed(
        g_strdup_printf("the simulation left with status %d", WEXITSTATUS(status)));
  return unpack(bytes);
}

/* Reads from a child; FALSE at the end of its answer. */
static gboolean read_child(Child *child) {
  guint8 buffer[4096];
  gssize n = read(child->fd, buffer, sizeof buffer);
  if (n > 0) g_byte_array_append(child->received, buffer, (guint)n);
  return n > 0 || (n < 0 && errno == EINTR);
}

/* Waits for output of the children. Moves the answers of children that ended to @answers, removes
 * them from @children, and returns their number. */
static guint wait_for_some(GArray *children, GPtrArray *answers) {
  g_autofree struct pollfd *polled = g_new0(struct pollfd, children->len);
  guint n_ended = 0;
  for (guint i = 0; i < children->len; i++)
    polled[i] = (struct pollfd){.fd = g_array_index(children, Child, i).fd, .events = POLLIN};
  if (poll(polled, children->len, -1) < 0) return 0;
  for (guint i = children->len; i-- > 0;) {
    Child *child = &g_array_index(children, Child, i);
    if (!polled[i].revents || read_child(child)) continue;
    answers->pdata[child->index] = end_child(child);
    g_array_remove_index_fast(children, i);
    n_ended++;
  }
  return n_ended;
}

/* Answers a case that cannot be simulated. */
static gboolean answer_at_once(OrrValidateCase *one, OrrValidateAnswer **ret_answer) {
  if (!one->refused) return FALSE;
  *ret_answer = answer_failed(g_strdup(one->refused));
  (*ret_answer)->failed = FALSE;
  return TRUE;
}

GPtrArray *orr_validate_pool_run(OrrLibrary *library, GPtrArray *cases, guint jobs,
                                 OrrValidationProgress progress, void *user) {
  GPtrArray *answers = g_ptr_array_new_with_free_func((GDestroyNotify)orr_validate_answer_free);
  g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(Child));
  guint next = 0, n_done = 0, n_at_once = jobs > 0 ? jobs : g_get_num_processors();
  g_ptr_array_set_size(answers, (int)cases->len);
  while (next < cases->len || children->len > 0) {
    while (next < cases->len && children->len < n_at_once) {
      OrrValidateAnswer **answer = (OrrValidateAnswer **)&answers->pdata[next];
      Child child;
      if (answer_at_once(cases->pdata[next], answer))
        n_done++;
      else if (start_child(library, cases->pdata[next], next, &child))
        g_array_append_val(children, child);
      else if (children->len > 0)
        break; /* too many processes: try again when a child ends */
      else {
        *answer =
            answer_failed(g_strdup_printf("no process could be started: %s", g_strerror(errno)));
        n_done++;
      }
      next++;
    }
    n_done += children->len > 0 ? wait_for_some(children, answers) : 0;
    if (progress) progress(n_done, cases->len, user);
  }
  return answers;
}
