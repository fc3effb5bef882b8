# Tokens per second and GPU against the GPUs that roll out, a line for each mode; dashed: how busy the trainer is.
set xlabel "GPUs that roll out"
set ylabel "tokens per second and GPU"
set y2label "percent of the time in which the trainer computes (dashed)"
set yrange [0:*]
set y2range [0:100]
set ytics nomirror
set y2tics
set key tmargin center vertical
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with linespoints linewidth 2 linecolor i + 1 \
  pointtype dot(i) title columnheader(1), \
  for [i = 0:blocks - 1] data index i using 1:4 axes x1y2 with lines linecolor i + 1 dashtype 2 notitle
