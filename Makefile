# The short way in. Everything here also works by hand: see CMakePresets.json and scripts/.
# On Debian 12 each target installs what it needs first (scripts/setup.sh); git and make are enough.

.PHONY: help build demo web test test-full format clean

help:
	@echo "make build      the library, the command build/release/qkv and the examples"
	@echo "make web        the lesson page, one file: build/web/lesson.html"
	@echo "make demo       examples/demo on the attention of a real model, examples/data/minilm.safetensors"
	@echo "make test       tests, checks, sanitizers, installation (20 minutes on 2 cores)"
	@echo "make test-full  that, and clang, clang-tidy, TSan, AArch64, WebAssembly, fault builds,"
	@echo "                fuzzing (well over an hour on 2 cores)"
	@echo "make format     clang-format over all sources"
	@echo "make clean      remove build/"

# With the lesson page inside the command, where Node is there.
build:
	@scripts/setup.sh build
	@scripts/web.sh --if-possible
	@cmake --preset release
	@cmake --build --preset release

# Only what the demo needs; compiling the command takes longer than all the rest.
demo:
	@scripts/setup.sh build
	@cmake --preset release
	@cmake --build --preset release --target example_demo
	@build/release/examples/demo examples/data/minilm.safetensors

web:
	@scripts/setup.sh web
	@scripts/web.sh

test:
	@scripts/test.sh quick

test-full:
	@scripts/test.sh full

format:
	@scripts/setup.sh test
	@scripts/format.sh --in-place

clean:
	rm -rf build
