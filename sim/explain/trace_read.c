/*
 * trace_read.c - recognises the forms of traces, and refuses the ones that other tools must
 * convert first.
 */
#include "sim/explain/explain.h"

#include "results/nsys.h"

typedef struct {
  OrrTimeline *timeline;
  const char *step;
} Target;

static void take(const OrrNsysEvent *event, void *user) {
  Target *target = user;
  if (event->sort != ORR_NSYS_RANGE) {
    const guint32 name = orr_timeline_name(target->timeline, event->name, NULL, 0);
    orr_timeline_add(target->timeline, name, event->device, event->stream, event->begin_s,
                     event->end_s);
  } else if (g_str_has_prefix(event->name, target->step)) {
    orr_timeline_add_step(target->timeline, event->name, event->begin_s, event->end_s);
  }
}

static OrrTimeline *read_nsys(const char *path, const char *step, OrrDiags *diags) {
  g_autoptr(OrrTimeline) timeline = orr_timeline_new();
  Target target = {timeline, step ? step : "ProfilerStep#"};
  if (!orr_nsys_timeline_read(path, take, &target, diags)) return NULL;
  orr_timeline_sort(timeline);
  return g_steal_pointer(&timeline);
}

/* First bytes of files that hold a trace in a form which is not read, and what to do. */
static const struct {
  const char *bytes;
  gsize length;
  const char *advice;
} others[] = {
    {"PK\x03\x04", 4, "is a zip archive: unpack it"},
    {"\x28\xb5\x2f\xfd", 4, "is compressed by zstd: unpack it, or compress it by gzip"},
    {"BZh", 3, "is compressed by bzip2: unpack it"},
    {"\xfd"
     "7zXZ",
     5, "is compressed by xz: unpack it"},
    {"\x7f"
     "ELF",
     4, "is a program"},
};

OrrTimeline *orr_trace_read(const char *path, const char *step, const char **ret_form,
                            OrrDiags *diags) {
  char head[16] = {0};
  const OrrPlace place = {g_intern_string(path), 0, 0, NULL};
  FILE *file = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? fopen(path, "rbe") : NULL;
  const gsize n = file ? fread(head, 1, sizeof head, file) : 0;
  if (file) fclose(file);
  if (n >= 15 && memcmp(head, "SQLite format 3", 15) == 0) {
    *ret_form = "Nsight Systems";
    return read_nsys(path, step, diags);
  }
  if (g_str_has_suffix(path, ".nsys-rep") || g_str_has_suffix(path, ".qdrep")) {
    orr_diags_error(diags, place, "is a report: convert it by 'nsys export --type sqlite'");
    return NULL;
  }
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    if (n >= others[i].length && memcmp(head, others[i].bytes, others[i].length) == 0) {
      orr_diags_error(diags, place, "%s", others[i].advice);
      return NULL;
    }
  *ret_form = "Kineto";
  return orr_kineto_read(path, step, NULL, diags);
}
