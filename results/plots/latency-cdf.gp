# Fraction of requests served within a time.
set xlabel "seconds"
set ylabel "requests served within (%)"
set logscale x
set yrange [0:100]
set key outside bottom center horizontal maxcols 4
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with steps lw 2 title columnheader(1)
