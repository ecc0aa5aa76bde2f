# The commands of this project. `make help` lists them.
# They need rustup's toolchain (rust-toolchain.toml names it), a C compiler and make.

.DEFAULT_GOAL := help
.PHONY: help run test lint fmt bench audit toolchain

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build and run the demo: three mock sources, no key, no network
	cargo run --quiet --locked --package pgw-cli -- demo

test: lint ## all checks: format, clippy, layers, tests with doctests, documentation
	cargo test --workspace --locked
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace --locked

lint: toolchain ## the checks that run no test: format, clippy, layers
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo xtask check-layers

fmt: toolchain ## format all sources
	cargo fmt --all

bench: ## measure against a bare client and a vendor's client in the same run
	cargo bench --locked --package pgw-bench

audit: ## licences, bans, sources; advisories if a database is at hand (ADVISORY_DB=DIR)
	scripts/audit.sh

# With rustup, the first cargo command fetches the pinned toolchain; without it, say what lacks.
toolchain:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || { \
		echo "rustfmt or clippy is missing: run 'rustup toolchain install' in this directory," >&2; \
		echo "or install the components and the version that rust-toolchain.toml names" >&2; \
		exit 1; }
