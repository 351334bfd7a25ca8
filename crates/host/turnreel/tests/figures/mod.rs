//! How fast the server is: what a busy session costs, how soon the list and the first page are there, how fast a log is read
//! that has no index. `cargo xtask bench --server` runs these and writes a table of them.
//!
//! Each part is asked for by name, and none of them fails for being slow: a figure is a figure, on a machine that may have
//! other things to do. What is counted (events, rows) is held.

#![cfg(target_os = "linux")]

mod logs;
mod readers;
mod relay;
mod report;
mod workload;

#[test]
#[ignore = "measures for a minute"]
fn a_busy_session_reaches_a_hundred_readers() {
    relay::measure();
}

#[test]
#[ignore = "makes 10,000 logs"]
fn ten_thousand_sessions_are_listed() {
    logs::measure_list();
}

#[test]
#[ignore = "makes a log of a GiB"]
fn a_log_of_a_gibibyte_is_read_and_its_index_made_anew() {
    logs::measure_log();
}
