/*
 * sanitizer_options.c - the options with which a program built under AddressSanitizer starts.
 *
 * libsanitizer (to GCC 13 and LLVM 16) takes a dynamic TLS block whose address is 16 modulo 4096
 * for one of an old glibc, reads a size from before it, and LeakSanitizer's tracer walks from there
 * out of the heap ("Tracer caught signal 11"): a program that loads the SimGrid module, whose TLS
 * lies in the heap, crashes at its end in 1 of 256 places (google/sanitizers issues 1322 and 1409).
 * Without the interception of __tls_get_addr it looks at no such block. Leaks are still looked for.
 *
 * Undefined behaviour is an illegal instruction in these builds (Makefile): handle_sigill prints
 * where it stands. ASAN_OPTIONS in the environment comes on top.
 *
 * Linked as an object into every sanitized executable: from a library, libasan's own would win.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void) { return "intercept_tls_get_addr=0:handle_sigill=1"; }
