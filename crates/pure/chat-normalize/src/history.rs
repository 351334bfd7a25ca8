//! What was said so far, for APIs whose every request says the whole conversation again.
//!
//! Only fingerprints are kept: of what a request holds, that which stands at the same place as before is not said again.

/// Fingerprints of the conversation's messages or items, in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    said: Vec<u64>,
    at: usize,
}

impl History {
    /// A request begins, which says the conversation from its start, or only what `goes_on` behind what is known.
    pub(crate) fn request(&mut self, goes_on: bool) {
        self.at = if goes_on { self.said.len() } else { 0 };
    }

    /// Whether what a request holds next was said before; from the first that was not, all of it is new.
    pub(crate) fn was_said(&mut self, fingerprint: u64) -> bool {
        if self.said.get(self.at) == Some(&fingerprint) {
            self.at += 1;
            return true;
        }
        self.said.truncate(self.at);
        self.say(fingerprint);
        false
    }

    /// How much was said.
    pub(crate) fn len(&self) -> usize {
        self.said.len()
    }

    /// Something is said behind all that is known.
    pub(crate) fn say(&mut self, fingerprint: u64) {
        self.said.push(fingerprint);
        self.at = self.said.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_behind_the_known_is_new() {
        let mut history = History::default();
        let mut news = |goes_on: bool, request: &[u64]| -> Vec<u64> {
            history.request(goes_on);
            let new = request.iter().filter(|item| !history.was_said(**item));
            new.copied().collect()
        };
        assert_eq!(news(false, &[1, 2]), [1, 2]);
        assert_eq!(news(false, &[1, 2, 3]), [3]);
        assert_eq!(news(true, &[4]), [4]);
        assert_eq!(news(false, &[1, 2, 3, 4, 1]), [1]);
        assert_eq!(news(false, &[1, 5, 3]), [5, 3]);
        assert_eq!(news(false, &[1, 5, 3, 4]), [4]);
    }
}
