/*
 * forked.h - one process per SimGrid engine (rule 5 of engine.h): a test body runs in a child.
 *
 * A failed assertion aborts the child, a leak under the sanitizers makes it exit with their status;
 * both fail the test.
 */
#pragma once

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/engine/engine_private.h"

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

/* Children of this process find SimGrid's module loaded: it takes as long as a small run. */
static inline void forked_load(void) {
  static gsize is_loaded = 0;
  if (!g_once_init_enter(&is_loaded)) return;
  orr_engine_load_simgrid(NULL);
  g_once_init_leave(&is_loaded, 1);
}

/* Runs @fill(@data, @answer) in a child; @answer is a plain value of @size bytes. FALSE: it
 * died. */
static inline gboolean forked_answer(void (*fill)(gconstpointer data, gpointer answer),
                                     gconstpointer data, gpointer answer, gsize size) {
  int ends[2], status = 0;
  forked_load();
  g_assert_cmpint(pipe(ends), ==, 0);
  const pid_t child = fork();
  if (child == 0) {
    fill(data, answer);
    _exit(write(ends[1], answer, size) == (gssize)size ? 0 : 1);
  }
  close(ends[1]);
  const gssize got = read(ends[0], answer, size);
  close(ends[0]);
  waitpid(child, &status, 0);
  return got == (gssize)size && status == 0;
}
