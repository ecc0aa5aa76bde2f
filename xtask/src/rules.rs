//! What the rules of this house say: data only. A change here goes with the text it cites.

use crate::rule::{Exception, External, Feature, Layer, MayUse, Reach, Rule, Rules, Who};

impl Rule {
    /// Where the rule is written for people: a file, and the section or name in it.
    #[must_use]
    pub fn written_in(self) -> &'static str {
        match self {
            Self::Layers | Self::KnownMembers | Self::ForbiddenCrates | Self::ForbiddenFeatures => {
                "docs/ARCHITECTURE.md, section Layers"
            }
            Self::EnvironmentReads | Self::BusinessWords => {
                "docs/ARCHITECTURE.md, section Invariants"
            }
            Self::WorkspaceLints | Self::WorkspaceDependencies | Self::Tidy => {
                "CONTRIBUTING.md, section House rules"
            }
            Self::StaleExceptions => "xtask/src/rules.rs, section EXCEPTIONS",
        }
    }
}

/// The rules of this house.
#[must_use]
pub fn house() -> Rules {
    Rules {
        layers: LAYERS,
        dev_extra: &["pgw-contract", "pgw-mock"],
        externals: EXTERNALS,
        features: FEATURES,
        environment_reads: ENVIRONMENT_READS,
        environment_readers: &["crates/pgw-client/src/config/environment.rs"],
        business_words: BUSINESS_WORDS,
        word_list_file: "xtask/src/rules.rs",
        max_lines: 800,
        unfinished_marks: &["TODO", "FIXME", "XXX"],
        exceptions: EXCEPTIONS,
    }
}

/// A room sees the seams and the ground, never another room.
const ROOM: MayUse = MayUse::Only(&["pgw-ports", "pgw-types"]);

/// A transport is a room that also speaks a protocol over a connection.
const TRANSPORT: MayUse = MayUse::Only(&["pgw-http", "pgw-ports", "pgw-types", "pgw-wire"]);

/// The house, from the ground up. Crates that are planned have their place already.
const LAYERS: &[Layer] = &[
    room("pgw-types", "crates/pgw-types", MayUse::Only(&[])),
    room("pgw-ports", "crates/pgw-ports", MayUse::Only(&["pgw-types"])),
    room("pgw-wire", "crates/pgw-wire", MayUse::Only(&["pgw-types"])),
    room("pgw-http", "crates/pgw-http", MayUse::Only(&[])),
    room("pgw-middleware", "crates/pgw-middleware", ROOM),
    room("pgw-structured", "crates/pgw-structured", ROOM),
    room("pgw-telemetry", "crates/pgw-telemetry", ROOM),
    room("pgw-backend-memory", "crates/pgw-backend-memory", ROOM),
    room("pgw-backend-redis", "crates/pgw-backend-redis", ROOM),
    room("pgw-transport-openai", "crates/pgw-transport-openai", TRANSPORT),
    room("pgw-transport-monkeyocr", "crates/pgw-transport-monkeyocr", TRANSPORT),
    room(
        "pgw-client",
        "crates/pgw-client",
        MayUse::Only(&[
            "pgw-backend-memory",
            "pgw-backend-redis",
            "pgw-middleware",
            "pgw-ports",
            "pgw-structured",
            "pgw-telemetry",
            "pgw-transport-monkeyocr",
            "pgw-transport-openai",
            "pgw-types",
        ]),
    ),
    room(
        "pgw-server",
        "crates/pgw-server",
        MayUse::Only(&["pgw-client", "pgw-ports", "pgw-types", "pgw-wire"]),
    ),
    room(
        "pgw-cli",
        "crates/pgw-cli",
        MayUse::Only(&["pgw-client", "pgw-mock", "pgw-ports", "pgw-server", "pgw-types"]),
    ),
    room("pgw-contract", "crates/pgw-contract", ROOM),
    room("pgw-mock", "crates/pgw-mock", MayUse::Only(&["pgw-types", "pgw-wire"])),
    room("xtask", "xtask", MayUse::Only(&[])),
    room("pgw-tests", "tests", MayUse::Anything),
    room("pgw-bench", "benches", MayUse::Anything),
    // An example stands where a user stands: it depends on what the page it belongs to says is
    // enough, and its tests show how the assembly takes it (PRT-024).
    Layer {
        may_use_in_tests: &["pgw-client"],
        ..room("custom-store", "examples/custom-store", ROOM)
    },
];

const fn room(name: &'static str, dir: &'static str, may_use: MayUse) -> Layer {
    Layer { name, dir, may_use, may_use_in_tests: &[] }
}

const VENDOR_SDKS: &[&str] = &[
    "anthropic-sdk",
    "async-anthropic",
    "async-openai",
    "genai",
    "ollama-rs",
    "openai-api-rs",
    "rig-core",
];

const EXTERNALS: &[External] = &[
    External {
        who: Who::Crates(&["pgw-types", "pgw-ports", "pgw-wire"]),
        names: &[
            "async-std",
            "axum",
            "deadpool-redis",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "libsqlite3-sys",
            "native-tls",
            "openssl",
            "redis",
            "reqwest",
            "rusqlite",
            "rustls",
            "smol",
            "sqlx",
            "tokio",
            "tokio-postgres",
            "ureq",
        ],
        reach: Reach::Resolved,
        because: "whoever writes a backend takes these crates without a runtime, HTTP, TLS or a \
                  database (XTK-001, XTK-002)",
    },
    External {
        who: Who::Crates(&["pgw-middleware"]),
        names: &[
            "axum",
            "deadpool-redis",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "redis",
            "reqwest",
            "rusqlite",
            "rustls",
            "tokio-postgres",
        ],
        reach: Reach::Declared,
        because: "governance reaches the world through ports only (XTK-001)",
    },
    External {
        who: Who::Under("crates"),
        names: &[
            "again",
            "backoff",
            "backon",
            "exponential-backoff",
            "failsafe",
            "governor",
            "reqwest-retry",
            "retry",
            "tokio-retry",
            "tokio-retry2",
        ],
        reach: Reach::Resolved,
        because: "there is one retry loop, one breaker and one limiter, and they are ours \
                  (XTK-003, NOG-008, NOG-010)",
    },
    External {
        who: Who::Under("crates"),
        names: &["dotenv", "dotenvy", "dotenvy_macro", "envconfig", "envy"],
        reach: Reach::Resolved,
        because: "only the configuration loader reads the environment, and it needs no help",
    },
    External {
        who: Who::Under("crates"),
        names: VENDOR_SDKS,
        reach: Reach::Resolved,
        because: "the wire formats are ours; a vendor's client hides what governance has to see \
                  (XTK-003)",
    },
    External {
        who: Who::AllBut(&["pgw-bench"]),
        names: VENDOR_SDKS,
        reach: Reach::DeclaredOrDev,
        because: "a vendor's client serves here only as a baseline of the benchmarks (XTK-003)",
    },
    External {
        who: Who::Under("crates"),
        names: &[
            "apalis",
            "faktory",
            "ffmpeg-next",
            "ffmpeg-sys-next",
            "image",
            "lapin",
            "opencv",
            "rdkafka",
        ],
        reach: Reach::Resolved,
        because: "queues and the preparing of pictures are the caller's (NOG-001, NOG-002)",
    },
    External {
        who: Who::Crates(&[
            "pgw-types",
            "pgw-ports",
            "pgw-wire",
            "pgw-http",
            "pgw-middleware",
            "pgw-structured",
            "pgw-telemetry",
            "pgw-backend-memory",
            "pgw-backend-redis",
            "pgw-transport-openai",
            "pgw-transport-monkeyocr",
            "pgw-client",
        ]),
        names: &["serde-saphyr", "serde_norway", "serde_yaml", "serde_yaml_ng", "serde_yml"],
        reach: Reach::Declared,
        because: "the gateway's configuration file is the gateway's (NOG-011)",
    },
];

const FEATURES: &[Feature] = &[
    Feature {
        who: Who::Under("crates"),
        package: "tokio",
        feature: "full",
        because: "each crate names the parts of the runtime it uses (XTK-002)",
    },
    Feature {
        who: Who::Under("crates"),
        package: "tokio",
        feature: "test-util",
        because: "a clock that can be stopped belongs in dev-dependencies",
    },
    Feature {
        who: Who::Under("crates"),
        package: "clap",
        feature: "env",
        because: "only the configuration loader reads the environment",
    },
    Feature {
        who: Who::Under("crates"),
        package: "figment",
        feature: "env",
        because: "its environment provider guesses types and breaks keys; the loader has its own",
    },
];

/// hyper-util's proxy matcher is listed because it reads the proxy variables.
const ENVIRONMENT_READS: &[&[&str]] = &[
    &["env", "var"],
    &["env", "vars"],
    &["env", "var_os"],
    &["env", "vars_os"],
    &["var_os"],
    &["vars_os"],
    &["option_env"],
    &["Env", "prefixed"],
    &["Env", "raw"],
    &["Matcher", "from_env"],
    &["Matcher", "from_system"],
];

/// Names and terms of the projects that use this library: it must not know them (D12 of the
/// founding architecture). Ordinary words that also occur in protocols, such as those for moving
/// pictures or for a text, are not here.
const BUSINESS_WORDS: &[&str] = &[
    "chs-analyzer",
    "chs_analyzer",
    "chsanalyzer",
    "docagent",
    "gov-doc",
    "gov_doc",
    "govdoc",
    "sonograph",
    "ultrasound",
    "video tree",
    "video-tree",
    "video_tree",
    "videotree",
    "文书",
    "视频树",
    "超声",
];

/// Section EXCEPTIONS: violations we accept, each with its reason.
const EXCEPTIONS: &[Exception] = &[];
