/*
 * forked.h - one process per SimGrid engine (rule 5 of engine.h): a test body runs in a child.
 *
 * A failed assertion aborts the child, a leak under the sanitizers makes it exit with their status;
 * both fail the test.
 */
#ifndef ORR_TEST_FORKED_H
#define ORR_TEST_FORKED_H

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void forked(void (*body)(gconstpointer data), gconstpointer data) {
  fflush(NULL); /* or the child would print the parent's buffer again */
  pid_t child = fork();
  g_assert_cmpint(child, >=, 0);
  if (child == 0) {
    body(data);
    exit(0);
  }
  int status = 0;
  g_assert_cmpint(waitpid(child, &status, 0), ==, child);
  g_assert_true(WIFEXITED(status));
  g_assert_cmpint(WEXITSTATUS(status), ==, 0);
}

#endif
