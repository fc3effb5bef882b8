/*
 * kineto_write.c - events as "X", steps as user_annotation; communication carries the arguments
 * that PyTorch records.
 */
#include "sim/explain/explain.h"

#include "sim/base/file.h"

/* Steps of the first part stand on a process of their own, as the host's. */
enum { HOST_PID = 1000000 };

static void add_text(GString *out, const char *text) {
  g_string_append_c(out, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\') g_string_append_c(out, '\\');
    if ((guchar)*c >= 0x20) g_string_append_c(out, *c);
  }
  g_string_append_c(out, '"');
}

/* Picoseconds: half a digit of rounding does not show in a report. */
static void add_time(GString *out, const char *key, double seconds) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append_printf(out, ",\"%s\":%s", key,
                         g_ascii_formatd(text, sizeof text, "%.6f", seconds * 1e6));
}

static const char *category_of(const OrrTimelineName *name) {
  const gboolean is_fill = g_str_equal(name->family->name, "fill");
  return name->family->kind != ORR_EXPLAIN_COPIES ? "kernel"
         : is_fill                                ? "gpu_memset"
                                                  : "gpu_memcpy";
}

static void add_event(GString *out, const OrrTimelineEvent *event, const OrrTimelineName *name,
                      gint64 pid, double from_s, double to_s) {
  g_string_append_printf(out, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", category_of(name));
  add_text(out, name->text);
  g_string_append_printf(out, ",\"pid\":%d,\"tid\":%d", (int)pid, event->stream);
  add_time(out, "ts", from_s);
  add_time(out, "dur", to_s - from_s);
  g_string_append_printf(out, ",\"args\":{\"device\":%d,\"stream\":%d", (int)pid, event->stream);
  if (name->family->kind == ORR_EXPLAIN_COMM) {
    g_string_append(out, ",\"Collective name\":");
    add_text(out, name->family->name);
    if (name->purpose) {
      g_string_append(out, ",\"Process Group Description\":");
      add_text(out, name->purpose);
    }
    if (name->bytes > 0)
      g_string_append_printf(out, ",\"In msg nelems\":%.0f,\"dtype\":\"Byte\"", name->bytes);
  }
  g_string_append(out, "}},\n");
}

static void add_step(GString *out, const OrrTimelineStep *step, double begin_s) {
  g_string_append(out, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":");
  add_text(out, step->name);
  g_string_append_printf(out, ",\"pid\":%d,\"tid\":0", HOST_PID);
  add_time(out, "ts", step->begin_s - begin_s);
  add_time(out, "dur", step->end_s - step->begin_s);
  g_string_append(out, "},\n");
}

static void add_title(GString *out, const char *title, gint64 pid) {
  g_string_append_printf(
      out,
      "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}},\n",
      (int)pid, (int)pid);
  g_string_append_printf(
      out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":", (int)pid);
  add_text(out, title);
  g_string_append(out, "}},\n");
}

static void add_part(GString *out, const OrrKinetoPart *part, guint number) {
  const OrrTimeline *timeline = part->timeline;
  if (part->title) add_title(out, part->title, number);
  ORR_EACH(const OrrTimelineEvent, event, timeline->events) {
    const double from_s = fmax(event->begin_s, part->begin_s),
                 to_s = fmin(event->end_s, part->end_s);
    if ((part->device >= 0 && event->device != part->device) || to_s <= from_s) continue;
    add_event(out, event, &g_array_index(timeline->names, OrrTimelineName, event->name),
              part->title ? (gint64)number : event->device, from_s - part->begin_s,
              to_s - part->begin_s);
  }
  for (guint i = 0; !part->title && i < timeline->steps->len; i++)
    add_step(out, &g_array_index(timeline->steps, OrrTimelineStep, i), part->begin_s);
}

gboolean orr_kineto_write(const OrrKinetoPart *parts, guint n_parts, const char *path,
                          GError **error) {
  g_autoptr(GString) out =
      g_string_new("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  for (guint i = 0; i < n_parts; i++) add_part(out, &parts[i], i);
  if (out->str[out->len - 2] == ',') g_string_truncate(out, out->len - 2);
  g_string_append(out, "\n]}\n");
  return orr_file_write(path, out->str, (gssize)out->len, error);
}
