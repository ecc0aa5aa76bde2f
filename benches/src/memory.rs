//! Resident memory of this process.

use std::fs;

/// Bytes of memory that are resident now, by the kernel's account: `VmRSS` in `/proc/self/status`
/// (proc(5); the same figure as `/proc/self/statm` has, without the size of a page to know).
///
/// # Panics
/// Without Linux's `/proc`.
#[must_use]
pub fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("memory needs Linux's /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.expect("VmRSS is a number of kB") * 1_024
}
