//! How the reader likes sessions shown: what was chosen in the feed, kept for the next time.
//!
//! One line for each attribute of the feed, with its value behind it.

use crate::platform::dom::{self, Element};
use crate::platform::local_storage;

const KEY: &str = "turnreel.view";

/// What is kept. Others may have written there: nothing else is taken from it.
const KEPT: &[&str] = &[
    "verbosity",
    "fold",
    "density",
    "theme",
    "diff-palette",
    "diff-view",
    "wrap",
];

/// Has the feed show as it was liked.
pub(super) fn restore(feed: &Element) {
    let lines = local_storage::get(KEY).unwrap_or_default();
    for (attribute, value) in pairs(&lines) {
        dom::write_attribute(feed, attribute, value);
    }
}

/// The value that was kept of an attribute.
pub(super) fn kept(attribute: &str) -> Option<String> {
    let lines = local_storage::get(KEY)?;
    let (_, value) = pairs(&lines).find(|(name, _)| *name == attribute)?;
    Some(value.to_owned())
}

/// Keeps a choice, beside what was kept of other attributes.
pub(super) fn keep(attribute: &str, value: &str) {
    if !KEPT.contains(&attribute) {
        return;
    }
    let lines = local_storage::get(KEY).unwrap_or_default();
    let others = pairs(&lines).filter(|(name, _)| *name != attribute);
    let pairs = others.chain([(attribute, value)]);
    let lines: Vec<String> = pairs
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    local_storage::set(KEY, &lines.join("\n"));
}

/// The attributes that were kept, each with its value.
fn pairs(lines: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = lines.lines().filter_map(|line| line.split_once(' '));
    pairs.filter(|(name, _)| KEPT.contains(name))
}
