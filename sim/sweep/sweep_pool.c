/*
 * sweep_pool.c - see sweep_pool.h.
 *
 *   parent --OrrSweepTask--> worker --OrrSweepAnswer--> parent        two pipes a worker, whole messages
 *
 * Invariants
 *  1. A task that was given out is answered once, or given out again: a worker answers in the order it was asked, so
 *     what it was doing when it died is the first of its queue.
 *  2. A worker that ends by a signal of its own making (SIGSEGV, SIGABRT) crashed on that point, which is recorded. One
 *     that was killed (SIGKILL: somebody, or the system out of memory) did not: the point is tried again, three times.
 *  3. Workers hold no end of another's pipes, and the kernel ends them with the parent.
 */
#include "sim/sweep/sweep_pool.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/fault.h"

#define AHEAD_S 0.05
#define MOST_AHEAD 64u
#define MOST_TRIES 3
#define POLL_MS 100
#define KILLED_STATUS 77 /* a worker whose SimGrid child was killed (sweep_point.c) */

typedef struct {
  OrrSweepTask task;
  guint tries;
} Given;

typedef struct {
  pid_t pid; /* 0: not running */
  int to, from;
  GQueue given; /* of Given, oldest first */
  gint64 since_us;
  guint got;
  char heard[sizeof(OrrSweepAnswer)];
} Worker;

typedef struct {
  const OrrSweepPlan *plan;
  OrrSweepVariants *variants;
  const OrrSweepCrew *crew;
  Worker *workers;
  GQueue again; /* of Given: of workers that died */
  guint64 n_answered;
  gint64 begin_us;
  gboolean dry; /* next() had none */
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

/* What a point gave back is the next one's: pages that go to the system and come again cost a
 * tenth of the time. */
static void keep_memory(void) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

static void worker_main(const Pool *pool, int from_parent, int to_parent) {
  OrrSweepTask task;
  keep_memory();
  while (read_all(from_parent, &task, sizeof task)) {
    if (pool->crew->before) pool->crew->before(&task, pool->crew->user);
    orr_sweep_point_run(pool->variants, pool->plan, &task, send_answer, &to_parent);
  }
  _exit(0);
}

/* --- Life of a worker --- */

static void become_worker(const Pool *pool, const int *asked, const int *said) {
  for (guint i = 0; i < pool->crew->jobs; i++)
    if (pool->workers[i].pid > 0) {
      close(pool->workers[i].to);
      close(pool->workers[i].from);
    }
  close(asked[1]);
  close(said[0]);
  static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  for (guint i = 0; i < G_N_ELEMENTS(asking); i++)
    signal(asking[i], SIG_IGN); /* the parent decides */
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  worker_main(pool, asked[0], said[1]);
}

static gboolean start_worker(Pool *pool, Worker *worker, GError **error) {
  int asked[2], said[2];
  const gboolean has_asked = pipe(asked) == 0, has_said = has_asked && pipe(said) == 0;
  fflush(NULL);
  const pid_t pid = has_said ? fork() : -1;
  if (pid == 0) become_worker(pool, asked, said);
  if (pid > 0) {
    setpgid(pid, pid); /* here too: whoever comes first */
    close(asked[0]);
    close(said[1]);
    worker->pid = pid;
    worker->to = asked[1];
    worker->from = said[0];
    worker->got = 0;
    return TRUE;
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "no process could be started: %s",
              g_strerror(errno));
  for (int i = 0; has_asked && i < 2; i++) close(asked[i]);
  for (int i = 0; has_said && i < 2; i++) close(said[i]);
  return FALSE;
}

/* Its wait status. */
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

static guint how_many_ahead(const Pool *pool) {
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
  pool->dry = !pool->crew->next(&task, pool->crew->user);
  if (pool->dry) return NULL;
  given = g_new0(Given, 1);
  given->task = task;
  return given;
}

static gboolean give(Worker *worker, Given *given) {
  if (g_queue_is_empty(&worker->given)) worker->since_us = g_get_monotonic_time();
  g_queue_push_tail(&worker->given, given);
  return write_all(worker->to, &given->task, sizeof given->task);
}

/* Round after round, so that few tasks are spread. */
static gboolean give_out(Pool *pool, GError **error) {
  const guint ahead = how_many_ahead(pool);
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
      give(worker, given); /* a pipe that broke is a worker that died: its end is read below */
    }
  return TRUE;
}

/* --- Answers --- */

/* Storing may wait for a lock for longer than a point may take: that is not the workers' time. */
static void excuse(Pool *pool, gint64 from_us) {
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
  excuse(pool, begun_us);
  return fine;
}

static gboolean record(Pool *pool, Worker *worker, OrrPointStatus status, const char *reason,
                       GError **error) {
  const Given *given = g_queue_peek_head(&worker->given);
  OrrSweepAnswer answer = {.point = given->task.point,
                           .combination = given->task.combination,
                           .rung = given->task.rung,
                           .status = (gint32)status};
  g_strlcpy(answer.reason, reason, sizeof answer.reason);
  return take_answer(pool, worker, &answer, error);
}

static void take_back(Pool *pool, Worker *worker) {
  for (Given *given; (given = g_queue_pop_tail(&worker->given));)
    g_queue_push_head(&pool->again, given);
}

static gboolean was_killed(int status) {
  return (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
         (WIFEXITED(status) && WEXITSTATUS(status) == KILLED_STATUS);
}

/* The worker is gone: what it was doing crashed it, or is tried again. */
static gboolean bury(Pool *pool, Worker *worker, GError **error) {
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

/* Reads what is there; FALSE with @error alone where the crew stops. */
static gboolean listen_to(Pool *pool, Worker *worker, GError **error) {
  const gssize n =
      read(worker->from, worker->heard + worker->got, sizeof worker->heard - worker->got);
  if (n < 0 && errno == EINTR) return TRUE;
  if (n <= 0) return bury(pool, worker, error);
  worker->got += (guint)n;
  if (worker->got < sizeof worker->heard) return TRUE;
  OrrSweepAnswer answer;
  memcpy(&answer, worker->heard, sizeof answer);
  worker->got = 0;
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
      if (polled[i].revents && !listen_to(pool, &pool->workers[i], error)) return FALSE;
  const gboolean fine = check_times(pool, error);
  const gint64 begun_us = g_get_monotonic_time();
  if (!fine || !pool->crew->tick(pool->crew->user, error)) return FALSE;
  excuse(pool, begun_us);
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
      end_worker(worker); /* an idle one leaves by itself: nobody asks any more */
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
