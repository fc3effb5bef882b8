/*
 * jumps.c - a function that ends by goto.
 */
int orr_jumps(int a);

int orr_jumps(int a) {
  if (a) goto end;
  a = 1;
end:
  return a;
}
