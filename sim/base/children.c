/*
 * children.c - forks a child for each task, several at once, and collects their answers.
 *
 * Invariants
 *  1. A child sends its bytes through its pipe and ends by _exit. So it flushes none of the
 *     parent's buffers, and closes nothing that it shares with the parent, such as a results
 *     database.
 *  2. Every task gets an answer, whether its child answers, crashes or is killed. Answers are in
 *     the order of tasks.
 *
 * A child writes one byte for the kind of its answer, the code of its error or FINE, and then the
 * answer or the error's message.
 */
#include "sim/base/children.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/arrays.h"

typedef struct {
  guint index;
  pid_t pid;
  int fd;
  GByteArray *received;
} Child;

enum { FINE = 255 };

static void free_answer(OrrChildAnswer *answer) {
  if (!answer) return;
  g_clear_pointer(&answer->bytes, g_bytes_unref);
  g_clear_error(&answer->error);
  g_free(answer);
}

/* Takes ownership of @bytes. */
static OrrChildAnswer *answer_new(GBytes *bytes) {
  OrrChildAnswer *answer = g_new0(OrrChildAnswer, 1);
  answer->bytes = bytes;
  return answer;
}

static OrrChildAnswer *answer_failed(OrrFaultCode code, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static OrrChildAnswer *answer_failed(OrrFaultCode code, const char *format, ...) {
  va_list values;
  va_start(values, format);
  OrrChildAnswer *answer = answer_new(NULL);
  answer->error = g_error_new_valist(ORR_FAULT, (int)code, format, values);
  va_end(values);
  return answer;
}

/* --- In the child --- */

static void write_all(int fd, const char *data, gsize size) {
  while (size > 0) {
    gssize n = write(fd, data, size);
    if (n < 0 && errno != EINTR) return; /* the parent is gone */
    data += MAX(n, 0);
    size -= (gsize)MAX(n, 0);
  }
}

static void child_main(const OrrChildren *children, guint index, int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (children->stop) signal(SIGINT, SIG_IGN); /* Ctrl-C goes to all; the parent decides */
  g_autoptr(GError) error = NULL;
  g_autoptr(GBytes) bytes = children->work(index, children->user, &error);
  const char kind = (char)(bytes ? FINE : error->code);
  write_all(fd, &kind, 1);
  if (bytes)
    write_all(fd, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
  else
    write_all(fd, error->message, strlen(error->message));
  _exit(0);
}

/* --- In the parent --- */

static gboolean start_child(const OrrChildren *children, guint index, Child *child) {
  int ends[2];
  if (pipe(ends) != 0) return FALSE;
  fflush(NULL); /* else the child would have a copy of unwritten text */
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    child_main(children, index, ends[1]);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return FALSE;
  }
  *child = (Child){index, pid, ends[0], g_byte_array_new()};
  return TRUE;
}

static OrrChildAnswer *end_child(Child *child) {
  int status = 0;
  close(child->fd);
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) continue;
  g_autoptr(GBytes) bytes = g_byte_array_free_to_bytes(child->received);
  gsize size = 0;
  const guint8 *data = g_bytes_get_data(bytes, &size);
  if (WIFSIGNALED(status))
    return answer_failed(ORR_FAULT_RESOURCE, "the simulation was ended by signal %d (%s)",
                         WTERMSIG(status), g_strsignal(WTERMSIG(status)));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || size == 0)
    return answer_failed(ORR_FAULT_RESOURCE, "the simulation left with status %d",
                         WEXITSTATUS(status));
  if (data[0] == FINE) return answer_new(g_bytes_new(data + 1, size - 1)); /* aligned */
  g_autofree char *message = g_utf8_make_valid((const char *)data + 1, (gssize)size - 1);
  return answer_failed(data[0], "%s", message);
}

/* Reads from a child; FALSE at the end of its answer. */
static gboolean read_child(Child *child) {
  guint8 buffer[4096];
  gssize n = read(child->fd, buffer, sizeof buffer);
  if (n > 0) g_byte_array_append(child->received, buffer, (guint)n);
  return n > 0 || (n < 0 && errno == EINTR);
}

/* Waits for output of the children, for @most_ms at most; -1: without end. Moves the answers of
 * children that ended to @answers, removes them from @running, and returns their number. */
static guint wait_for_some(GArray *running, GPtrArray *answers, int most_ms) {
  g_autofree struct pollfd *polled = g_new0(struct pollfd, running->len);
  guint n_ended = 0;
  for (guint i = 0; i < running->len; i++)
    polled[i] = (struct pollfd){.fd = g_array_index(running, Child, i).fd, .events = POLLIN};
  if (poll(polled, running->len, most_ms) < 0) return 0;
  for (guint i = running->len; i-- > 0;) {
    Child *child = &g_array_index(running, Child, i);
    if (!polled[i].revents || read_child(child)) continue;
    answers->pdata[child->index] = end_child(child);
    g_array_remove_index_fast(running, i);
    n_ended++;
  }
  return n_ended;
}

/* Their tasks get no answer. */
static void kill_children(GArray *running, GPtrArray *answers) {
  ORR_EACH(Child, child, running) {
    kill(child->pid, SIGKILL);
    free_answer(end_child(child));
    answers->pdata[child->index] = answer_new(NULL);
  }
  g_array_set_size(running, 0);
}

enum { STOP_EVERY_MS = 200 };

GPtrArray *orr_children_run(const OrrChildren *children) {
  GPtrArray *answers = g_ptr_array_new_with_free_func((GDestroyNotify)free_answer);
  g_autoptr(GArray) running = g_array_new(FALSE, FALSE, sizeof(Child));
  const guint n_at_once = children->jobs > 0 ? children->jobs : g_get_num_processors();
  guint next = 0, n_done = 0;
  g_ptr_array_set_size(answers, (int)children->n);
  while (next < children->n || running->len > 0) {
    if (children->stop && children->stop(children->user)) {
      kill_children(running, answers);
      for (; next < children->n; next++) answers->pdata[next] = answer_new(NULL);
      break;
    }
    while (next < children->n && running->len < n_at_once) {
      Child child;
      if (start_child(children, next, &child)) {
        g_array_append_val(running, child);
      } else if (running->len > 0) {
        break; /* too many processes: try again when a child ends */
      } else {
        answers->pdata[next] =
            answer_failed(ORR_FAULT_RESOURCE, "no process could be started: %s", g_strerror(errno));
        n_done++;
      }
      next++;
    }
    n_done +=
        running->len > 0 ? wait_for_some(running, answers, children->stop ? STOP_EVERY_MS : -1) : 0;
    if (children->progress) children->progress(n_done, children->user);
  }
  return answers;
}

gboolean orr_children_collect(const OrrChildren *children, gsize size, void *ret_answers,
                              guint *ret_failed, GError **error) {
  g_autoptr(GPtrArray) answers = orr_children_run(children);
  ORR_EACH_POINTER_AT(i, OrrChildAnswer, answer, answers) {
    if (ret_failed) *ret_failed = i;
    if (answer->error) {
      g_propagate_error(error, g_steal_pointer(&answer->error));
      return FALSE;
    }
    g_assert(g_bytes_get_size(answer->bytes) == size);
    memcpy((char *)ret_answers + i * size, g_bytes_get_data(answer->bytes, NULL), size);
  }
  return TRUE;
}
