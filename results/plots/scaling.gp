# Tokens a second against GPUs; the ideal is dashed.
set logscale xy 2
set format y "%.2s%c"
set xlabel "GPUs"
set ylabel "tokens a second"
set key left top
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with linespoints linecolor 1 + i % int((blocks + 1) / 2) pointtype 7 \
  title columnheader(1)
