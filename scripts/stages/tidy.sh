# clang-tidy over the library, the command and the examples. One result a source.
source scripts/lib.sh
configure clang
build clang   # for generated headers, if there are any

tidy() { clang-tidy-19 --quiet -p build/clang "$1" 2>&1 | grep -v 'warnings\? generated\.$'; return "${PIPESTATUS[0]}"; }
export -f tidy

tidy_one() {
  output=$(tidy "$1") && status=passed || status=failed
  [ $status = passed ] || printf '%s\n' "$output"
  echo "$status: $1"
  printf '%s\tclang-tidy %s\t\n' $status "$1" >>"$QKV_RESULTS"
}
export -f tidy_one

say clang-tidy
# What the build knows, so that sources of other platforms are left out.
python3 - build/clang/compile_commands.json "$root" <<'PYTHON' |
import json, os, sys
commands, root = sys.argv[1:]
files = {os.path.relpath(entry["file"], root) for entry in json.load(open(commands))}
print(*sorted(f for f in files if f.split("/")[0] in ("src", "apps", "bindings", "examples")),
      sep="\n")
PYTHON
  xargs -P "$jobs" -I{} bash -c 'tidy_one "$1"' _ {}
