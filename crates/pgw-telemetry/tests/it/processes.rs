//! Several processes, and one that dies.
//!
//! The other processes are this test program, told to run one test only and given an order as a
//! further name: a test runner's own runs never carry one, so there that test has nothing to do.

use std::{
    env,
    path::Path,
    process::{self, Command, Stdio},
};

use pgw_ports::TelemetryRecorder as _;
use pgw_telemetry::{SqliteOptions, SqliteRecorder};

use crate::{place, record, rows};

const ORDER: &str = "order=";
const ROWS: usize = 500;

/// A process that carries out an order on a file.
fn process(order: &str, name: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "processes::carries_out_an_order", "--nocapture"])
        .arg(format!("{ORDER}{order},{name},{}", path.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[tokio::test]
async fn carries_out_an_order() {
    let Some(order) = env::args().find_map(|arg| arg.strip_prefix(ORDER).map(str::to_owned)) else {
        return;
    };
    let mut parts = order.splitn(3, ',');
    let [order, name, path] = [(); 3].map(|()| parts.next().unwrap());
    let recorder = SqliteRecorder::open(path, SqliteOptions::default());
    if order == "abort" {
        recorder.offer(record(name)).await;
        process::abort();
    }
    for number in 0..ROWS {
        // Half of them wait for their receipt, so that the processes meet often.
        let receipt = recorder.offer(record(&format!("{name}-{number}")));
        if number % 2 == 0 {
            receipt.await;
        }
    }
    recorder.close().await;
}

// REQ TEL-017
#[test]
fn two_processes_lose_no_row() {
    let (_folder, path) = place();
    let children = ["one", "two"].map(|name| process("write", name, &path).spawn().unwrap());
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(rows(&path), 2 * i64::try_from(ROWS).unwrap());
}

// REQ TEL-012: what has its receipt survives the death of the process.
#[test]
fn a_record_with_a_receipt_survives_an_abort() {
    let (_folder, path) = place();
    let status = process("abort", "a", &path).status().unwrap();
    assert!(!status.success());
    assert_eq!(rows(&path), 1);
}
