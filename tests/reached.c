/*
 * reached.c - which blocks of the product a test program reached, for reached.py: a shared library
 * that gcc's -fsanitize-coverage=trace-pc calls at each block.
 *
 * REACHED names a folder. Each process maps a file of it for the text of its program, a byte for
 * each address, and sets the byte of the block: processes share the file, and none that forks, dies
 * or is killed loses what it reached.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

void __sanitizer_cov_trace_pc(void);

static uintptr_t begin, size;
static unsigned char *text; /* NULL: nothing is recorded */
static char used[4096];     /* the file of processor seconds */

void __sanitizer_cov_trace_pc(void) {
  const uintptr_t at = (uintptr_t)__builtin_return_address(0) - begin;
  if (text && at < size) text[at] = 1;
}

/* The program comes first; its text is the segment that may be executed. */
static int map_text(struct dl_phdr_info *info, size_t info_size, void *path) {
  (void)info_size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    snprintf((char *)path + strlen(path), 32, "@%lx", (unsigned long)part->p_vaddr);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    const off_t length = (off_t)part->p_memsz; /* a test may limit the size of files */
    if (file < 0 || (lseek(file, 0, SEEK_END) != length && ftruncate(file, length) != 0)) abort();
    void *map = mmap(NULL, part->p_memsz, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) abort();
    close(file);
    begin = info->dlpi_addr + part->p_vaddr;
    size = part->p_memsz;
    text = map;
  }
  return 1;
}

static void __attribute__((constructor)) start(void) {
  const char *folder = getenv("REACHED");
  char program[2048], path[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (!folder || length < 0) return;
  program[length] = '\0';
  snprintf(path, sizeof path - 32, "%s/%s", folder, strrchr(program, '/') + 1);
  snprintf(used, sizeof used, "%s/seconds", folder);
  dl_iterate_phdr(map_text, path);
}

static double seconds_of(int who) {
  struct rusage usage;
  if (getrusage(who, &usage) != 0) return 0;
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* A line for each process that ends by itself: its seconds and its children's. */
static void __attribute__((destructor)) end(void) {
  FILE *file = *used ? fopen(used, "a") : NULL;
  if (!file) return;
  fprintf(file, "%.3f\n", seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN));
  fclose(file);
}
