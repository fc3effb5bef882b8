/*
 * main.c - only main(): it turns the error of a command into an exit status. Everything else is in
 * the library, so that tests can call it.
 */
#include <signal.h>

#include "sim/cli/cli.h"

int main(int argc, char **argv) {
  g_autoptr(GError) error = NULL;
  signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error of a write (EFBIG) */
  orr_terminal_begin();
  int status = orr_patience_set(&error) ? orr_cli_run(argv, &error) : 2;
  status = orr_show_end(argc > 1 ? argv[1] : "orrery", status, error);
  const int failure = orr_terminal_end();
  if (!failure) return status;
  orr_show_problem("cannot write the result: %s", g_strerror(failure));
  return MAX(status, 1);
}
