//! The file that a diff changes, as it was before: fetched when the reader asks for more of it than the diff shows.
//!
//! What was asked for is remembered by row, so that a row that comes back shows it again.

use std::collections::BTreeMap;
use std::rc::Rc;

use chat_diff::Around;
use chat_event::Body;
use chat_feed::loads::{Load, Place, Spot};
use chat_feed::{BlockBody, BlockId, media, units};
use leptos::html::div;
use leptos::prelude::*;

use crate::components::whole::missing;
use crate::components::{Context, Ctx};

/// What readers asked for, by row.
pub(super) type Asked = BTreeMap<BlockId, Vec<Around>>;

/// The old text of one row's file.
#[derive(Clone, Copy)]
pub(crate) struct OldText {
    ctx: Ctx,
    block: BlockId,
}

impl OldText {
    /// Where it can be had: it stands in the event, or can be fetched.
    pub(crate) fn of(ctx: Ctx, block: BlockId, body: Option<&Body>) -> Option<OldText> {
        let body = body.filter(|body| body.byte_len() <= media::MOST_BYTES)?;
        let can_fetch = ctx.with_value(|context| context.wholes.can_fetch(&missing(body)));
        can_fetch.then_some(OldText { ctx, block })
    }

    /// Which row's.
    pub(super) fn block(self) -> BlockId {
        self.block
    }

    fn place(self) -> Place {
        (self.block, Spot::OldText)
    }

    /// The text, once it was asked for and is here.
    pub(super) fn text(self) -> Option<String> {
        self.with(|context, body, _| {
            let text = context.wholes.text(&self.place(), body)?;
            Some(text.into_owned())
        })
    }

    /// Asks for it, if nobody has.
    pub(super) fn ask(self) {
        let asked = self.with(|context, body, event_id| {
            Some((context.clone(), missing(body), event_id.to_owned()))
        });
        if let Some((context, references, event_id)) = asked {
            context.bring(&self.place(), &event_id, &references);
        }
    }

    /// What is looked at stays where it is while the diff grows by so much above it.
    pub(super) fn raise(self, by_px: f64) {
        self.ctx
            .try_with_value(|context| context.raise(self.block, by_px));
    }

    fn with<T>(self, read: impl FnOnce(&Rc<Context>, &Body, &str) -> Option<T>) -> Option<T> {
        let read = |context: &Rc<Context>| {
            let feed = context.store.feed();
            let block = feed.contains(self.block).then(|| feed.block(self.block))?;
            match &block.body {
                BlockBody::FileEdit(edit) => {
                    read(context, edit.edit.old_text.as_ref()?, &block.event_id)
                }
                _ => None,
            }
        };
        self.ctx.try_with_value(read).flatten()
    }

    /// Whether it was asked for and did not come.
    pub(super) fn has_failed(self) -> bool {
        matches!(self.load(), Some(Load::Failed(_)))
    }

    fn load(self) -> Option<Load> {
        let load = |context: &Rc<Context>| context.wholes.load(&self.place());
        self.ctx.try_with_value(load).flatten()
    }

    /// How far it is, or why it did not come.
    pub(super) fn said(self) -> Option<AnyView> {
        let said = match self.load()? {
            Load::Here => return None,
            Load::Coming { n_bytes, of_bytes } => format!(
                "Loading the file: {} of {}",
                units::bytes(n_bytes),
                units::bytes(of_bytes)
            ),
            Load::Failed(why) => format!("Could not load the file: {why}"),
        };
        Some(div().class("diff__said").child(said).into_any())
    }
}
