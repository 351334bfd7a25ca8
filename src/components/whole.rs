//! Long texts of a row: their ends, a button that shows the whole, and what became of it. One mechanism for all rows,
//! whether a text is here or on a server: only how long it takes differs.
//!
//! Nothing is fetched before the reader asks; what the reader closes is no longer waited for. Which bodies are kept is for
//! `chat_feed::loads`, what is shown of a text for `chat_feed::long_text`.
//!
//! What is shown of a long text is in `long`.

mod long;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use chat_event::{Body, BodyRef};
use chat_feed::BlockId;
use chat_feed::loads::{Load, Loads, Place, Spot, Wanted};
use futures_util::future::{AbortHandle, abortable};

use super::Context;
pub(crate) use long::{Long, missing};

/// A body on its way.
pub(crate) type ComingBody = Pin<Box<dyn Future<Output = Result<String, String>>>>;

/// Fetches a body of the event with this id; told how many bytes more have come.
pub(crate) type FetchBody = Rc<dyn Fn(&str, Wanted, Rc<dyn Fn(u64)>) -> ComingBody>;

/// What readers asked for, and who fetches it.
#[derive(Default)]
pub(crate) struct Wholes {
    loads: RefCell<Loads>,
    fetches: RefCell<BTreeMap<Place, AbortHandle>>,
    /// `None` where the source keeps no bodies.
    fetch: RefCell<Option<FetchBody>>,
    /// How the names of those bodies begin that it keeps.
    named: Cell<&'static str>,
}

impl Wholes {
    /// Who fetches bodies, and how the names begin of those that can be fetched.
    pub(crate) fn fetch_by(&self, fetch: Option<FetchBody>, named: &'static str) {
        *self.fetch.borrow_mut() = fetch;
        self.named.set(named);
    }

    /// Whether all that a text lacks can be fetched.
    pub(crate) fn can_fetch(&self, references: &[BodyRef]) -> bool {
        let named = self.named.get();
        let mut names = references.iter().map(|reference| &reference.sha256);
        references.is_empty()
            || self.fetch.borrow().is_some() && names.all(|name| name.starts_with(named))
    }

    /// A body that is kept in this browser, all of it; `None` where it is anywhere else.
    pub(crate) fn body_here(&self, event_id: &str, body: &BodyRef) -> Option<ComingBody> {
        let is_here = !self.named.get().is_empty();
        is_here.then(|| self.body(event_id, body))?
    }

    /// A body wherever it is kept, all of it; `None` where nobody keeps it.
    pub(crate) fn body(&self, event_id: &str, body: &BodyRef) -> Option<ComingBody> {
        let is_kept = self.can_fetch(std::slice::from_ref(body));
        let fetch = self.fetch.borrow().clone().filter(|_| is_kept)?;
        let wanted = Wanted {
            sha256: body.sha256.as_str().into(),
            n_bytes: body.bytes,
            of_bytes: body.bytes,
        };
        Some(fetch(event_id, wanted, Rc::new(|_| {})))
    }

    /// Forgets what was asked for: the names of rows are given anew.
    pub(crate) fn forget(&self) {
        for (_, fetch) in std::mem::take(&mut *self.fetches.borrow_mut()) {
            fetch.abort();
        }
        *self.loads.borrow_mut() = Loads::default();
    }

    /// How far the whole of a place has come.
    pub(crate) fn load(&self, place: &Place) -> Option<Load> {
        self.loads.borrow().load(place).cloned()
    }

    /// A text as the reader asked for it, whole; `None` while it is not here.
    pub(crate) fn text<'b>(&self, place: &Place, body: &'b Body) -> Option<Cow<'b, str>> {
        let loads = self.loads.borrow();
        if loads.load(place) != Some(&Load::Here) {
            return None;
        }
        match body {
            Body::Inline(text) => Some(text.read().into_cow()),
            Body::Ref { body } => match body.excerpt().whole() {
                Some(text) => Some(text),
                None => loads
                    .body(place, &body.sha256)
                    .map(|text| Cow::Owned(text.to_string())),
            },
        }
    }

    /// Whether anything of a row is on its way.
    pub(crate) fn awaits(&self, block: BlockId) -> bool {
        !self.loads.borrow().coming(block).is_empty()
    }

    /// The row is closed: nothing of it is waited for.
    pub(crate) fn stop(&self, block: BlockId) {
        let coming = self.loads.borrow().coming(block);
        for place in coming {
            self.leave(&place);
        }
    }

    fn leave(&self, place: &Place) {
        if let Some(fetch) = self.fetches.borrow_mut().remove(place) {
            fetch.abort();
        }
        self.loads.borrow_mut().leave(place);
    }
}

impl Context {
    /// The reader asks for all of a place.
    fn ask_whole(self: &Rc<Self>, place: &Place, event_id: &str, references: &[BodyRef]) {
        self.pin_block(place.0);
        // A terminal has two ends of its own, which nobody asked for.
        self.store.set_shows_whole(place.0, true);
        self.bring(place, event_id, references);
    }

    /// Brings all of a place: what the reader asked for, and the pictures of rows that are there.
    pub(super) fn bring(self: &Rc<Self>, place: &Place, event_id: &str, references: &[BodyRef]) {
        let wanted = self
            .wholes
            .loads
            .borrow_mut()
            .ask(place.clone(), references);
        self.came(place);
        let fetch = self.wholes.fetch.borrow().clone();
        let Some(fetch) = fetch.filter(|_| !wanted.is_empty()) else {
            return;
        };
        let (context, place_of_it, event_id) = (self.clone(), place.clone(), event_id.to_owned());
        let (work, handle) = abortable(async move {
            context
                .fetch_all(&fetch, &place_of_it, &event_id, wanted)
                .await;
        });
        self.wholes
            .fetches
            .borrow_mut()
            .insert(place.clone(), handle);
        leptos::task::spawn_local(async move {
            // Aborted is what the reader's leaving is.
            let _ = work.await;
        });
    }

    async fn fetch_all(
        self: &Rc<Self>,
        fetch: &FetchBody,
        place: &Place,
        event_id: &str,
        wanted: Vec<Wanted>,
    ) {
        let n_wanted = wanted.len();
        for (n_before, wanted) in wanted.into_iter().enumerate() {
            let (context, told_of) = (self.clone(), place.clone());
            let told: Rc<dyn Fn(u64)> = Rc::new(move |n_more| {
                context.wholes.loads.borrow_mut().note(&told_of, n_more);
                context.came(&told_of);
            });
            let sha256 = wanted.sha256.clone();
            let came = fetch(event_id, wanted, told).await;
            let came = came.map(|text| {
                let last = n_before + 1 == n_wanted;
                let is_shown = |block| self.store.is_mounted(block);
                let mut loads = self.wholes.loads.borrow_mut();
                loads.arrive(place, (&sha256, last), text.into(), &is_shown)
            });
            match came {
                Ok(gone) => gone.into_iter().for_each(|block| self.store.touch(block)),
                Err(why) => {
                    self.wholes.loads.borrow_mut().fail(place, why);
                    break;
                }
            }
        }
        self.wholes.fetches.borrow_mut().remove(place);
        self.pin_block(place.0);
        self.came(place);
    }

    /// Something of a place has come, or does not: what shows it is drawn again. A diff takes it in where it stands.
    fn came(&self, place: &Place) {
        match place.1 {
            Spot::OldText => self.diffs.came(),
            _ => self.store.touch(place.0),
        }
    }

    fn leave_whole(&self, place: &Place) {
        self.pin_block(place.0);
        self.wholes.leave(place);
        self.store.touch(place.0);
    }
}
