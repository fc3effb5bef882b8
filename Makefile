# Two commands do everything on a fresh Debian 12:
#   make run    install what is missing, build, run the default scenario, show its answer
#   make test   install what is missing, build, run all tests
#
# Others: make build | sanitize | reached | coverage | accuracy | residuals | lint | fuzz | bench | performance | profile ROW | install | deb | image | clean. WERROR=1 makes warnings errors (CI does).

SCENARIO ?= scenarios/gpt3-175b-1024-a100.yaml
BUILD ?= build
PREFIX ?= /usr/local
WERROR ?= 0

PACKAGES := build-essential pkg-config meson ninja-build libsimgrid-dev libglib2.0-dev libyaml-dev libsqlite3-dev \
	libxml2-dev libyajl-dev zlib1g-dev
CCACHE := $(shell command -v ccache)
# -g1 keeps the lines that backtraces show and builds in four fifths of the time of -g; a compiled glib.h takes a quarter
# off, where no ccache would be lost by it.
FLAGS := -g1
MESON_FLAGS := --prefix=$(PREFIX) $(if $(filter 1,$(WERROR)),--werror) $(if $(CCACHE),,-Dprecompiled=true)

.PHONY: deb image run test build setup packages accuracy residuals sanitize sanitized reached coverage lint fuzz fuzzers bench performance profile install clean

run: build
	@$(BUILD)/orrery run $(SCENARIO)
	@$(BUILD)/orrery validate megatron-sc21

test: build
	@tests/run.sh $(BUILD)

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

$(BUILD)/build.ninja: | setup
	@meson setup $(BUILD) $(MESON_FLAGS) -Dc_args=$(FLAGS) -Dcpp_args=$(FLAGS) > $(BUILD).log || { cat $(BUILD).log; exit 1; }; rm -f $(BUILD).log

setup:
	@./.ci/packages.sh $(PACKAGES)

packages:
	@echo $(PACKAGES)

# Tests under the address and undefined-behaviour sanitizers, in a build of their own: without the suite of documents, and
# without the tests that reach no line that others do not reach (tests/reached.py). ALL=1 runs these, too.
# Undefined behaviour ends the program: what is only reported fails no test. It ends by an illegal instruction, whose place
# sim/base/sanitizer_options.c prints; texts for each check would double the objects, take a seventh more of the compiler
# and half of each start of the program. Without -pie, whose addresses each start would write anew.
# -O1 builds in three fifths of the time of -O2 and runs a tenth slower. ORRERY_TEST_SIZE=small: the longest programs take
# fewer or smaller cases.
SANITIZED := -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false -Db_pie=false \
	'-Dc_args=$(FLAGS) -fsanitize-undefined-trap-on-error'
sanitize: build sanitized
	@names=$$(tests/sanitized.sh build-sanitize $(ALL)) && ORRERY_TEST_SIZE=small \
	  $(if $(ALL),,ORR_TEST_SKIP=$(CURDIR)/tests/plain_only.txt ORR_TEST_PLAIN=$(CURDIR)/$(BUILD)/orrery) \
	  tests/run.sh build-sanitize $$names

# Which tests reach no line that others do not reach: writes tests/plain_only.txt anew. In a build of its own.
reached: setup
	@tests/reached.py build-reached

sanitized: setup
	@test -f build-sanitize/build.ninja || \
	  meson setup build-sanitize $(MESON_FLAGS) $(SANITIZED) -Dgpu_archs=90 > /dev/null
	@ninja -C build-sanitize --quiet

# Which lines of calibration/measure, the code that GPUs run, the tests reach: by file and in all, at least 85 %. A build
# of its own, with gcov.
COVERED := calibration/test_fake_gpu $(patsubst tests/%.c,%,$(wildcard tests/calibration/measure/test_*.c))
coverage: setup
	@test -f build-coverage/build.ninja || \
	  meson setup build-coverage $(MESON_FLAGS) -Doptimization=0 -Dc_args=-g1 -Db_coverage=true > /dev/null
	@ninja -C build-coverage --quiet
	@tests/run.sh build-coverage $(COVERED)
	@tests/coverage.py build-coverage calibration/measure 85

# Writes the accuracy figures of README.md and docs/ anew: five minutes of a processor.
accuracy: build
	@python3 docs/accuracy.py $(BUILD)/orrery

# Writes what error bands are made from, calibration/residuals, anew: ten minutes of a processor. Only shipped sets and
# machines count, so a library of one's own is not searched. The files are replaced when all sets have run, or not at all.
residuals: build
	@env -u ORRERY_PATH ORRERY_SHIPPED=$(CURDIR) $(BUILD)/orrery validate --db none --residuals calibration/residuals > /dev/null

lint:
	@tests/lint.sh .

# Random bytes through every reader of files (clang's libFuzzer), FUZZ_SECONDS for each: about a minute in all. What
# finds new branches is kept in build-fuzz/corpus; tests/fuzz has the stored inputs.
FUZZ_SECONDS ?= 8
fuzz: fuzzers
	@tests/fuzz/fuzz.sh build-fuzz $(FUZZ_SECONDS)

fuzzers: build
	@./.ci/packages.sh $(PACKAGES) clang libclang-rt-14-dev
	@test -f build-fuzz/build.ninja || \
	  CC="$(CCACHE) clang" CXX="$(CCACHE) clang++" meson setup build-fuzz -Dplain=$(CURDIR)/$(BUILD)/liborrery-core.a -Dfuzz=true -Dtests=false $(SANITIZED) \
	  $(if $(CCACHE),,-Dprecompiled=true) > /dev/null
	@ninja -C build-fuzz --quiet tests/fuzzers

bench: build
	@tests/bench/bench.sh $(BUILD)

# Measures, and writes the figures of docs/performance.md anew. On an idle machine.
performance: build
	@tests/bench/bench.sh $(BUILD) tests/bench/figures.tsv
	@python3 docs/performance.py

# make profile ROW: which functions take the time of a row of tests/bench/goals.csv. The second word is no target.
ifeq (profile,$(firstword $(MAKECMDGOALS)))
ROW ?= $(word 2,$(MAKECMDGOALS))
$(if $(ROW),$(eval $(ROW):;@:))
endif
profile: build
	@tests/bench/profile.sh $(BUILD) $(ROW)

# A Debian package, without CUDA; lintian checks it where it is installed.
deb: setup
	@./.ci/packages.sh dpkg-dev
	@./.ci/deb.sh build-deb

# An OCI image of that package on Debian 12, by podman, docker or buildah; without one of them, a word and exit 1. IMAGE
# names it.
IMAGE ?= orrery
image:
	@./.ci/image.sh build-deb $(IMAGE)

install: build
	@meson install -C $(BUILD) --quiet

clean:
	rm -rf build build-coverage build-deb build-sanitize build-fuzz build-profile build-reached
