# The busiest links over time.
set xlabel "seconds"
set ylabel "percent of the bandwidth"
set yrange [0:*]
set key outside bottom center horizontal maxcols 4
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with histeps title columnheader(1)
