/*
 * bench_command.h - whole processes, as a user runs them: wall time from start to exit, processor
 * time, peak memory.
 */
#pragma once

#include <sys/resource.h>

#include "tests/bench/benchmark.h"

typedef struct {
  double wall_s, processor_s; /* user and system */
  double memory_mb;           /* the largest resident set */
} BenchProcess;

static inline double bench_seconds_of(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static inline BenchProcess bench_run_once(char **command) {
  const gint64 begin_us = g_get_monotonic_time();
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stdout)) _exit(126);
    execv(command[0], command);
    _exit(127);
  }
  int status = 0;
  struct rusage usage;
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0)
    g_error("%s failed", command[0]);
  return (BenchProcess){bench_since(begin_us),
                        bench_seconds_of(usage.ru_utime) + bench_seconds_of(usage.ru_stime),
                        (double)usage.ru_maxrss * 1024e-6};
}

/* `ORRERY WORDS`, words apart by single blanks: medians of @n_tries (BENCH_TRIES at most). */
static inline BenchProcess bench_command(const char *orrery, const char *words, guint n_tries) {
  g_autofree char *line = g_strdup_printf("%s %s", orrery, words);
  g_auto(GStrv) command = g_strsplit(line, " ", -1);
  double wall_s[BENCH_TRIES], processor_s[BENCH_TRIES], memory_mb[BENCH_TRIES];
  for (guint i = 0; i < n_tries; i++) {
    const BenchProcess one = bench_run_once(command);
    wall_s[i] = one.wall_s;
    processor_s[i] = one.processor_s;
    memory_mb[i] = one.memory_mb;
  }
  return (BenchProcess){bench_median(wall_s, n_tries), bench_median(processor_s, n_tries),
                        bench_median(memory_mb, n_tries)};
}
