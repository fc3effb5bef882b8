/*
 * task_batches.c - replicas with one queue that serve jobs in batches, and the books of what they
 * did.
 *
 * A free replica takes the jobs that wait, in their order, while their sizes stay within `most`
 * (and always one). With `wait_s` it leaves a batch that is not full until its first job has waited
 * so long. All jobs of one date are there before the first replica looks.
 *
 *   jobs      1  2     3 4 5
 *   replica   |---1,2----|---3,4,5---|
 *
 * Oracle: with batches of one, Poisson arrivals and equal jobs the room is M/D/c.
 */
#include "workloads/serving/tasks/pools/task_pool.h"

typedef struct {
  OrrTaskBatches *room;
  GPtrArray *batch; /* OrrTaskJob*; empty: idle */
} Replica;

struct OrrTaskBatches {
  OrrTaskBatchesParams params;
  OrrTaskPoolHost host;
  GQueue waiting; /* OrrTaskJob* */
  Replica *all;
  gboolean is_called;
};

OrrTaskBatches *orr_task_batches_new(const OrrTaskPoolHost *host,
                                     const OrrTaskBatchesParams *params) {
  OrrTaskBatches *room = g_new0(OrrTaskBatches, 1);
  *room = (OrrTaskBatches){.params = *params, .host = *host};
  room->all = g_new0(Replica, params->replicas);
  for (gint64 i = 0; i < params->replicas; i++) room->all[i] = (Replica){room, g_ptr_array_new()};
  return room;
}

void orr_task_batches_free(OrrTaskBatches *room) {
  if (!room) return;
  for (gint64 i = 0; i < room->params.replicas; i++) g_ptr_array_unref(room->all[i].batch);
  g_queue_clear(&room->waiting);
  ORR_FREE(room->all, room);
}

static void call(OrrTaskBatches *room);

static void pass_ends(void *user) {
  Replica *replica = user;
  OrrTaskBatches *room = replica->room;
  OrrTaskPoolBooks *books = room->host.books;
  g_autoptr(GPtrArray) done = g_ptr_array_copy(replica->batch, NULL, NULL);
  g_ptr_array_set_size(replica->batch, 0);
  books->busy_s += ((const OrrTaskJob *)done->pdata[0])->work_s;
  ORR_EACH_POINTER(OrrTaskJob, job, done) {
    books->jobs++;
    books->waited_s += job->begin_s - job->asked_s;
    room->host.done(room->host.user, job);
  }
  call(room);
}

static double size_of(const OrrTaskBatches *room, const OrrTaskJob *job) {
  return room->params.by_tokens ? job->tokens : job->sequences;
}

static void begin(Replica *replica) {
  OrrTaskBatches *room = replica->room;
  double size = 0, sequences = 0, tokens = 0;
  for (OrrTaskJob *job; (job = g_queue_peek_head(&room->waiting));) {
    if (replica->batch->len > 0 && size + size_of(room, job) > room->params.most) break;
    size += size_of(room, job);
    sequences += job->sequences;
    tokens += job->tokens;
    g_ptr_array_add(replica->batch, g_queue_pop_head(&room->waiting));
  }
  const double work_s = room->params.serve(room->params.user, sequences, tokens);
  ORR_EACH_POINTER(OrrTaskJob, job, replica->batch) {
    job->begin_s = orr_engine_now(room->host.engine);
    job->work_s = work_s;
  }
  orr_engine_after(room->host.engine, work_s, pass_ends, replica);
}

/* Seconds until the jobs that wait are to begin: 0 where they fill a batch. */
static double patience(const OrrTaskBatches *room) {
  const OrrTaskJob *first = room->waiting.head->data;
  double size = 0;
  if (room->params.wait_s <= 0) return 0;
  for (const GList *one = room->waiting.head; one; one = one->next) {
    size += size_of(room, one->data);
    if (size >= room->params.most) return 0;
  }
  const double left_s = first->asked_s + room->params.wait_s - orr_engine_now(room->host.engine);
  return left_s > 1e-9 ? left_s : 0; /* a clock of hours still moves by it */
}

static void look(void *user) {
  OrrTaskBatches *room = user;
  room->is_called = FALSE;
  for (gint64 i = 0; i < room->params.replicas && room->waiting.length > 0; i++) {
    if (room->all[i].batch->len > 0) continue;
    const double wait_s = patience(room);
    if (wait_s > 0) {
      orr_engine_after(room->host.engine, wait_s, look, room);
      break;
    }
    begin(&room->all[i]);
  }
  room->host.books->most_waiting =
      MAX(room->host.books->most_waiting, (gint64)room->waiting.length);
}

/* When all jobs of this date are there. */
static void call(OrrTaskBatches *room) {
  if (room->is_called) return;
  room->is_called = TRUE;
  orr_engine_after(room->host.engine, 0, look, room);
}

void orr_task_batches_add(OrrTaskBatches *room, OrrTaskJob *job) {
  g_queue_push_tail(&room->waiting, job);
  call(room);
}
