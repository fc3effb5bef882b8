# Requests per second that meet their objectives, against those that arrive.
set xlabel "arriving requests per second"
set ylabel "requests per second within their objectives"
set xrange [0:*]
set yrange [0:*]
set key tmargin center horizontal
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with linespoints pt 7 title columnheader(1), x with lines dt 2 lc rgb "gray50" title "all that arrive"
