# One GOFLAGS for build, test and lint: differing flags compile everything again.
export GOFLAGS = -trimpath -tags=netgo,osusergo,duckdb_arrow,grpcnotrace
export CGO_ENABLED = 1

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS = -s -w -linkmode external -extldflags -static -X dorisgo/internal/version.Version=$(VERSION)
DATA_DIR ?= data

.PHONY: run build test race clients bench lint proto compiler clean

## run: build the binary and start one FE and one BE in this shell.
run: build
	@./bin/dorisgo standalone --data-dir $(DATA_DIR) --hints

## build: the static binary bin/dorisgo.
build: compiler
	go build -o bin/dorisgo -ldflags '$(LDFLAGS)' ./cmd/dorisgo

## compiler: DuckDB needs a C++ compiler; on Debian it is installed when missing.
compiler:
	@command -v g++ >/dev/null 2>&1 || command -v c++ >/dev/null 2>&1 || { \
	  if [ -f /etc/debian_version ] && [ "$$(id -u)" = 0 ]; then \
	    echo "installing g++"; apt-get update -q && apt-get install -y -q g++; \
	  else echo "dorisgo needs a C++ compiler: install g++ (Debian: apt-get install g++) and run make again" >&2; exit 1; fi; }

## test: everything that needs nothing but Go and a C++ compiler.
test: compiler
	go vet ./...
	go test ./...

## race: the same tests under the race detector, but for those that run the real
## binary, which is built without it.
race: compiler
	go test -race -short $$(go list ./... | grep -v '/e2e$$')

## clients: the documented examples with stock clients (mariadb, curl, Go, Java,
## and Python, Node and doris-streamloader where they are).
clients: build
	./examples/clients.sh

## bench: the benchmarks behind docs/benchmarks.md.
bench: build
	go test -run '^$$' -bench . -benchtime 1s ./value/... ./block/... ./sql/insert/... ./load/... ./groupcommit/... ./storage/... ./fe/mysql/... ./bench/
	./bin/dorisgo bench ingest --standalone
	./bench/compare_mariadb.sh

## lint: golangci-lint at the version pinned in tools/lint.
lint:
	cd tools/lint && GOFLAGS=-trimpath go build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	./bin/golangci-lint run

.PHONY: smalldisk
## smalldisk: fills a real file system to the last block; needs root and a loop device.
smalldisk: export GOFLAGS = -trimpath -tags=netgo,osusergo,duckdb_arrow,grpcnotrace,smalldisk
smalldisk:
	go vet ./storage
	go test -count=1 -run TestSmallDisk ./storage

## proto: generate rpc/*/*.pb.go from the .proto files.
proto:
	$(MAKE) -C tools/proto

clean:
	rm -rf bin

.PHONY: crash
## crash: 100 rounds of kill -9 under load for a standalone, a backend and a frontend.
crash: compiler
	E2E_CRASH_ROUNDS=100 go test -count 1 -timeout 30m -v -run 'TestCrash' ./e2e

.PHONY: chaos
## chaos: one FE and three BEs in containers, killed, stopped, paused and cut off under load (docs/chaos.md).
chaos: build
	cd cluster-test && GOFLAGS=-trimpath go test -count=1 -timeout 10m -v ./...

.PHONY: model
## model: half an hour of random replication in one process against a model of it.
## REPLICATEST_FOR and REPLICATEST_SEED change the time and the seed.
model: compiler
	REPLICATEST_FOR=$${REPLICATEST_FOR:-30m} go test -count 1 -timeout 0 -v -run TestReplication ./internal/replicatest
