//! What rows and the frame around them look like: one component a file, its style in `style/` under the same name.
//!
//! A component gets the data of one block and the [`Context`]; it keeps nothing. Markup never comes from content: text
//! goes in as text nodes, and views are built by functions, not from templates. Where events come from, and which
//! rows are mounted, is for others.

pub(crate) mod announce;
pub(crate) mod ask;
pub(crate) mod bar;
pub(crate) mod diff;
pub(crate) mod elapsed;
pub(crate) mod exchange;
pub(crate) mod feed;
pub(crate) mod file_edit;
pub(crate) mod icon;
pub(crate) mod line;
pub(crate) mod mark;
pub(crate) mod output;
pub(crate) mod plan;
pub(crate) mod prompt;
pub(crate) mod raw;
pub(crate) mod rows;
pub(crate) mod text;
pub(crate) mod thinking;
pub(crate) mod tool_call;
pub(crate) mod turn_end;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use chat_feed::{Block, BlockBody, BlockId, Feed};
use leptos::prelude::*;

use crate::feed_store::FeedStore;
use crate::virtual_list::VirtualList;

/// A text that is still on its way.
pub(crate) type ComingText = Pin<Box<dyn Future<Output = Result<String, String>>>>;

/// What rows need beyond their block.
pub(crate) struct Context {
    /// The feed.
    pub(crate) store: Rc<FeedStore>,
    /// The list the rows are in; there is none while the element is being built.
    pub(crate) list: RefCell<Option<Rc<VirtualList>>>,
    /// Whether the session goes on while it is shown.
    pub(crate) live: Cell<bool>,
    /// Whole diffs that were asked for.
    diffs: RefCell<BTreeMap<BlockId, FullDiff>>,
    /// Fetches the whole diff of the event with this id; `None` where the source keeps none.
    pub(crate) fetch_diff: RefCell<Option<FetchDiff>>,
}

/// Fetches a diff by the id of its event.
pub(crate) type FetchDiff = Rc<dyn Fn(&str) -> ComingText>;

/// A handle on the context: signals and views may hold it.
pub(crate) type Ctx = StoredValue<Rc<Context>, LocalStorage>;

/// How far a whole diff has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FullDiff {
    /// It was asked for.
    Loading,
    /// Here it is.
    Ready(Rc<str>),
    /// It did not come.
    Failed(String),
}

impl Context {
    /// The context of one element.
    pub(crate) fn new(store: Rc<FeedStore>) -> Context {
        Context {
            store,
            list: RefCell::new(None),
            live: Cell::new(false),
            diffs: RefCell::default(),
            fetch_diff: RefCell::new(None),
        }
    }

    /// Opens or closes a row; its header stays where it is.
    pub(crate) fn toggle(&self, id: BlockId) {
        self.pin(id);
        self.store.set_open(id, !self.store.is_open(id));
    }

    /// Shows all of a row's long body, or its ends.
    pub(crate) fn toggle_whole(&self, id: BlockId) {
        self.pin(id);
        self.store.set_shows_whole(id, !self.store.shows_whole(id));
    }

    fn pin(&self, id: BlockId) {
        if let Some(list) = &*self.list.borrow() {
            list.pin(rows::row_of(id));
        }
    }

    /// How far the whole diff of a row has come; `None` while nobody asked.
    pub(crate) fn full_diff(&self, id: BlockId) -> Option<FullDiff> {
        self.diffs.borrow().get(&id).cloned()
    }

    /// Fetches the whole diff of a row, once; after a failure again.
    pub(crate) fn load_diff(self: &Rc<Self>, id: BlockId, event_id: &str) {
        let fetch = self.fetch_diff.borrow().clone();
        let Some(fetch) = fetch else { return };
        if matches!(
            self.full_diff(id),
            Some(FullDiff::Loading | FullDiff::Ready(_))
        ) {
            return;
        }
        self.diffs.borrow_mut().insert(id, FullDiff::Loading);
        self.store.touch(id);
        let coming = fetch(event_id);
        let context = self.clone();
        leptos::task::spawn_local(async move {
            let state = match coming.await {
                Ok(text) => FullDiff::Ready(text.into()),
                Err(why) => FullDiff::Failed(why),
            };
            context.diffs.borrow_mut().insert(id, state);
            context.store.touch(id);
        });
    }

    /// Forgets what belongs to the session that is going.
    pub(crate) fn forget(&self) {
        self.diffs.borrow_mut().clear();
    }
}

/// The content of one row.
pub(crate) fn block_view(ctx: Ctx, feed: &Feed, block: &Block) -> AnyView {
    match &block.body {
        BlockBody::Prompt(prompt) => prompt::view(ctx, block, prompt),
        BlockBody::Text(part) => text::view(feed, block, part),
        BlockBody::Thinking(thinking) => thinking::view(ctx, feed, block, thinking),
        BlockBody::ToolCall(call) => tool_call::view(ctx, feed, block, call),
        BlockBody::FileEdit(edit) => file_edit::view(ctx, feed, block, edit),
        BlockBody::AgentMessage(message) => exchange::view(ctx, block, message),
        BlockBody::Permission(ask) => ask::permission(ctx, feed, block, ask),
        BlockBody::Question(ask) => ask::question(ctx, block, ask),
        BlockBody::Plan(entries) => plan::view(ctx, block, entries),
        BlockBody::Progress(progress) => mark::progress(progress),
        BlockBody::AgentSwitch(switch) => mark::agent_switch(switch),
        BlockBody::Interrupt { reason } => mark::interrupt(feed, block, reason),
        BlockBody::Error {
            code,
            message,
            count,
        } => mark::error(ctx, block, code, message, *count),
        BlockBody::Audio {
            chunks,
            duration_ms,
            done,
        } => mark::audio(*chunks, *duration_ms, *done),
        BlockBody::Compaction(compaction) => mark::compaction(ctx, block, compaction),
        BlockBody::Notice {
            warning,
            text,
            line,
            source,
        } => mark::notice(ctx, block, *warning, text, *line, source.as_deref()),
        BlockBody::Raw { label, value } => raw::view(ctx, block, label, value),
        BlockBody::SessionStart(start) => mark::session_start(start),
        BlockBody::SessionEnd { reason } => mark::session_end(reason),
        BlockBody::Gap(gap) => mark::gap(gap),
        BlockBody::TurnEnd(end) => turn_end::view(end),
    }
}
