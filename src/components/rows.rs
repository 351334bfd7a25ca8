//! Rows for the list: their wrappers, the class and attributes of their elements, their expected heights, and the
//! mounting of their content.

use std::any::Any;
use std::rc::Rc;

use chat_event::Body;
use chat_event::gist::gist;
use chat_feed::arrangement::Row;
use chat_feed::viewport::{RowId, RowKind, RowShape};
use chat_feed::{Block, BlockBody, BlockId, Feed, TextKind, ToolKind, ToolStatus, TurnIdx, marks};
use leptos::mount::mount_to;
use leptos::prelude::*;

use super::text::TextRow;
use super::{Context, Ctx, block_view, company, css_parts, exchange, markup, prompt};
use crate::feed_store::TextSink;
use crate::platform::clock;
use crate::platform::dom::{self, Element};
use crate::virtual_list::{Dress, Group, Rows};

/// Words that a row is called by are no longer.
pub(super) const NAME_CHARS: usize = 80;

/// The rows of one feed.
pub(crate) struct FeedRows {
    /// What rows need.
    pub(crate) context: Rc<Context>,
    /// The same, for views.
    pub(crate) ctx: Ctx,
}

impl Rows for FeedRows {
    fn shape(&self, id: RowId) -> RowShape {
        let store = &self.context.store;
        let one_line = RowShape {
            kind: RowKind::OneLine,
            chars: 0,
            lines: 1,
        };
        let feed = store.feed();
        match store.row(id) {
            Row::Block(block) if feed.contains(block) => shape(&feed, block, store.is_open(block)),
            Row::Block(_) | Row::Work(_) | Row::Company(_) => one_line,
        }
    }

    fn groups(&self, id: RowId) -> Vec<Group> {
        let feed = self.context.store.feed();
        match self.context.store.row(id) {
            Row::Block(block) | Row::Company(block) => groups(&feed, feed.block(block)),
            Row::Work(turn) => vec![turn_group(&feed, turn)],
        }
    }

    fn dress(&self, id: RowId) -> Dress {
        let store = &self.context.store;
        let mut dress = match store.row(id) {
            Row::Block(block) => {
                let mut dress = dress(&store.feed(), store.feed().block(block));
                company::dress_member(store, block, &mut dress);
                if let BlockBody::ToolCall(call) = &store.feed().block(block).body
                    && call.kind == ToolKind::Agent
                {
                    let hue = self.context.agent_hue(&store.feed(), block);
                    dress.attributes.push(("data-hue", hue.to_string()));
                }
                dress
            }
            Row::Company(head) => company::dress(store, head),
            Row::Work(turn) => company::dress_work(turn),
        };
        let since = self.context.new_since.get();
        let since = since.filter(|(first, _)| *first == id);
        let since = since.map(|(_, since_ms)| clock::dated(clock::own_ms(since_ms)));
        dress
            .attributes
            .push(("data-new-since", since.unwrap_or_default()));
        let lit = if self.context.is_lit(id) { "true" } else { "" };
        dress.attributes.push(("data-lit", lit.to_owned()));
        let is_undone = store.feed().turn(store.turn_at(id)).is_undone();
        dress_undone(&mut dress, is_undone);
        dress
    }

    fn before_size(&self) {
        self.context.width.tell_first(&self.context);
    }

    fn on_pace(&self, fast: bool) {
        markup::hold_colours(fast);
    }

    fn mount(&self, id: RowId, element: &Element) -> Box<dyn Any> {
        markup::ask(&self.context);
        self.context.note_mounted(id);
        let store = &self.context.store;
        let version = store.mount(id);
        let row = store.row(id);
        if let Row::Block(block) = row {
            if matches!(store.feed().block(block).body, BlockBody::Text(_)) {
                let text_row = TextRow::mount(self.context.clone(), block, element);
                store.set_sink(id, Some(Box::new(text_row.clone())));
                return Box::new(MountedRow {
                    context: self.context.clone(),
                    id,
                    _content: Box::new(text_row),
                });
            }
            store.set_sink(id, Some(Box::new(GrowingText(element.clone()))));
        }
        let ctx = self.ctx;
        let view = move || {
            version.track();
            ctx.with_value(|context| {
                let feed = context.store.feed();
                match row {
                    Row::Block(block) => block_view(ctx, &feed, feed.block(block)),
                    Row::Company(head) => company::view(ctx, head),
                    Row::Work(turn) => company::work_view(ctx, turn),
                }
            })
        };
        Box::new(MountedRow {
            context: self.context.clone(),
            id,
            _content: mount_alone(element, move || view),
        })
    }
}

/// Fills a row's element, or a place in it. What the reader presses to go to a row may be gone before the row is, as the
/// find bar: the row is not its.
pub(super) fn mount_alone<V: IntoView + 'static>(
    element: &Element,
    view: impl FnOnce() -> V + 'static,
) -> Box<dyn Any> {
    let nobody = Owner::default();
    let content = nobody.with(|| mount_to(dom::as_html(element), view));
    Box::new((content, nobody))
}

/// Keeps a row's content; the store hears when it goes.
struct MountedRow {
    context: Rc<Context>,
    id: RowId,
    _content: Box<dyn Any>,
}

impl Drop for MountedRow {
    fn drop(&mut self) {
        self.context.store.unmount(self.id);
    }
}

/// The text node of a row whose text grows: the first node of the element with class `grows`.
struct GrowingText(Element);

impl TextSink for GrowingText {
    fn append(&self, text: &str) -> bool {
        // What may have to be marked is for the view.
        let may_hide = text.chars().any(marks::is_hidden);
        match dom::first_text(&self.0, ".grows").filter(|_| !may_hide) {
            Some(node) => {
                dom::append_text(&node, text);
                true
            }
            None => false,
        }
    }

    fn replace(&self, text: &str) {
        if let Some(node) = dom::first_text(&self.0, ".grows") {
            // Behind marks it is the end alone that grows.
            let end = marks::settled_end(text).unwrap_or_default();
            dom::replace_text(&node, text.get(end..).unwrap_or_default());
        }
    }
}

fn turn_group(feed: &Feed, turn: TurnIdx) -> Group {
    Group {
        class: "turn",
        attribute: id_attribute("data-turn-id", &feed.turn(turn).id),
    }
}

fn id_attribute(name: &'static str, id: &Option<Box<str>>) -> Option<(&'static str, Rc<str>)> {
    id.as_deref().map(|id| (name, Rc::from(id)))
}

/// What stands around a block: its turn, its response, and the run of calls or messages it belongs to.
fn groups(feed: &Feed, block: &Block) -> Vec<Group> {
    let mut groups = vec![turn_group(feed, block.turn)];
    if let Some(response) = block.response {
        let response = feed.response(response);
        groups.push(Group {
            class: "assistant-response",
            attribute: id_attribute("data-response-id", &response.id),
        });
    }
    match &block.body {
        BlockBody::ToolCall(_) | BlockBody::FileEdit(_) => {
            groups.push(Group {
                class: "tool-calls",
                attribute: None,
            });
        }
        BlockBody::AgentMessage(_) => groups.push(Group {
            class: "agent-messages",
            attribute: None,
        }),
        _ => {}
    }
    groups
}

fn dress(feed: &Feed, block: &Block) -> Dress {
    let mut attributes = vec![
        ("data-event-id", block.event_id.to_string()),
        ("data-depth", block.depth.min(3).to_string()),
        ("part", css_parts::of_row(&block.body).to_owned()),
    ];
    let (class, label) = match &block.body {
        BlockBody::Prompt(prompt) => ("row user-message", prompt::name("Prompt", prompt)),
        BlockBody::Text(text) => match text.kind {
            TextKind::Code { .. } => (
                "row assistant-text assistant-text--code",
                name_of_part(feed, block, "code"),
            ),
            TextKind::Paragraph
            | TextKind::Heading(_)
            | TextKind::List { .. }
            | TextKind::Quote { .. }
            | TextKind::Table { .. }
            | TextKind::Rule
            | TextKind::LongLine => ("row assistant-text", name_of_part(feed, block, "")),
        },
        BlockBody::Thinking(_) => ("row rail thinking", "Thinking".to_owned()),
        BlockBody::ToolCall(call) => {
            attributes.push(("data-tool-call-id", call.tool_call_id.to_string()));
            attributes.push(("data-kind", call.kind.as_str().to_owned()));
            let status = match (call.status, call.exit_code) {
                (ToolStatus::Succeeded, Some(code)) if code != 0 => "failed",
                (status, _) if status.runs() && call.waits => "waiting",
                (status, _) if status.runs() && call.denied => "denied",
                (status, _) => status.as_str(),
            };
            attributes.push(("data-status", status.replace(' ', "-")));
            let label = format!("{}, {status}", call.tool_name);
            ("row rail tool-call", label)
        }
        BlockBody::FileEdit(edit) => {
            attributes.push(("data-kind", "edit".to_owned()));
            (
                "row rail file-edit",
                format!("File {}", edit.edit.file_path),
            )
        }
        BlockBody::AgentMessage(message) => {
            attributes.push(("data-message-id", message.message_id.to_string()));
            attributes.push(("data-hues", exchange::hues(message)));
            let class = match (&message.result, message.wait) {
                (None, true) => "row rail agent-message pending",
                (None, false) | (Some(_), _) => "row rail agent-message resolved",
            };
            (class, "Agent message".to_owned())
        }
        BlockBody::Permission(_) => (ask_class(&block.body), "Permission".to_owned()),
        BlockBody::Question(_) => (ask_class(&block.body), "Question".to_owned()),
        BlockBody::Plan(_) => ("row rail plan", "Plan".to_owned()),
        BlockBody::Progress(_) => ("row rail progress", "Progress".to_owned()),
        BlockBody::AgentSwitch(_) => ("row rail agent-switch", "Agent".to_owned()),
        BlockBody::Interrupt { .. } => ("row rail interrupt", "Interrupted".to_owned()),
        BlockBody::Error { .. } => ("row rail error", "Error".to_owned()),
        BlockBody::Audio { .. } => ("row rail audio", "Audio".to_owned()),
        BlockBody::Compaction(_) => ("row compaction", "Context compacted".to_owned()),
        BlockBody::Notice { warning: true, .. } => {
            ("row rail notice notice--warning", "Warning".to_owned())
        }
        BlockBody::Notice { warning: false, .. } => ("row rail notice", "Notice".to_owned()),
        BlockBody::Raw { .. } => ("row rail raw", "Raw event".to_owned()),
        BlockBody::SessionStart(_) => ("row rail session-start", "Session started".to_owned()),
        BlockBody::SessionEnd { .. } => ("row rail session-end", "Session ended".to_owned()),
        BlockBody::Gap(_) => ("row rail gap", "Gap".to_owned()),
        BlockBody::TurnEnd(_) => ("row turn-end-row", "End of turn".to_owned()),
    };
    attributes.push(("aria-label", label));
    Dress {
        class: class.to_owned(),
        attributes,
    }
}

/// Marks a row of a turn that the user went back behind, for the eye and in its name.
fn dress_undone(dress: &mut Dress, is_undone: bool) {
    let undone = if is_undone { "true" } else { "" };
    dress.attributes.push(("data-undone", undone.to_owned()));
    let mut attributes = dress.attributes.iter_mut();
    if let Some((_, label)) = attributes.find(|(name, _)| is_undone && *name == "aria-label") {
        label.push_str(", undone");
    }
}

/// What a part of an answer is called by: its first words, and at the beginning that it is an answer.
fn name_of_part(feed: &Feed, block: &Block, kind: &str) -> String {
    let goes_on = feed.prev(block.id).is_some_and(|before| {
        let before = feed.block(before);
        matches!(before.body, BlockBody::Text(_)) && before.response == block.response
    });
    let begins = if goes_on { "" } else { "Answer" };
    let words = match &block.body {
        // Each piece that comes would change them.
        BlockBody::Text(text) if text.streaming => String::new(),
        _ => gist(&feed.text(block.id), NAME_CHARS),
    };
    let parts = [begins, kind, &words].into_iter();
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    match parts.is_empty() {
        true => "Answer".to_owned(),
        false => parts.join(", "),
    }
}

fn ask_class(body: &BlockBody) -> &'static str {
    match body.waits() {
        true => "row rail asked asked--open",
        false => "row rail asked",
    }
}

/// What a row's height is guessed from.
fn shape(feed: &Feed, id: BlockId, open: bool) -> RowShape {
    let one = |kind| RowShape {
        kind,
        chars: 60,
        lines: 1,
    };
    let long = |kind| RowShape::of_text(kind, &feed.text(id));
    let card = |lines: u32| RowShape {
        kind: RowKind::Card,
        chars: lines.saturating_mul(60),
        lines,
    };
    match &feed.block(id).body {
        BlockBody::Prompt(prompt) => {
            let text = prompt.text.as_ref().map(Body::head).unwrap_or_default();
            RowShape::of_text(RowKind::Prompt, prompt::beginning(&text))
        }
        BlockBody::Text(text) => match text.kind {
            TextKind::Paragraph | TextKind::LongLine => long(RowKind::Text),
            TextKind::List { .. } | TextKind::Quote { .. } => long(RowKind::List),
            TextKind::Table { .. } => long(RowKind::Table),
            TextKind::Rule => one(RowKind::Rule),
            TextKind::Heading(_) => long(RowKind::Heading),
            TextKind::Code { .. } => long(RowKind::Code),
        },
        BlockBody::ToolCall(call) if open => match call.kind {
            ToolKind::Execute => card(10),
            _ => card(14),
        },
        BlockBody::Thinking(_) if open => long(RowKind::Text),
        BlockBody::FileEdit(edit) if open => {
            let lines = edit
                .edit
                .lines_added
                .saturating_add(edit.edit.lines_removed)
                .saturating_add(7);
            RowShape {
                kind: RowKind::Diff,
                chars: lines.saturating_mul(40),
                lines: lines.min(110),
            }
        }
        BlockBody::Permission(_) | BlockBody::Question(_) if open => card(5),
        BlockBody::Plan(entries) if open => card(u32::try_from(entries.len()).unwrap_or(u32::MAX)),
        BlockBody::AgentMessage(message) if open => {
            let chars_of = |body: &Option<Body>| {
                let text = body.as_ref().map(Body::head).unwrap_or_default();
                RowShape::of_text(RowKind::Text, &text).chars
            };
            let chars = chars_of(&message.message).saturating_add(chars_of(&message.result));
            card(chars / 80 + 2)
        }
        BlockBody::Error { message, .. } if open => {
            card(RowShape::of_text(RowKind::Text, message).lines.min(21))
        }
        BlockBody::Compaction(_) if !open => one(RowKind::Rule),
        _ if open => card(8),
        _ => one(RowKind::OneLine),
    }
}
