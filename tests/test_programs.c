/*
 * test_programs.c - all test files as one program: its first argument names the one to run, as
 * meson does.
 *
 *   build/tests/test-programs topologies/test_fabric [-p /fabric/case]
 *   build/tests/test-programs                         lists the names
 *
 * Each file still runs in a process of its own. A file's main takes the arguments after the name.
 * A case that GLib starts anew (g_test_trap_subprocess) has other arguments: it finds the name in
 * the environment. ORR_TEST_SKIP names a file of lines "NAME /CASE", cases that are skipped: `make
 * sanitize` sets it to plain_only.txt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef main

#define NAME "ORR_TEST_PROGRAM"
#define MOST 1000

static struct {
  const char *file;
  int (*run)(int, char **);
} tests[MOST];
static int n_tests;

int orr_test_main_add(const char *file, int (*run)(int, char **)) {
  if (n_tests == MOST) abort();
  tests[n_tests].file = file;
  tests[n_tests].run = run;
  return n_tests++;
}

/* The path below tests/, with ".c". */
static const char *path_of(const char *file) {
  const char *path = file;
  for (const char *at = file; (at = strstr(at, "tests/")); at += strlen("tests/"))
    path = at + strlen("tests/");
  return path;
}

static int index_of(const char *name) {
  for (int i = 0; name && i < n_tests; i++) {
    const char *path = path_of(tests[i].file);
    const size_t length = strlen(path) - strlen(".c");
    if (strlen(name) == length && !strncmp(name, path, length)) return i;
  }
  return -1;
}

/* @values with "-s /CASE" for each case of the test @name in the file @skip; they live until the
 * process ends. */
static char **with_skips(const char *name, const char *skip, int *count, char **values) {
  static char line[1000], *all[2 * MOST + 100];
  FILE *file = fopen(skip, "r");
  if (!file || *count > 100) abort();
  memcpy(all, values, (size_t)*count * sizeof *all);
  while (*count < 2 * MOST && fgets(line, sizeof line, file)) {
    const size_t length = strlen(name);
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
    all[(*count)++] = "-s";
    all[(*count)++] = strdup(line + length + 1);
  }
  fclose(file);
  return all;
}

int main(int argc, char **argv) {
  const int named = index_of(argc > 1 ? argv[1] : NULL);
  if (named >= 0) {
    const char *name = argv[1], *skip = getenv("ORR_TEST_SKIP");
    setenv(NAME, name, 1);
    argv[1] = argv[0];
    int count = argc - 1;
    char **values = skip ? with_skips(name, skip, &count, argv + 1) : argv + 1;
    return tests[named].run(count, values);
  }
  const int started = index_of(getenv(NAME));
  if (started >= 0) return tests[started].run(argc, argv);
  for (int i = 0; i < n_tests; i++) {
    const char *path = path_of(tests[i].file);
    printf("%.*s\n", (int)(strlen(path) - strlen(".c")), path);
  }
  return 2;
}
