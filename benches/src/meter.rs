//! CPU time of this process without the responder's thread.

use std::{collections::BTreeSet, fs, time::Duration};

/// Reads how long the threads of this process were on a CPU, from
/// `/proc/self/task/*/schedstat` (nanoseconds; proc(5)). Threads named in `without` don't count.
#[derive(Debug)]
pub struct CpuMeter {
    without: BTreeSet<String>,
    start: u128,
}

impl CpuMeter {
    /// Starts measuring; threads with these names don't count.
    #[must_use]
    pub fn start(without: &[&str]) -> Self {
        let without = without.iter().map(|name| (*name).to_owned()).collect();
        let mut meter = Self { without, start: 0 };
        meter.start = meter.read();
        meter
    }

    /// CPU time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let nanos = self.read().saturating_sub(self.start);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn read(&self) -> u128 {
        let tasks = fs::read_dir("/proc/self/task").expect("the meter needs Linux's /proc");
        let mut sum = 0;
        for task in tasks.flatten() {
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            if self.without.contains(name.trim()) {
                continue;
            }
            let stat = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let nanos = stat.split_whitespace().next().and_then(|n| n.parse::<u128>().ok());
            sum += nanos.unwrap_or_default();
        }
        sum
    }
}
