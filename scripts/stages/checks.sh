# Rules about the sources and the objects.
source scripts/lib.sh
check "include rule" python3 tests/checks/include_rule.py .
check "include rule finds violations" python3 tests/checks/include_rule_test.py
check "style" python3 tests/checks/style.py .
check "format" scripts/format.sh --check

if [ "$(uname -m)" = x86_64 ]; then
  configure test
  build test engine
  check "weak symbols" python3 tests/checks/weak_symbols.py build/test
  check "weak symbols finds violations" python3 tests/checks/weak_symbols_test.py
else
  skip "weak symbols" "only x86-64 has several instruction sets in one build"
fi
