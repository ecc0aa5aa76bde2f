//! The file: reads, decides and writes as one step, whoever else is at it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

use pgw_ports::Clock;

use crate::fuse::Fuse;

/// The file with the breakers of a scope, by source.
#[derive(Debug)]
pub(crate) struct Shelf {
    path: PathBuf,
    /// Who holds the lock on this one may change the other. The system frees it with its process.
    lock: PathBuf,
    /// Written first and then renamed: a process that dies while writing leaves the old state.
    draft: PathBuf,
    clock: Arc<dyn Clock>,
}

impl Shelf {
    pub(crate) fn new(path: &Path, clock: Arc<dyn Clock>) -> Self {
        let beside = |ending: &str| {
            let mut name = OsString::from(path);
            name.push(ending);
            PathBuf::from(name)
        };
        Self { path: path.to_owned(), lock: beside(".lock"), draft: beside(".draft"), clock }
    }

    /// One change of one breaker. `act` gets the breaker and the time in milliseconds since 1970.
    ///
    /// # Errors
    /// The file can't be read, understood or written. Then nothing has changed.
    pub(crate) fn change<T>(
        &self,
        source_name: &str,
        act: impl FnOnce(&mut Fuse, u64) -> T,
    ) -> io::Result<T> {
        let lock = File::options().create(true).truncate(false).write(true).open(&self.lock)?;
        lock.lock()?;
        let mut book: BTreeMap<String, Fuse> = match fs::read(&self.path) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        let mut fuse = book.get(source_name).copied().unwrap_or_default();
        let before = fuse;
        // Read under the lock: whoever comes later reads no earlier time.
        let answer = act(&mut fuse, self.clock.unix_ms());
        if fuse != before {
            book.insert(source_name.to_owned(), fuse);
            fs::write(&self.draft, serde_json::to_vec_pretty(&book)?)?;
            fs::rename(&self.draft, &self.path)?;
        }
        Ok(answer)
    }
}
