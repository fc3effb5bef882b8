/*
 * task_batches.c - GPUs with queues that serve jobs in batches, and the books of what they did.
 *
 * A room has a queue, and one or more rooms share GPUs. A free GPU takes the jobs that wait in a
 * room, in their order, while their sizes stay within `most` (and always one). With `wait_s` it
 * leaves a batch that is not full until its first job has waited so long. All jobs of one date are
 * there before the first GPU looks.
 *
 *   jobs   1  2     3 4 5
 *   GPU    |---1,2----|---3,4,5---|
 *
 * Rooms that share GPUs are models: a GPU has one at a time, and the others sleep in host memory.
 * The room whose first job came first is served, on a GPU that has its model if one is
 * free; another GPU takes load_s more, in which it copies the weights. At first GPUs have the model
 * of the room that was made first.
 *
 * Oracles: with batches of one, Poisson arrivals and equal jobs a room is M/D/c; two rooms on one
 * GPU that are asked in turn take a load each time.
 */
#include "workloads/serving/tasks/pools/task_pool.h"

typedef struct {
  OrrTaskGpus *gpus;
  GPtrArray *batch;       /* OrrTaskJob*; empty: idle */
  OrrTaskBatches *loaded; /* whose model it has */
} Gpu;

struct OrrTaskGpus {
  OrrEngine *engine;
  GPtrArray *rooms; /* OrrTaskBatches*, not owned */
  Gpu *all;
  gint64 n;
  gboolean is_called;
};

struct OrrTaskBatches {
  OrrTaskBatchesParams params;
  OrrTaskPoolHost host;
  GQueue waiting; /* OrrTaskJob* */
};

OrrTaskGpus *orr_task_gpus_new(OrrEngine *engine, gint64 n) {
  OrrTaskGpus *gpus = g_new0(OrrTaskGpus, 1);
  *gpus = (OrrTaskGpus){engine, g_ptr_array_new(), g_new0(Gpu, n), n, FALSE};
  for (gint64 i = 0; i < n; i++) gpus->all[i] = (Gpu){gpus, g_ptr_array_new(), NULL};
  return gpus;
}

void orr_task_gpus_free(OrrTaskGpus *gpus) {
  if (!gpus) return;
  for (gint64 i = 0; i < gpus->n; i++) g_ptr_array_unref(gpus->all[i].batch);
  g_ptr_array_unref(gpus->rooms);
  ORR_FREE(gpus->all, gpus);
}

OrrTaskBatches *orr_task_batches_new(const OrrTaskPoolHost *host,
                                     const OrrTaskBatchesParams *params) {
  OrrTaskBatches *room = g_new0(OrrTaskBatches, 1);
  *room = (OrrTaskBatches){.params = *params, .host = *host};
  g_ptr_array_add(host->gpus->rooms, room);
  for (gint64 i = 0; i < host->gpus->n; i++)
    if (!host->gpus->all[i].loaded) host->gpus->all[i].loaded = room;
  return room;
}

void orr_task_batches_free(OrrTaskBatches *room) {
  if (!room) return;
  g_queue_clear(&room->waiting);
  g_free(room);
}

static void call(OrrTaskGpus *gpus);

static void pass_ends(void *user) {
  Gpu *gpu = user;
  OrrTaskBatches *room = gpu->loaded;
  OrrTaskPoolBooks *books = room->host.books;
  g_autoptr(GPtrArray) done = g_ptr_array_copy(gpu->batch, NULL, NULL);
  g_ptr_array_set_size(gpu->batch, 0);
  books->busy_s += ((const OrrTaskJob *)done->pdata[0])->work_s;
  ORR_EACH_POINTER(OrrTaskJob, job, done) {
    books->jobs++;
    books->waited_s += job->begin_s - job->asked_s;
    room->host.done(room->host.user, job);
  }
  call(gpu->gpus);
}

static double size_of(const OrrTaskBatches *room, const OrrTaskJob *job) {
  return room->params.by_tokens ? job->tokens : job->sequences;
}

static void begin(Gpu *gpu, OrrTaskBatches *room) {
  double size = 0, sequences = 0, tokens = 0;
  for (OrrTaskJob *job; (job = g_queue_peek_head(&room->waiting));) {
    if (gpu->batch->len > 0 && size + size_of(room, job) > room->params.most) break;
    size += size_of(room, job);
    sequences += job->sequences;
    tokens += job->tokens;
    g_ptr_array_add(gpu->batch, g_queue_pop_head(&room->waiting));
  }
  const double load_s = gpu->loaded == room ? 0 : room->params.load_s;
  const double work_s = load_s + room->params.serve(room->params.user, sequences, tokens);
  room->host.books->loads += gpu->loaded != room;
  gpu->loaded = room;
  ORR_EACH_POINTER(OrrTaskJob, job, gpu->batch) {
    job->begin_s = orr_engine_now(room->host.engine);
    job->work_s = work_s;
  }
  orr_engine_after(room->host.engine, work_s, pass_ends, gpu);
}

static double asked_s(const OrrTaskBatches *room) {
  return ((const OrrTaskJob *)room->waiting.head->data)->asked_s;
}

/* Seconds until the jobs that wait are to begin: 0 where they fill a batch. */
static double patience(const OrrTaskBatches *room) {
  double size = 0;
  if (room->params.wait_s <= 0) return 0;
  for (const GList *one = room->waiting.head; one; one = one->next) {
    size += size_of(room, one->data);
    if (size >= room->params.most) return 0;
  }
  const double left_s = asked_s(room) + room->params.wait_s - orr_engine_now(room->host.engine);
  return left_s > 1e-9 ? left_s : 0; /* a clock of hours still moves by it */
}

/* The room to serve next; NULL: none. @ret_wait_s: until the next one may be, where some wait for
 * fuller batches. */
static OrrTaskBatches *next_room(const OrrTaskGpus *gpus, double *ret_wait_s) {
  OrrTaskBatches *next = NULL;
  double least_s = G_MAXDOUBLE;
  ORR_EACH_POINTER(OrrTaskBatches, room, gpus->rooms) {
    const double wait_s = room->waiting.length > 0 ? patience(room) : G_MAXDOUBLE;
    least_s = fmin(least_s, wait_s);
    if (wait_s == 0 && (!next || asked_s(room) < asked_s(next))) next = room;
  }
  *ret_wait_s = least_s;
  return next;
}

/* A free GPU, with the model of @room if one has it; NULL: all are busy. */
static Gpu *free_gpu(const OrrTaskGpus *gpus, const OrrTaskBatches *room) {
  Gpu *found = NULL;
  for (gint64 i = 0; i < gpus->n; i++) {
    Gpu *gpu = &gpus->all[i];
    if (gpu->batch->len > 0) continue;
    if (gpu->loaded == room) return gpu;
    if (!found) found = gpu;
  }
  return found;
}

static void look(void *user) {
  OrrTaskGpus *gpus = user;
  OrrTaskBatches *room;
  double wait_s = G_MAXDOUBLE;
  gpus->is_called = FALSE;
  for (Gpu *gpu; (room = next_room(gpus, &wait_s)) && (gpu = free_gpu(gpus, room));)
    begin(gpu, room);
  if (!room && wait_s < G_MAXDOUBLE && free_gpu(gpus, NULL))
    orr_engine_after(gpus->engine, wait_s, look, gpus);
  ORR_EACH_POINTER(OrrTaskBatches, one, gpus->rooms)
    one->host.books->most_waiting = MAX(one->host.books->most_waiting, (gint64)one->waiting.length);
}

/* When all jobs of this date are there. */
static void call(OrrTaskGpus *gpus) {
  if (gpus->is_called) return;
  gpus->is_called = TRUE;
  orr_engine_after(gpus->engine, 0, look, gpus);
}

void orr_task_batches_add(OrrTaskBatches *room, OrrTaskJob *job) {
  g_queue_push_tail(&room->waiting, job);
  call(room->host.gpus);
}
