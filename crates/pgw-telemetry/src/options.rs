//! How the store is kept.

use std::time::Duration;

/// What a committed record survives.
///
/// Either way a record whose receipt has resolved survives the end of the process, however abrupt:
/// the operating system has it. The difference is a power cut or a crash of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// `synchronous = NORMAL`: a power cut may take the records since the last checkpoint, but
    /// never damages the file (SQLite, "PRAGMA synchronous": WAL mode is safe from corruption).
    #[default]
    Normal,
    /// `synchronous = FULL`: each commit is flushed to the disk and survives a power cut too.
    Full,
}

/// How the store is kept. The default suits a process that writes to a local disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// What a committed record survives.
    pub durability: Durability,
    /// How long a write waits for another process to let go of the file. It is also the longest
    /// that a call waits for the receipt of a record when the file stays locked.
    pub busy_timeout: Duration,
    /// How many records may wait to be written; at least one.
    pub queue_records: usize,
    /// How many bytes of text may wait to be written. One record may be larger.
    pub queue_bytes: usize,
    /// How many records go into one transaction at most; at least one.
    pub batch_records: usize,
    /// The size the database may grow to, in pages of 4096 bytes; `None`: as the disk allows.
    /// A full database is treated like a full disk.
    pub max_pages: Option<u32>,
}

impl Default for SqliteOptions {
    /// NORMAL, 1 s, 65,536 records or 64 MiB in the line, 512 a transaction, no size limit.
    fn default() -> Self {
        Self {
            durability: Durability::Normal,
            busy_timeout: Duration::from_secs(1),
            queue_records: 65_536,
            queue_bytes: 64 * 1024 * 1024,
            batch_records: 512,
            max_pages: None,
        }
    }
}
