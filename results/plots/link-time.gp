# The busiest links over time.
set xlabel "seconds"
set ylabel "bandwidth in use (percent)"
set yrange [0:*]
set key tmargin center horizontal maxcols 5
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with histeps linewidth 2 title columnheader(1)
