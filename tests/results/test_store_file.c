/*
 * test_store_file.c - what must be refused is refused with a message, and is left as it was, byte
 * for byte.
 */
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/results/store_fixture.h"

/* Neither opens the file, both say @part, and nothing in the folder changes. */
static void assert_refused(const Fixture *fixture, const char *part) {
  g_autofree char *before = NULL, *after = NULL;
  gsize n_before = 0, n_after = 0;
  guint n_files = fixture_n_files(fixture);
  g_assert_true(g_file_get_contents(fixture->db, &before, &n_before, NULL));
  for (int i = 0; i < 2; i++) {
    g_autoptr(GError) error = NULL;
    OrrStore *store =
        i == 0 ? orr_store_open(fixture->db, &error) : orr_store_open_read(fixture->db, &error);
    g_assert_null(store);
    fixture_assert_error(error, ORR_FAULT_RESOURCE, part);
  }
  g_assert_true(g_file_get_contents(fixture->db, &after, &n_after, NULL));
  g_assert_cmpmem(before, n_before, after, n_after);
  g_assert_cmpuint(fixture_n_files(fixture), ==, n_files);
}

static void make(const Fixture *fixture, const char *sql) {
  sqlite3 *db = fixture_connect(fixture->db);
  fixture_exec(db, sql);
  sqlite3_close(db);
}

static void test_text_file(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_assert_true(g_file_set_contents(fixture->db, "schema: scenario/1\n", -1, NULL));
  assert_refused(fixture, "is not an SQLite database");
}

static void test_long_file_of_zeros(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const char zeros[8192];
  g_assert_true(g_file_set_contents(fixture->db, zeros, sizeof zeros, NULL));
  assert_refused(fixture, "is not an SQLite database");
}

static void test_cut_header(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_assert_true(g_file_set_contents(fixture->db, "SQLite format 3", 16, NULL));
  assert_refused(fixture, "is not an SQLite database");
}

static void test_other_application(Fixture *fixture, gconstpointer data) {
  (void)data;
  make(fixture, "PRAGMA application_id = 42; CREATE TABLE run (id); PRAGMA journal_mode = WAL");
  assert_refused(fixture, "of another program");
}

static void test_no_application(Fixture *fixture, gconstpointer data) {
  (void)data;
  make(fixture, "CREATE TABLE run (id)");
  assert_refused(fixture, "of another program");
}

static void test_newer_version(Fixture *fixture, gconstpointer data) {
  (void)data;
  orr_store_free(fixture_open(fixture));
  make(fixture, "PRAGMA user_version = 3");
  assert_refused(fixture, "newer Orrery");
}

/* The last page is gone; so is half of the file. */
static void test_truncated(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *bytes = NULL;
  gsize n = 0;
  OrrStore *store = fixture_open(fixture);
  fixture_add_run(store, 100);
  orr_store_free(store);
  g_assert_true(g_file_get_contents(fixture->db, &bytes, &n, NULL));
  g_assert_true(g_file_set_contents(fixture->db, bytes, (gssize)n - 4096, NULL));
  assert_refused(fixture, "is truncated");
  g_assert_true(g_file_set_contents(fixture->db, bytes, (gssize)n / 2, NULL));
  assert_refused(fixture, "is truncated");
}

static void test_folder_and_device(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_store_open(fixture->folder, &error));
  fixture_assert_error(error, ORR_FAULT_RESOURCE, "is a folder");
  g_clear_error(&error);
  g_assert_null(orr_store_open("/dev/null", &error));
  fixture_assert_error(error, ORR_FAULT_RESOURCE, "is not a regular file");
}

static void test_no_folder(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autofree char *path = g_build_filename(fixture->folder, "none", "results.db", NULL);
  g_assert_null(orr_store_open(path, &error));
  fixture_assert_error(error, ORR_FAULT_RESOURCE, "there is no folder");
}

static void test_reading_what_is_not_there(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_store_open_read(fixture->db, &error));
  fixture_assert_error(error, ORR_FAULT_RESOURCE, "there is no such results database");
  g_clear_error(&error);
  g_assert_cmpuint(fixture_n_files(fixture), ==, 0);
  g_assert_true(g_file_set_contents(fixture->db, "", 0, NULL));
  g_assert_null(orr_store_open_read(fixture->db, &error));
  fixture_assert_error(error, ORR_FAULT_RESOURCE, "is empty");
}

/* Killed while the first commit wrote its pages: they are there, beside a journal that says that
 * the file had none. Of its header (https://www.sqlite.org/fileformat2.html section 3) the magic
 * string, the sector's and the page's size, both at the end, are not zero. Rolled back, the file
 * is empty, and its reader says so. */
static void test_killed_in_the_first_commit(Fixture *fixture, gconstpointer data) {
  (void)data;
  guint8 header[512] = {
      0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, [22] = 512 >> 8, [26] = 4096 >> 8};
  g_autofree char *journal = g_strconcat(fixture->db, "-journal", NULL);
  g_autoptr(GError) error = NULL;
  orr_store_free(orr_store_open(fixture->db, &error));
  g_assert_no_error(error);
  g_assert_false(orr_store_is_blank(fixture->db));
  g_assert_true(g_file_set_contents(journal, (const char *)header, sizeof header, NULL));
  g_assert_true(orr_store_is_blank(fixture->db));
  orr_store_free(orr_store_open(fixture->db, &error));
  g_assert_no_error(error);
  g_assert_true(g_file_set_contents(journal, (const char *)header, sizeof header, NULL));
  g_assert_null(orr_store_open_read(fixture->db, &error));
  fixture_assert_error(error, ORR_FAULT_RESOURCE, "is empty");
}

/* The names that SQLite gives a meaning of their own are names of files here. */
static void test_odd_names(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const char *const names[] = {":memory:", "file:x.db?mode=memory", "a b'\"%41.db", NULL};
  for (guint i = 0; names[i]; i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture->folder, names[i], NULL);
    g_autofree char *was = g_get_current_dir();
    g_assert_cmpint(g_chdir(fixture->folder), ==, 0);
    orr_store_free(orr_store_open(names[i], &error));
    g_assert_cmpint(g_chdir(was), ==, 0);
    g_assert_no_error(error);
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
  }
}

typedef OrrStore *(*Open)(const char *path, GError **error);

/* Opens as somebody who owns nothing here (root may write anywhere); 0 where @open fails with
 * @part in its message, or where it succeeds and @part is NULL. */
static int open_as_nobody(const char *path, Open open, const char *part) {
  pid_t child = fork();
  if (child == 0) {
    g_autoptr(GError) error = NULL;
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    OrrStore *store = open(path, &error);
    if (error) g_printerr("# %s\n", error->message);
    _exit(part ? store || !strstr(error->message, part) : !store);
  }
  int status = -1;
  g_assert_cmpint(waitpid(child, &status, 0), ==, child);
  return status;
}

static void test_no_permission(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_assert_cmpint(chmod(fixture->folder, 0555), ==, 0);
  g_assert_cmpint(open_as_nobody(fixture->db, orr_store_open, "Permission denied"), ==,
                  0); /* cannot be made */
  g_assert_cmpint(chmod(fixture->folder, 0755), ==, 0);

  OrrStore *store = fixture_open(fixture);
  fixture_add_run(store, 1);
  orr_store_free(store);
  g_assert_cmpint(chmod(fixture->db, 0444), ==, 0);
  g_assert_cmpint(chmod(fixture->folder, 0555), ==, 0);
  g_assert_cmpint(open_as_nobody(fixture->db, orr_store_open, "Permission denied"), ==, 0);
  g_assert_cmpint(open_as_nobody(fixture->db, orr_store_open_read, NULL), ==,
                  0); /* at rest it can be read */
  g_assert_cmpint(chmod(fixture->db, 0666), ==, 0);
  g_assert_cmpint(open_as_nobody(fixture->db, orr_store_open, "Permission denied"), ==,
                  0); /* no room for a journal */
  g_assert_cmpint(chmod(fixture->db, 0000), ==, 0);
  g_assert_cmpint(open_as_nobody(fixture->db, orr_store_open_read, "Permission denied"), ==, 0);
  g_assert_cmpint(chmod(fixture->folder, 0755), ==, 0);
}

#define ADD(name, function)                                                                        \
  g_test_add("/store-file/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("text-file", test_text_file);
  ADD("long-file-of-zeros", test_long_file_of_zeros);
  ADD("cut-header", test_cut_header);
  ADD("other-application", test_other_application);
  ADD("no-application", test_no_application);
  ADD("newer-version", test_newer_version);
  ADD("truncated", test_truncated);
  ADD("folder-and-device", test_folder_and_device);
  ADD("no-folder", test_no_folder);
  ADD("reading-what-is-not-there", test_reading_what_is_not_there);
  ADD("killed-in-the-first-commit", test_killed_in_the_first_commit);
  ADD("odd-names", test_odd_names);
  ADD("no-permission", test_no_permission);
  return g_test_run();
}
