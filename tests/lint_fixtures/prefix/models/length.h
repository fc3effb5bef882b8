/*
 * length.h - declares functions by its own name, by its type's name, and by neither.
 */
#ifndef ORR_LENGTH_H
#define ORR_LENGTH_H

typedef struct {
  double metres;
} OrrLongRod;

int orr_length_known(void);
int orr_long_rod_known(void);
int orr_width_known(void);

#endif
