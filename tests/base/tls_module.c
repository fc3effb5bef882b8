/*
 * tls_module.c - a module with 32 bytes of thread-local storage, like the SimGrid engine's.
 * test_sanitizer_options.c loads it.
 */
void *orr_tls_module_block(void);

static __thread char block[32];

void *orr_tls_module_block(void) { return block; }
