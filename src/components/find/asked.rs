//! What is looked for as an address can say it: the question, and what alone is shown.

use chat_feed::find::Kinds;

use crate::components::Context;

/// The attribute that says what to look for: what alone is shown, and the question in a line of its own.
const FIND: &str = "data-find";
/// What stands for hits among the names of kinds.
const HITS: &str = "hits";

/// What is looked for.
#[derive(Debug, Default, PartialEq)]
pub(in crate::components) struct Asked {
    /// What is written in the bar.
    pub(in crate::components) question: String,
    /// What alone is shown: "hits", and the names of chips in small letters, with commas between.
    pub(in crate::components) only: String,
}

impl Context {
    /// What is looked for now; nothing where the bar is closed.
    pub(in crate::components) fn asked(&self) -> Asked {
        let finding = &self.find;
        if !self.finds() {
            return Asked::default();
        }
        let chosen = finding.chosen.get();
        let chips = Kinds::CHIPS.iter().filter(|chip| chip.kinds.meets(chosen));
        let mut only: Vec<String> = chips.map(|chip| chip.label.to_lowercase()).collect();
        if finding.only.get() {
            only.insert(0, HITS.to_owned());
        }
        Asked {
            question: self.question(),
            only: only.join(","),
        }
    }

    /// Looks for what the attribute says.
    pub(in crate::components) fn take_up_find(&self) {
        let said = self.take_attribute(FIND);
        let Some((only, question)) = said.as_deref().and_then(|said| said.split_once('\n')) else {
            return;
        };
        let now = self.asked();
        if now.question == question && now.only == only {
            return;
        }
        let is_named = |name: &str| only.split(',').any(|it| it == name);
        let chips = Kinds::CHIPS.iter();
        let chosen = chips
            .filter(|chip| is_named(&chip.label.to_lowercase()))
            .fold(Kinds::default(), |chosen, chip| chosen.with(chip.kinds));
        self.find.chosen.set(chosen);
        self.look_for(question, is_named(HITS));
    }
}
