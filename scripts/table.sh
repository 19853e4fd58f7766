# Rows of the table that ./test and .ci/run print at their end: a part, its minutes, its minutes of processor time, the tests that it ran.
# shellcheck shell=bash

table_header() { printf '\n%-14s %7s %7s %7s\n' part minutes CPU tests; }

# Minutes with one decimal, of seconds.
minutes() { printf '%d.%d' $(($1 / 60)) $(($1 % 60 / 6)); }

# Sets `processor` to the seconds that the finished commands of this shell have taken on all cores. Not in a subshell, which begins at 0.
read_processor() {
    local file
    file=$(mktemp)
    times > "$file"
    processor=$(awk 'NR == 2 { split($1, user, /[ms]/); split($2, kernel, /[ms]/)
        print int(60 * (user[1] + kernel[1]) + user[2] + kernel[2]) }' "$file")
    rm "$file"
}

# A row: NAME SECONDS PROCESSOR-SECONDS [TESTS]
table_row() { printf '%-14s %7s %7s %7s' "$1" "$(minutes "$2")" "$(minutes "$3")" "${4:-}"; }
