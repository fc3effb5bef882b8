/*
 * fuzz_file.h - the fuzzer's bytes as a file, for readers that take a path: one file in memory for
 * the whole run, which is as fast as a pipe and leaves nothing behind.
 */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline const char *fuzz_file(const uint8_t *data, size_t size) {
  static int file = -1;
  static char *path;
  if (file < 0) {
    file = memfd_create("fuzz", MFD_CLOEXEC);
    g_assert_cmpint(file, >=, 0);
    path = g_strdup_printf("/proc/self/fd/%d", file);
  }
  g_assert_cmpint(ftruncate(file, 0), ==, 0);
  g_assert_cmpint(pwrite(file, data, size, 0), ==, (gssize)size);
  return path;
}
