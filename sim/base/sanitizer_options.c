/*
 * sanitizer_options.c - the options with which a program built under AddressSanitizer starts.
 *
 * libsanitizer (to GCC 13 and LLVM 16) takes a dynamic TLS block whose address is 16 modulo 4096
 * for one of an old glibc, reads a size from before it, and LeakSanitizer's tracer walks from there
 * out of the heap ("Tracer caught signal 11"): a program that loads the SimGrid module, whose TLS
 * lies in the heap, crashes at its end in 1 of 256 places (google/sanitizers issues 1322 and 1409).
 * Without the interception of __tls_get_addr it looks at no such block. Leaks are still looked for.
 *
 * Stacks of allocations (malloc_context_size) are not kept and freed memory waits in 16 MB instead
 * of 256: a fifth of the time of a run. A failure shows where memory is used; start the program
 * again with ASAN_OPTIONS=malloc_context_size=30 to see where it was allocated and freed.
 *
 * Undefined behaviour is an illegal instruction in these builds (Makefile): handle_sigill prints
 * where it stands. ASAN_OPTIONS in the environment comes on top.
 *
 * Linked as an object into every sanitized executable: from a library, libasan's own would win.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void) {
  return "intercept_tls_get_addr=0:handle_sigill=1:malloc_context_size=0:quarantine_size_mb=16";
}
