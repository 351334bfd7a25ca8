//! The page's own follower and renderer over lines that break in every way a line can: the feed ends as if nothing had been.

use std::sync::mpsc;

use crate::support::faults::{Fault, Proxy};
use crate::support::page::HeadlessPage;
use crate::support::{Server, chunks};
use chat_feed::connection::Status;
use serde_json::{Value, json};

/// Events of the exchange: one is there, three batches follow.
const LAST: u64 = 10;

/// A batch that ends with an urgent event, so that each is a frame: a question, a call with its result, text in pieces.
fn batch(first: u64) -> Value {
    json!([
        {"id": format!("e{first}"), "timestamp": first, "type": "tool_call", "payload": {"toolCallId": first.to_string(), "toolName": "Read", "args": {"path": "a.rs"}}},
        {"id": format!("e{}", first + 1), "timestamp": first + 1, "type": "assistant_chunk", "responseId": "r1", "payload": {"text": format!("é{first} ")}},
        {"id": format!("e{}", first + 2), "timestamp": first + 2, "type": "assistant_done", "responseId": "r1", "payload": {"text": format!("word 1 é{first} ")}},
    ])
}

/// Three batches, shown by pages whose line each has a fault behind another byte. How many bytes most of them were sent.
fn exchange(server: &Server, session: &str, faults: &[(usize, Fault)]) -> usize {
    assert_eq!(server.post(session, &chunks(1, 1)).0, 200);
    let (opened, all_opened) = mpsc::channel();
    std::thread::scope(|scope| {
        let mut pages = Vec::new();
        for &(at, fault) in faults {
            let opened = opened.clone();
            pages.push(scope.spawn(move || {
                let proxy = Proxy::new(&server.address(), at, fault);
                let mut page = HeadlessPage::new(server, &proxy.address, session);
                // Live, or past its fault: it waits for nothing either.
                page.go_on("live", |page| {
                    page.status == Some(Status::Live) || proxy.has_struck()
                });
                opened.send(()).unwrap();
                page.go_on("all is shown", |page| page.shown.len() as u64 >= LAST);
                let feed = page.feed();
                (at, fault, page.shown, page.n_clears, feed, proxy.carried())
            }));
        }
        for _ in faults {
            all_opened.recv().unwrap();
        }
        for first in [2, 5, 8] {
            assert_eq!(server.post(session, &batch(first)).0, 200);
        }
        let mut undisturbed = HeadlessPage::new(server, &server.address(), session);
        undisturbed.go_on("all is shown", |page| page.shown.len() as u64 >= LAST);
        let expected: Vec<u64> = (1..=LAST).collect();
        let mut most = 0;
        for page in pages {
            let (at, fault, shown, n_clears, feed, carried) = page.join().unwrap();
            // No hole, nothing twice, and nothing was begun anew.
            assert_eq!(
                (shown, n_clears),
                (expected.clone(), 0),
                "{fault:?} behind {at}"
            );
            assert_eq!(feed, undisturbed.feed(), "{fault:?} behind {at}");
            most = most.max(carried);
        }
        most
    })
}

const AT_ONCE: usize = 64;

fn rounds(server: &Server, name: &str, faults: &[(usize, Fault)]) {
    for (round, faults) in faults.chunks(AT_ONCE).enumerate() {
        exchange(server, &format!("{name}{round:03}"), faults);
    }
}

#[test]
fn a_cut_behind_any_byte_changes_nothing_of_the_feed() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let whole = exchange(&server, "whole", &[(usize::MAX, Fault::Cut)]);
    assert!(whole > 1500, "{whole} bytes");
    let cuts: Vec<_> = (0..whole).map(|at| (at, Fault::Cut)).collect();
    rounds(&server, "cut", &cuts);
    println!("cut behind each of {whole} bytes");
}

#[test]
fn a_reset_a_half_close_a_stall_and_a_slow_line_change_nothing_of_the_feed() {
    // So that all parts of the exchange are met, and not only its frames' beginnings.
    const EVERY: usize = 23;
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let whole = exchange(&server, "whole", &[(usize::MAX, Fault::Cut)]);
    for fault in [Fault::Reset, Fault::HalfClose, Fault::Stall, Fault::Delay] {
        let faults: Vec<_> = (0..whole).step_by(EVERY).map(|at| (at, fault)).collect();
        rounds(&server, &format!("{fault:?}").to_lowercase(), &faults);
    }
}

#[test]
fn fifty_resumes_without_new_events_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 9));
    let mut page = HeadlessPage::new(&server, &server.address(), "s1");
    page.go_on("live", |page| page.status == Some(Status::Live));
    let (shown, feed) = (page.shown.clone(), page.feed());
    for n in 1..=50 {
        page.lose();
        page.go_on("live again", |page| page.n_hellos == n + 1);
        assert_eq!((&page.shown, page.n_clears), (&shown, 0));
    }
    assert_eq!(page.feed(), feed);
    server.post("s1", &chunks(10, 10));
    page.go_on("the next", |page| page.shown.len() == 10);
}
