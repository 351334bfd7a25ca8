//! Companies: like rows that follow one another, and calls that ran at the same time.
//!
//! Two or more reads and searches, changes of one file, or edits that failed of the same, are a group; other calls that
//! overlapped in time are parallel.
//! Rows are neighbours by their level: what a sub-agent did stands between two calls and does not part them.

use std::collections::BTreeSet;

use super::Arrangement;
use super::facets::{Facet, Run};
use crate::block::{BlockBody, BlockId, TurnIdx};
use crate::feed::Feed;
use crate::long_text::untagged;
use crate::tool::{ToolKind, ToolStatus};

/// What sort of company it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompanyKind {
    /// Reads and searches.
    Explored {
        /// How many files were read, each once; where all failed, how many were to be.
        files: u32,
        /// How many searches were made.
        searches: u32,
    },
    /// Changes of one file.
    Edited {
        /// Its path.
        file_path: String,
        /// Lines added by all of them.
        lines_added: u32,
        /// Lines removed by all of them.
        lines_removed: u32,
    },
    /// Edits that failed, all of the same.
    Failed {
        /// The name of their tool.
        tool_name: String,
        /// What they were told.
        why: String,
    },
    /// Calls that ran at the same time.
    Parallel,
}

/// What the header of a company says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Company {
    /// What sort.
    pub kind: CompanyKind,
    /// How many rows it has.
    pub members: u32,
    /// How many of them run.
    pub running: u32,
    /// How many of them wait for leave.
    pub waiting: u32,
    /// How many of them failed.
    pub failed: u32,
    /// How many of them were not let run.
    pub denied: u32,
    /// Of a group the sum of its members' durations, of parallel calls the longest, in milliseconds.
    pub duration_ms: Option<u64>,
    /// From when on the first of those that run does, Unix epoch in milliseconds.
    pub running_since_ms: Option<i64>,
}

impl Arrangement {
    /// What the header of a company says; it is read off its members.
    pub fn company(&self, feed: &Feed, head: BlockId) -> Option<Company> {
        let members = self.companies.get(&head)?;
        let kind = match self.kept(head).facet.run {
            Run::Explore => CompanyKind::Explored {
                files: n_files(feed, members),
                searches: 0,
            },
            Run::Edit(_) => CompanyKind::Edited {
                file_path: edited_path(feed, head),
                lines_added: 0,
                lines_removed: 0,
            },
            Run::Failed(_) => failed_of(feed, head),
            Run::Call | Run::Alone => CompanyKind::Parallel,
        };
        let mut company = Company {
            kind,
            members: u32::try_from(members.len()).unwrap_or(u32::MAX),
            running: 0,
            waiting: 0,
            failed: 0,
            denied: 0,
            duration_ms: None,
            running_since_ms: None,
        };
        for &member in members {
            company.count(feed, member);
        }
        Some(company)
    }

    /// The members of the company that begins with `head`.
    pub fn members(&self, head: BlockId) -> &[BlockId] {
        self.companies.get(&head).map_or(&[], Vec::as_slice)
    }

    /// The first member of the company a block belongs to.
    pub fn company_of(&self, block: BlockId) -> Option<BlockId> {
        self.kept.get(block.0 as usize)?.company
    }

    /// Whether a header of this company hides its members when closed. Parallel calls are only marked.
    pub(super) fn hides_members(&self, head: BlockId) -> bool {
        match self.kept(head).facet.run {
            Run::Explore | Run::Edit(_) | Run::Failed(_) => true,
            Run::Call | Run::Alone => false,
        }
    }

    /// Finds the companies of all rows of a turn anew.
    pub(super) fn find_companies(&mut self, feed: &Feed, turn: TurnIdx) {
        // The nearest row before, by level; absorbed rows are no neighbours.
        let mut before: Vec<Option<BlockId>> = Vec::new();
        let mut next = self.turns[turn.0 as usize].first;
        while let Some(id) = next {
            let block = feed.block(id);
            if block.turn != turn {
                break;
            }
            next = feed.next(id);
            let kept = &mut self.kept[id.0 as usize];
            kept.facet = Facet::of(feed, id);
            kept.placed = true;
            kept.work = false;
            if kept.company.take() == Some(id) {
                self.companies.remove(&id);
            }
            let level = usize::from(block.depth);
            before.resize(level + 1, None);
            if self.kept(id).facet.absorbed {
                continue;
            }
            if let Some(neighbour) = before[level].replace(id)
                && self.are_company(feed, neighbour, id)
            {
                self.join(neighbour, id);
            }
        }
    }

    pub(super) fn are_company(&self, feed: &Feed, before: BlockId, block: BlockId) -> bool {
        let run = self.kept(block).facet.run;
        if self.kept(before).facet.run != run {
            return false;
        }
        match run {
            Run::Alone => false,
            Run::Explore | Run::Edit(_) | Run::Failed(_) => true,
            Run::Call => overlap(feed, before, block),
        }
    }

    /// Puts `block` into the company of its neighbour; the company's first member.
    pub(super) fn join(&mut self, before: BlockId, block: BlockId) -> BlockId {
        let head = self.kept(before).company.unwrap_or(before);
        self.companies
            .entry(head)
            .or_insert_with(|| vec![head])
            .push(block);
        self.kept[head.0 as usize].company = Some(head);
        self.kept[block.0 as usize].company = Some(head);
        head
    }
}

impl Company {
    fn count(&mut self, feed: &Feed, member: BlockId) {
        let call = match &feed.block(member).body {
            BlockBody::ToolCall(call) => call,
            BlockBody::FileEdit(edit) => {
                if let CompanyKind::Edited {
                    lines_added,
                    lines_removed,
                    ..
                } = &mut self.kind
                {
                    *lines_added = lines_added.saturating_add(edit.edit.lines_added);
                    *lines_removed = lines_removed.saturating_add(edit.edit.lines_removed);
                }
                return;
            }
            _ => return,
        };
        if let (CompanyKind::Explored { searches, .. }, ToolKind::Search) =
            (&mut self.kind, call.kind)
        {
            *searches += 1;
        }
        let runs = call.status.runs();
        if runs && call.waits {
            self.waiting += 1;
        } else if runs && !call.denied {
            self.running += 1;
            let since_ms = [self.running_since_ms, call.runs_since_ms()];
            self.running_since_ms = since_ms.into_iter().flatten().min();
        }
        self.failed += u32::from(call.status == ToolStatus::Failed);
        self.denied += u32::from(call.status == ToolStatus::Denied);
        let so_far = self.duration_ms.unwrap_or(0);
        if let Some(duration_ms) = call.duration_ms {
            self.duration_ms = Some(match self.kind {
                CompanyKind::Parallel => so_far.max(duration_ms),
                CompanyKind::Explored { .. }
                | CompanyKind::Edited { .. }
                | CompanyKind::Failed { .. } => so_far.saturating_add(duration_ms),
            });
        }
    }
}

/// How many files calls read, each once, by their paths; where none did, how many they were to read.
fn n_files(feed: &Feed, calls: &[BlockId]) -> u32 {
    let count = |counts: fn(ToolStatus) -> bool| {
        let mut paths = BTreeSet::new();
        let mut n_files = 0;
        for &id in calls {
            let BlockBody::ToolCall(call) = &feed.block(id).body else {
                continue;
            };
            if call.kind == ToolKind::Read && counts(call.status) {
                // One that names none is of a file of its own.
                n_files += u32::from(call.path().is_none_or(|path| paths.insert(path)));
            }
        }
        n_files
    };
    match count(|status| !matches!(status, ToolStatus::Failed | ToolStatus::Denied)) {
        0 => count(|_| true),
        n_files => n_files,
    }
}

fn edited_path(feed: &Feed, block: BlockId) -> String {
    match &feed.block(block).body {
        BlockBody::FileEdit(edit) => edit.edit.file_path.clone(),
        _ => String::new(),
    }
}

fn failed_of(feed: &Feed, block: BlockId) -> CompanyKind {
    let (tool_name, why) = match &feed.block(block).body {
        BlockBody::ToolCall(call) => {
            let why = call.failure().map(|why| untagged(&why.message).to_owned());
            (call.tool_name.to_string(), why.unwrap_or_default())
        }
        _ => Default::default(),
    };
    CompanyKind::Failed { tool_name, why }
}

/// Whether the later of two calls began before the earlier was done.
fn overlap(feed: &Feed, before: BlockId, block: BlockId) -> bool {
    let (BlockBody::ToolCall(call), BlockBody::ToolCall(_)) =
        (&feed.block(before).body, &feed.block(block).body)
    else {
        return false;
    };
    call.settled_event
        .is_none_or(|settled| settled > feed.block(block).first_event)
}
