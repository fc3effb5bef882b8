/*
 * import_nccl_tests.c - reads the output of nccl-tests in one loop over its lines. Each line is a
 * rank, headings, a row, or ignored; a new list of ranks ends a run.
 */
#include "calibration/fit/import_nccl_tests.h"

#include "calibration/fit/measured_private.h"
#include "sim/base/file.h"
#include "topologies/device_driver.h"

typedef struct {
  double bytes, us;
  double in_place_us; /* NAN: not printed */
  OrrPlace place;
} Row;

typedef struct {
  char *op, *device, *type, *version;
  GHashTable *hosts;
  guint n_ranks, n_listed; /* the ranks that took part, and how many lines list them */
  GStrv headings;          /* NULL before the line of headings */
  OrrPlace place;          /* of the headings */
  GArray *rows;
  /* In the fastest row: the algorithm's bandwidth, bus bandwidth over it, and the lowest and the
   * highest quotient whose two bandwidths are printed so. 0: not seen */
  double algbw, factor, least_factor, most_factor;
  char *redop, *root; /* of that row; NULL: the text has no such column, or leaves it empty */
} Run;

typedef struct {
  const OrrNcclTestsOrder *order;
  GPtrArray *runs; /* Run*; the last one is open */
  char *op;        /* of the next run: the last one that the text named */
  char *version;
  GString *failed; /* names of tests without rows, for a comment */
  OrrDiags *diags;
} Reader;

static void run_free(Run *run) {
  ORR_FREE(run->op, run->device, run->type, run->version, run->redop, run->root);
  g_hash_table_unref(run->hosts);
  g_strfreev(run->headings);
  g_array_unref(run->rows);
  g_free(run);
}

static Run *open_run(Reader *reader) {
  Run *last = reader->runs->len ? reader->runs->pdata[reader->runs->len - 1] : NULL;
  if (last && !last->headings) return last;
  Run *run = g_new0(Run, 1);
  run->hosts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  run->rows = g_array_new(FALSE, FALSE, sizeof(Row));
  g_ptr_array_add(reader->runs, run);
  return run;
}

static Run *last_run(const Reader *reader) {
  return reader->runs->len ? reader->runs->pdata[reader->runs->len - 1] : NULL;
}

/* --- lines --- */

/* Behind "HOST RANK: " of HPE's PALS, or "HOST: " of pdsh; NULL: no such tag. */
static const char *after_host(const char *line) {
  const char *c = line + strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789.-_");
  if (c == line || !g_ascii_isalpha(*line)) return NULL;
  if (*c == ' ') {
    const size_t n_digits = strspn(c + 1, "0123456789");
    c += n_digits ? 1 + n_digits : 0;
  }
  if (*c != ':' || c[1] != ' ') return NULL;
  const char *text = c + 1 + strspn(c + 1, " ");
  return *text == '#' || g_ascii_isdigit(*text) ? c + 1 : NULL;
}

/* Behind the date that `kubectl logs --timestamps`, `ts` or a log collector puts before a line:
 * "2024-07-18T15:41:05.123Z ", "[2024-07-18 15:41:05] ", "Jul 18 15:41:05 "; else @line. A log's
 * bytes need not be UTF-8, which GRegex takes for granted unless it is raw. */
static const char *after_date(const char *line) {
  static GRegex *date;
  if (g_once_init_enter(&date))
    g_once_init_leave(&date,
                      g_regex_new("^\\[?(\\d{4}-\\d\\d-\\d\\d[T ]|[A-Z][a-z]{2} [ \\d]\\d )"
                                  "\\d\\d:\\d\\d:\\d\\d[.,\\d]*(Z|[+-]\\d\\d:?\\d\\d)?\\]?[ \\t]",
                                  G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL));
  g_autoptr(GMatchInfo) match = NULL;
  gint end = 0;
  if (!g_regex_match(date, line, 0, &match)) return line;
  g_match_info_fetch_pos(match, 0, NULL, &end);
  return line + end;
}

/* Behind the tag of mpirun, whose options --tag-output and --timestamp-output write
 * "[1,0]<stdout>:", "Thu Jul 18 15:41:05 2024<stdout>:" or both; NULL: no such tag. */
static const char *after_stream(const char *line) {
  enum { LONGEST = 120 };
  static const char *const streams[] = {"<stdout>:", "<stderr>:"};
  for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
    const char *tag = g_strstr_len(line, LONGEST, streams[i]);
    if (tag) return tag + strlen(streams[i]);
  }
  return NULL;
}

/* Where the line goes on after what mpirun, `srun --label` ("0: ") or another launcher or
 * collector of logs puts before it. */
static const char *after_tag(const char *line) {
  const char *c = after_stream(line);
  if (c) return c;
  c = line = after_date(line);
  c += strspn(c, " ");
  const size_t n_digits = strspn(c, "0123456789");
  const char *host = after_host(c);
  if (host) return host;
  return n_digits && c[n_digits] == ':' && strchr(" #", c[n_digits + 1]) ? c + n_digits + 1 : line;
}

static char **words_of(const char *line) {
  g_auto(GStrv) parts = g_strsplit_set(line, " \t", -1);
  g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
  for (char **part = parts; *part; part++)
    if (**part) g_strv_builder_add(builder, *part);
  return g_strv_builder_end(builder);
}

static const char *const known_ops[] = {"all_gather", "all_reduce",     "alltoall", "broadcast",
                                        "reduce",     "reduce_scatter", "sendrecv", NULL};

/* "./build/all_reduce_perf" or "all_reduce_perf_mpi" in a line names the collective of what
 * follows. */
static void note_op(Reader *reader, char **words, OrrPlace place) {
  for (char **word = words; *word; word++) {
    g_autofree char *base = g_path_get_basename(*word);
    char *end = strstr(base, "_perf");
    if (!end || (strcmp(end, "_perf") != 0 && strcmp(end, "_perf_mpi") != 0)) continue;
    *end = 0;
    if (!g_strv_contains(known_ops, base)) {
      g_autofree char *known = g_strjoinv(", ", (char **)known_ops);
      orr_diags_error(reader->diags, place, "no collective of a profile is called '%s' (known: %s)",
                      base, known);
    }
    g_free(reader->op);
    reader->op = g_strdup(base);
  }
}

/* Ranks count from 0: there is one more than the highest number, even where lines are left out
 * ("..."). A list that begins again (a failed test's, another process's) counts once. */
static void note_rank(Run *run, const char *number) {
  guint64 rank = 0;
  if (!g_ascii_string_to_unsigned(number, 10, 0, G_MAXINT, &rank, NULL)) rank = run->n_ranks;
  if (rank == 0) run->n_ranks = run->n_listed = 0;
  run->n_listed++;
  run->n_ranks = MAX(run->n_ranks, (guint)rank + 1);
}

/* "#  Rank  0 [Group 0] Pid 100 on node1 device  0 [0x1b] NVIDIA H100 80GB HBM3" */
static void read_rank(Reader *reader, char **words, const char *line, OrrPlace place) {
  Run *run = open_run(reader);
  const char *bus = strrchr(line, ']');
  char *host = NULL;
  for (char **word = words; word[0] && word[1]; word++)
    if (strcmp(*word, "on") == 0) host = word[1];
  g_autofree char *device = bus ? g_strstrip(g_strdup(bus + 1)) : NULL;
  if (!host || !device || !*device)
    return orr_diags_error(reader->diags, place,
                           "a rank without host or device: the line is cut off");
  if (run->device && strcmp(run->device, device) != 0)
    orr_diags_error(reader->diags, place, "rank %u is a %s, those before are %s: devices are mixed",
                    run->n_ranks, device, run->device);
  if (!run->device) run->device = g_steal_pointer(&device);
  g_hash_table_add(run->hosts, g_strdup(host));
  note_rank(run, words[2]);
}

static int find_heading(const Run *run, const char *name, int nth) {
  for (int i = 0; run->headings[i]; i++)
    if (strcmp(run->headings[i], name) == 0 && nth-- == 0) return i;
  return -1;
}

static void read_headings(Reader *reader, char **words, OrrPlace place) {
  Run *run = last_run(reader);
  if (!run) {
    if (reader->order->ranks == 0)
      orr_diags_error(reader->diags, place,
                      "no line '#  Rank' before the table: pass the number of ranks, --ranks N");
    run = open_run(reader);
    run->n_ranks = reader->order->ranks;
  }
  if (run->headings) return; /* every rank can print them, and the text repeats them */
  run->headings = g_strdupv(words + 1);
  run->place = place;
  if (reader->order->op && reader->op && strcmp(reader->order->op, reader->op) != 0)
    orr_diags_error(reader->diags, place, "the log is of %s, not of --collective %s", reader->op,
                    reader->order->op);
  run->op = g_strdup(reader->order->op ? reader->order->op : reader->op);
  run->version = g_strdup(reader->version);
  if (find_heading(run, "time", 1) < 0 || find_heading(run, "type", 0) < 0)
    orr_diags_error(reader->diags, place, "the headings want size, count, type and two times");
}

/* --- rows --- */

static gboolean parse(const char *text, double *ret_value) {
  char *end;
  *ret_value = g_ascii_strtod(text, &end);
  return end > text && !*end && isfinite(*ret_value);
}

/* Columns that a row lacks: collectives without a reduction or a root leave these empty. */
static guint n_empty(const Run *run, guint n_words) {
  const guint n_headings = g_strv_length(run->headings);
  const guint most = (find_heading(run, "redop", 0) >= 0) + (find_heading(run, "root", 0) >= 0);
  return n_words < n_headings && n_headings - n_words <= most ? n_headings - n_words : 0;
}

/* The columns of one buffer are time, algbw, busbw and #wrong. A fourth column named "error" is a
 * difference rather than a count; headings may also end before it. */
static void check_wrong(const Reader *reader, const Run *run, char **words, int time,
                        OrrPlace place) {
  const guint column = time + 3, empty = n_empty(run, g_strv_length(words));
  double wrong;
  if (column + empty >= g_strv_length(run->headings) ||
      strcmp(run->headings[column + empty], "#wrong") != 0)
    return;
  if (parse(words[column], &wrong) && wrong != 0)
    orr_diags_error(reader->diags, place,
                    "%s results are wrong: what was measured is not that collective",
                    words[column]);
}

static void check_type(const Reader *reader, Run *run, const char *type, OrrPlace place) {
  if (!run->type) run->type = g_strdup(type);
  if (strcmp(run->type, type) != 0)
    orr_diags_error(reader->diags, place, "type %s, in the rows before %s: want one", type,
                    run->type);
}

static void check_repeat(const Reader *reader, const Run *run, const Row *row) {
  ORR_EACH(const Row, before, run->rows)
    if (before->bytes == row->bytes)
      orr_diags_error(reader->diags, row->place, "%.0f bytes again, as in line %d", row->bytes,
                      before->place.line);
}

/* Half of the last digit that was printed: "409.04" is known to 0.005. */
static double half_digit(const char *text) {
  const char *point = strchr(text, '.');
  return 0.5 * pow(10, point ? -(double)strspn(point + 1, "0123456789") : 0);
}

/* The cell of @heading, where no column of the row is empty; NULL. */
static char *cell_of(const Run *run, char **words, const char *heading) {
  const int column = find_heading(run, heading, 0);
  return column >= 0 && n_empty(run, g_strv_length(words)) == 0 ? g_strdup(words[column]) : NULL;
}

static void note_factor(Run *run, char **words, int time) {
  double alg, bus;
  if (!words[time + 1] || !words[time + 2] || !parse(words[time + 1], &alg) ||
      !parse(words[time + 2], &bus) || alg <= run->algbw)
    return;
  const double half = half_digit(words[time + 1]), half_bus = half_digit(words[time + 2]);
  ORR_FREE(run->redop, run->root);
  run->redop = cell_of(run, words, "redop");
  run->root = cell_of(run, words, "root");
  run->algbw = alg;
  run->factor = bus / alg;
  run->least_factor = (bus - half_bus) / (alg + half);
  run->most_factor = alg > half ? (bus + half_bus) / (alg - half) : G_MAXDOUBLE;
}

static void read_row(Reader *reader, char **words, OrrPlace place) {
  Run *run = last_run(reader);
  Row row = {.place = place};
  if (!run || !run->headings)
    return orr_diags_error(reader->diags, place, "a row before the line of headings");
  guint n = g_strv_length(words), wanted = g_strv_length(run->headings), empty = n_empty(run, n);
  int time = find_heading(run, "time", reader->order->in_place),
      type = find_heading(run, "type", 0);
  if (n + empty != wanted || time < 0 || type < 0)
    return orr_diags_error(reader->diags, place, "%u columns, the headings want %u", n, wanted);
  time -= (int)empty;
  if (!parse(words[0], &row.bytes) || row.bytes < 0 || row.bytes != floor(row.bytes))
    return orr_diags_error(reader->diags, place, "size is '%s': want a whole number", words[0]);
  if (row.bytes == 0) return;
  if (!parse(words[time], &row.us) || row.us <= 0)
    return orr_diags_error(reader->diags, place, "time is '%s': want a time above 0", words[time]);
  check_wrong(reader, run, words, time, place);
  check_type(reader, run, words[type], place);
  check_repeat(reader, run, &row);
  const int second = find_heading(run, "time", 1);
  if (second < (int)empty || !parse(words[second - (int)empty], &row.in_place_us) ||
      row.in_place_us <= 0)
    row.in_place_us = NAN;
  note_factor(run, words, time);
  g_array_append_val(run->rows, row);
}

/* "8 HCAs found:" is another program's: a row begins with two numbers. */
static gboolean is_row(char **words) {
  static const char number[] = "0123456789.-naNA";
  return strspn(words[0], number) == strlen(words[0]) && words[1] &&
         strspn(words[1], number) == strlen(words[1]);
}

static void read_line(Reader *reader, const char *line, OrrPlace place) {
  line = after_tag(line);
  g_auto(GStrv) words = words_of(line);
  const char *version = strstr(line, "NCCL version ");
  if (version) {
    g_free(reader->version);
    reader->version = g_strndup(version + 13, strcspn(version + 13, " \t"));
  }
  if (!words[0]) return;
  if (is_row(words)) {
    read_row(reader, words, place);
  } else if (strcmp(words[0], "#") == 0 && words[1] && strcmp(words[1], "Rank") == 0)
    read_rank(reader, words, line, place);
  else if (strcmp(words[0], "#") == 0 && words[1] && strcmp(words[1], "size") == 0)
    read_headings(reader, words, place);
  else
    note_op(reader, words, place);
}

/* --- the whole --- */

/* By what nccl-tests multiplies the algorithm's bandwidth (its doc/PERFORMANCE.md): 2 (n-1)/n for
 * an all-reduce, (n-1)/n for its halves and alltoall, 1 for the others; and whether its rows name a
 * reduction and a root. */
static const struct {
  const char *op;
  double parts; /* of (n-1)/n; 0: the factor is 1 */
  gboolean reduces, has_root;
} traits[] = {{"all_gather", 1, FALSE, FALSE}, {"all_reduce", 2, TRUE, FALSE},
              {"alltoall", 1, FALSE, FALSE},   {"broadcast", 0, FALSE, TRUE},
              {"reduce", 0, TRUE, TRUE},       {"reduce_scatter", 1, TRUE, FALSE},
              {"sendrecv", 0, FALSE, FALSE}};

static double factor_of(guint trait, guint n_ranks) {
  const double part = (n_ranks - 1.0) / n_ranks;
  return traits[trait].parts > 0 ? traits[trait].parts * part : 1;
}

static gboolean fits(const Run *run, guint trait) {
  const double factor = factor_of(trait, run->n_ranks);
  const gboolean reduces = run->redop && strcmp(run->redop, "none") != 0;
  const gboolean has_root = run->root && strcmp(run->root, "-1") != 0;
  return factor >= run->least_factor && factor <= run->most_factor &&
         fabs(run->factor / factor - 1) < 0.01 &&
         (!run->redop || reduces == traits[trait].reduces) &&
         (!run->root || has_root == traits[trait].has_root);
}

/* The collective that alone has the rows' factor, reduction and root. */
static void find_op(const Reader *reader, Run *run) {
  g_autoptr(GPtrArray) found = g_ptr_array_new();
  if (run->op || run->n_ranks < 2) return;
  for (guint i = 0; run->algbw > 0 && i < G_N_ELEMENTS(traits); i++)
    if (fits(run, i)) g_ptr_array_add(found, (gpointer)traits[i].op);
  if (found->len == 1) {
    run->op = g_strdup(found->pdata[0]);
    return;
  }
  g_ptr_array_add(found, NULL);
  g_autofree char *names = g_strjoinv(" or ", (char **)found->pdata);
  orr_diags_error(reader->diags, run->place,
                  "cannot tell which collective this log measures%s%s; pass --collective NAME",
                  *names ? ": " : "", names);
}

/* The number of ranks: of a whole list; of --ranks and of the highest rank where the list has gaps.
 */
static void find_ranks(const Reader *reader, Run *run) {
  const guint said = reader->order->ranks, listed = run->n_ranks;
  const gboolean is_whole = run->n_listed == listed;
  if (run->n_listed == 0 || said == 0) return;
  if (is_whole ? said != listed : said < listed)
    orr_diags_error(reader->diags, run->place, "the log lists %s%u ranks, --ranks is %u",
                    is_whole ? "" : "at least ", listed, said);
  run->n_ranks = said;
}

/* The factor of the printed bandwidths must be the collective's over its ranks: this finds a
 * list of ranks that is cut, and a wrong --collective or --ranks. Of a list with gaps it must
 * confirm the highest rank. */
static void check_factor(const Reader *reader, const Run *run) {
  guint trait = 0;
  while (trait < G_N_ELEMENTS(traits) && g_strcmp0(run->op, traits[trait].op) != 0) trait++;
  if (trait == G_N_ELEMENTS(traits) || run->n_ranks < 2) return;
  const double factor = factor_of(trait, run->n_ranks);
  const gboolean is_seen = run->algbw > 0, is_decided = is_seen && traits[trait].parts > 0;
  const gboolean has_gaps = run->n_listed > 0 && run->n_listed < run->n_ranks;
  if (is_seen && (factor < run->least_factor || factor > run->most_factor))
    orr_diags_error(reader->diags, run->place,
                    "the bus bandwidth is %.4g times the algorithm's; in %s over %u ranks it is "
                    "%.4g times: pass the right --collective NAME or --ranks N",
                    run->factor, run->op, run->n_ranks, factor);
  else if (has_gaps && reader->order->ranks == 0 && !is_decided)
    orr_diags_error(reader->diags, run->place,
                    "the list of ranks has gaps: %u lines, the last one of rank %u; pass the "
                    "number of ranks, --ranks N",
                    run->n_listed, run->n_ranks - 1);
}

static void check_hosts(const Reader *reader, const Run *run) {
  const guint n_hosts = g_hash_table_size(run->hosts);
  if (n_hosts > 1 && !reader->order->one_domain && !reader->order->csv)
    orr_diags_error(reader->diags, run->place,
                    "%u ranks on %u hosts: a profile's collectives are of one scale-up domain; "
                    "--one-domain says that this is one, --csv keeps the rows",
                    run->n_ranks, n_hosts);
}

/* Older drivers leave out the vendor: "A100-SXM4-40GB". */
static const char *library_device(const char *driver_name) {
  g_autofree char *whole = g_strconcat("NVIDIA ", driver_name, NULL);
  const char *device = orr_device_driver_device(driver_name);
  return device ? device : orr_device_driver_device(whole);
}

char *orr_nccl_tests_log_other_device(const char *driver_name, const char *device) {
  const char *named = driver_name ? library_device(driver_name) : NULL;
  if (!driver_name || !orr_device_driver_names(device)) return NULL;
  if (!named)
    return g_strdup_printf("the log was measured on %s, which the library does not have, and not "
                           "on %s",
                           driver_name, device);
  if (strcmp(named, device) == 0) return NULL;
  return g_strdup_printf("the log was measured on %s, which is %s, not %s", driver_name, named,
                         device);
}

static void check_device(const Reader *reader, const Run *run) {
  const char *device = reader->order->device;
  g_autofree char *other = device ? orr_nccl_tests_log_other_device(run->device, device) : NULL;
  if (other)
    orr_diags_error(reader->diags, run->place, "%s%s", other,
                    library_device(run->device) ? ""
                                                : ": name a document of your own with --device");
}

static void check_run(const Reader *reader, guint i) {
  Run *run = reader->runs->pdata[i];
  find_ranks(reader, run);
  find_op(reader, run);
  check_factor(reader, run);
  if (run->n_ranks == 1) orr_diags_error(reader->diags, run->place, "one rank: nothing was sent");
  for (guint k = 0; k < i; k++) {
    const Run *before = reader->runs->pdata[k];
    if (before->op && g_strcmp0(before->op, run->op) == 0 && before->n_ranks == run->n_ranks)
      orr_diags_error(reader->diags, run->place, "duplicate run: %s over %u ranks, as in line %d",
                      run->op, run->n_ranks, before->place.line);
  }
}

/* Moves tests that failed before their first row to `failed`. */
static void drop_failed(Reader *reader) {
  for (guint i = 0; i < reader->runs->len;) {
    const Run *run = reader->runs->pdata[i];
    if (run->rows->len == 0) {
      if (run->headings)
        g_string_append_printf(reader->failed, "%s%s", reader->failed->len ? ", " : "",
                               run->op ? run->op : "one without a name");
      g_ptr_array_remove_index(reader->runs, i);
    } else
      i++;
  }
}

static void check_runs(Reader *reader, OrrPlace file) {
  drop_failed(reader);
  for (guint i = 0; i < reader->runs->len; i++) check_run(reader, i);
  if (reader->runs->len) {
    check_hosts(reader, reader->runs->pdata[0]);
    check_device(reader, reader->runs->pdata[0]);
  } else if (reader->failed->len)
    orr_diags_error(reader->diags, file, "no row of nccl-tests: the test of %s failed",
                    reader->failed->str);
  else
    orr_diags_error(reader->diags, file, "no row of nccl-tests");
}

/* Reads @path into @reader, whose order, runs, failed and diags are set. */
static gboolean read_file(Reader *reader, const char *path, GError **error) {
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DATA, NULL, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return FALSE;
  }
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  const char *file = g_intern_string(path);
  for (int i = 0; lines[i]; i++) {
    g_strchomp(lines[i]);
    read_line(reader, lines[i], (OrrPlace){file, i + 1, 1});
  }
  check_runs(reader, (OrrPlace){file, 0, 0});
  return orr_diags_check(reader->diags, error);
}

static Reader *reader_new(const OrrNcclTestsOrder *order) {
  Reader *reader = g_new0(Reader, 1);
  reader->order = order;
  reader->runs = g_ptr_array_new_with_free_func((GDestroyNotify)run_free);
  reader->failed = g_string_new(NULL);
  reader->diags = orr_diags_new();
  return reader;
}

static void reader_free(Reader *reader) {
  g_ptr_array_unref(reader->runs);
  g_string_free(reader->failed, TRUE);
  orr_diags_free(reader->diags);
  ORR_FREE(reader->op, reader->version, reader);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reader, reader_free)

static void free_run(gpointer data) {
  OrrNcclTestsRun *run = data;
  ORR_FREE(run->op, run->device, run->type, run->redop, run->version);
  g_array_unref(run->rows);
  g_free(run);
}

void orr_nccl_tests_log_free(OrrNcclTestsLog *log) {
  if (!log) return;
  g_ptr_array_unref(log->runs);
  ORR_FREE(log->failed, log);
}

/* What others see of @run. */
static OrrNcclTestsRun *shown(Run *run) {
  OrrNcclTestsRun *copy = g_new0(OrrNcclTestsRun, 1);
  copy->op = g_strdup(run->op);
  copy->device = g_strdup(run->device);
  copy->type = g_strdup(run->type);
  copy->redop = g_strdup(run->redop);
  copy->version = g_strdup(run->version);
  copy->n_ranks = run->n_ranks;
  copy->n_hosts = g_hash_table_size(run->hosts);
  copy->rows = g_array_new(FALSE, FALSE, sizeof(OrrNcclTestsRow));
  ORR_EACH(const Row, row, run->rows)
    ORR_APPEND(copy->rows, OrrNcclTestsRow, {row->bytes, row->us, row->in_place_us});
  return copy;
}

OrrNcclTestsLog *orr_import_nccl_tests_log(const char *path, const OrrNcclTestsOrder *order,
                                           GError **error) {
  g_autoptr(Reader) reader = reader_new(order);
  if (!read_file(reader, path, error)) return NULL;
  OrrNcclTestsLog *log = g_new0(OrrNcclTestsLog, 1);
  log->runs = g_ptr_array_new_with_free_func(free_run);
  for (guint i = 0; i < reader->runs->len; i++)
    g_ptr_array_add(log->runs, shown(reader->runs->pdata[i]));
  log->failed = g_strdup(reader->failed->str);
  return log;
}
