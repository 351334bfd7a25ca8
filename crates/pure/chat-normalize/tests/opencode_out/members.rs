//! The members of what is told are those that the bus has.

use std::collections::{BTreeMap, BTreeSet};

use chat_normalize::to_opencode_events;
use serde_json::Value;

use super::buses;
use crate::support::bus::text;
use crate::support::read;

/// What the members of an event are called, by its kind and that of its part.
fn members(told: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in told {
        let of = &event["properties"];
        let kind = [
            text(event, "/type"),
            text(of, "/info/role"),
            text(of, "/part/type"),
            text(of, "/part/state/status"),
            text(of, "/status/type"),
        ]
        .concat();
        let all = members.entry(kind).or_default();
        for (at, value) in [
            ("", Some(of)),
            ("info.", of.get("info")),
            ("info.time.", of.pointer("/info/time")),
            ("part.", of.get("part")),
            ("state.", of.pointer("/part/state")),
            ("status.", of.get("status")),
            (
                "tokens.",
                of.pointer("/info/tokens").or(of.pointer("/part/tokens")),
            ),
        ] {
            let names = value.and_then(Value::as_object).into_iter().flatten();
            all.extend(names.map(|(name, _)| format!("{at}{name}")));
        }
    }
    members
}

#[test]
fn members_are_those_that_the_bus_has() {
    // What a log does not know: snapshots of files, what a session's own rules are, sums that follow from others.
    let unknown = [
        "part.snapshot",
        "info.permission",
        "info.summary",
        "tokens.total",
        "state.title",
        "state.metadata",
    ];
    for source in buses()
        .iter()
        .filter(|source| !source.name.contains("1.1."))
    {
        let theirs = members(&crate::support::values(&source.bytes));
        let ours = members(&to_opencode_events(&read(&source.bytes).events));
        for (kind, ours) in &ours {
            let Some(theirs) = theirs.get(kind) else {
                continue;
            };
            let missing: Vec<&String> = theirs
                .difference(ours)
                .filter(|name| !unknown.contains(&name.as_str()))
                .collect();
            assert!(
                missing.is_empty(),
                "{} {kind}: without {missing:?}",
                source.name
            );
        }
    }
}
