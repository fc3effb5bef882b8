/*
 * test_paths.c - an output that is an input or another output is refused, by whichever name the
 * file goes.
 */
#include "sim/base/paths.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/fault.h"

/* One file twice: read as @read, written as @written, relative to a folder that holds data.db
 * and links to it. */
typedef struct {
  const char *read, *written;
  gboolean is_database, refused;
} Case;

static const Case cases[] = {
    {"data.db", "data.db", TRUE, TRUE},
    {"data.db", "./folder/../data.db", TRUE, TRUE},
    {"data.db", "symbolic", TRUE, TRUE},
    {"data.db", "hard", TRUE, TRUE},
    {"symbolic", "hard", TRUE, TRUE},
    {"data.db", "data.db-wal", TRUE, TRUE}, /* not there: a name in the same folder */
    {"data.db", "folder/../data.db-journal", TRUE, TRUE},
    {"data.db", "here/data.db-shm", TRUE, TRUE}, /* here -> . */
    {"data.db", "data.db-wal", FALSE, FALSE},    /* no database: a file of its own */
    {"folder", "folder/gemm.csv", FALSE, TRUE},  /* a table of a folder that is read */
    {"folder", "folder/profile.yaml", FALSE, FALSE},
    {"new", "./new", FALSE, TRUE},    /* neither is there */
    {"dangling", "new", FALSE, TRUE}, /* dangling -> new */
    {"data.db", "other.db", TRUE, FALSE},
    {"data.db", "folder/data.db", TRUE, FALSE},
    {"/dev/null", "/dev/null", FALSE, FALSE},
};

static char *folder;

static char *at(const char *name) {
  return *name == '/' ? g_strdup(name) : g_build_filename(folder, name, NULL);
}

static void test_pairs(void) {
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *read = at(cases[i].read), *written = at(cases[i].written);
    const OrrPath forth[] = {{"the input", read, ORR_PATH_READ, cases[i].is_database},
                             {"not given", NULL, ORR_PATH_WRITTEN, FALSE},
                             {"-o", written, ORR_PATH_WRITTEN, FALSE}};
    const OrrPath back[] = {forth[2], forth[0]};
    g_test_message("%s, %s", cases[i].read, cases[i].written);
    g_assert_true(orr_paths_check(forth, G_N_ELEMENTS(forth), &error) == !cases[i].refused);
    if (cases[i].refused) g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
    g_assert_true(orr_paths_check(back, G_N_ELEMENTS(back), NULL) == !cases[i].refused);
  }
}

static void test_two_outputs(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *db = at("data.db"), *link = at("symbolic");
  const OrrPath paths[] = {{"--db", db, ORR_PATH_WRITTEN, TRUE},
                           {"--trace", link, ORR_PATH_WRITTEN, FALSE}};
  const OrrPath inputs[] = {{"the source", db, ORR_PATH_READ, TRUE},
                            {"another", link, ORR_PATH_READ, TRUE}};
  g_assert_false(orr_paths_check(paths, 2, &error));
  g_assert_nonnull(strstr(error->message, "--trace"));
  g_assert_nonnull(strstr(error->message, "(--db)"));
  g_assert_true(orr_paths_check(inputs, 2, NULL)); /* who reads a file twice loses nothing */
}

/* What a scenario names is read by the code that needs it, which says so. */
static void test_noted(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *input = at("folder/gemm.csv"), *other = at("folder/x.json"),
                  *output = at("here/folder/gemm.csv");
  const OrrPath written = {"--trace", output, ORR_PATH_WRITTEN, FALSE},
                fine = {"--trace", other, ORR_PATH_WRITTEN, FALSE};
  g_assert_true(orr_paths_check(&written, 1, NULL));
  orr_paths_note_read(input);
  g_assert_false(orr_paths_check(&written, 1, &error));
  g_assert_nonnull(strstr(error->message, "an input of this command"));
  g_assert_true(orr_paths_check(&fine, 1, NULL));
}

static void make(const char *name) {
  g_autofree char *path = at(name);
  g_assert_true(g_file_set_contents(path, "x", 1, NULL));
}

static void make_link(const char *target, const char *name) {
  g_autofree char *path = at(name);
  g_assert_cmpint(symlink(target, path), ==, 0);
}

static void make_folder(void) {
  folder = g_dir_make_tmp("orrery-paths-XXXXXX", NULL);
  g_autofree char *inner = at("folder"), *db = at("data.db"), *hard = at("hard");
  g_assert_cmpint(g_mkdir(inner, 0700), ==, 0);
  make("data.db");
  make("folder/gemm.csv");
  g_assert_cmpint(link(db, hard), ==, 0);
  make_link("data.db", "symbolic");
  make_link(".", "here");
  make_link("new", "dangling");
}

static void remove_folder(void) {
  static const char *const names[] = {"data.db",         "hard",   "symbolic", "here", "dangling",
                                      "folder/gemm.csv", "folder", ""};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = at(names[i]);
    g_remove(path);
  }
  g_free(folder);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  make_folder();
  g_test_add_func("/paths/pairs", test_pairs);
  g_test_add_func("/paths/two-outputs", test_two_outputs);
  g_test_add_func("/paths/noted", test_noted);
  const int status = g_test_run();
  remove_folder();
  return status;
}
