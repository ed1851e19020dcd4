# Every figure of the pages in Chromium.
source scripts/lib.sh
source scripts/node.sh
scripts/web.sh --pseudo
run_vitest --project browser
