//! Parts of the page that did not come: which, why, and the way to try again.

use leptos::ev;
use leptos::html::{button, div};
use leptos::prelude::*;

use super::icon::{Icon, icon};
use crate::platform::part::Lack;

/// What is lacking now.
#[derive(Clone)]
pub(crate) struct Lacks {
    said: ArcRwSignal<Option<String>>,
    lacking: StoredValue<Vec<Lack>, LocalStorage>,
}

impl Default for Lacks {
    fn default() -> Lacks {
        Lacks {
            said: ArcRwSignal::new(None),
            lacking: StoredValue::new_local(Vec::new()),
        }
    }
}

impl Lacks {
    /// One more.
    pub(crate) fn add(&self, lack: Lack) {
        self.said.set(Some(lack.to_string()));
        self.lacking.update_value(|lacking| lacking.push(lack));
    }

    /// Something has stopped waiting: what nobody waits for any more is not lacking. The rows wait on, whichever session they
    /// are of.
    pub(crate) fn sift(&self) {
        // What stops is dropped a moment later.
        let this = self.clone();
        leptos::task::spawn_local(async move {
            let left = this.lacking.try_update_value(|lacking| {
                lacking.retain(Lack::is_waited_for);
                lacking.last().map(Lack::to_string)
            });
            if let Some(left) = left
                && this.said.get_untracked() != left
            {
                this.said.set(left);
            }
        });
    }

    fn try_again(&self) {
        self.said.set(None);
        let lacking = self.lacking.try_update_value(std::mem::take);
        for lack in lacking.unwrap_or_default() {
            lack.again();
        }
    }
}

/// The note that says it. A page that is newer on its server than here has no parts for this one: then it must be loaded
/// again.
pub(crate) fn view(lacks: &Lacks) -> impl IntoView + use<> {
    let lacks = lacks.clone();
    move || {
        let said = lacks.said.get()?;
        let lacks = StoredValue::new_local(lacks.clone());
        let try_again = button()
            .attr("type", "button")
            .class("button")
            .on(ev::click, move |_| lacks.with_value(Lacks::try_again))
            .child("Try again");
        let what = div().class("note__what").child(sentence(said));
        let more = div()
            .class("note__more")
            .child("What is shown stays usable. Where it fails again, load the page again.");
        Some(
            div()
                .class("note note--away note--lacks")
                .attr("role", "alert")
                .child((
                    icon(Icon::Off),
                    div().class("note__text").child((what, more)),
                    try_again,
                )),
        )
    }
}

/// Errors are worded in lower case, for logs; where people read them one is a sentence. They are our words, in ASCII.
pub(super) fn sentence(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
