/*
 * alone.c - forks, replays the work in the child, and reads its end through a pipe. The child never
 * returns: it writes one Answer, or the error that stopped it, and exits.
 */
#include "sim/run/alone.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/fault.h"
#include "sim/run/replay.h"
#include "sim/run/run_work.h"

/* The message through the pipe. */
typedef struct {
  OrrAlone alone;
  int code; /* OrrFaultCode, where there is a message */
  char message[512];
} Answer;

static void keep_end(const OrrSpan *span, void *user) {
  *(double *)user = fmax(*(double *)user, span->end_s);
}

static gboolean replay(const OrrScenario *scenario, OrrWork *work, OrrAlone *ret_alone,
                       GError **error) {
  const OrrLivePart live = {.work = work};
  const gboolean is_live = orr_work_is_live(work);
  g_autoptr(OrrEngine) engine =
      orr_run_work_engine(scenario, work->program, work->contends, NULL, error);
  if (!engine) return FALSE;
  const OrrReplaySetup setup = {.program = work->program,
                                .live = &live,
                                .n_live = is_live ? 1 : 0,
                                .engine = engine,
                                .sink = keep_end,
                                .user = &ret_alone->end_s};
  if (!orr_replay(&setup, NULL, error)) return FALSE;
  if (is_live) orr_work_times(work, &ret_alone->end_s, &ret_alone->answer_s);
  return TRUE;
}

static void G_GNUC_NORETURN answer_in_child(const OrrScenario *scenario, OrrWork *work, int fd) {
  g_autoptr(GError) error = NULL;
  Answer answer = {0};
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child ends with its parent */
  if (!replay(scenario, work, &answer.alone, &error)) {
    answer.code = error->code;
    g_strlcpy(answer.message, error->message, sizeof answer.message);
  }
  _exit(write(fd, &answer, sizeof answer) == (gssize)sizeof answer ? 0 : 1);
}

static gboolean run_child(const OrrScenario *scenario, OrrWork *work, Answer *answer) {
  int ends[2], status = 0;
  if (pipe(ends) != 0) return FALSE;
  const pid_t child = fork();
  if (child == 0) answer_in_child(scenario, work, ends[1]);
  close(ends[1]);
  const gboolean fine =
      child > 0 && read(ends[0], answer, sizeof *answer) == (gssize)sizeof *answer;
  close(ends[0]);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return fine;
}

gboolean orr_alone_simulate(const OrrScenario *scenario, OrrWork *work, OrrAlone *ret_alone,
                            GError **error) {
  Answer answer = {0};
  if (!orr_run_work_prepare(scenario, work, error)) return FALSE;
  if (!run_child(scenario, work, &answer))
    return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s could not be replayed alone",
                         scenario->name);
  if (answer.message[0] != '\0')
    return orr_fault_set(error, answer.code, "%s alone: %s", scenario->name, answer.message);
  *ret_alone = answer.alone;
  return TRUE;
}
