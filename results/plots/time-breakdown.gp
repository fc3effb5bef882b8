# The iteration's kinds of time as stacked bars, one per run.
set style fill solid 0.9 border -1
set xlabel "seconds per iteration, mean over ranks"
set xrange [0:*]
set yrange [*:*] reverse
set offsets 0, 0, 0.3, 0.3
unset ytics
set grid x
set key outside right top
# The names stand above the bars, since names of points are long.
plot for [i = 0:blocks - 1] data index i using 4:1:3:4:($1 - 0.1):($1 + 0.36) with boxxyerror linecolor i + 1 title columnheader(1), \
  data index 0 using (0):($1 - 0.3):2 with labels left offset 1, 0 font ",9" notitle
