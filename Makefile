# One target per concern; CI runs `make test`, so a red CI is reproduced by its name.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
STAMP := .venv/.installed
CORE_STAMP := .venv-core/.installed
PYSPARK_NEXT := 4.2.0
UI_SCRIPT := provider/paimon_provider/pages/ui/dist/tables.js
AIRFLOWS := 3.1.8 3.2.2 3.3.2
PYTHONS := 3.11 3.12 3.13
SHARD := 1/1
BASE := main
export PYTHONPATH :=

.PHONY: fuzz help venv venv-core test-core check lint types layers tidy workflows docs test java java-build demo demo-down demo-known demo-verdict bench \
	simulate interleave bench-spark bench-watch wheel clean test-live random-user test-spark-cluster test-spark-next \
	audit test-install servers test-cdc test-spark test-upkeep test-memory torture minio shared-commits \
	cluster-demo cluster-demo-down browser test-changed compose kafka lost-updates test-airflows test-nightly docs-site pages changelog release-check ui test-browser

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

venv: $(STAMP) ## Make .venv from the constraints file

$(STAMP): constraints.txt pyproject.toml table_core/pyproject.toml demo/venv.sh
	@demo/venv.sh .venv "$(CURDIR)/table_core" "$(CURDIR)[docs,test,s3,mysql,postgres,kafka,hive]"
	@touch $(STAMP)

venv-core: $(CORE_STAMP) ## Make .venv-core: the core and its tests, no Airflow, no Spark, no Java

$(CORE_STAMP): constraints.txt table_core/pyproject.toml demo/venv.sh
	@demo/venv.sh .venv-core "$(CURDIR)/table_core[test]"
	@touch $(CORE_STAMP)

test-core: $(CORE_STAMP) ## Unit, property, golden and simulation tests of the core, on .venv-core
	.venv-core/bin/python tests/suites.py core

check: lint types layers tidy workflows ## Format, lint, types, layers, tidiness, the workflows of CI

lint: $(STAMP)
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
types: $(STAMP)
	$(BIN)/mypy
layers: $(STAMP)
	PYTHONPATH=.:provider $(BIN)/lint-imports
tidy: $(STAMP)
	$(BIN)/pytest -q tests/test_tidy.py tests/test_circles.py tests/test_words.py tests/test_core_alone.py tests/test_lanes.py
workflows: $(STAMP)
	$(BIN)/zizmor --offline --no-progress .github
docs: $(STAMP) ## The documents: every example, link, command and generated page
	$(BIN)/python tests/suites.py docs

ui: ## The page of tables: types, lint, unit tests, and its script into the provider; needs Node.js 20.19
	@command -v npm >/dev/null || { echo "ui: Node.js 20.19 or newer is needed, with npm: the page of tables cannot be built" >&2; exit 1; }
	cd provider/ui && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund; } && npm run all

test-browser: ui $(STAMP) ## Chromium walks the page of tables on a live Airflow
	@tests/browser/chromium.sh
	BROWSER_REQUIRED=1 $(BIN)/python tests/suites.py browser

docs-site: $(STAMP) ## Build the docs site into .cache/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pages: $(STAMP) ## Write the pages that are generated from code, and the pictures
	@mkdir -p .cache/airflow
	@for page in docs/*_page.py docs/pictures/draw.py; do \
		echo $$page; PYTHONPATH=.:provider AIRFLOW_HOME=$(CURDIR)/.cache/airflow $(BIN)/python $$page || exit 1; done

changelog: $(STAMP) ## Show the entries of the next release
	$(BIN)/towncrier build --draft

test: java-build servers $(STAMP) $(if $(shell command -v npm),$(UI_SCRIPT)) ## What a change most likely breaks, in minutes; LANE=spark: one lane or folder
	$(BIN)/python tests/suites.py $(LANE)

test-nightly: java-build servers browser ui minio $(STAMP) ## Every case of every test; SHARD=2/12: one of twelve parts
	HYPOTHESIS_PROFILE=nightly TEST_SEED=$(or $(TEST_SEED),$(shell date +%Y%j)) \
		$(BIN)/python tests/suites.py --shard $(SHARD)

test-changed: java-build servers browser ui $(STAMP) ## What only the night runs, if its paths changed since BASE (main)
	$(BIN)/python tests/suites.py --changed $(BASE)

test-live: java $(STAMP) ## Live Airflows: the tour, a declaration and its targets, the streamhouse killed task by task, every kill on every backend, a random user
	$(BIN)/python tests/suites.py live

random-user: $(STAMP) ## A random user on a live Airflow: ACTIONS of them (200) by SEED (1)
	SEED=$(or $(SEED),1) ACTIONS=$(or $(ACTIONS),200) \
		$(BIN)/pytest -q -s --timeout=0 tests/live/test_random_user_live.py

test-spark-cluster: java $(STAMP) ## Spark on a cluster of processes and on Connect; executors killed
	$(BIN)/python tests/suites.py cluster
	SPARK_TESTS_ON=standalone $(BIN)/python tests/suites.py spark
	SPARK_TESTS_ON=connect $(BIN)/python tests/suites.py spark

test-spark-next: java $(STAMP) ## Spark's tests on the newest PySpark that is supported
	tests/pyspark.sh .cache/pyspark-$(PYSPARK_NEXT) $(PYSPARK_NEXT)
	PYTHONPATH=$(CURDIR)/.cache/pyspark-$(PYSPARK_NEXT) $(BIN)/python tests/suites.py spark

test-airflows: ## A smoke suite and a live scheduler on each Airflow and Python; AIRFLOWS="3.1.8" PYTHONS="3.12" choose
	@python3 tests/airflows/matrix.py --airflows $(AIRFLOWS) --pythons $(PYTHONS)

servers: $(STAMP) # without them the tests of live databases are skipped
	@demo/servers.sh mariadb postgresql kafka || echo "servers: going on without"
	@! command -v mvn >/dev/null || PYTHONPATH=. $(BIN)/python -m tests.catalogs.hive.server || echo "servers: going on without a Hive metastore"
browser: # without it the tests of the page are skipped
	@tests/browser/chromium.sh || echo "browser: going on without"

test-cdc: java-build $(STAMP) ## Real MariaDB, PostgreSQL and Kafka: 20 000 changes, killed ten times, and 20 random lives
	@demo/servers.sh mariadb postgresql
	CDC_CHANGES=$(or $(CDC_CHANGES),20000) CDC_KILLS=$(or $(CDC_KILLS),10) CDC_REQUIRED=1 \
		LIVES=$(or $(LIVES),20) POSTGRES_LIVES=$(or $(POSTGRES_LIVES),20) \
		$(BIN)/python tests/suites.py cdc
	CDC_SEEDS=$(or $(CDC_SEEDS),100) $(BIN)/pytest -q -n 2 tests/property/test_cdc_random_streams.py

java:
	@demo/java.sh
java-build:
	@demo/java.sh build

$(UI_SCRIPT): $(shell find provider/ui/src -type f) provider/ui/package-lock.json provider/ui/vite.config.ts
	cd provider/ui && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund; } && npm run build

demo: demo-known java $(STAMP) $(if $(shell command -v npm),$(UI_SCRIPT)) ## Run the streamhouse pipeline in an Airflow of its own; DEMO=auto, mariadb, kafka or s3: another way
	@demo/servers.sh $(DEMO)
	@$(BIN)/python -m demo.run $(DEMO)

demo-known: # a name that is none is refused before anything is installed
	@! command -v python3 >/dev/null || python3 -m demo.scenarios $(DEMO)

demo-verdict: ## The states of all task instances of the running demo; MINUTES=30: look for so long
	@$(BIN)/python -m demo.verdict --minutes $(or $(MINUTES),0)

compose: $(STAMP) ## Write docker-compose.yaml from demo/cluster/definition.py
	$(BIN)/python -m demo.cluster.compose

cluster-demo: java-build $(STAMP) $(if $(filter moto,$(S3)),,minio) kafka $(if $(shell command -v npm),$(UI_SCRIPT)) ## Run the streamhouse on real servers as processes: what docker-compose.yaml says
	@demo/servers.sh mariadb postgresql kafka
	@$(if $(filter moto,$(S3)),$(BIN)/python -c "from demo.servers.s3 import moto; moto()")
	@$(BIN)/python -m demo.cluster.up --s3 $(or $(S3),minio)

cluster-demo-down: ## Stop what the cluster demo started
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m demo.down .cluster-demo; fi

kafka: # the jars of a broker, from Maven Central
	@demo/servers.sh kafka

demo-down: ## Stop what the demo started
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m demo.down; fi

bench: $(STAMP) ## Our engine beside pypaimon, with and without Rust, in one run
	@$(BIN)/python -m bench.run $(BENCH)
	@$(BIN)/python -m bench.cdc $(BENCH_CDC)

bench-watch: $(STAMP) ## 1,000 watched tables on one triggerer, 10 commits/s, Airflow on PostgreSQL
	PYTHONPATH=.:provider $(BIN)/python -m bench.watch $(BENCH_WATCH)

bench-spark: java-build $(STAMP) ## On Spark local[2], beside Iceberg, Delta and plain Parquet in one run
	@PYTHONPATH=.:provider $(BIN)/python -m bench.spark $(BENCH_SPARK)

fuzz: $(STAMP) ## Decoders of foreign bytes, fed with damage for BUDGET_S seconds; FUZZ="manifest orc" chooses; the extra "fuzz" guides
	PYTHONPATH=.:provider $(BIN)/python tests/fuzz/run.py --seconds $(or $(BUDGET_S),300) $(FUZZ)

.PHONY: screens
screens: $(STAMP) ## Write the golden screens of the command line anew; look at the difference
	SCREENS=write $(BIN)/pytest -q tests/cli/test_screens.py

simulate: $(STAMP) ## Commits, expiry and readers under random faults: BUDGET_S seconds each; or STEPS of readers, ROUNDS of each kind of table
	STEPS=$(STEPS) ROUNDS=$(ROUNDS) BUDGET_S=$(or $(BUDGET_S),60) $(BIN)/pytest -q -s --timeout=0 tests/simulation

interleave: $(STAMP) ## Any two verbs of which one goes back, at each call, and 10,000 triples: SHARD (1 to 30) of them, under an hour
	HYPOTHESIS_PROFILE=nightly INTERLEAVE_SHARD=$(or $(SHARD),1) $(BIN)/pytest -q -s --timeout=0 \
		tests/simulation/test_interleavings.py -k "every_pair or three_verbs"

test-memory: $(STAMP) ## Writes of 1 and 16 million rows in bounded memory
	SPILL_MILLIONS=16 $(BIN)/pytest -q --timeout=0 tests/durability/test_bounded_writes.py

test-spark: java $(STAMP) ## Streams on Spark: the driver is killed 20 times, the total is exact
	STREAM_KILLS=$(or $(KILLS),20) $(BIN)/pytest -q -s --timeout=0 tests/spark/test_stream_restarts.py

test-upkeep: java-build $(STAMP) ## Long random sequences of upkeep; expiry beside readers and writers
	UPKEEP_SEEDS=$(or $(SEEDS),40) EXPIRY_ROUNDS=$(or $(ROUNDS),200) HYPOTHESIS_PROFILE=nightly \
		$(BIN)/pytest -q --timeout=0 tests/interop/test_upkeep.py \
		tests/durability/test_expiry_beside.py tests/property/test_upkeep_states.py

torture: minio $(STAMP) ## Processes that are killed commit to one table, locally and on S3; TORTURE="--rounds 200": to each kind of table
	PYTHONPATH=.:provider $(BIN)/python -m tests.durability.torture $(TORTURE)

lost-updates: $(STAMP) ## Two processes count up the same rows on every engine, 1,000 rounds each
	LOST_UPDATE_ROUNDS=$(or $(ROUNDS),1000) $(BIN)/pytest -q -s --timeout=0 tests/durability/test_lost_updates.py

shared-commits: java-build $(STAMP) ## Paimon and ours commit to one table, 100 times each, under one lock
	ROUNDS=$(or $(ROUNDS),100) $(BIN)/pytest -q -s tests/interop/test_shared_commits.py

minio: ## Build the S3 server that judges races, once
	@tests/minio.sh

test-install: java-build $(STAMP) ## Both wheels by a plain pip install, without our constraints: the core alone in 15 s, local SQL, Spark, a wrong pair
	PLAIN_INSTALL=1 $(BIN)/pytest -q --timeout=0 tests/wheel

audit: ## Known faults of what constraints.txt pins, by pip-audit and its database
	@[ -x .cache/audit/bin/pip-audit ] || { python3 -m venv .cache/audit && .cache/audit/bin/pip install -q pip-audit; }
	.cache/audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

wheel: $(STAMP) ## Build both distributions into dist/, wheels and source archives, and check their metadata
	$(BIN)/python -m build --no-isolation --outdir dist table_core
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*

release-check: $(STAMP) ## Is TAG=v1.2.3 the version of both distributions, and is the changelog written?
	$(BIN)/pytest -q tests/wheel/test_release.py

clean: demo-down cluster-demo-down ## Remove everything that can be made again
	rm -rf .venv .venv-core .demo .cluster-demo .cache dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
