/*
 * asks.c - a function that asks which dialect it has.
 */
extern const int orr_dialect_one;
int orr_asks(const int *dialect);

int orr_asks(const int *dialect) { return dialect == &orr_dialect_one; }
