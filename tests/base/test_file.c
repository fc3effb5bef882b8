/* test_file.c - whole files, bounded: what ends, what is refused, and that nothing blocks. A
 * test that fails here hangs or eats memory, so each runs under an alarm. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/fault.h"
#include "sim/base/file.h"

static char *folder;

static char *path_of(const char *name) { return g_build_filename(folder, name, NULL); }

static void assert_refused(const char *path, gsize max_bytes, const char *wanted) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GError) other = NULL;
  g_assert_null(orr_file_read(path, max_bytes, NULL, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
  g_test_message("%s", error->message);
  g_assert_nonnull(strstr(error->message, wanted));
  g_assert_null(orr_file_map(path, max_bytes, &other));
  g_assert_cmpstr(error->message, ==, other->message);
}

static void assert_reads(const char *path, const char *wanted) {
  g_autoptr(GError) error = NULL;
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, 1 << 20, &length, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(text, ==, wanted);
  g_assert_cmpuint(length, ==, strlen(wanted));
}

static void test_reads(void) {
  g_autofree char *path = path_of("some.txt");
  g_assert_true(g_file_set_contents(path, "some text", -1, NULL));
  assert_reads(path, "some text");
  g_autoptr(GBytes) bytes = orr_file_map(path, 1 << 20, NULL);
  g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), "some text", 9);
  g_assert_true(g_file_set_contents(path, "", 0, NULL));
  assert_reads(path, "");
}

static void test_limit(void) {
  g_autofree char *path = path_of("large.txt"), *text = g_strnfill((1 << 20) + 1, 'x');
  g_assert_true(g_file_set_contents(path, text, 1 << 20, NULL));
  text[1 << 20] = '\0';
  assert_reads(path, text);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  g_assert_cmpint(truncate(path, (1 << 20) + 1), ==, 0);
  assert_refused(path, 1 << 20, "is larger than 1 MiB, the most that is read");
  g_assert_cmpint(truncate(path, (off_t)1 << 40), ==, 0); /* a hole of 1 TiB takes no disk */
  assert_refused(path, 1 << 20, "is larger than 1 MiB");
}

static void test_no_file(void) {
  g_autofree char *nothing = path_of("nothing"), *fifo = path_of("fifo");
  g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
  assert_refused(nothing, 1 << 20, "cannot be read: No such file");
  assert_refused(folder, 1 << 20, "cannot be read: it is a folder");
  assert_refused("/dev/zero", 1 << 20, "cannot be read: it is a device, not a file");
  assert_refused(fifo, 1 << 20, "cannot be read: it is a pipe, and nobody writes to it");
}

/* A pipe as the shell makes it for `<(command)`: all of it, and no more than the limit. */
static void test_pipe(void) {
  int ends[2];
  g_assert_cmpint(pipe(ends), ==, 0);
  g_autofree char *path = g_strdup_printf("/dev/fd/%d", ends[0]);
  g_assert_cmpint(write(ends[1], "piped", 5), ==, 5);
  close(ends[1]);
  assert_reads(path, "piped");
  close(ends[0]);
  g_assert_cmpint(pipe(ends), ==, 0);
  g_autofree char *other = g_strdup_printf("/dev/fd/%d", ends[0]);
  g_assert_cmpint(write(ends[1], "0123456789", 10), ==, 10);
  g_autoptr(GError) error = NULL;
  g_assert_null(
      orr_file_read(other, 9, NULL, &error)); /* the writer is still there: not read to its end */
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
  close(ends[0]);
  close(ends[1]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("orrery-file-XXXXXX", NULL);
  alarm(60);
  g_test_add_func("/file/reads", test_reads);
  g_test_add_func("/file/limit", test_limit);
  g_test_add_func("/file/no-file", test_no_file);
  g_test_add_func("/file/pipe", test_pipe);
  const int status = g_test_run();
  static const char *const names[] = {"some.txt", "large.txt", "fifo"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = path_of(names[i]);
    g_unlink(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}
