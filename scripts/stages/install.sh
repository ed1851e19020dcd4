# Installs qkv, static and shared, into an empty prefix and builds somebody else's project with it.
source scripts/lib.sh

# consume PRESET [-D...]: installs, then configures and builds tests/install, and runs it.
consume() {
  local preset=$1 work=$root/build/install-$1
  rm -rf "$work"
  cmake --install "build/$preset" --prefix "$work/prefix" >"$work.log" &&
    cmake -G Ninja -S tests/install -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
      -DCMAKE_BUILD_TYPE=Release "${@:2}" >>"$work.log" &&
    cmake --build "$work/build" &&
    "$work/build/consumer" && "$work/build/c_consumer"
}

consume_io() { consume "$@" && "build/install-$1/build/io_consumer" "build/install-$1/three.npz"; }

installed_command() { "build/install-$1/prefix/bin/qkv" --version; }

configure test
build test
check "consumer without zlib" consume test -DCONSUMER_IO=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
check "consumer of the static libraries" consume_io test -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
check "installed command, static" installed_command test

configure shared
build shared
check "consumer of the shared libraries" consume_io shared
check "installed command, shared" installed_command shared
