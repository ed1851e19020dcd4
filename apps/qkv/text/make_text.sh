#!/bin/sh
# Writes kjv_pentateuch.txt beside this script: the five books of Moses, a verse a line, without the
# numbers of chapters and verses. Needs Debian's bible-kjv and bible-kjv-text (4.38).
set -eu
cd "$(dirname "$0")"
bible -f gen1:1-deu34:12 | cut -d' ' -f2- > kjv_pentateuch.txt
test "$(wc -c < kjv_pentateuch.txt)" -eq 815101
