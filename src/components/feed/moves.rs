//! Moving through a feed by keys: from row to row, to prompts, errors and what waits, to both ends.
//!
//! Steps from row to row are in `steps`.

mod steps;

use chat_feed::viewport::{Align, RowId};
use chat_feed::{BlockBody, BlockId, Feed, ToolStatus};
use leptos::prelude::WithValue;

use super::FeedView;
use crate::components::keys::{self, Asked, Command, Letter};
use crate::components::{Ctx, controls, panel, transport};
use crate::platform::dom::{self, Element, Listener};
use crate::platform::{frame, measure};

/// What a key goes to, whatever hides it.
struct Wanted {
    name: &'static str,
    is: fn(&BlockBody) -> bool,
}

const TOOL_CALLS: Wanted = Wanted {
    name: "tool call",
    is: |body| matches!(body, BlockBody::ToolCall(_) | BlockBody::FileEdit(_)),
};

const ERRORS: Wanted = Wanted {
    name: "error",
    is: |body| match body {
        BlockBody::ToolCall(call) => call.status == ToolStatus::Failed,
        body => matches!(body, BlockBody::Error { .. }),
    },
};

fn beside(feed: &Feed, block: BlockId, forward: bool) -> Option<BlockId> {
    match forward {
        true => feed.next(block),
        false => feed.prev(block),
    }
}

impl FeedView {
    /// Does what a key asks for, where it asks for something here.
    pub(in crate::components) fn on_key(&self, event: &dom::Event) {
        let Some(key) = dom::key_of(event) else {
            return;
        };
        // The sheet of keys has keys of its own.
        if dom::around_event(event, "dialog").is_some() {
            return;
        }
        let began = self.began.take();
        if key.name == "Tab" {
            return self.tab(dom::has_shift_at(event));
        }
        let taken = match keys::asked(&key.name, key.control, began) {
            None => false,
            Some(Asked::Command(_, Letter::Yes) | Asked::Begins)
                if !self.context.shortcuts.get() =>
            {
                false
            }
            Some(Asked::Begins) => {
                self.began.set(key.name.chars().next());
                true
            }
            Some(Asked::Command(command, _)) => self.perform(command, event, key.control),
        };
        if taken {
            event.prevent_default();
            event.stop_propagation();
        }
    }

    /// The browser moves the focus by itself. Who comes to the rows goes on where they read: those that are mounted beyond the
    /// screen take no focus meanwhile, and nothing moves. Who goes up in them follows no end.
    fn tab(&self, back: bool) {
        if dom::has_focus(self.list.window()) {
            if back {
                self.list.stay();
            }
            return;
        }
        let list = self.list.clone();
        let first = list.first_on_screen();
        // A row that is higher than the screen begins above it.
        let first = first.and_then(|first| match list.is_below(first) {
            true => list.neighbour(Some(first), false),
            false => Some(first),
        });
        let first = first.and_then(|first| list.rank_of(first));
        let passed = |row: RowId| match back {
            true => list.is_below(row),
            false => list.rank_of(row) < first,
        };
        let mut rows = list.mounted_rows();
        rows.retain(|(row, _)| passed(*row));
        for (_, element) in &rows {
            dom::toggle_attribute(element, "inert", true);
        }
        let top_px = measure::scroll_top(list.scroller());
        leptos::task::spawn_local(async move {
            frame::sleep(0).await;
            for (_, element) in &rows {
                dom::toggle_attribute(element, "inert", false);
            }
            if dom::has_focus(list.window()) {
                measure::set_scroll_top(list.scroller(), top_px);
            }
        });
    }

    /// Does what a key asks for; false where the key is the browser's, or the page's around.
    fn perform(&self, command: Command, event: &dom::Event, control: bool) -> bool {
        let here = self.focused_row();
        let is = |want: fn(&BlockBody) -> bool| {
            let context = self.context.clone();
            move |id: RowId| {
                let block = context.store.block_at(id);
                block.is_some_and(|block| want(&context.store.feed().block(block).body))
            }
        };
        let is_prompt = is(|body| matches!(body, BlockBody::Prompt(_)));
        let is_arrow = dom::key_of(event).is_some_and(|key| key.name.starts_with("Arrow"));
        match command {
            Command::NextRow | Command::PreviousRow if is_arrow && !self.is_on_row(event, here) => {
                false
            }
            Command::NextArticle | Command::PreviousArticle if here.is_none() => false,
            Command::NextRow | Command::NextArticle => {
                self.step(here, true, Align::Nearest, |_| true)
            }
            Command::PreviousRow | Command::PreviousArticle => {
                self.step(here, false, Align::Nearest, |_| true)
            }
            Command::NextPrompt => self.step(here, true, Align::Start, is_prompt),
            Command::PreviousPrompt => self.step(here, false, Align::Start, is_prompt),
            Command::NextTool => self.step_unfolding(here, true, &TOOL_CALLS),
            Command::PreviousTool => self.step_unfolding(here, false, &TOOL_CALLS),
            Command::NextError => self.step_unfolding(here, true, &ERRORS),
            Command::PreviousError => self.step_unfolding(here, false, &ERRORS),
            Command::NextWaiting => self.go_to_waiting(here),
            Command::Toggle => match here {
                Some(id) if !dom::began_in_control(event, self.list.scroller()) => {
                    self.context.toggle(self.context.store.row(id));
                    true
                }
                Some(_) | None => false,
            },
            Command::ToggleKind => here.map(|id| self.context.open_kind(id)).is_some(),
            Command::CloseKind => here.map(|id| self.context.set_kind(id, false)).is_some(),
            Command::Top => self.go_to_top(),
            Command::End => self.go_to_end(),
            Command::Before => dom::focus_beyond(self.list.scroller(), false),
            Command::Behind => dom::focus_beyond(self.list.scroller(), true),
            Command::Follow => {
                if self.list.view().following {
                    self.list.stay();
                } else {
                    self.go_to_end();
                }
                true
            }
            // Pressed again it is the browser's.
            Command::Find if control && self.context.finds() => false,
            Command::Find => {
                self.context.open_find();
                true
            }
            Command::NextHit | Command::PreviousHit => {
                let finds = self.context.finds();
                if finds {
                    self.context.go_to_hit(command == Command::NextHit);
                    self.focus_hit();
                }
                finds
            }
            Command::Copy => here.map(|id| self.context.copy_row(id)).is_some(),
            Command::CopyAnswer => here.map(|id| self.context.copy_answer(id)).is_some(),
            Command::CopyLink => here.map(|id| self.context.copy_link(id)).is_some(),
            Command::OpenFile => here.is_some_and(|id| self.context.open_file(id)),
            Command::Sides | Command::Wrap => {
                let row = here.and_then(|id| self.list.element_of(id));
                row.is_some_and(|row| self.context.diffs.toggle_in(&row, command == Command::Wrap))
            }
            Command::Verbosity => {
                self.cycle_verbosity();
                true
            }
            Command::Sessions => self.context.command("sessions"),
            Command::Panel => {
                panel::toggle(&self.context);
                true
            }
            Command::Help => {
                self.context.show_help();
                true
            }
            Command::PlayOrPause
            | Command::NextEvent
            | Command::PreviousEvent
            | Command::NextTurn
            | Command::PreviousTurn
            | Command::NextMarker
            | Command::PreviousMarker
            | Command::NextChunk
            | Command::PreviousChunk
            | Command::Tenth
            | Command::Faster
            | Command::Slower
            | Command::SkipIdle
            | Command::Live => {
                transport::on_key(&self.context, command, event, self.list.scroller())
            }
            // These act where the focus is.
            Command::NextHunk
            | Command::PreviousHunk
            | Command::NextFile
            | Command::PreviousFile
            | Command::Viewed
            | Command::Back
            | Command::On
            | Command::First
            | Command::Last
            | Command::TenthBack
            | Command::TenthOn => false,
            // What lies over the rest goes first; a menu is the browser's to close.
            Command::Leave if dom::first_in(&self.grid, ":popover-open").is_some() => false,
            Command::Leave if self.context.transport.leave_hover() => true,
            Command::Leave if self.context.panel.leave() => true,
            Command::Leave => {
                let finds = self.context.finds();
                if finds {
                    self.context.close_find();
                }
                finds
            }
        }
    }

    /// The next way of showing less or more.
    fn cycle_verbosity(&self) {
        let now = self.context.attribute("verbosity");
        let words: Vec<&str> = controls::VERBOSITIES
            .iter()
            .map(|(word, _)| *word)
            .collect();
        let at = words.iter().position(|word| Some(*word) == now.as_deref());
        // Without the attribute it is the middle one.
        let next = words[(at.unwrap_or(1) + 1) % words.len()];
        self.context.choose("verbosity", next);
    }
}

/// Hears of lines that are pressed with Shift: all of their kind open or close with them.
pub(in crate::components) fn open_kinds(ctx: Ctx, grid: &Element) -> [Listener; 2] {
    let is_meant = |event: &dom::Event| {
        dom::has_shift_at(event) && dom::is_within(event, ".row > button.line")
    };
    // Nor is text selected up to there.
    let down = move |event: dom::Event| {
        if is_meant(&event) {
            event.prevent_default();
        }
    };
    let click = move |event: dom::Event| {
        if is_meant(&event) {
            ctx.try_with_value(|context| {
                // The list has heard of it before, and has opened or closed it.
                if let Some((id, _)) = context.row_around(&event) {
                    context.open_kind(id);
                }
            });
        }
    };
    [
        dom::listen(grid, "mousedown", down),
        dom::listen(grid, "click", click),
    ]
}
