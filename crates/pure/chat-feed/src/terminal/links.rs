//! Links that a program put behind its text (`OSC 8`): only such as the policy for links lets through.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::link::Target;

/// So many different links of one output are kept; text behind further ones has none.
const MOST_LINKS: usize = 1_000;
/// What the parser keeps of a command, without semicolons: one of this length may have been cut.
const MOST_BYTES: usize = 1_024;
/// So many parts, between semicolons, the parser tells apart: of one that has them all, some may be missing.
const MOST_PARTS: usize = 16;

/// The links of one output.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    urls: Vec<Rc<str>>,
    places: BTreeMap<Rc<str>, u16>,
}

impl Links {
    /// The link of a style.
    pub(super) fn get(&self, place: u16) -> Option<&Rc<str>> {
        self.urls.get(usize::from(place).checked_sub(1)?)
    }

    /// The place of a link, given as a command's parts between semicolons (`8`, parameters, and the link, which may
    /// have some of its own); 0 where there is none, or none that may be.
    pub(super) fn take(&mut self, parts: &[&[u8]]) -> u16 {
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        if n_bytes >= MOST_BYTES || parts.len() >= MOST_PARTS {
            return 0;
        }
        let joined = parts.get(2..).unwrap_or_default().join(&b';');
        // The specification of these links allows nothing else.
        if joined.is_empty() || !joined.iter().all(|byte| byte.is_ascii_graphic()) {
            return 0;
        }
        let Ok(url) = std::str::from_utf8(&joined) else {
            return 0;
        };
        if let Some(place) = self.places.get(url) {
            return *place;
        }
        if self.urls.len() >= MOST_LINKS {
            return 0;
        }
        let Target::Link(link) = Target::of(url) else {
            return 0;
        };
        self.urls.push(link.href.into());
        let place = u16::try_from(self.urls.len()).unwrap_or(0);
        self.places.insert(url.into(), place);
        place
    }
}
