/*
 * sweep_pool.c - gives points to worker processes and takes their answers.
 *
 *   parent --OrrSweepTask--> worker --OrrSweepAnswer--> parent     two pipes per worker, whole
 *                                                                  messages
 *
 * Invariants
 *  1. A task that was given out is answered once or given out again. A worker answers its tasks in
 *     order, so a worker that dies was simulating the first task of its queue.
 *  2. A worker that ends by SIGSEGV or SIGABRT crashed on that point, and the crash is recorded. A
 *     worker that was killed by SIGKILL (by a person, or when the system ran out of memory) did not
 *     crash: its point is tried up to three times.
 *  3. A worker holds no pipe ends of other workers, and the kernel ends it with the parent.
 */
#include "sim/sweep/sweep_private.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/sweep/sweep_report.h"

#define AHEAD_S 0.05
#define MOST_AHEAD 64u
#define MOST_TRIES 3
#define POLL_MS 100

typedef struct {
  OrrSweepTask task;
  guint tries;
} Given;

typedef struct {
  pid_t pid; /* 0: not running */
  int to, from;
  GQueue given;    /* of Given, oldest first */
  gint64 since_us; /* when the first of them began */
  guint n_read;    /* bytes of the answer that is being read */
  char answer[sizeof(OrrSweepAnswer)];
} Worker;

typedef struct {
  const OrrSweepPlan *plan;
  OrrSweepVariants *variants;
  const OrrSweepCrew *crew;
  Worker *workers;
  GQueue again;       /* of Given: tasks of workers that died */
  guint64 n_answered; /* of the kind of work that was given out last, */
  gint64 begin_us;    /* since its first was given out */
  gint32 work;
} Pool;

/* --- In the worker --- */

static gboolean read_all(int fd, void *data, size_t size) {
  char *at = data;
  while (size > 0) {
    const gssize n = read(fd, at, size);
    if (n == 0 || (n < 0 && errno != EINTR)) return FALSE;
    at += MAX(n, 0);
    size -= (size_t)MAX(n, 0);
  }
  return TRUE;
}

static gboolean write_all(int fd, const void *data, size_t size) {
  const char *at = data;
  while (size > 0) {
    const gssize n = write(fd, at, size);
    if (n < 0 && errno != EINTR) return FALSE;
    at += MAX(n, 0);
    size -= (size_t)MAX(n, 0);
  }
  return TRUE;
}

static void send_answer(const OrrSweepAnswer *answer, void *user) {
  if (!write_all(*(const int *)user, answer, sizeof *answer)) _exit(1);
}

/* Keeps freed memory for the next point: returning pages to the system and getting them again
 * takes a tenth of the time. */
static void keep_memory(void) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

static void worker_main(const Pool *pool, int from_parent, int to_parent) {
  OrrSweepReport *seen = orr_sweep_report_new(pool->plan);
  OrrSweepTask task;
  keep_memory();
  while (read_all(from_parent, &task, sizeof task)) {
    if (pool->crew->before) pool->crew->before(&task, pool->crew->user);
    orr_sweep_point_run(pool->variants, pool->plan, seen, &task, send_answer, &to_parent);
  }
  _exit(0);
}

/* --- Life of a worker --- */

static void become_worker(const Pool *pool, const int *tasks, const int *answers) {
  for (guint i = 0; i < pool->crew->jobs; i++)
    if (pool->workers[i].pid > 0) {
      close(pool->workers[i].to);
      close(pool->workers[i].from);
    }
  close(tasks[1]);
  close(answers[0]);
  static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  for (guint i = 0; i < G_N_ELEMENTS(end_signals); i++)
    signal(end_signals[i], SIG_IGN); /* the parent decides */
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  worker_main(pool, tasks[0], answers[1]);
}

static gboolean start_worker(Pool *pool, Worker *worker, GError **error) {
  int tasks[2], answers[2];
  const gboolean has_tasks = pipe(tasks) == 0, has_answers = has_tasks && pipe(answers) == 0;
  fflush(NULL);
  const pid_t pid = has_answers ? fork() : -1;
  if (pid == 0) become_worker(pool, tasks, answers);
  if (pid > 0) {
    setpgid(pid, pid); /* parent and worker both do this, since either can run first */
    close(tasks[0]);
    close(answers[1]);
    worker->pid = pid;
    worker->to = tasks[1];
    worker->from = answers[0];
    worker->n_read = 0;
    return TRUE;
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "no process could be started: %s",
              g_strerror(errno));
  for (int i = 0; has_tasks && i < 2; i++) close(tasks[i]);
  for (int i = 0; has_answers && i < 2; i++) close(answers[i]);
  return FALSE;
}

/* Waits for a worker; returns its wait status. */
static int end_worker(Worker *worker) {
  int status = 0;
  close(worker->to);
  close(worker->from);
  while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) continue;
  worker->pid = 0;
  return status;
}

static void kill_worker(const Worker *worker) {
  if (kill(-worker->pid, SIGKILL) != 0) kill(worker->pid, SIGKILL);
}

/* --- Giving out --- */

/* How many tasks a worker has at once. */
static guint tasks_ahead(const Pool *pool) {
  if (pool->n_answered < 4) return 2;
  const double each_s = (double)(g_get_monotonic_time() - pool->begin_us) / G_USEC_PER_SEC *
                        pool->crew->jobs / (double)pool->n_answered;
  return (guint)CLAMP(AHEAD_S / each_s, 2, MOST_AHEAD);
}

static Given *take_next(Pool *pool) {
  Given *given = g_queue_pop_head(&pool->again);
  if (given) return given;
  if (pool->crew->interrupted && *pool->crew->interrupted) return NULL;
  OrrSweepTask task;
  if (!pool->crew->next(&task, pool->crew->user)) return NULL;
  if (task.work != pool->work) { /* a bound says nothing about how long a simulation takes */
    pool->work = task.work;
    pool->n_answered = 0;
    pool->begin_us = g_get_monotonic_time();
  }
  given = g_new0(Given, 1);
  given->task = task;
  return given;
}

static gboolean give(Worker *worker, Given *given) {
  if (g_queue_is_empty(&worker->given)) worker->since_us = g_get_monotonic_time();
  g_queue_push_tail(&worker->given, given);
  return write_all(worker->to, &given->task, sizeof given->task);
}

/* Gives one task to each worker per round, so that a few tasks are spread over all workers. */
static gboolean give_out(Pool *pool, GError **error) {
  const guint ahead = tasks_ahead(pool);
  for (guint round = 0; round < ahead; round++)
    for (guint i = 0; i < pool->crew->jobs; i++) {
      Worker *worker = &pool->workers[i];
      if (worker->given.length > round) continue;
      Given *given = take_next(pool);
      if (!given) return TRUE;
      if (worker->pid == 0 && !start_worker(pool, worker, error)) {
        g_queue_push_head(&pool->again, given);
        return FALSE;
      }
      give(worker, given); /* if the worker died, read_answer notices */
    }
  return TRUE;
}

/* --- Answers --- */

/* Extends the time limits by the time since @from_us: storing can wait for a lock longer than the
 * time limit of a point. */
static void extend_limits(Pool *pool, gint64 from_us) {
  const gint64 stalled_us = g_get_monotonic_time() - from_us;
  for (guint i = 0; i < pool->crew->jobs; i++) pool->workers[i].since_us += stalled_us;
}

static gboolean take_answer(Pool *pool, Worker *worker, const OrrSweepAnswer *answer,
                            GError **error) {
  const gint64 begun_us = g_get_monotonic_time();
  g_free(g_queue_pop_head(&worker->given));
  worker->since_us = begun_us;
  pool->n_answered++;
  const gboolean fine = pool->crew->answer(answer, pool->crew->user, error);
  extend_limits(pool, begun_us);
  return fine;
}

static gboolean record(Pool *pool, Worker *worker, OrrPointStatus status, const char *reason,
                       GError **error) {
  const Given *given = g_queue_peek_head(&worker->given);
  OrrSweepAnswer answer = {
      .point = given->task.point, .combination = given->task.combination, .status = (gint32)status};
  g_strlcpy(answer.reason, reason, sizeof answer.reason);
  return take_answer(pool, worker, &answer, error);
}

static void take_back(Pool *pool, Worker *worker) {
  for (Given *given; (given = g_queue_pop_tail(&worker->given));)
    g_queue_push_head(&pool->again, given);
}

static gboolean was_killed(int status) {
  return (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
         (WIFEXITED(status) && WEXITSTATUS(status) == ORR_KILLED_STATUS);
}

/* Handles the end of a worker: its first task crashed it, or is tried again. */
static gboolean end_task_of(Pool *pool, Worker *worker, GError **error) {
  const int status = end_worker(worker);
  Given *first = g_queue_peek_head(&worker->given);
  gboolean fine = TRUE;
  if (first && (!was_killed(status) || ++first->tries >= MOST_TRIES)) {
    g_autofree char *reason = WIFSIGNALED(status)
                                  ? g_strdup_printf("ended by signal %d (%s)%s", WTERMSIG(status),
                                                    g_strsignal(WTERMSIG(status)),
                                                    was_killed(status) ? ", three times" : "")
                                  : g_strdup_printf("left with status %d", WEXITSTATUS(status));
    fine = record(pool, worker, ORR_POINT_CRASHED, reason, error);
  }
  take_back(pool, worker);
  return fine;
}

/* Reads from a worker; FALSE with @error when the workers stop. */
static gboolean read_answer(Pool *pool, Worker *worker, GError **error) {
  const gssize n =
      read(worker->from, worker->answer + worker->n_read, sizeof worker->answer - worker->n_read);
  if (n < 0 && errno == EINTR) return TRUE;
  if (n <= 0) return end_task_of(pool, worker, error);
  worker->n_read += (guint)n;
  if (worker->n_read < sizeof worker->answer) return TRUE;
  OrrSweepAnswer answer;
  memcpy(&answer, worker->answer, sizeof answer);
  worker->n_read = 0;
  return take_answer(pool, worker, &answer, error);
}

static gboolean check_times(Pool *pool, GError **error) {
  const gint64 now_us = g_get_monotonic_time();
  for (guint i = 0; i < pool->crew->jobs; i++) {
    Worker *worker = &pool->workers[i];
    const double seconds = (double)(now_us - worker->since_us) / G_USEC_PER_SEC;
    if (worker->pid == 0 || g_queue_is_empty(&worker->given) || seconds < pool->crew->timeout_s)
      continue;
    kill_worker(worker);
    g_autofree char *limit = orr_quantity_format(pool->crew->timeout_s, ORR_UNIT_SECONDS);
    g_autofree char *reason = g_strdup_printf("took longer than %s", limit);
    end_worker(worker);
    const gboolean fine = record(pool, worker, ORR_POINT_TIMEOUT, reason, error);
    take_back(pool, worker);
    if (!fine) return FALSE;
  }
  return TRUE;
}

static gboolean wait_for_some(Pool *pool, GError **error) {
  g_autofree struct pollfd *polled = g_new0(struct pollfd, pool->crew->jobs);
  for (guint i = 0; i < pool->crew->jobs; i++)
    polled[i] = (struct pollfd){.fd = pool->workers[i].pid > 0 ? pool->workers[i].from : -1,
                                .events = POLLIN};
  const int wait_ms = (int)CLAMP(pool->crew->timeout_s * 1e3, 1, POLL_MS);
  if (poll(polled, pool->crew->jobs, wait_ms) > 0)
    for (guint i = 0; i < pool->crew->jobs; i++)
      if (polled[i].revents && !read_answer(pool, &pool->workers[i], error)) return FALSE;
  const gboolean fine = check_times(pool, error);
  const gint64 begun_us = g_get_monotonic_time();
  if (!fine || !pool->crew->tick(pool->crew->user, error)) return FALSE;
  extend_limits(pool, begun_us);
  return TRUE;
}

static gboolean is_busy(const Pool *pool) {
  for (guint i = 0; i < pool->crew->jobs; i++)
    if (!g_queue_is_empty(&pool->workers[i].given)) return TRUE;
  return FALSE;
}

static void clear(Pool *pool) {
  for (guint i = 0; i < pool->crew->jobs; i++) {
    Worker *worker = &pool->workers[i];
    if (worker->pid > 0) {
      if (!g_queue_is_empty(&worker->given)) kill_worker(worker);
      end_worker(worker); /* an idle worker ends when its pipe is closed */
    }
    g_queue_clear_full(&worker->given, g_free);
  }
  g_queue_clear_full(&pool->again, g_free);
  g_free(pool->workers);
}

gboolean orr_sweep_pool_run(const OrrSweepPlan *plan, OrrSweepVariants *variants,
                            const OrrSweepCrew *crew, GError **error) {
  Pool pool = {
      .plan = plan, .variants = variants, .crew = crew, .begin_us = g_get_monotonic_time()};
  struct sigaction ignore = {.sa_handler = SIG_IGN}, kept;
  gboolean fine = TRUE;
  pool.workers = g_new0(Worker, crew->jobs);
  g_queue_init(&pool.again);
  sigaction(SIGPIPE, &ignore, &kept);
  while (fine && !(crew->interrupted && *crew->interrupted > 1)) {
    fine = give_out(&pool, error);
    if (!fine || (!is_busy(&pool) && g_queue_is_empty(&pool.again))) break;
    fine = wait_for_some(&pool, error);
  }
  clear(&pool);
  sigaction(SIGPIPE, &kept, NULL);
  return fine;
}
