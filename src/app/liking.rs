//! How the reader likes sessions shown: what was chosen in the feed, kept for the next time.
//!
//! One line for each attribute of the feed, with its value behind it.

use crate::platform::dom::{self, Element};
use crate::platform::local_storage;

const KEY: &str = "turnreel.view";

/// What is kept. Others may have written there: nothing else is taken from it.
const KEPT: &[&str] = &["verbosity", "density", "diff-palette", "diff-view", "wrap"];

/// Has the feed show as it was liked.
pub(super) fn restore(feed: &Element) {
    let kept = local_storage::get(KEY).unwrap_or_default();
    for (attribute, value) in kept.lines().filter_map(|line| line.split_once(' ')) {
        if KEPT.contains(&attribute) {
            dom::write_attribute(feed, attribute, value);
        }
    }
}

/// The value that was kept of an attribute.
pub(super) fn kept(attribute: &str) -> Option<String> {
    let kept = local_storage::get(KEY)?;
    let mut pairs = kept.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = pairs.find(|(name, _)| *name == attribute)?;
    Some(value.to_owned())
}

/// Keeps a choice, beside what was kept of other attributes.
pub(super) fn keep(attribute: &str, value: &str) {
    if !KEPT.contains(&attribute) {
        return;
    }
    let kept = local_storage::get(KEY).unwrap_or_default();
    let others = kept.lines().filter(|line| {
        let name = line.split_once(' ').map(|(name, _)| name);
        name.is_some_and(|name| name != attribute && KEPT.contains(&name))
    });
    let mut lines: Vec<String> = others.map(str::to_owned).collect();
    lines.push(format!("{attribute} {value}"));
    local_storage::set(KEY, &lines.join("\n"));
}
