/*
 * work_calls.c - the calls behind the paths of a program (work_calls.h).
 */
#include "workloads/work_calls.h"

#include "sim/base/arrays.h"

static void kept_free(gpointer data) {
  OrrKeptCalls *kept = data;
  ORR_FREE(kept->gpus, kept);
}

OrrWorkCalls *orr_work_calls_new(void) {
  OrrWorkCalls *calls = g_new0(OrrWorkCalls, 1);
  calls->calls = g_ptr_array_new_with_free_func(kept_free);
  calls->by_path = g_array_new(FALSE, TRUE, sizeof(guint32));
  return calls;
}

void orr_work_calls_free(OrrWorkCalls *calls) {
  if (!calls) return;
  g_ptr_array_unref(calls->calls);
  g_array_unref(calls->by_path);
  g_free(calls);
}

guint32 orr_work_calls_add(OrrWorkCalls *calls, const OrrKeptCalls *kept) {
  OrrKeptCalls *own = g_memdup2(kept, sizeof *kept);
  own->gpus = g_memdup2(kept->gpus, (gsize)kept->n_calls * kept->n * sizeof *kept->gpus);
  g_ptr_array_add(calls->calls, own);
  return calls->calls->len;
}

void orr_work_calls_put(OrrWorkCalls *calls, guint32 path, guint32 number) {
  if (calls->by_path->len <= path) g_array_set_size(calls->by_path, path + 1);
  g_array_index(calls->by_path, guint32, path) = number;
}

const OrrKeptCalls *orr_work_calls_of(const OrrWorkCalls *calls, guint32 path) {
  const guint32 number =
      path < calls->by_path->len ? g_array_index(calls->by_path, guint32, path) : 0;
  return number > 0 ? calls->calls->pdata[number - 1] : NULL;
}
