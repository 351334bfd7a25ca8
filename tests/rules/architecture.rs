//! Holds the packages of the workspace to their table: where each lies, which others it may use, and what the pure
//! ones must never reach. Modules inside the page are held by `modules`.

use std::collections::{BTreeMap, BTreeSet};

use super::metadata;
use super::metadata::{Metadata, WASM_TARGET, host_target};

/// One line of the table: name, folder, the packages of this workspace it may use.
type Line = (&'static str, &'static str, &'static [&'static str]);

/// A new line or a new edge is the subject of its own change, with its reason.
const TABLE: &[Line] = &[
    // The log and the wire: the one type that is promised to be kept.
    ("chat-event", "crates/pure/chat-event", &[]),
    // The only code that knows how to diff.
    ("chat-diff", "crates/pure/chat-diff", &[]),
    // The only code that knows providers, both ways.
    (
        "chat-normalize",
        "crates/pure/chat-normalize",
        &["chat-event", "chat-diff"],
    ),
    // Every decision about what is shown, with no screen.
    (
        "chat-feed",
        "crates/pure/chat-feed",
        &["chat-event", "chat-diff"],
    ),
    // The only code that knows how files are packed.
    ("chat-unpack", "crates/pure/chat-unpack", &[]),
    // The only code that keeps bytes.
    ("chat-store", "crates/host/chat-store", &["chat-event"]),
    // The only code that touches agents.
    (
        "chat-capture",
        "crates/host/chat-capture",
        &["chat-event", "chat-diff", "chat-normalize"],
    ),
    // The only code that speaks to stores that others run.
    (
        "chat-tiers",
        "crates/host/chat-tiers",
        &["chat-event", "chat-store"],
    ),
    // The only code that listens.
    (
        "turnreel",
        "crates/host/turnreel",
        &[
            "chat-event",
            "chat-diff",
            "chat-normalize",
            "chat-feed",
            "chat-unpack",
            "chat-store",
            "chat-capture",
            "chat-tiers",
        ],
    ),
    // The only code with a DOM.
    (
        "agent-feed",
        "",
        &[
            "chat-event",
            "chat-diff",
            "chat-normalize",
            "chat-feed",
            "chat-unpack",
        ],
    ),
    // Automation; it starts the others and links none of them.
    ("xtask", "crates/xtask", &[]),
];

/// What knows a screen, a socket or a clock.
const NEVER_IN_PURE: &[&str] = &[
    "leptos",
    "web-sys",
    "js-sys",
    "wasm-bindgen",
    "gloo-net",
    "tokio",
    "axum",
    "mio",
];

/// What only the page is built with, and only in wasm32.
const NEVER_ON_THE_HOST: &[&str] = &["leptos", "gloo-net"];

#[test]
fn packages_use_only_what_the_table_allows() {
    let metadata = Metadata::of_target(&host_target());
    let members = metadata.members().map(|(_, package)| Member {
        name: package.name.clone(),
        folder: package.folder.clone().unwrap_or_default(),
        uses: package.path_dependencies.clone(),
    });
    let members: Vec<Member> = members.collect();
    assert!(
        members.iter().any(|member| member.name == "agent-feed"),
        "the root package is a member"
    );
    assert_eq!(breaches_of_table(TABLE, &members), Vec::<String>::new());
}

#[test]
fn pure_packages_reach_no_screen_socket_or_clock() {
    for target in [WASM_TARGET, &host_target()] {
        let metadata = Metadata::of_target(target);
        let pure: Vec<_> = metadata
            .members()
            .filter(|(_, package)| is_pure(package))
            .collect();
        assert!(!pure.is_empty(), "there are pure packages");
        for (id, package) in pure {
            let breach = chain_to(&metadata, id, NEVER_IN_PURE);
            assert_eq!(breach, None, "{} for {target}", package.name);
        }
    }
}

#[test]
fn host_builds_never_compile_the_page_s_framework() {
    let metadata = Metadata::of_target(&host_target());
    for (id, package) in metadata.members() {
        assert_eq!(
            chain_to(&metadata, id, NEVER_ON_THE_HOST),
            None,
            "{}",
            package.name
        );
    }
}

#[test]
fn a_breach_of_the_table_is_named() {
    let table: &[Line] = &[
        ("a", "crates/a", &["b"]),
        ("b", "crates/b", &[]),
        ("not-yet", "crates/n", &[]),
    ];
    let member = |name: &str, folder: &str, uses: &[&str]| Member {
        name: name.to_owned(),
        folder: folder.to_owned(),
        uses: uses.iter().map(|&used| used.to_owned()).collect(),
    };
    let good = [
        member("a", "crates/a", &["b"]),
        member("b", "crates/b", &[]),
    ];
    assert!(breaches_of_table(table, &good).is_empty());
    let bad = [
        member("a", "crates/a", &[]),
        member("b", "elsewhere", &["a"]),
        member("c", "crates/c", &[]),
    ];
    assert_eq!(
        breaches_of_table(table, &bad),
        [
            "b lies in `elsewhere`, the table says `crates/b`",
            "b uses a, which the table does not allow",
            "c is not in the table"
        ]
    );
}

struct Member {
    name: String,
    folder: String,
    uses: BTreeSet<String>,
}

/// Packages of the table that do not exist yet are no breach; neither are edges that are allowed and not used.
fn breaches_of_table(table: &[Line], members: &[Member]) -> Vec<String> {
    let table: BTreeMap<_, _> = table
        .iter()
        .map(|(name, folder, may_use)| (*name, (*folder, *may_use)))
        .collect();
    let mut breaches = Vec::new();
    for Member { name, folder, uses } in members {
        let Some((table_folder, may_use)) = table.get(name.as_str()) else {
            breaches.push(format!("{name} is not in the table"));
            continue;
        };
        if folder != table_folder {
            breaches.push(format!(
                "{name} lies in `{folder}`, the table says `{table_folder}`"
            ));
        }
        let forbidden = uses.iter().filter(|used| !may_use.contains(&used.as_str()));
        breaches.extend(
            forbidden.map(|used| format!("{name} uses {used}, which the table does not allow")),
        );
    }
    breaches
}

fn is_pure(package: &metadata::Package) -> bool {
    package
        .folder
        .as_deref()
        .is_some_and(|folder| folder.starts_with("crates/pure/"))
}

/// The way to the first forbidden package that is reached: `tokio <- hyper <- chat-feed`.
fn chain_to(metadata: &Metadata, id: &str, forbidden: &[&str]) -> Option<String> {
    let name_of = |id: &str| metadata.packages[id].name.clone();
    let reached_from = metadata.reached_from(id);
    let mut step = reached_from
        .keys()
        .find(|reached| forbidden.contains(&name_of(reached).as_str()))?;
    let mut chain = vec![name_of(step)];
    while let Some(from) = reached_from.get(step) {
        chain.push(name_of(from));
        step = from;
    }
    Some(chain.join(" <- "))
}
