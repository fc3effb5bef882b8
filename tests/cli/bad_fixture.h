/*
 * bad_fixture.h - the built program (ORRERY_BINARY) in a folder of its own: what it refuses, and
 * that it leaves nothing.
 */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>

static char *folder; /* where the program runs; tests empty it */
static char *binary;

/* A right scenario: 4 GPUs, 2 x 2 x 1, 8 micro-batches. */
#define GOOD                                                                                       \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "cluster: {base: dgx-a100-superpod, nodes: 1, gpus: 4}\n"                                        \
  "model: {layers: 4, hidden: 1024, heads: 16, vocab: 51200, context: 1024}\n"                     \
  "workload:\n"                                                                                    \
  "  kind: training\n"                                                                             \
  "  parallel: {tp: 2, pp: 2, dp: 1}\n"                                                            \
  "  pipeline: {kind: 1f1b}\n"                                                                     \
  "  batch: {global: 8, micro: 1}\n"                                                               \
  "  precision: bf16\n"                                                                            \
  "  stack: none\n"

/* --- The program --- */

static inline char *path_of(const char *name) { return g_build_filename(folder, name, NULL); }

static inline void put(const char *name, const char *text, gssize length) {
  g_autofree char *path = path_of(name);
  g_assert_true(g_file_set_contents(path, text, length, NULL));
}

static inline void empty_folder(void) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = path_of(name);
    g_assert_cmpint(g_remove(path), ==, 0);
  }
}

static inline int compare_texts(gconstpointer a, gconstpointer b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "NAME: CHECKSUM" of each file, in order. A database's -wal and -shm stay out: another
 * connection may hold them. */
static inline char *contents(void) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  const char *name;
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = path_of(name), *text = NULL;
    gsize length = 0;
    if (g_str_has_suffix(name, "-wal") || g_str_has_suffix(name, "-shm")) continue;
    g_assert_true(g_file_get_contents(path, &text, &length, NULL));
    g_autofree char *sum =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, length);
    g_ptr_array_add(lines, g_strdup_printf("%s: %s\n", name, sum));
  }
  g_ptr_array_sort(lines, compare_texts);
  g_ptr_array_add(lines, NULL);
  return g_strjoinv("", (char **)lines->pdata);
}

static inline int spawn(const char *line, char **ret_out, char **ret_err) {
  g_autofree char *whole = g_strdup_printf("'%s' %s", binary, line);
  g_auto(GStrv) argv = NULL;
  g_autoptr(GError) error = NULL;
  int wait_status = 0;
  g_assert_true(g_shell_parse_argv(whole, NULL, &argv, NULL));
  g_spawn_sync(folder, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, ret_out, ret_err, &wait_status,
               &error);
  g_assert_no_error(error);
  if (!WIFEXITED(wait_status))
    g_error("orrery %s: killed by signal %d: %s", line, WTERMSIG(wait_status), *ret_err);
  return WEXITSTATUS(wait_status);
}

static inline void assert_refused(const char *line, int status, const char *wanted) {
  g_autofree char *out = NULL, *err = NULL, *before = contents();
  const int found = spawn(line, &out, &err);
  g_autofree char *after = contents();
  g_test_message("orrery %s: %s", line, g_strchomp(err));
  if (found != status || !strstr(err, wanted) || *out)
    g_error("orrery %.200s: status %d, wanted %d and '%s'; it said: %s%s", line, found, status,
            wanted, err, out);
  g_assert_cmpstr(after, ==, before);
}

static inline void assert_fine(const char *line, const char *wanted) {
  g_autofree char *out = NULL, *err = NULL;
  const int status = spawn(line, &out, &err);
  if (status != 0 || !strstr(out, wanted))
    g_error("orrery %.200s: status %d: %s%s", line, status, err, out);
}

/* main() of a test program: @add_tests between the folder's birth and its end. */
static inline int run_tests(int argc, char **argv, void (*add_tests)(void)) {
  g_test_init(&argc, &argv, NULL);
  const char *named = g_getenv("ORRERY_BINARY");
  if (!named) {
    g_test_message("ORRERY_BINARY names no program");
    return 77; /* TAP has no tests then, and meson says skipped */
  }
  binary = g_canonicalize_filename(named, NULL);
  folder = g_dir_make_tmp("orrery-bad-XXXXXX", NULL);
  add_tests();
  const int status = g_test_run();
  empty_folder();
  g_rmdir(folder);
  g_free(folder);
  g_free(binary);
  return status;
}
