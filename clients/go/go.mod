module muriopt

go 1.19
