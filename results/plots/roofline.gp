# The run's kernels below the limits of its GPU. Larger points take more time.
set logscale xy
set xlabel "FLOPs per byte"
set ylabel "TFLOP/s"
set key outside right top
set grid
plot data index 0 using 1:2 with lines linewidth 2 linecolor "black" title columnheader(1), \
  for [i = 1:blocks - 1] data index i using 1:2:(0.7 + sqrt($3) / 2) with points pointtype dot(i) pointsize variable linecolor i \
  title columnheader(1)
