/*
 * test_sanitizer_options.c - LeakSanitizer survives thread-local storage at the address that it
 * misreads (sim/base/sanitizer_options.c); so does any program that is not sanitized. Undefined
 * behaviour ends a sanitized program, which says where.
 */
#include <dlfcn.h>
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ELSEWHERE = 99 };
typedef void *(*Block)(void);

void *blocks[256]; /* reachable, so no leak */

/* A process that shifts its heap by @n blocks, loads the module and ends: with the leak check where
 * the module's block is 16 modulo 4096, else at once. */
static int status_after(int n) {
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < n; i++) blocks[i] = malloc(32);
    void *module = dlopen(ORR_BUILD_DIR "/tests/tls_module.so", RTLD_NOW);
    if (!module) _exit(1);
    const Block block = (Block)dlsym(module, "orr_tls_module_block");
    if ((uintptr_t)block() % 4096 != 16) _exit(ELSEWHERE);
    exit(0);
  }
  int status = 0;
  g_assert_cmpint(waitpid(child, &status, 0), ==, child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A block of 32 bytes takes 48 of the heap, with and without sanitizers: 256 of them pass each
 * place of 16 bytes in a page (48 * 256 = 3 * 4096) once. */
static void test_bad_place(void) {
  int n_met = 0;
  for (int n = 0; n < 256; n++) {
    int status = status_after(n);
    if (status == ELSEWHERE) continue;
    g_assert_cmpint(status, ==, 0);
    n_met++;
  }
  g_assert_cmpint(n_met, ==, 1);
}

#ifdef __SANITIZE_ADDRESS__
static int twice(int x) { return x + x; }

static void test_undefined(void) {
  if (g_test_subprocess()) {
    const volatile int most = G_MAXINT;
    exit(twice(most) == 0);
  }
  g_test_trap_subprocess(NULL, 0, 0);
  g_test_trap_assert_failed();
  g_test_trap_assert_stderr("*in twice *test_sanitizer_options.c*");
}
#endif

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
#ifdef __SANITIZE_ADDRESS__
  g_test_add_func("/sanitizer-options/undefined", test_undefined);
#endif
  g_test_add_func("/sanitizer-options/bad-place", test_bad_place);
  return g_test_run();
}
