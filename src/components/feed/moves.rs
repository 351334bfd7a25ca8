//! Moving through a feed by keys: from row to row, to prompts, errors and what waits, to both ends.

use chat_feed::arrangement::Row;
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
                self.list.stop_following();
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
                    self.set_following(false);
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

    /// Keys go on from the hit that was gone to.
    fn focus_hit(&self) {
        let row = self.context.current_hit_row();
        if let Some(element) = row.and_then(|row| self.list.element_of(row)) {
            dom::focus(&element);
        }
    }

    /// Moves the focus to the next row that is wanted; at the end of the rows it stays.
    fn step(
        &self,
        here: Option<RowId>,
        forward: bool,
        align: Align,
        wanted: impl Fn(RowId) -> bool,
    ) -> bool {
        let mut next = match here {
            Some(id) => self.list.neighbour(Some(id), forward),
            None => self.list.first_on_screen(),
        };
        while let Some(id) = next {
            if wanted(id) {
                self.focus_row(id, align);
                return true;
            }
            next = self.list.neighbour(Some(id), forward);
        }
        true
    }

    /// Moves the focus to the next block that is wanted, whatever hides it; where there is none it says so.
    fn step_unfolding(&self, here: Option<RowId>, forward: bool, wanted: &Wanted) -> bool {
        let store = &self.context.store;
        if store.is_filtered() {
            let is_wanted = |id| {
                let block = store.block_at(id);
                block.is_some_and(|block| (wanted.is)(&store.feed().block(block).body))
            };
            return self.step(here, forward, Align::Center, is_wanted);
        }
        let start = here.or_else(|| self.list.first_on_screen());
        let mut next = start.and_then(|row| {
            let feed = store.feed();
            let (from, is_next) = match store.row(row) {
                Row::Block(block) => (block, here.is_none()),
                // A header stands before its members, and a line before the work it stands for.
                Row::Company(head) => (head, forward),
                Row::Work(turn) => (feed.rows().find(|block| block.turn == turn)?.id, forward),
            };
            match is_next {
                true => Some(from),
                false => beside(&feed, from, forward),
            }
        });
        while let Some(block) = next {
            next = beside(&store.feed(), block, forward);
            let is_wanted = |block| (wanted.is)(&store.feed().block(block).body);
            if !is_wanted(block) {
                continue;
            }
            let row = store.reveal(block);
            // A call may be shown by the file it changed, and in some modes by nothing.
            if let Some(Row::Block(shown)) = row
                && is_wanted(shown)
                && let Some(id) = store
                    .id_of(Row::Block(shown))
                    .filter(|id| here != Some(*id))
            {
                self.gather();
                self.focus_row(id, Align::Center);
                return true;
            }
        }
        let place = if forward { "after" } else { "before" };
        self.context.say(format!("No {} {place} this", wanted.name));
        true
    }

    /// Moves the focus to a row, and brings that into view: to the middle only where it has no room below it.
    fn focus_row(&self, id: RowId, align: Align) {
        let align = match align {
            Align::Center if self.list.has_room_below(id) => Align::Nearest,
            align => align,
        };
        self.list.go_to(id, align);
        self.list.update();
        self.list.settle();
        self.list.clear_of_end(id);
        if let Some(element) = self.list.element_of(id) {
            dom::focus(&element);
        }
    }

    /// To the next row that waits for an answer; behind the last the first is next.
    fn go_to_waiting(&self, here: Option<RowId>) -> bool {
        let mut waiting: Vec<(usize, RowId)> = self
            .context
            .waiting
            .borrow()
            .values()
            .filter_map(|row| Some((self.list.rank_of(*row)?, *row)))
            .collect();
        waiting.sort_unstable();
        let here = here.and_then(|id| self.list.rank_of(id));
        let next = waiting
            .iter()
            .find(|(rank, _)| here.is_none_or(|here| *rank > here))
            .or(waiting.first());
        if let Some((_, id)) = next {
            self.focus_row(*id, Align::Center);
        }
        true
    }

    /// To the first row; the next step goes on from there.
    fn go_to_top(&self) -> bool {
        self.list.forget_focus();
        self.list.go_home();
        true
    }

    /// To the last row, and with it.
    fn go_to_end(&self) -> bool {
        self.list.forget_focus();
        self.list.follow_end();
        true
    }

    /// Whether a row itself has the focus, and not a well or a button in it, which arrows scroll or leave alone.
    fn is_on_row(&self, event: &dom::Event, here: Option<RowId>) -> bool {
        here.and_then(|id| self.list.element_of(id))
            .is_some_and(|element| dom::is_target(event, &element))
    }

    pub(in crate::components) fn focused_row(&self) -> Option<RowId> {
        self.list.focused()
    }

    /// Gives the row that is read, or else the first on the screen, the focus.
    pub(in crate::components) fn focus(&self) {
        match self.focused_row().or_else(|| self.list.first_on_screen()) {
            Some(row) => self.focus_row(row, Align::Nearest),
            None => dom::focus(self.list.scroller()),
        }
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
